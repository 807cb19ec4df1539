"""Solvers of linear, mixed-integer and convex quadratic programs: optima, duals, limits; every outcome told apart."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dpopt.errors import ProgramError
from dpopt.models import coefficient_budget, max_csp_as_mip
from dpopt.programs import Capability, Limit, MixedIntegerProgram, Program, SolveLimits, Solver, Termination
from dpopt.programs.duality import dual_bound, linear_relaxation, quadratic_bound
from dpopt.solvers import get_solver, pulp_cbc, solver_names
from dpopt.solvers.process.adapter import SIMPLEX_UP_TO
from dpopt.solvers.pulp_cbc import PulpCbc
from tests.programs.mixed_integer_programs import INFINITY, dense, squares
from tests.solvers.test_local_search import random_problem

LIMITS = SolveLimits(seconds=60.0)
FIRST_ORDER = ("pdlp", "osqp", "scs")


def those_with(
    *capabilities: Capability, without: tuple[str, ...] = (), either: tuple[Capability, ...] = ()
) -> pytest.MarkDecorator:
    """Parametrize over the solvers that have all of these capabilities, and one of `either` if there are any."""
    names = [
        name
        for name in solver_names()
        if set(capabilities) <= get_solver(name).capabilities
        and (not either or get_solver(name).capabilities & set(either))
        and name not in without
    ]
    solvers = [pytest.param(name, marks=pytest.mark.solver(name)) for name in names]
    return pytest.mark.parametrize("solver", solvers, indirect=True)


LINEAR = those_with(Capability.LP)
WITH_DUALS = those_with(Capability.LP, Capability.DUALS)


def by_kind(kinds: Mapping[str, Capability]) -> pytest.MarkDecorator:
    """Parametrize over the kinds of programs, each with the solvers that take it."""
    pairs = [
        (name, kind) for kind, one in kinds.items() for name in solver_names() if one in get_solver(name).capabilities
    ]
    return pytest.mark.parametrize(
        ("solver", "kind"),
        [pytest.param(name, kind, marks=pytest.mark.solver(name)) for name, kind in pairs],
        indirect=["solver"],
    )


@pytest.fixture
def solver(request: pytest.FixtureRequest) -> Solver:
    return get_solver(request.param)


@LINEAR
@pytest.mark.parametrize("maximize", [True, False])
def test_a_linear_program_is_solved(solver: Solver, maximize: bool) -> None:
    sign = 1 if maximize else -1
    c, rows, bounds = sign * np.array([1, 1]), [(-INFINITY, 3.0)], [(0.0, 2.0)] * 2
    program = dense(c, [[1, 2]], rows, bounds, [False] * 2, maximize=maximize)
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
    "no side": dense([1, 1], [[1, 0], [1, 1]], [(-INFINITY, INFINITY), (-INFINITY, 1)], [(0, 2)] * 2, [False] * 2),
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


@pytest.mark.parametrize(
    "solver", [pytest.param(name, marks=pytest.mark.solver(name)) for name in ("highs", "mathopt-highs")], indirect=True
)
def test_the_duals_of_a_large_program_are_those_of_a_vertex(solver: Solver) -> None:
    """Beyond `SIMPLEX_UP_TO` an interior point is taken: without crossover many more variables would lie between bounds."""
    random, rows, columns = np.random.default_rng(3), 60, 1000
    weights = random.integers(1, 20, size=(rows, columns)).astype(np.float64)
    program = dense(
        random.integers(1, 30, size=columns),
        weights,
        [(-INFINITY, float(row.sum()) / 3) for row in weights],
        [(0.0, 1.0)] * columns,
        np.zeros(columns, dtype=np.bool_),
    )
    assert program.coefficients.size > SIMPLEX_UP_TO
    result = solver.solve(program, LIMITS)
    assert result.termination is Termination.OPTIMAL
    assert result.duals is not None
    bound = dual_bound(program, result.duals)
    assert bound is not None
    assert float(bound) == pytest.approx(result.objective, rel=1e-7)
    point = np.asarray(result.solution)
    assert 0 < ((point > 1e-7) & (point < 1 - 1e-7)).sum() <= rows


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
    rows = [(a, a) if low == high else (low, high) for (low, high), a in zip(rows, activity.tolist(), strict=True)]
    bounds = [(float(low), float(high)) for low, high in zip(lower, upper, strict=True)]
    return dense(generator.integers(-5, 6, n), matrix, rows, bounds, [False] * n, maximize=maximize)


@LINEAR
def test_free_variables_are_free(solver: Solver) -> None:
    program = dense([1, 0], [[1, 1], [1, -1]], [(2, 2), (-INFINITY, -6)], [(-INFINITY, INFINITY)] * 2, [False] * 2)
    result = solver.solve(program, LIMITS)
    assert result.objective == pytest.approx(-2, abs=1e-5)
    assert result.require_solution().tolist() == pytest.approx([-2, 4], abs=1e-5)


@WITH_DUALS
def test_a_linear_program_without_variables_is_answered_without_the_solver(solver: Solver) -> None:
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
    found = solver.solve(program, SolveLimits(seconds=60.0, threads=2, seed=7))
    assert found.objective == pytest.approx(expected)


@those_with(Capability.LP, without=tuple(n for n in solver_names() if Capability.MIP in get_solver(n).capabilities))
def test_a_solver_of_linear_programs_refuses_integer_variables(solver: Solver) -> None:
    with pytest.raises(ProgramError, match="mixed-integer"):
        solver.solve(dense([1], [[1]], [(0, 1)], [(0, 1)], [True]))


MIXED = those_with(Capability.MIP)
IN_WHOLE_NUMBERS = those_with(either=(Capability.MIP, Capability.WHOLE))


@IN_WHOLE_NUMBERS
@pytest.mark.parametrize("maximize", [True, False])
def test_a_knapsack_is_solved(solver: Solver, maximize: bool) -> None:
    sign = 1 if maximize else -1
    c = sign * np.array([6.0, 5.0, 4.0])
    program = dense(c, [[5, 4, 3]], [(-INFINITY, 7)], [(0, 1)] * 3, [True] * 3, maximize=maximize)
    result = solver.solve(program, LIMITS)
    assert (result.termination, result.objective) == (Termination.OPTIMAL, sign * 9)
    assert result.bound == (None if solver.name.startswith("pulp-") else sign * 9)
    assert result.require_solution().tolist() == [0, 1, 1]


@pytest.mark.solver("cp-sat")
@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (dense([1], [[1]], [(0, 1)], [(0, 1)], [False]), "the variable 0 need not be whole"),
        (dense([1], [[1]], [(0, 1)], [(0, INFINITY)], [True]), "the variable 0 has no bound on a side"),
        (dense([1], [[0.5]], [(0, 1)], [(0, 1)], [True]), "the coefficient 0.5 is not whole"),
        (dense([2**53 + 2], [[1]], [(0, 1)], [(0, 1)], [True]), "the coefficient 9007199254740994.0 is not"),
    ],
)
def test_what_is_not_in_whole_numbers_is_refused_with_the_reason(program: MixedIntegerProgram, reason: str) -> None:
    with pytest.raises(ProgramError, match=f"in whole numbers only; {reason}"):
        get_solver("cp-sat").solve(program)


@pytest.mark.solver("cbc")
def test_cbc_is_handed_the_same_program_through_objects_and_from_the_arrays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = feasible_program(13, maximize=True)
    assert program.number_of_rows >= 3
    found = []
    for largest in (0, pulp_cbc.LARGEST_IN_OBJECTS):
        monkeypatch.setattr(pulp_cbc, "LARGEST_IN_OBJECTS", largest)
        path = tmp_path / f"{largest}.mps"
        pulp_cbc._write(program, path)
        found.append(PulpCbc().solve(program, LIMITS, hint=None))
    assert (tmp_path / "0.mps").read_text() != path.read_text()
    assert {one.termination for one in found} == {Termination.OPTIMAL}
    assert found[0].objective == pytest.approx(found[1].objective)


def impossible(*integrality: bool) -> MixedIntegerProgram:
    return dense([1, 1], [[1, 1]], [(9, INFINITY)], [(0, 2), (0, 2)], integrality)


INFEASIBLE: dict[str, Program] = {
    "linear": impossible(False, False),
    "whole": impossible(True, True),
    "mixed": impossible(False, True),
    "quadratic": squares(dense([0], [[1]], [(3, INFINITY)], [(0, 1)], [False], maximize=False), [[1]], [0], [1]),
}
LINEAR_OR_WHOLE = {"linear": Capability.LP, "whole": Capability.MIP}


@by_kind({**LINEAR_OR_WHOLE, "mixed": Capability.MIP, "quadratic": Capability.CONVEX_QP})
def test_an_infeasible_program_has_no_solution(solver: Solver, kind: str) -> None:
    result = solver.solve(INFEASIBLE[kind], LIMITS)
    assert result.termination in {Termination.INFEASIBLE, Termination.INFEASIBLE_OR_UNBOUNDED}
    assert (result.solution, result.objective, result.duals) == (None, None, None)


@IN_WHOLE_NUMBERS
def test_a_program_without_a_whole_point_is_infeasible(solver: Solver) -> None:
    program = dense([1, 1], [[2, -2]], [(1, 1)], [(0, 5), (0, 5)], [True, True])
    assert solver.solve(program, LIMITS).termination is Termination.INFEASIBLE


@by_kind(LINEAR_OR_WHOLE)
def test_an_unbounded_program_has_no_solution(solver: Solver, kind: str) -> None:
    whole = [kind == "whole"] * 2
    program = dense([1, 1], [[1, -1]], [(-INFINITY, 3)], [(0, INFINITY), (0, INFINITY)], whole)
    result = solver.solve(program, LIMITS)
    assert result.termination in {Termination.UNBOUNDED, Termination.INFEASIBLE_OR_UNBOUNDED}
    assert (result.solution, result.bound, result.duals) == (None, None, None)


def small_program(seed: int) -> MixedIntegerProgram:
    """Return a program over a few whole numbers, with every kind of row."""
    generator = np.random.default_rng(seed)
    lower = generator.integers(-3, 1, 4)
    sides = generator.integers(-4, 5, (3, 2))
    sides.sort(axis=1)
    rows = [(float(low), float(high)) for low, high in sides]
    rows[0] = (-INFINITY, rows[0][1])
    rows[1] = (rows[1][0], rows[1][0]) if seed % 2 else (rows[1][0], INFINITY)
    bounds = [(float(low), float(low + width)) for low, width in zip(lower, generator.integers(0, 4, 4), strict=True)]
    matrix = generator.integers(-3, 4, (3, 4))
    return dense(generator.integers(-5, 6, 4), matrix, rows, bounds, [True] * 4, maximize=seed % 3 > 0)


@IN_WHOLE_NUMBERS
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
    assert "killed" not in result.native_status  # by dpopt, where a solver does not heed the limit
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


@IN_WHOLE_NUMBERS
@pytest.mark.parametrize("gap", [None, 0.5])
def test_optimal_means_optimal_where_solvers_would_stop_at_a_relative_gap(solver: Solver, gap: float | None) -> None:
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


@MIXED
@pytest.mark.parametrize("name", WRONGLY_SOLVED)
def test_programs_that_a_solver_once_called_optimal_too_soon_are_solved(solver: Solver, name: str) -> None:
    program, optimum = WRONGLY_SOLVED[name]
    result = solver.solve(program, LIMITS)
    assert result.termination is Termination.OPTIMAL
    assert result.objective == pytest.approx(optimum)


@by_kind(LINEAR_OR_WHOLE)
def test_a_program_without_rows_sits_at_its_bounds(solver: Solver, kind: str) -> None:
    whole = kind == "whole"
    program = dense([2, -1, 0], [], [], [(-1, 3), (-2, 5), (1, 1)], [whole, whole, False])
    result = solver.solve(program, LIMITS)
    assert result.termination is Termination.OPTIMAL
    assert result.objective == pytest.approx(8, abs=1e-6)
    assert result.require_solution().tolist() == pytest.approx([3, -2, 1], abs=1e-5)


@MIXED
def test_integer_variables_may_stand_anywhere(solver: Solver) -> None:
    """Text forms list integer variables first."""
    program = dense([1, 3, 1], [[2, 2, 0], [0, 2, 4]], [(-INFINITY, 5)] * 2, [(0, 9)] * 3, [False, True, False])
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


@MIXED
def test_a_max_csp_is_refused_with_the_way_out(solver: Solver) -> None:
    with pytest.raises(ProgramError, match="AsMip"):
        solver.solve(random_problem([3, 2, 2], 5, 1))


QUADRATIC = those_with(Capability.CONVEX_QP)


def free(n: int) -> list[tuple[float, float]]:
    return [(-INFINITY, INFINITY)] * n


@QUADRATIC
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


@QUADRATIC
def test_weighted_least_squares_is_that_of_the_normal_equations(solver: Solver) -> None:
    generator = np.random.default_rng(5)
    f, t = generator.normal(size=(8, 4)), generator.normal(size=8)
    w, c = generator.random(8) + 0.5, generator.normal(size=4)
    program = squares(dense(c, [], [], free(4), [False] * 4, maximize=False), f, t, w)
    expected = np.linalg.solve(f.T @ (w[:, None] * f), f.T @ (w * t) - c)
    result = solver.solve(program, LIMITS)
    assert result.require_solution() == pytest.approx(expected, abs=1e-4)
    assert result.objective == pytest.approx(program.evaluate(expected.astype(np.float64)), abs=1e-6)


@QUADRATIC
def test_bounds_hold_and_the_nearest_point_of_a_box_is_the_clipped_one(solver: Solver) -> None:
    target = np.array([-1.0, 0.3, 7.0])
    program = squares(
        dense(np.zeros(3), [], [], [(0, 1)] * 3, [False] * 3, maximize=False), np.eye(3), target, [1, 2, 3]
    )
    assert solver.solve(program, LIMITS).require_solution() == pytest.approx(np.clip(target, 0, 1), abs=1e-5)


@QUADRATIC
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
    program = squares(linear, generator.integers(-2, 3, (q, n)), generator.normal(size=q), generator.integers(0, 3, q))
    result = solver.solve(program, LIMITS)
    assert result.termination is Termination.OPTIMAL
    assert result.objective is not None
    assert result.duals is not None
    bound = quadratic_bound(program, result.require_solution().astype(np.float64), result.duals)
    assert bound is not None
    assert float(bound) == pytest.approx(result.objective, abs=1e-4)


@QUADRATIC
def test_a_program_without_squares_is_a_linear_one(solver: Solver) -> None:
    program = squares(dense([1, 2], [[1, 1]], [(1, INFINITY)], [(0, 2)] * 2, [False] * 2, maximize=False), [], [], [])
    assert solver.solve(program, LIMITS).objective == pytest.approx(1, abs=1e-6)


@QUADRATIC
def test_a_program_without_variables_costs_its_targets(solver: Solver) -> None:
    program = squares(dense([], [], [], [], [], maximize=False), np.zeros((1, 0)), [3], [2])
    assert (solver.solve(program, LIMITS).objective) == 9


@those_with(Capability.CONVEX_QP, without=("gurobi",))
def test_a_limit_of_iterations_is_named_as_such(solver: Solver) -> None:
    generator = np.random.default_rng(1)
    n = 60
    matrix = generator.normal(size=(20, n))
    linear = dense(np.zeros(n), matrix, [(0.5, 0.6)] * 20, [(0, 1)] * n, [False] * n, maximize=False)
    program = squares(linear, generator.normal(size=(n, n)), generator.normal(size=n) * 9, np.ones(n))
    result = solver.solve(program, SolveLimits(work=2, seconds=60.0))
    assert (result.termination, result.limit) == (Termination.LIMIT, Limit.WORK)
    if result.solution is not None:
        assert program.violation(result.solution.astype(np.float64)) < 1e-4


@those_with(either=(Capability.LP, Capability.CONVEX_QP))
def test_a_time_limit_is_named_for_the_least_coefficients(solver: Solver) -> None:
    """Whoever is not done by then says so, whatever point was there; CBC and GLPK may be done before they look."""
    values, weights = np.array([0.0] + [1.0] * 30), np.array([0.0] + [1.0] * 12)
    program = coefficient_budget(values, weights, 0.3, keeps_zero=True).program
    result = solver.solve(program, SolveLimits(seconds=1e-4, threads=1))
    if solver.name in {"cbc", "glpk"} and result.termination is Termination.OPTIMAL:
        assert result.solution is not None
    else:
        assert (result.termination, result.limit) == (Termination.LIMIT, Limit.TIME)
