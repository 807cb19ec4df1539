"""Everything that someone without the table can watch of a run, and the leaks that a watcher must see."""

from __future__ import annotations

import contextlib
import io
import logging
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import DpoptError, DpoptWarning, PlanError
from dpopt.programs.max_csp import MaxCsp
from dpopt.programs.results import NO_LIMITS, Point, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Availability, AvailabilityStatus, Capability, Program
from dpopt.releases.progress import Figures, Progress
from dpopt.solvers.local_search.search import LocalSearch
from tests.scripted import ScriptedNoise

# What the compiler logs when a kernel is used for the first time is no message of dpopt, and comes once for each process.
logging.getLogger("numba").setLevel(logging.WARNING)
logging.getLogger("filelock").setLevel(logging.WARNING)  # names a lock by its address in memory

Seen = tuple[list[str], dict[str, bytes]]
"""What was seen of a run in its order, and the files that it wrote."""
SECONDS = re.compile(r"[0-9.]+ ?s\b")  # how long a stage took


@dataclass
class Watcher(Progress):
    """The solver, and everything else that someone without the table can watch."""

    behaviour: str = "local-search"
    seen: list[str] = field(default_factory=list)
    name: str = "watcher"
    capabilities: frozenset[Capability] = frozenset({Capability.MAX_CSP, Capability.PRESOLVES, Capability.RULES})

    def availability(self) -> Availability:
        return Availability(AvailabilityStatus.AVAILABLE, "for tests")

    def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
        assert isinstance(program, MaxCsp)
        hinted = None if hint is None else hint.tolist()
        self.seen.append(f"program {program.fingerprint()} limits {limits} hint {hinted}")
        if self.behaviour == "fails":
            return SolveResult(Termination.FAILED, None, None, None, None, "watcher", "1", "broken", 0.1)
        if self.behaviour == "answers nonsense":
            nonsense = np.full(program.sizes.size, 99, dtype=np.int32)
            return SolveResult(Termination.OPTIMAL, None, nonsense, 1.0, None, "watcher", "1", "done", 0.1)
        return LocalSearch().solve(program, limits, hint=hint)

    def note(self, text: str) -> None:
        self.seen.append(f"note {text}")

    def warning(self, what: DpoptWarning) -> None:
        self.seen.append(f"warning {what}")

    def owner_note(self, text: str) -> None:
        """See nothing: only who has the table hears this."""

    def begin(self, stage: str) -> None:
        self.seen.append(f"begin {stage}")

    def share(self, done: float) -> None:
        self.seen.append(f"share {done}")

    def round(self, number: int, rounds: int, value: float) -> None:
        self.seen.append(f"round {number} of {rounds}: {value}")

    def step(self, number: int, steps: int, what: str) -> None:
        self.seen.append(f"step {number} of {steps}: {what}")

    def figures(self, of_round: Callable[[], Figures]) -> None:
        figures = {**of_round(), "solve_seconds": None}
        self.seen.append(f"figures {figures}")

    def end(self, stage: str) -> None:
        self.seen.append(f"end {stage}")


class Records(logging.Handler):
    """Keeps the text of log records; what numba says while it compiles a kernel for the first time is about code alone."""

    def __init__(self) -> None:
        super().__init__(level=logging.DEBUG)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.partition(".")[0] == "numba":
            return
        self.texts.append(f"{record.levelname} {record.name} {record.getMessage()}")


@contextlib.contextmanager
def watched(seen: list[str]) -> Iterator[None]:
    """Add errors, log records, warnings and printed text to what was seen."""
    records, printed = Records(), io.StringIO()
    root = logging.getLogger()
    level = root.level
    root.addHandler(records)
    root.setLevel(logging.DEBUG)
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
        ):
            warnings.simplefilter("always")
            yield
    except DpoptError as error:
        seen.append(f"{type(error).__name__}: {error}")
    finally:
        root.removeHandler(records)
        root.setLevel(level)
    seen += [*records.texts, *(str(warning.message) for warning in caught), printed.getvalue()]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


class WatchedNoise(ScriptedNoise):
    """Scripted noisy values, one after the other and over again, and a note of each draw: of its counts their number alone."""

    def __init__(self, values: tuple[int, ...], seen: list[str]) -> None:
        super().__init__(list(values))
        self.seen, self.place = seen, 0

    def discrete_gaussian(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return self._next("Gaussian", counts, scale)

    def discrete_laplace(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return self._next("Laplace", counts, scale)

    def _next(self, distribution: str, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        self.seen.append(f"draw {counts.size} {distribution} of scale {scale}")
        found = self._values[(self.place + np.arange(counts.size)) % self._values.size]
        self.place += counts.size
        return np.asarray(found).reshape(counts.shape)


# Leaks of a secret of the table, which is SECRET for one of two tables.

SECRET = 3
Leak = Callable[[Any, int], object]


def leak_into_a_log(curator: Any, secret: int) -> None:
    logging.getLogger("dpopt").debug("counts %s", secret)


def leak_into_a_warning(curator: Any, secret: int) -> None:
    warnings.warn(f"counts {secret}", stacklevel=1)


def leak_into_a_print(curator: Any, secret: int) -> None:
    print(secret)  # noqa: T201


def leak_into_an_error(curator: Any, secret: int) -> None:
    """The control flow follows the table."""
    if secret == SECRET:
        raise PlanError("stopped early, since there are three of them")


def leak_into_the_number_of_draws(curator: Any, secret: int) -> None:
    for _ in range(secret):
        curator._noise.discrete_laplace(np.zeros(1, dtype=np.int64), 1.0)


def leak_into_the_progress(curator: Any, secret: int) -> None:
    assert curator._progress is not None
    curator._progress(1 / (secret + 2))


def leak_into_the_journal(curator: Any, secret: int) -> None:
    curator._journal.append({"kind": "torn", "hint": secret})


def leaking(usual: Callable[..., Any], leak: Leak, secret: Callable[[Any], int]) -> Callable[..., Any]:
    """Return a method of a curator that leaks a secret before it does what it usually does."""

    def leaks(curator: Any, *given: Any, **more: Any) -> Any:
        leak(curator, secret(curator))
        return usual(curator, *given, **more)

    return leaks
