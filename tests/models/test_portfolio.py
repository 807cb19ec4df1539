"""The portfolio of a round: the better record, and the exact solver's bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dpopt.comparison.instances import read_instance
from dpopt.models.best_responses.portfolio import Portfolio
from dpopt.programs import Capability, Limit, MaxCsp, Progress, SolveLimits, SolveResult, Termination, certify
from dpopt.programs.results import NO_LIMITS, Point, as_record
from dpopt.programs.solver import Program
from dpopt.releases.solver_choice import clause_solver
from dpopt.solvers import get_solver
from tests.models.catalogue import instance_files, small_instances
from tests.own_solvers import Mine

SEARCH = get_solver("local-search")
HARD = read_instance(next(path for path in instance_files() if path.stem == "adult-thresholds-1")).problem
CLAUSES = frozenset({Capability.MAX_CSP, Capability.RULES})


def answering(asked: list[object], **fields: object) -> Callable[[Program], SolveResult]:
    """Return what notes each program, and answers with these fields."""

    def act(program: Program) -> SolveResult:
        asked.append(program)
        usual: dict[str, Any] = {"termination": Termination.LIMIT, "limit": Limit.TIME, "solver": "mine"}
        return SolveResult(**{**usual, **fields})

    return act


def worst(problem: MaxCsp) -> dict[str, object]:
    record = np.zeros(problem.sizes.size, dtype=np.int32)
    return {"solution": record, "objective": float(problem.objective(record))}


@pytest.mark.parametrize("name", ["cp-sat", "cbc"])
def test_every_small_instance_is_solved_as_without_help(name: str) -> None:
    for instance in small_instances():
        result = clause_solver(name).solve(instance.problem, SolveLimits(seconds=60.0))
        assert certify(instance.problem, result).objective == instance.optimum, instance.name
        assert result.termination is Termination.OPTIMAL
        assert result.bound == instance.optimum


def test_the_better_record_is_kept_with_the_solvers_bound_and_both_over_time() -> None:
    asked: list[object] = []
    late = Progress(0.5, -3.0, 60.0)
    inner = Mine(answering(asked, **worst(HARD), bound=38.5, history=(late,)), CLAUSES)
    result = Portfolio(inner, SEARCH).solve(HARD, SolveLimits(seconds=20.0))
    assert len(asked) == 1
    assert (result.objective, result.bound, result.termination) == (37.0, 38.0, Termination.LIMIT)
    assert "record of local-search" in result.version
    assert result.report["record_by"] == "local-search"
    assert [(one.objective, one.bound) for one in result.history] == [(37.0, None), (37.0, 60.0)]
    assert result.history[1].seconds >= 0.5


def test_a_false_optimum_or_bound_is_contradicted_by_the_search() -> None:
    claim = Mine(answering([], **worst(HARD), termination=Termination.OPTIMAL, limit=None, bound=1.0), CLAUSES)
    result = Portfolio(claim, SEARCH).solve(HARD)
    assert (result.termination, result.objective, result.bound) == (Termination.IMPRECISE, 37.0, None)
    assert result.report["claimed_bound"] == 1.0


@pytest.mark.parametrize("name", ["cp-sat", "gscip"])
def test_a_round_ends_at_the_gap_that_is_named(name: str) -> None:
    result = clause_solver(name).solve(HARD, SolveLimits(seconds=60.0, gap=4.0))
    assert result.bound is not None
    assert result.objective is not None
    assert 0 <= result.bound - result.objective <= 4
    assert result.seconds < 50


@pytest.mark.parametrize("ending", [Termination.FAILED, Termination.INFEASIBLE])
def test_a_failure_is_the_answer(ending: Termination) -> None:
    result = Portfolio(Mine(answering([], termination=ending, limit=None), CLAUSES), SEARCH).solve(HARD)
    assert (result.termination, result.solution) == (ending, None)


def test_the_record_of_the_search_is_the_hint() -> None:
    class Hinted(Mine):
        def solve(self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None) -> SolveResult:
            found = self.act(program)
            assert isinstance(program, MaxCsp)
            assert isinstance(found, SolveResult)
            assert hint is not None
            return replace(found, solution=hint, objective=float(program.objective(as_record(hint))))

    result = Portfolio(Hinted(answering([], **worst(HARD)), CLAUSES), SEARCH).solve(HARD)
    assert (result.objective, result.report["record_by"]) == (37.0, "mine")
