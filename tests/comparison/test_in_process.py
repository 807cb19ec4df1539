"""Solvers from outside that run in this process: whatever they do costs their own row."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpopt.comparison.compare import compare, contestant_named
from dpopt.comparison.parts import Case, Contestant, Row
from dpopt.programs import (
    NO_LIMITS,
    Availability,
    AvailabilityStatus,
    Capability,
    MaxCsp,
    Point,
    Program,
    Progress,
    SolveLimits,
    SolveResult,
)
from tests.comparison.scripted_contestants import Right, best_of_few
from tests.strategies import clauses_of

PROBLEM = MaxCsp(
    np.array([2, 3, 2]),
    clauses_of([([(0, 1, True), (1, 2, True)], 4), ([(1, 0, True)], 2), ([(2, 1, True), (0, 0, True)], 4)]),
    np.array([5, -2, 4]),
)
_, BEST = best_of_few(PROBLEM)


class Here(Right):
    """Right, in this process."""

    def availability(self) -> Availability:
        return Availability(AvailabilityStatus.AVAILABLE, "here")

    def solve(
        self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None
    ) -> SolveResult:
        return super().solve(program, limits, hint=hint)


class Unsure(Here):
    def availability(self) -> Availability:
        raise RuntimeError("who knows")


class Unwilling(Here):
    def availability(self) -> Any:
        return None


class Nameless(Here):
    def __getattribute__(self, key: str) -> Any:
        if key == "name":
            raise SystemExit(3)
        return super().__getattribute__(key)


class Answers(Here):
    """Answers what a function makes of the right answer."""

    def __init__(self, change: Callable[[SolveResult, MaxCsp], Any]) -> None:
        super().__init__()
        self.answer = change

    def change(self, told: SolveResult, program: MaxCsp, limits: SolveLimits) -> SolveResult:
        found: SolveResult = self.answer(told, program)
        return found


def _raise(error: BaseException) -> Any:
    raise error


def _overwrite(told: SolveResult, program: MaxCsp) -> SolveResult:
    object.__setattr__(program, "weights", program.weights * 10)
    return told


def contestant(label: str, solver: Any) -> Contestant:
    return replace(contestant_named("mine", Here()), label=label, inner=solver)


def rows(solver: Any) -> tuple[Row, Row]:
    """Return the row of a solver, and that of a good one that runs after it."""
    pair = [contestant("bad", solver), contestant("good", Here())]
    bad, good = compare([Case("one", PROBLEM)], pair, SolveLimits(seconds=1.0)).rows
    return bad, good


@pytest.mark.parametrize(
    "solver",
    [
        Unsure(),
        Unwilling(),
        Nameless(),
        Here(capabilities=None),  # type: ignore[arg-type]
        Answers(lambda told, _: _raise(SystemExit(0))),
        Answers(lambda told, _: _raise(GeneratorExit())),
        Answers(lambda told, _: _raise(MemoryError())),
        Answers(lambda told, _: None),
        Answers(lambda told, _: replace(told, seconds=float("nan"))),
        Answers(lambda told, _: replace(told, report={"peak_memory_mb": "much"})),
        Answers(lambda told, _: replace(told, history=(Progress(0.1, float("nan"), None),))),
        Answers(lambda told, _: replace(told, history=(Progress(0.1, "much", None),))),  # type: ignore[arg-type]
        Answers(_overwrite),
    ],
)
def test_whatever_a_solver_in_this_process_does_costs_its_own_row(solver: Any) -> None:
    bad, good = rows(solver)
    assert bad.value is None
    assert good.value == BEST
    assert bad.status == "failed"


def test_what_a_solver_in_this_process_prints_goes_to_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def printing(told: SolveResult, program: MaxCsp) -> SolveResult:
        sys.stdout.write("hello\n")
        return told

    bad, _ = rows(Answers(printing))
    assert bad.value == BEST
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "hello\n")


def test_the_problem_of_the_comparison_is_never_the_one_that_is_handed_out() -> None:
    seen: list[MaxCsp] = []

    def keeping(told: SolveResult, program: MaxCsp) -> SolveResult:
        seen.append(program)
        return told

    rows(Answers(keeping))
    assert seen
    assert all(not np.shares_memory(program.weights, PROBLEM.weights) for program in seen)
    assert Capability.MAX_CSP in Here().capabilities
