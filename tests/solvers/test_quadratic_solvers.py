"""Solvers of convex quadratic programs: against closed forms and the exact bound of their duals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from dpopt.programs import (
    Capability,
    Limit,
    MixedIntegerProgram,
    QuadraticProgram,
    SolveLimits,
    Solver,
    Termination,
)
from dpopt.programs.duality import quadratic_bound
from dpopt.solvers import get_solver, solver_names
from tests.programs.mixed_integer_programs import INFINITY, dense

EVERY = pytest.mark.parametrize(
    "solver",
    [
        pytest.param(name, marks=pytest.mark.solver(name))
        for name in solver_names()
        if Capability.CONVEX_QP in get_solver(name).capabilities
    ],
    indirect=True,
)
LIMITS = SolveLimits(seconds=60.0)


@pytest.fixture
def solver(request: pytest.FixtureRequest) -> Solver:
    return get_solver(request.param)


def squares(
    linear: MixedIntegerProgram, matrix: ArrayLike, targets: ArrayLike, weights: ArrayLike
) -> QuadraticProgram:
    """Return the program with the squares' matrix given in full."""
    full = np.asarray(matrix, dtype=np.float64).reshape(np.size(targets), linear.number_of_variables)
    row, column = np.nonzero(full)
    starts = np.searchsorted(row, np.arange(full.shape[0] + 1)).astype(np.int64)
    return QuadraticProgram(
        linear,
        starts,
        column.astype(np.int32),
        full[row, column],
        np.asarray(targets, dtype=np.float64),
        np.asarray(weights, dtype=np.float64),
    )


def free(n: int) -> list[tuple[float, float]]:
    return [(-INFINITY, INFINITY)] * n


@EVERY
def test_a_projection_on_a_plane_is_that_of_the_formula(solver: Solver) -> None:
    """The nearest point to t with a . x = b is t - a (a . t - b) / (a . a)."""
    target, a, b = np.array([1.0, -2.0, 4.0]), np.array([1.0, 2.0, -1.0]), 3.0
    program = squares(
        dense(np.zeros(3), [a], [(b, b)], free(3), [False] * 3, maximize=False), np.eye(3), target, np.ones(3)
    )
    gap = (a @ target - b) / (a @ a)
    result = solver.solve(program, LIMITS)
    assert result.termination is Termination.OPTIMAL
    assert result.require_solution() == pytest.approx(target - a * gap, abs=1e-5)
    assert result.objective == pytest.approx(0.5 * gap**2 * (a @ a), abs=1e-6)
    assert result.duals == pytest.approx([-gap], abs=1e-4)  # moving b by one towards a . t


@EVERY
def test_weighted_least_squares_is_that_of_the_normal_equations(solver: Solver) -> None:
    generator = np.random.default_rng(5)
    f, t, w, c = (
        generator.normal(size=(8, 4)),
        generator.normal(size=8),
        generator.random(8) + 0.5,
        generator.normal(size=4),
    )
    program = squares(dense(c, [], [], free(4), [False] * 4, maximize=False), f, t, w)
    expected = np.linalg.solve(f.T @ (w[:, None] * f), f.T @ (w * t) - c)
    result = solver.solve(program, LIMITS)
    assert result.require_solution() == pytest.approx(expected, abs=1e-4)
    assert result.objective == pytest.approx(program.evaluate(expected.astype(np.float64)), abs=1e-6)


@EVERY
def test_bounds_hold_and_the_nearest_point_of_a_box_is_the_clipped_one(solver: Solver) -> None:
    target = np.array([-1.0, 0.3, 7.0])
    program = squares(
        dense(np.zeros(3), [], [], [(0, 1)] * 3, [False] * 3, maximize=False), np.eye(3), target, [1, 2, 3]
    )
    assert solver.solve(program, LIMITS).require_solution() == pytest.approx(np.clip(target, 0, 1), abs=1e-5)


@EVERY
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000))
@example(seed=361)  # Gurobi's presolver gave a wrong dual for two rows that are multiples of each other
@example(seed=2859)  # OSQP never ended, adapting its step size every 1,000 iterations
def test_point_and_duals_prove_the_optimum(solver: Solver, seed: int) -> None:
    """The exact lower bound at point and duals is the objective: both are right, signs included."""
    generator = np.random.default_rng(seed)
    n, q, r = (int(number) for number in generator.integers(1, 5, 3))
    matrix = generator.integers(-2, 3, (r, n))
    activity = matrix @ generator.random(n)
    rows = [
        [(low, INFINITY), (-INFINITY, low), (low - 0.2, low + 0.2), (low, low)][int(generator.integers(0, 4))]
        for low in activity
    ]
    linear = dense(generator.integers(-2, 3, n), matrix, rows, [(0, 1)] * n, [False] * n, maximize=False)
    program = squares(
        linear, generator.integers(-2, 3, (q, n)), generator.normal(size=q), generator.integers(0, 3, q)
    )
    result = solver.solve(program, LIMITS)
    assert result.termination is Termination.OPTIMAL
    assert result.objective is not None
    assert result.duals is not None
    bound = quadratic_bound(program, result.require_solution().astype(np.float64), result.duals)
    assert bound is not None
    assert float(bound) == pytest.approx(result.objective, abs=1e-4)


@EVERY
def test_a_program_without_squares_is_a_linear_one(solver: Solver) -> None:
    program = squares(
        dense([1, 2], [[1, 1]], [(1, INFINITY)], [(0, 2)] * 2, [False] * 2, maximize=False), [], [], []
    )
    assert solver.solve(program, LIMITS).objective == pytest.approx(1, abs=1e-6)


@EVERY
def test_an_infeasible_program_has_no_solution(solver: Solver) -> None:
    program = squares(dense([0], [[1]], [(3, INFINITY)], [(0, 1)], [False], maximize=False), [[1]], [0], [1])
    result = solver.solve(program, LIMITS)
    assert result.termination in {Termination.INFEASIBLE, Termination.INFEASIBLE_OR_UNBOUNDED}
    assert (result.solution, result.duals) == (None, None)


@EVERY
def test_a_program_without_variables_costs_its_targets(solver: Solver) -> None:
    program = squares(dense([], [], [], [], [], maximize=False), np.zeros((1, 0)), [3], [2])
    assert (solver.solve(program, LIMITS).objective) == 9


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.solver(name))
        for name in ("clarabel", "osqp", "scs", "cvxpy-highs")
    ],
)
def test_a_limit_of_iterations_is_named_as_such(name: str) -> None:
    generator = np.random.default_rng(1)
    n = 60
    linear = dense(
        np.zeros(n),
        generator.normal(size=(20, n)),
        [(0.5, 0.6)] * 20,
        [(0, 1)] * n,
        [False] * n,
        maximize=False,
    )
    program = squares(linear, generator.normal(size=(n, n)), generator.normal(size=n) * 9, np.ones(n))
    result = get_solver(name).solve(program, SolveLimits(work=2, seconds=60.0))
    assert (result.termination, result.limit) == (Termination.LIMIT, Limit.WORK)
    if result.solution is not None:
        assert program.violation(result.solution.astype(np.float64)) < 1e-4
