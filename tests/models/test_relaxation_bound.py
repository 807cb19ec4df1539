"""Bounds from linear programs: valid whatever the solver says, and equal to the relaxation's optimum when it is right."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.models.best_responses.relaxation_bound import relaxation_bound
from dpopt.models.best_responses.row_blocks import Formulation
from dpopt.programs import (
    NO_LIMITS,
    Availability,
    AvailabilityStatus,
    Capability,
    MaxCsp,
    MixedIntegerProgram,
    Point,
    Program,
    SolveLimits,
    SolveResult,
    Termination,
)
from dpopt.solvers.registry import get_solver
from tests.models.catalogue import enumerated_optimum
from tests.models.draws import conjunctive_problems
from tests.strategies import clauses_of

WAYS = [*Formulation, None]


@dataclass
class Suggesting:
    """A solver of linear programs whose duals are made up, of any number of rows."""

    seed: int = 0
    rows: int | None = None
    duals: bool = True
    name: str = "suggesting"
    capabilities: frozenset[Capability] = frozenset({Capability.LP, Capability.DUALS})

    def availability(self) -> Availability:
        return Availability(AvailabilityStatus.AVAILABLE, "here")

    def solve(
        self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None
    ) -> SolveResult:
        assert isinstance(program, MixedIntegerProgram)
        assert not program.integrality.any()
        rows = program.number_of_rows if self.rows is None else self.rows
        duals: NDArray[np.float64] = np.random.default_rng(self.seed).normal(size=rows) * 3
        given = duals if self.duals else None
        return SolveResult(
            Termination.FAILED, None, None, None, 0.0, self.name, "1", "made up", 0.0, duals=given
        )


@settings(max_examples=60)
@given(conjunctive_problems(), st.sampled_from(WAYS), st.integers(0, 10**6))
def test_made_up_duals_give_a_bound_on_every_record(
    problem: MaxCsp, formulation: Formulation | None, seed: int
) -> None:
    found = relaxation_bound(problem, Suggesting(seed), formulation)
    assert found.bound is not None
    assert found.bound >= enumerated_optimum(problem)


@pytest.mark.solver("highs")
@settings(max_examples=25)
@given(conjunctive_problems())
def test_a_tighter_linear_program_proves_a_bound_that_is_no_worse_and_never_false(problem: MaxCsp) -> None:
    optimum = enumerated_optimum(problem)
    bounds = []
    for formulation in WAYS:
        found = relaxation_bound(problem, get_solver("highs"), formulation)
        assert found.why_none is None
        assert found.bound is not None
        assert found.bound >= optimum
        bounds.append(float(found.bound))
    assert all(later <= earlier + 1e-4 for earlier, later in pairwise(bounds))


@pytest.mark.solver("highs")
def test_two_clauses_that_exclude_each_other_are_bounded_by_the_larger() -> None:
    rows = [([(0, 0, True), (1, 0, True)], 4), ([(0, 1, True), (1, 0, True)], 4)]
    problem = MaxCsp(np.array([2, 2]), clauses_of(rows), np.array([3, 2]))
    found = relaxation_bound(problem, get_solver("highs"), Formulation.CLIQUE)
    assert found.bound == 3
    assert found.relaxation == "clique relaxation"
    assert found.solver.startswith("highs")


def test_without_duals_there_is_no_bound_and_the_reason_is_said() -> None:
    problem = MaxCsp(np.array([2]), clauses_of([([(0, 0, True)], 2)]), np.array([3]))
    for solver in (Suggesting(duals=False), Suggesting(rows=1)):
        found = relaxation_bound(problem, solver, Formulation.PER_LITERAL)
        assert (found.bound, found.why_none) == (None, "suggesting ended 'failed' without duals")


@dataclass
class Refusing(Suggesting):
    """A solver that cannot run."""

    def solve(
        self, program: Program, limits: SolveLimits = NO_LIMITS, *, hint: Point | None = None
    ) -> SolveResult:
        raise ProgramError("not today")


def test_a_solver_that_refuses_proves_nothing() -> None:
    problem = MaxCsp(np.array([2]), clauses_of([([(0, 0, True)], 2)]), np.array([3]))
    found = relaxation_bound(problem, Refusing(), Formulation.PER_LITERAL)
    assert (found.bound, found.why_none) == (None, "not today")


def test_a_problem_in_which_nothing_is_chosen_needs_no_solver() -> None:
    problem = MaxCsp(np.array([2]), clauses_of([([], 1), ([], 0)]), np.array([3, 2]))
    found = relaxation_bound(problem, Refusing(), None)
    assert (found.bound, found.solver) == (Fraction(3), "inspection")
    assert problem.objective(np.array([1], dtype=np.int32)) == 3


def test_weights_that_double_precision_would_round_prove_nothing() -> None:
    """A program with rounded weights has another optimum: 2**53 + 1 would count as 2**53."""
    clauses = clauses_of([([(0, 1, True), (1, 1, True)], 4), ([(1, 1, True), (2, 0, True)], 4)])
    heavy = MaxCsp(np.array([2, 2, 2]), clauses, np.array([2**53 + 1, 5]))
    for formulation in (Formulation.CLIQUE, None):
        found = relaxation_bound(heavy, get_solver("highs"), formulation)
        assert found.bound is None
        assert found.why_none is not None
        assert "double precision" in found.why_none
