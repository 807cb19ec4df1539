"""A solver of one's own that fails is tried before anything is spent, and named wherever the release speaks of itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pytest

import dpopt
from dpopt.cli.reports.reports import report_release
from dpopt.errors import AccuracyWarning
from dpopt.programs import Availability, AvailabilityStatus, Capability
from dpopt.programs.results import NO_LIMITS, Point, SolveLimits, SolveResult
from dpopt.programs.solver import Program

SCHEMA = dpopt.Schema(tuple(dpopt.Attribute(name, dpopt.AttributeKind.BOOLEAN) for name in "abc"))
TABLE = pd.DataFrame({"a": [True, False] * 500, "b": [True] * 1000, "c": [False] * 1000})
KINDS = [frozenset({Capability.LP, Capability.MIP}), frozenset({Capability.MAX_CSP, Capability.RULES})]


@dataclass(frozen=True)
class Mine:
    """Answers with what a function does."""

    act: Callable[[], object]
    capabilities: frozenset[Capability]
    name: str = "mine"

    def availability(self) -> Availability:
        return Availability(AvailabilityStatus.AVAILABLE, "")

    def solve(
        self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None
    ) -> SolveResult:
        return self.act()  # type: ignore[return-value]  # a solver that breaks the protocol


def raising(error: BaseException) -> Callable[[], object]:
    def act() -> object:
        raise error

    return act


FAILURES = {
    "TypeError: my bug at line 12": raising(TypeError("my bug at line 12")),
    "SystemExit: 3": raising(SystemExit(3)),
    "NoneType": lambda: None,
}


@pytest.mark.parametrize(
    ("words", "algorithm", "capabilities"),
    [
        *((words, dpopt.DualQuery, kind) for words in FAILURES for kind in KINDS),
        ("SystemExit: 3", dpopt.FEM, KINDS[1]),
    ],
)
def test_a_failing_solver_is_told_of_everywhere(
    words: str,
    algorithm: type[dpopt.DualQuery | dpopt.FEM],
    capabilities: frozenset[Capability],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    chosen = algorithm(solver=Mine(FAILURES[words], capabilities), rounds=5)
    with pytest.warns(AccuracyWarning, match="tried on") as caught:
        made = dpopt.release(
            TABLE, SCHEMA, "marginals:2", out=tmp_path / "r", algorithm=chosen, epsilon=1, delta=1e-6, n0=1000, predict=False
        )  # fmt: skip
    assert any(words in str(one.message) for one in caught)
    assert "the fallback answered" in repr(made)
    readme = " ".join((tmp_path / "r" / "README.txt").read_text().split())
    assert "the fallback answered, a short local search" in readme
    assert "the fallback answered" in made.report()
    report_release(made.statement, "r")
    assert "the fallback answered" in " ".join(capsys.readouterr().out.split())
    if algorithm is dpopt.DualQuery:
        certificates = made.statement["certificates"]
        assert certificates["fallbacks"] > 0
        assert certificates["rounds_with_a_bound_reported_by_the_solver"] == 0
        assert {done.solver.split()[0] for done in made.rounds} <= {"local-search", "settled"}


def test_the_failure_is_known_before_anything_is_made(tmp_path: Path) -> None:
    """As an error, the warning ends the run: no folder is there."""
    mine = Mine(FAILURES["SystemExit: 3"], KINDS[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error", AccuracyWarning)
        with pytest.raises(AccuracyWarning, match="SystemExit: 3"):
            dpopt.release(
                TABLE, SCHEMA, "marginals:2", out=tmp_path / "r", epsilon=1, delta=1e-6, predict=False,
                algorithm=dpopt.DualQuery(solver=mine),
            )  # fmt: skip
    assert not (tmp_path / "r").exists()
