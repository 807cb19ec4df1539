"""Shared parts of the adapters of foreign libraries: contract, incumbents over time, commands, temporary folders.

An `Adapter` runs inside a child process; `History` takes down what the library reports. `run` calls a program,
`run_on_mps` one that reads and writes files.

`SolverFolder` is for a solver that works through files: locked while its process lives, removed after it. A folder
belongs to whoever holds the lock in it, which the system takes away with the process, however that ends. So a folder
without a lock is what a killed process left, and the next process that asks for a solver removes it.
"""

from __future__ import annotations

import math
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.machine import end_with_parent
from dpopt.programs.conic import PointProgram
from dpopt.programs.mixed_integer import MixedIntegerProgram
from dpopt.programs.results import Limit, Point, Progress, SolveLimits, SolveResult, Termination
from dpopt.programs.solver import Capability, Program

if TYPE_CHECKING:
    from filelock import BaseFileLock

PREFIX = "dpopt-solver-folder-"
_LOCK = ".lock"


class SolverFolder:
    """A folder for temporary files, at `path`, that only this user can enter: empty and locked."""

    def __init__(self) -> None:
        while True:
            self.path = tempfile.mkdtemp(prefix=PREFIX)
            lock = _locked(Path(self.path))
            if lock is not None:  # else another process took it for one that was left, and removes it
                self._lock = lock
                return

    def remove(self) -> None:
        """Remove the folder and all that is in it."""
        _remove(Path(self.path), self._lock)


def remove_left_folders() -> None:
    """Remove the folders of this user's processes that ended without removing them, as those do that are killed."""
    with suppress(OSError):
        for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
            lock = _locked(path)
            if lock is not None:
                _remove(path, lock)


def _locked(path: Path) -> BaseFileLock | None:
    """Lock a folder; None if it is not a folder of this user's alone, is gone, or is in use.

    Nobody else can put anything into such a folder, or anything in its place: temporary files lie in a folder of the
    user's, or in one where only the owner of a name may change it.
    """
    from filelock import FileLock, Timeout

    with suppress(OSError, Timeout):
        found = path.lstat()
        if stat.S_ISDIR(found.st_mode) and _is_closed(found):
            lock = FileLock(path / _LOCK, blocking=False, thread_local=False)
            lock.acquire()  # makes the folder again where another process has just removed it
            again = path.lstat()
            if os.path.samestat(found, again) and _is_closed(again):
                return lock
            _remove(path, lock)
    return None


def _is_closed(found: os.stat_result) -> bool:
    """Return whether only this user can enter a folder; Windows has no such modes, and temporary files in the user's own."""
    if not hasattr(os, "geteuid"):
        return True
    return found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == stat.S_IRWXU


def _remove(path: Path, lock: BaseFileLock) -> None:
    """Remove a folder that is locked here; links in it are removed and not followed."""
    lock.release()  # an open file would keep its folder on Windows; another process may only remove the folder too
    shutil.rmtree(path, ignore_errors=True)


def run(command: Sequence[str], heard: Callable[[str], None]) -> str:
    """Run a program, pass on each line when it is printed, and return all of them. It ends with this process."""
    lines = []
    with subprocess.Popen(  # noqa: S603  # a program that the registry names, on a file of ours
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        preexec_fn=end_with_parent if sys.platform == "linux" else None,  # noqa: PLW1509  # one system call
    ) as process:
        for line in process.stdout or ():
            lines.append(line)
            heard(line)
    return "".join(lines)


def run_on_mps(
    name: str, write: Callable[[Path], None], command: Callable[[str, str], Sequence[str]], heard: Callable[[str], None]
) -> tuple[str, str]:
    """Run a program on an MPS file; return its solution file ("" if it wrote none) and its output.

    `write` writes the program, `command` makes the command from the paths of both files, which are in a temporary
    folder that begins with `name`.
    """
    with tempfile.TemporaryDirectory(prefix=f"{name}-") as folder:
        model, answer = Path(folder) / "model.mps", Path(folder) / "answer.txt"
        write(model)
        log = run(command(str(model), str(answer)), heard)
        return answer.read_text(encoding="ascii") if answer.exists() else "", log


Verdict = tuple[Termination, Limit | None]
"""Why the solver stopped, and which limit it was if it was one."""


class Means:
    """The meanings of native statuses, by name: the values of an adapter's status table."""

    OPTIMAL: Verdict = (Termination.OPTIMAL, None)
    INFEASIBLE: Verdict = (Termination.INFEASIBLE, None)
    UNBOUNDED: Verdict = (Termination.UNBOUNDED, None)
    EITHER: Verdict = (Termination.INFEASIBLE_OR_UNBOUNDED, None)
    IMPRECISE: Verdict = (Termination.IMPRECISE, None)
    FAILED: Verdict = (Termination.FAILED, None)
    TIME: Verdict = (Termination.LIMIT, Limit.TIME)
    WORK: Verdict = (Termination.LIMIT, Limit.WORK)
    GAP: Verdict = (Termination.LIMIT, Limit.GAP)
    MEMORY: Verdict = (Termination.LIMIT, Limit.MEMORY)
    INTERRUPTED: Verdict = (Termination.LIMIT, Limit.INTERRUPTED)


@dataclass(frozen=True, slots=True, eq=False)
class OwnValues:
    """A library's answer to a model in its own objects, which a user wrote."""

    values: NDArray[np.float64] | None
    """Of the variables that were asked for, in order; None where the library has no solution."""
    verdict: Verdict
    words: str
    version: str


def require_names(names: Sequence[str], known: Collection[str]) -> None:
    """Refuse a model that lacks variables from which a record is read."""
    missing = next((name for name in names if name not in known), None)
    if missing is not None:
        raise ProgramError(f"the model has no variable {missing!r}; keep those of the model that was handed over")


SIMPLEX_UP_TO = 50_000
"""Entries of a linear program up to which HiGHS takes its simplex method; beyond, its interior point takes a fraction of the
time, and crossover ends it at a vertex too."""

UNKNOWN_STATUS = Means.FAILED
"""The meaning of a status that the table does not know: never a success. Its text goes into `native_status`."""


def status_table(*meanings: tuple[Verdict, str]) -> dict[str, Verdict]:
    """Return a status table of names without blanks: pairs of a verdict and the names that mean it."""
    return {name: verdict for verdict, names in meanings for name in names.split()}


def mixed_integer(program: Program, solver: str) -> MixedIntegerProgram:
    """Return the program; ProgramError if it is of another kind."""
    if not isinstance(program, MixedIntegerProgram):
        raise ProgramError(f"{solver} takes a MixedIntegerProgram")
    return program


def number_in(text: str) -> float | None:
    """Return the finite number that a text is; None if it is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


_USABLE = 1e-6


def is_incumbent(program: PointProgram, point: NDArray[np.float64]) -> bool:
    """Return whether a point at a limit, rounded and moved inside its bounds, breaks nothing by more than 1e-6."""
    linear = program.linear
    inside = np.clip(np.where(linear.integrality, np.round(point), point), linear.lower, linear.upper)
    return program.violation(inside) <= _USABLE * max(1.0, float(np.abs(inside).max(initial=0.0)))


HEADER = 8
"""Bytes of the length, big-endian, that goes before each pickle between parent and child."""


class Adapter(Protocol):
    """Translates a program, calls the library, maps the status. `dpopt.solvers.process.child_process` does the rest.

    The library is imported inside `solve`. What the answer claims is verified by the caller; `seconds` is measured
    there too. An exception becomes a FAILED result.
    """

    @property
    def name(self) -> str:
        """Name in the registry."""
        ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The abilities of the library."""
        ...

    def solve(self, program: Program, limits: SolveLimits, *, hint: Point | None) -> SolveResult:
        """Solve a program of a kind named in `capabilities`."""
        ...


class History:
    """A list of `Progress`, on one clock that starts when this object is made.

    A figure that is not given stays what it was; what is infinite or larger than `beyond` means "none yet".
    """

    def __init__(self, beyond: float = math.inf) -> None:
        self._started = time.perf_counter()
        self._beyond = beyond
        self._entries: list[Progress] = []

    def note(self, *, objective: float | None = None, bound: float | None = None) -> None:
        """Add the current value and bound, if they are new."""
        last = self._entries[-1] if self._entries else Progress(0.0, None, None)
        found = self._finite(objective), self._finite(bound)
        objective = last.objective if found[0] is None else found[0]
        bound = last.bound if found[1] is None else found[1]
        if (objective, bound) != (last.objective, last.bound):
            self._entries.append(Progress(time.perf_counter() - self._started, objective, bound))

    def entries(self) -> tuple[Progress, ...]:
        """Return everything noted so far, in order."""
        return tuple(self._entries)

    def _finite(self, value: float | None) -> float | None:
        return value if value is not None and math.isfinite(value) and abs(value) < self._beyond else None
