"""HiGHS and CBC on linear and mixed-integer programs: every outcome is told apart, nothing is made up."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpopt.errors import ProgramError
from dpopt.formulations import max_csp_as_mip
from dpopt.programs import Limit, MixedIntegerProgram, SolveLimits, Solver, Termination
from dpopt.solvers import get_solver
from tests.programs.mixed_integer_programs import INFINITY, dense
from tests.solvers.test_local_search import random_problem

EVERY = pytest.mark.parametrize(
    "solver", [pytest.param(name, marks=pytest.mark.solver(name)) for name in ("highs", "cbc")], indirect=True
)
LIMITS = SolveLimits(seconds=60.0)


@pytest.fixture
def solver(request: pytest.FixtureRequest) -> Solver:
    return get_solver(request.param)


@EVERY
@pytest.mark.parametrize("maximize", [True, False])
def test_a_knapsack_is_solved(solver: Solver, maximize: bool) -> None:
    sign = 1 if maximize else -1
    c = sign * np.array([6.0, 5.0, 4.0])
    program = dense(c, [[5, 4, 3]], [(-INFINITY, 7)], [(0, 1)] * 3, [True] * 3, maximize=maximize)
    result = solver.solve(program, LIMITS)
    assert (result.termination, result.objective, result.bound) == (Termination.OPTIMAL, sign * 9, sign * 9)
    assert result.require_solution().tolist() == [0, 1, 1]


@EVERY
def test_a_linear_program_is_solved(solver: Solver) -> None:
    program = dense([1, 1], [[1, 2]], [(-INFINITY, 3)], [(0, 2), (0, 2)], [False, False])
    result = solver.solve(program, LIMITS)
    assert (result.termination, result.objective) == (Termination.OPTIMAL, 2.5)
    assert result.bound == pytest.approx(2.5)


@EVERY
@pytest.mark.parametrize("integrality", [[True, True], [False, False]])
def test_an_infeasible_program_has_no_solution(solver: Solver, integrality: list[bool]) -> None:
    program = dense([1, 1], [[1, 1]], [(9, INFINITY)], [(0, 2), (0, 2)], integrality)
    result = solver.solve(program, LIMITS)
    assert result.termination in {Termination.INFEASIBLE, Termination.INFEASIBLE_OR_UNBOUNDED}
    assert (result.solution, result.objective) == (None, None)


@EVERY
def test_a_program_without_a_whole_point_is_infeasible(solver: Solver) -> None:
    program = dense([1, 1], [[2, -2]], [(1, 1)], [(0, 5), (0, 5)], [True, True])
    assert solver.solve(program, LIMITS).termination is Termination.INFEASIBLE


@EVERY
def test_an_unbounded_program_has_no_solution(solver: Solver) -> None:
    program = dense([1, 1], [[1, -1]], [(-INFINITY, 3)], [(0, INFINITY), (0, INFINITY)], [False, False])
    result = solver.solve(program, LIMITS)
    assert result.termination in {Termination.UNBOUNDED, Termination.INFEASIBLE_OR_UNBOUNDED}
    assert (result.solution, result.bound) == (None, None)


def small_program(seed: int) -> MixedIntegerProgram:
    """Return a program over a few whole numbers, with every kind of row."""
    generator = np.random.default_rng(seed)
    lower = generator.integers(-3, 1, 4)
    sides = generator.integers(-4, 5, (3, 2))
    sides.sort(axis=1)
    rows = [(float(low), float(high)) for low, high in sides]
    rows[0] = (-INFINITY, rows[0][1])
    rows[1] = (rows[1][0], rows[1][0]) if seed % 2 else (rows[1][0], INFINITY)
    bounds = [
        (float(low), float(low + width))
        for low, width in zip(lower, generator.integers(0, 4, 4), strict=True)
    ]
    matrix = generator.integers(-3, 4, (3, 4))
    return dense(generator.integers(-5, 6, 4), matrix, rows, bounds, [True] * 4, maximize=seed % 3 > 0)


@EVERY
@pytest.mark.parametrize("seed", range(12))
def test_small_programs_are_solved_to_the_enumerated_optimum(solver: Solver, seed: int) -> None:
    program = small_program(seed)
    ranges = [range(int(low), int(high) + 1) for low, high in zip(program.lower, program.upper, strict=True)]
    points = [np.array(point, dtype=np.float64) for point in itertools.product(*ranges)]
    values = [program.evaluate(point) for point in points if program.violation(point) == 0]
    result = solver.solve(program, LIMITS)
    if values:
        optimum = max(values) if program.maximize else min(values)
        assert (result.termination, result.objective, result.bound) == (Termination.OPTIMAL, optimum, optimum)
    else:
        assert (result.termination, result.solution) == (Termination.INFEASIBLE, None)


@EVERY
def test_nodes_are_the_unit_of_work(solver: Solver) -> None:
    program = max_csp_as_mip(random_problem([5] * 10, 200, 1))
    result = solver.solve(program, SolveLimits(work=1, seconds=60.0))
    assert (result.termination, result.limit) == (Termination.LIMIT, Limit.WORK)
    if result.solution is not None and result.bound is not None:
        assert result.objective is not None
        assert result.bound > result.objective


@EVERY
def test_a_time_limit_is_named_as_such(solver: Solver) -> None:
    program = max_csp_as_mip(random_problem([10] * 40, 1700, 1))
    result = solver.solve(program, SolveLimits(seconds=1.0))
    assert (result.termination, result.limit) == (Termination.LIMIT, Limit.TIME)


@EVERY
def test_a_max_csp_is_refused_with_the_way_out(solver: Solver) -> None:
    with pytest.raises(ProgramError, match="AsMip"):
        solver.solve(random_problem([3, 2, 2], 5, 1))
