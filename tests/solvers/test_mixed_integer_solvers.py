"""Solvers of mixed-integer programs: every outcome is told apart, nothing is made up."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpopt.errors import ProgramError
from dpopt.models import max_csp_as_mip
from dpopt.programs import Capability, Limit, MixedIntegerProgram, SolveLimits, Solver, Termination
from dpopt.solvers import get_solver, solver_names
from tests.programs.mixed_integer_programs import INFINITY, dense
from tests.solvers.test_local_search import random_problem


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


EVERY = those_with(Capability.MIP)
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
    assert (result.termination, result.objective) == (Termination.OPTIMAL, sign * 9)
    assert result.bound == (None if solver.name.startswith("pulp-") else sign * 9)
    assert result.require_solution().tolist() == [0, 1, 1]


@EVERY
@pytest.mark.parametrize("integrality", [[True, True], [False, True]])
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
    program = dense([1, 1], [[1, -1]], [(-INFINITY, 3)], [(0, INFINITY), (0, INFINITY)], [True, True])
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
        assert (result.termination, result.objective) == (Termination.OPTIMAL, optimum)
        assert result.bound == (None if solver.name.startswith("pulp-") else optimum)
    else:
        assert (result.termination, result.solution) == (Termination.INFEASIBLE, None)


@those_with(Capability.MIP, Capability.DETERMINISTIC_LIMIT, without=("gurobi",))
def test_nodes_are_the_unit_of_work(solver: Solver) -> None:
    program = max_csp_as_mip(random_problem([5] * 10, 200, 1))
    result = solver.solve(program, SolveLimits(work=1, seconds=60.0))
    assert (result.termination, result.limit) == (Termination.LIMIT, Limit.WORK)
    if result.solution is not None and result.bound is not None:
        assert result.objective is not None
        assert result.bound > result.objective


@those_with(Capability.MIP, without=("gurobi", "pulp-gurobi"))
def test_a_time_limit_is_named_as_such(solver: Solver) -> None:
    program = max_csp_as_mip(random_problem([10] * 40, 1700, 1))
    result = solver.solve(program, SolveLimits(seconds=1.0))
    assert (result.termination, result.limit) == (Termination.LIMIT, Limit.TIME)
    assert result.seconds < 12
    if result.bound is not None:
        best = get_solver("local-search").solve(random_problem([10] * 40, 1700, 1), SolveLimits(work=200))
        assert best.objective is not None
        assert result.bound >= best.objective


@those_with(Capability.MIP)
def test_a_program_without_variables_is_answered_without_the_solver(solver: Solver) -> None:
    feasible = solver.solve(dense([], [], [(-1, 1)], [], []), LIMITS)
    assert (feasible.termination, feasible.objective, feasible.bound) == (Termination.OPTIMAL, 0, 0)
    contradiction = solver.solve(dense([], [], [(1, 2)], [], []), LIMITS)
    assert (contradiction.termination, contradiction.solution) == (Termination.INFEASIBLE, None)


@EVERY
@pytest.mark.parametrize("gap", [None, 0.5])
def test_optimal_means_optimal_where_solvers_would_stop_at_a_relative_gap(
    solver: Solver, gap: float | None
) -> None:
    """At a relative gap of 1e-4, the usual default, HiGHS stops with 130,561 and a bound of 130,568."""
    generator = np.random.default_rng(2)
    sizes, values = generator.integers(50, 100, (2, 25)), 10_000 + generator.integers(0, 60, 25)
    rows = [(-INFINITY, float(row.sum() // 2)) for row in sizes]
    program = dense(values, sizes, rows, [(0, 1)] * 25, [True] * 25)
    result = solver.solve(program, SolveLimits(seconds=60.0, gap=gap))
    assert (result.termination, result.objective) == (Termination.OPTIMAL, 130_561)
    if result.bound is not None:
        assert result.bound == pytest.approx(130_561, abs=0.6)


WRONGLY_SOLVED = {
    # By the presolve of HiGHS 1.14.0, which calls 2, 15 and 10,000 optimal.
    "a clause and a negation": (
        dense(
            [0, 0, 2, 1],
            [[1, 1, 0, 0], [-1, 0, 1, 0], [1, 0, 0, 1]],
            [(1, 1), (0, INFINITY), (1, INFINITY)],
            [(0, 1)] * 4,
            [True, True, False, False],
            maximize=False,
        ),
        1,
    ),
    "one row": (dense([2, 3], [[1, 1]], [(4.5, INFINITY)], [(0, 10)] * 2, [False, True], maximize=False), 9),
    "two slots": (
        dense(
            [0, 0, 0, 0, 10, 8],
            [
                [-1000, 0, 1, 0, 0, 0],
                [0, -1000, 0, 1, 0, 0],
                [0, 0, 1, 0, 1, 0],
                [0, 0, 0, 1, 0, 1],
                [1, 1, 0, 0, 0, 0],
            ],
            [(-INFINITY, 0), (-INFINITY, 0), (1000, 1000), (1000, 1000), (-INFINITY, 1)],
            [(0, 1), (0, 1), *[(0, 1000)] * 4],
            [True, True, False, False, False, False],
            maximize=False,
        ),
        8000,
    ),
}


@EVERY
@pytest.mark.parametrize("name", WRONGLY_SOLVED)
def test_programs_that_a_solver_once_called_optimal_too_soon_are_solved(solver: Solver, name: str) -> None:
    program, optimum = WRONGLY_SOLVED[name]
    result = solver.solve(program, LIMITS)
    assert result.termination is Termination.OPTIMAL
    assert result.objective == pytest.approx(optimum)


@EVERY
def test_a_program_without_rows_sits_at_its_bounds(solver: Solver) -> None:
    program = dense([2, -1, 0], [], [], [(-1, 3), (-2, 5), (1, 1)], [True, True, False])
    result = solver.solve(program, LIMITS)
    assert (result.termination, result.objective) == (Termination.OPTIMAL, 8)
    assert result.require_solution().tolist() == [3, -2, 1]


@EVERY
def test_integer_variables_may_stand_anywhere(solver: Solver) -> None:
    """Text forms list integer variables first."""
    program = dense(
        [1, 3, 1], [[2, 2, 0], [0, 2, 4]], [(-INFINITY, 5)] * 2, [(0, 9)] * 3, [False, True, False]
    )
    result = solver.solve(program, LIMITS)
    assert result.objective == pytest.approx(6.75)
    assert result.require_solution().tolist() == pytest.approx([0.5, 2, 0.25])


@pytest.mark.solver("gurobi")
def test_gurobi_refuses_what_its_licence_does_not_cover_in_its_own_words() -> None:
    program = max_csp_as_mip(random_problem([10] * 40, 1700, 1))
    result = get_solver("gurobi").solve(program, SolveLimits(seconds=1.0))
    if result.termination is Termination.LIMIT:
        pytest.skip("there is a licence for programs of every size here")
    assert (result.termination, result.solution) == (Termination.FAILED, None)
    assert "size-limited license" in result.native_status


@EVERY
def test_a_max_csp_is_refused_with_the_way_out(solver: Solver) -> None:
    with pytest.raises(ProgramError, match="AsMip"):
        solver.solve(random_problem([3, 2, 2], 5, 1))
