"""Every registered solver keeps the contract: optimum by enumeration, honest results, hints, limits, edge cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpopt.errors import ProgramError
from dpopt.formulations import AsMip, Formulation, accepting_max_csp
from dpopt.programs import Capability, MaxCsp, SolveLimits, Solver, Termination, certify
from dpopt.solvers import get_solver, solver_names
from tests.formulations.draws import conjunctive_problems
from tests.models.catalogue import enumerated_optimum
from tests.solvers.test_local_search import random_problem
from tests.strategies import clauses_of

NAMES = [pytest.param(name, marks=pytest.mark.solver(name)) for name in solver_names()]
EVERY = pytest.mark.parametrize("solver", NAMES, indirect=True)
LIMITS = SolveLimits(seconds=60.0)


@pytest.fixture
def solver(request: pytest.FixtureRequest) -> Solver:
    """The solver of this name, made to take a MaxCsp; children are kept for the whole run."""
    return accepting_max_csp(get_solver(request.param))


def proves(solver: Solver) -> bool:
    return solver.name != "local-search"


@EVERY
def test_random_rounds_are_solved_to_the_enumerated_optimum(solver: Solver) -> None:
    for seed in range(6):
        program = random_problem([3, 2, 4, 1, 2], 25, seed)
        result = solver.solve(program, LIMITS)
        optimum = enumerated_optimum(program)
        assert result.objective == optimum
        certificate = certify(program, result)
        assert (certificate.feasible, certificate.objective) == (True, optimum)
        if proves(solver):
            assert (result.termination, result.bound, certificate.gap) == (Termination.OPTIMAL, optimum, 0)


@EVERY
@settings(
    max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture]
)  # solvers keep no state
@given(program=conjunctive_problems(), hinted=st.booleans(), seed=st.integers(0, 99))
def test_all_widths_signs_and_negations_are_right(
    solver: Solver, program: MaxCsp, hinted: bool, seed: int
) -> None:
    hint = (np.random.default_rng(seed).random(program.sizes.size) * program.sizes).astype(np.int32)
    result = solver.solve(program, SolveLimits(seconds=60.0, seed=seed), hint=hint if hinted else None)
    optimum = enumerated_optimum(program)
    assert result.objective == optimum == program.objective(result.require_record())
    if proves(solver):
        assert (result.termination, result.bound) == (Termination.OPTIMAL, optimum)


@EVERY
def test_attributes_in_no_clause_keep_the_hint_or_zero(solver: Solver) -> None:
    program = MaxCsp(
        np.array([3, 4, 5]), clauses_of([([(1, 2, True)], 2), ([(1, 2, False)], 2)]), np.array([2, 1])
    )
    assert solver.solve(program, LIMITS).require_solution().tolist() == [0, 2, 0]
    hint = np.array([2, 0, 4], dtype=np.int32)
    assert solver.solve(program, LIMITS, hint=hint).require_solution().tolist() == [2, 2, 4]


@EVERY
def test_an_empty_round_has_the_hint_for_an_answer(solver: Solver) -> None:
    empty = MaxCsp(np.array([2, 3]), clauses_of([([(0, 1, True)], 2)]).take([]), np.array([], dtype=np.int64))
    result = solver.solve(empty, LIMITS, hint=np.array([1, 2], dtype=np.int32))
    assert (result.termination, result.objective, result.bound) == (Termination.OPTIMAL, 0, 0)
    assert result.require_solution().tolist() == [1, 2]


@EVERY
def test_a_penalty_that_no_record_avoids_is_the_optimum(solver: Solver) -> None:
    program = MaxCsp(np.array([3, 4]), clauses_of([([], 1)]), np.array([-5]))
    result = solver.solve(program, LIMITS)
    assert (result.termination, result.objective, result.bound) == (Termination.OPTIMAL, -5, -5)


@EVERY
def test_large_weights_and_domains_do_no_harm(solver: Solver) -> None:
    rows = [([(0, 40_000, True), (1, 7, False)], 4), ([(0, 40_000, True)], 2), ([(1, 7, True)], 2)]
    program = MaxCsp(np.array([50_000, 9]), clauses_of(rows), np.array([10**7, -1, 10**6]))
    result = solver.solve(program, LIMITS)
    assert result.objective == 10**7 - 1
    assert result.require_solution()[0] == 40_000


@EVERY
def test_clauses_of_every_kind_are_taken_or_refused_clearly(solver: Solver) -> None:
    """Parities and thresholds: exact where they are taken (local search, CP-SAT), refused by linear rows."""
    literals = [(0, 0, True), (1, 1, False), (2, 0, True)]
    program = MaxCsp(
        np.array([2, 3, 2]),
        clauses_of([(literals, 0b1010), (literals, 0b1100), (literals[:2], 0b010), (literals, 0b0001)]),
        np.array([3, -2, 2, 2]),
    )
    if isinstance(solver, AsMip):
        with pytest.raises(ProgramError, match="neither a conjunction"):
            solver.solve(program, LIMITS)
    else:
        assert solver.solve(program, LIMITS).objective == enumerated_optimum(program)


@EVERY
def test_the_same_seed_and_work_give_the_same_answer(solver: Solver) -> None:
    assert Capability.DETERMINISTIC_LIMIT in solver.capabilities
    program = random_problem([4] * 8, 60, 1)
    limits = SolveLimits(work=50, seed=3)
    first, second = (solver.solve(program, limits) for _ in range(2))
    assert first.require_solution().tolist() == second.require_solution().tolist()


@EVERY
def test_a_short_time_limit_gives_an_honest_result(solver: Solver) -> None:
    program = random_problem([8] * 30, 1500, 2)
    result = solver.solve(program, SolveLimits(seconds=0.5))
    if result.solution is not None:
        assert result.objective == program.objective(result.require_record())
    else:
        assert result.objective is None
    assert result.termination in {Termination.LIMIT, Termination.OPTIMAL}
    if result.bound is not None and result.objective is not None:
        assert result.bound >= result.objective


@EVERY
def test_a_wide_gap_stops_early_with_a_bound_that_holds(solver: Solver) -> None:
    program = random_problem([3, 2, 4, 1, 2], 40, 3)
    result = solver.solve(program, SolveLimits(seconds=60.0, gap=10.0))
    optimum = enumerated_optimum(program)
    assert result.objective is not None
    assert result.objective <= optimum
    if proves(solver):
        assert result.bound is not None
        assert optimum <= result.bound <= result.objective + 10


@EVERY
def test_more_threads_give_the_same_optimum(solver: Solver) -> None:
    program = random_problem([3, 2, 4, 1, 2], 25, 4)
    assert solver.solve(program, SolveLimits(seconds=60.0, threads=2)).objective == enumerated_optimum(
        program
    )


@EVERY
def test_the_result_names_solver_version_and_native_status(solver: Solver) -> None:
    result = solver.solve(random_problem([3, 2, 2], 5, 5), LIMITS)
    assert result.solver == solver.name
    assert result.version
    assert result.native_status
    assert result.seconds > 0


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.solver(name)) for name in ("highs", "cbc")]
)
def test_the_aggregated_formulation_has_the_same_optimum(name: str) -> None:
    solver = AsMip(get_solver(name), Formulation.AGGREGATED)
    for seed in range(4):
        program = random_problem([3, 2, 4, 1, 2], 25, seed)
        result = solver.solve(program, LIMITS)
        assert (result.objective, result.termination) == (enumerated_optimum(program), Termination.OPTIMAL)
