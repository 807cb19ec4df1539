"""Solvers of linear programs: optima, dual values with the right sign, limits, every outcome told apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dpopt.models import max_csp_as_mip
from dpopt.programs import Capability, Limit, MixedIntegerProgram, SolveLimits, Solver, Termination
from dpopt.programs.duality import dual_bound, linear_relaxation
from dpopt.solvers import get_solver, solver_names
from tests.programs.mixed_integer_programs import INFINITY, dense
from tests.solvers.test_local_search import random_problem

LIMITS = SolveLimits(seconds=60.0)
FIRST_ORDER = ("pdlp", "osqp", "scs")


def those_with(*capabilities: Capability, without: tuple[str, ...] = ()) -> pytest.MarkDecorator:
    """Parametrize over the solvers that have all of these capabilities."""
    return pytest.mark.parametrize(
        "solver",
        [
            pytest.param(name, marks=pytest.mark.solver(name))
            for name in solver_names()
            if set(capabilities) <= get_solver(name).capabilities and name not in without
        ],
        indirect=True,
    )


EVERY = those_with(Capability.LP)
WITH_DUALS = those_with(Capability.LP, Capability.DUALS)


@pytest.fixture
def solver(request: pytest.FixtureRequest) -> Solver:
    return get_solver(request.param)


@EVERY
@pytest.mark.parametrize("maximize", [True, False])
def test_a_linear_program_is_solved(solver: Solver, maximize: bool) -> None:
    sign = 1 if maximize else -1
    program = dense(
        sign * np.array([1, 1]),
        [[1, 2]],
        [(-INFINITY, 3)],
        [(0, 2), (0, 2)],
        [False, False],
        maximize=maximize,
    )
    result = solver.solve(program, LIMITS)
    assert result.termination is Termination.OPTIMAL
    assert result.objective == pytest.approx(sign * 2.5, abs=1e-6)
    assert result.require_solution().tolist() == pytest.approx([2, 0.5], abs=1e-5)
    if result.bound is not None:
        assert result.bound == pytest.approx(sign * 2.5, abs=1e-6)


KINDS = {
    "at most": dense([1, 1], [[1, 2]], [(-INFINITY, 3)], [(0, 2), (0, 2)], [False] * 2),
    "at least": dense([1, 3], [[1, 1]], [(1, INFINITY)], [(0, 2), (0, 2)], [False] * 2, maximize=False),
    "equation": dense([1, 3], [[1, 1]], [(1.5, 1.5)], [(0, 1), (0, 2)], [False] * 2, maximize=False),
    "two sides, upper": dense([1, 1], [[1, 2]], [(1, 3)], [(0, 2), (0, 2)], [False] * 2),
    "two sides, lower": dense([1, 1], [[1, 2]], [(1, 3)], [(0, 2), (0, 2)], [False] * 2, maximize=False),
    "negative equation": dense([2, 1], [[-1, -1]], [(-1.5, -1.5)], [(0, 1), (0, 2)], [False] * 2),
    "no side": dense(
        [1, 1], [[1, 0], [1, 1]], [(-INFINITY, INFINITY), (-INFINITY, 1)], [(0, 2)] * 2, [False] * 2
    ),
}


def moved(program: MixedIntegerProgram, row: int, by: float) -> MixedIntegerProgram:
    """Return the program with both sides of a row moved."""
    step = np.zeros(program.number_of_rows)
    step[row] = by
    arrays = {name: getattr(program, name) for name in program.__slots__}
    arrays["row_lower"], arrays["row_upper"] = program.row_lower + step, program.row_upper + step
    return MixedIntegerProgram(**arrays)


@WITH_DUALS
@pytest.mark.parametrize("kind", KINDS)
def test_a_dual_is_the_change_of_the_optimum_per_unit_of_its_row(solver: Solver, kind: str) -> None:
    """Measured by moving the row, with another solver."""
    program, reference = KINDS[kind], get_solver("highs")
    duals = solver.solve(program, LIMITS).duals
    assert duals is not None
    for row in range(program.number_of_rows):
        up, down = (reference.solve(moved(program, row, by)).objective for by in (0.1, -0.1))
        assert up is not None
        assert down is not None
        assert duals[row] == pytest.approx((up - down) / 0.2, abs=1e-4)


@WITH_DUALS
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000), maximize=st.booleans())
@example(seed=201, maximize=True)  # GLPK's presolver gave a point that breaks a row by .0017
@example(seed=438, maximize=False)  # OSQP never ended, adapting its step size every 25 iterations
def test_duals_prove_the_optimum(solver: Solver, seed: int, maximize: bool) -> None:
    """Strong duality: the bound that the duals prove, exactly, is the optimum."""
    program = feasible_program(seed, maximize)
    result = solver.solve(program, LIMITS)
    reference = get_solver("highs").solve(program, LIMITS)
    assert reference.objective is not None
    scale = max(1.0, abs(reference.objective))
    assert result.termination is Termination.OPTIMAL
    assert result.objective == pytest.approx(reference.objective, abs=1e-5 * scale)
    assert result.duals is not None
    bound = dual_bound(program, result.duals)
    assert bound is not None
    assert float(bound) == pytest.approx(reference.objective, abs=1e-4 * scale)


def feasible_program(seed: int, maximize: bool) -> MixedIntegerProgram:
    """Return a linear program with bounded variables, every kind of row, and a feasible point."""
    generator = np.random.default_rng(seed)
    n, r = int(generator.integers(1, 6)), int(generator.integers(0, 5))
    matrix = generator.integers(-3, 4, (r, n))
    lower = generator.integers(-4, 2, n)
    upper = lower + generator.integers(0, 5, n)
    inside = lower + generator.random(n) * (upper - lower)
    activity = matrix @ inside
    slack = generator.integers(0, 3, (2, r)) * generator.random((2, r))
    rows = [(float(a - s), float(a + t)) for a, s, t in zip(activity, *slack, strict=True)]
    rows = [
        ((-INFINITY, high), (low, INFINITY), (low, high), (low, low))[int(generator.integers(0, 4))]
        for low, high in rows
    ]
    rows = [
        (a, a) if low == high else (low, high) for (low, high), a in zip(rows, activity.tolist(), strict=True)
    ]
    bounds = [(float(low), float(high)) for low, high in zip(lower, upper, strict=True)]
    return dense(generator.integers(-5, 6, n), matrix, rows, bounds, [False] * n, maximize=maximize)


@EVERY
def test_an_infeasible_program_has_no_solution(solver: Solver) -> None:
    program = dense([1, 1], [[1, 1]], [(9, INFINITY)], [(0, 2), (0, 2)], [False, False])
    result = solver.solve(program, LIMITS)
    assert result.termination in {Termination.INFEASIBLE, Termination.INFEASIBLE_OR_UNBOUNDED}
    assert (result.solution, result.objective, result.duals) == (None, None, None)


@EVERY
def test_an_unbounded_program_has_no_solution(solver: Solver) -> None:
    program = dense([1, 1], [[1, -1]], [(-INFINITY, 3)], [(0, INFINITY), (0, INFINITY)], [False, False])
    result = solver.solve(program, LIMITS)
    assert result.termination in {Termination.UNBOUNDED, Termination.INFEASIBLE_OR_UNBOUNDED}
    assert (result.solution, result.bound, result.duals) == (None, None, None)


@EVERY
def test_free_variables_are_free(solver: Solver) -> None:
    program = dense(
        [1, 0], [[1, 1], [1, -1]], [(2, 2), (-INFINITY, -6)], [(-INFINITY, INFINITY)] * 2, [False] * 2
    )
    result = solver.solve(program, LIMITS)
    assert result.objective == pytest.approx(-2, abs=1e-5)
    assert result.require_solution().tolist() == pytest.approx([-2, 4], abs=1e-5)


@EVERY
def test_a_program_without_rows_sits_at_its_bounds(solver: Solver) -> None:
    result = solver.solve(dense([2, -1], [], [], [(-1, 3), (-2, 5)], [False] * 2), LIMITS)
    assert result.objective == pytest.approx(8, abs=1e-6)


@WITH_DUALS
def test_a_program_without_variables_is_answered_without_the_solver(solver: Solver) -> None:
    result = solver.solve(dense([], [], [(-1, 1)], [], []), LIMITS)
    assert (result.termination, result.objective, result.bound) == (Termination.OPTIMAL, 0, 0)
    assert result.duals is not None
    assert result.duals.tolist() == [0]


@those_with(Capability.LP, without=("gurobi", "pulp-gurobi", "osqp"))
def test_the_relaxation_of_a_round_is_solved(solver: Solver) -> None:
    """Some 1,000 rows. (OSQP does not reach its tolerances on such programs within a minute.)"""
    program = linear_relaxation(max_csp_as_mip(random_problem([8] * 20, 500, 1)))
    reference = get_solver("highs").solve(program, LIMITS)
    result = solver.solve(program, LIMITS)
    assert result.termination is Termination.OPTIMAL
    assert result.objective == pytest.approx(reference.objective, rel=1e-5)
    if result.duals is not None:
        bound = dual_bound(program, result.duals)
        assert bound is not None
        assert float(bound) >= (reference.objective or 0) - 1e-9
        assert float(bound) == pytest.approx(reference.objective, rel=1e-4)


@those_with(Capability.LP, Capability.DETERMINISTIC_LIMIT, without=("gurobi", "gscip", "cbc"))
def test_iterations_are_the_unit_of_work(solver: Solver) -> None:
    """Gurobi counts work units, SCIP and CBC nodes, of which a linear program has none."""
    program = linear_relaxation(max_csp_as_mip(random_problem([8] * 20, 500, 1)))
    result = solver.solve(program, SolveLimits(work=3))
    assert (result.termination, result.limit) == (Termination.LIMIT, Limit.WORK)
    assert result.objective != 0  # no zeros where there is no solution


@those_with(Capability.LP, without=("gurobi", "pulp-gurobi", "glpk", "cbc"))
def test_a_time_limit_is_named_as_such_and_no_solution_is_made_up(solver: Solver) -> None:
    """GLPK counts whole seconds, and CBC looks at the clock after the linear program."""
    program = linear_relaxation(max_csp_as_mip(random_problem([10] * 60, 6000, 1)))
    result = solver.solve(program, SolveLimits(seconds=0.02))
    assert (result.termination, result.limit) == (Termination.LIMIT, Limit.TIME)
    if result.solution is not None:
        assert program.violation(result.solution.astype(np.float64)) < 1e-4


@those_with(Capability.LP, without=FIRST_ORDER)
def test_more_threads_and_another_seed_give_the_same_optimum(solver: Solver) -> None:
    program = feasible_program(3, maximize=True)
    expected = solver.solve(program, LIMITS).objective
    assert solver.solve(program, SolveLimits(seconds=60.0, threads=2, seed=7)).objective == pytest.approx(
        expected
    )


@those_with(
    Capability.LP, without=tuple(n for n in solver_names() if Capability.MIP in get_solver(n).capabilities)
)
def test_a_solver_of_linear_programs_refuses_integer_variables(solver: Solver) -> None:
    from dpopt.errors import ProgramError

    with pytest.raises(ProgramError, match="does not take mixed-integer programs"):
        solver.solve(dense([1], [[1]], [(0, 1)], [(0, 1)], [True]))
