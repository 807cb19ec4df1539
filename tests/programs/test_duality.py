"""Weak duality in exact numbers: any multipliers bound, the right ones give the optimum; certificates of points from them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from dpopt.errors import NoSolutionError, ProgramError
from dpopt.programs import MixedIntegerProgram, SolveResult, Termination
from dpopt.programs.building import Builder
from dpopt.programs.certificate import certify_point, exact_objective
from dpopt.programs.duality import GRID, LARGEST_MULTIPLIER, Dyadic, dual_bound, linear_relaxation, quadratic_bound
from tests.programs.mixed_integer_programs import INFINITY, dense, squares

FLOATS = st.one_of(
    st.integers(-(10**6), 10**6).map(float),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.1, -0.0, 5e-324, 1e300, 2.0**62, -(2.0**63), 1 / 3]),
)
LISTS = st.lists(FLOATS, max_size=6)


def fractions(numbers: Dyadic) -> list[Fraction]:
    return [Fraction(int(numerator), 2**numbers.shift) for numerator in numbers.numerators]


@given(LISTS)
def test_a_number_is_taken_as_it_is(values: list[float]) -> None:
    assert fractions(Dyadic.of(np.array(values, dtype=np.float64))) == [Fraction(value) for value in values]


@given(st.lists(st.tuples(FLOATS, FLOATS, st.integers(0, 2)), max_size=6))
def test_sums_differences_and_products_are_exact(rows: list[tuple[float, float, int]]) -> None:
    one, two = (np.array([row[i] for row in rows], dtype=np.float64) for i in (0, 1))
    owner = np.array([row[2] for row in rows], dtype=np.int64)
    first, second = Dyadic.of(one), Dyadic.of(two)
    pairs = [(Fraction(a), Fraction(b)) for a, b, _ in rows]
    products = first.times(second)
    assert fractions(products) == [a * b for a, b in pairs]
    assert fractions(first.minus(second)) == [a - b for a, b in pairs]
    assert products.total() == sum(a * b for a, b in pairs)
    assert fractions(products.sum_by(owner, 3)) == [
        sum((a * b for (a, b), number in zip(pairs, owner, strict=True) if number == k), Fraction(0)) for k in range(3)
    ]
    assert products.positive().tolist() == [a * b > 0 for a, b in pairs]
    assert products.negative().tolist() == [a * b < 0 for a, b in pairs]


@given(LISTS, st.integers(-(2**80), 2**80))
def test_a_whole_factor_is_exact(values: list[float], factor: int) -> None:
    scaled = Dyadic.of(np.array(values, dtype=np.float64)).scaled(factor)
    assert fractions(scaled) == [Fraction(value) * factor for value in values]


@pytest.mark.parametrize("number", [2**62 - 1, 2**62, 2**63 - 1])
def test_whole_numbers_do_not_overflow(number: int) -> None:
    numbers = Dyadic.whole(np.array([number, -number, number], dtype=np.int64))
    assert numbers.times(numbers).total() == 3 * number**2
    assert numbers.take(np.array([0, 2])).total() == 2 * number


ANY_NUMBER = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(-1e3, 1e3),
    st.sampled_from([0.0, 1 / 3, 1e300, -INFINITY, INFINITY, float("nan")]),
)


@st.composite
def boxes(draw: st.DrawFn) -> MixedIntegerProgram:
    """Draw a program over a box of few whole points, with rows of every kind."""
    n, r = draw(st.integers(1, 3)), draw(st.integers(0, 3))
    numbers = st.one_of(st.integers(-3, 3).map(float), st.floats(-9, 9, allow_subnormal=False))
    rows = []
    for _ in range(r):
        low, high = sorted((draw(numbers), draw(numbers)))
        kind = draw(st.sampled_from(["both", "low", "high"]))
        rows.append((-INFINITY if kind == "high" else low, INFINITY if kind == "low" else high))
    bounds = [(float(low), float(low + draw(st.integers(0, 2)))) for low in draw(_lows(n))]
    return dense(
        draw(st.lists(numbers, min_size=n, max_size=n)),
        draw(st.lists(numbers, min_size=n * r, max_size=n * r)),
        rows,
        bounds,
        [True] * n,
        maximize=draw(st.booleans()),
    )


def _lows(n: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(-2, 2), min_size=n, max_size=n)


def whole_points(program: MixedIntegerProgram) -> list[NDArray[np.float64]]:
    """Return the feasible whole points of a box, by exact arithmetic."""
    ranges = [range(int(low), int(high) + 1) for low, high in zip(program.lower, program.upper, strict=True)]
    return [point for x in itertools.product(*ranges) if _obeys(program, point := np.array(x, dtype=float))]


def _obeys(program: MixedIntegerProgram, point: NDArray[np.float64]) -> bool:
    entries = Dyadic.of(program.coefficients).times(Dyadic.of(point[program.columns]))
    sums = entries.sum_by(program.row_of_entry(), program.number_of_rows)
    activity = [Fraction(int(number), 2**sums.shift) for number in sums.numerators]
    return all(
        low <= value <= high for low, value, high in zip(program.row_lower, activity, program.row_upper, strict=True)
    )


@given(boxes(), st.data())
def test_any_multipliers_bound_every_feasible_point(program: MixedIntegerProgram, data: st.DataObject) -> None:
    duals = np.array(
        data.draw(st.lists(ANY_NUMBER, min_size=program.number_of_rows, max_size=program.number_of_rows)),
        dtype=np.float64,
    )
    bound = dual_bound(program, duals)
    assert bound is not None
    sense = 1 if program.maximize else -1
    for point in whole_points(program):
        assert sense * exact_objective(program, point) <= sense * bound


@given(boxes())
def test_optimal_multipliers_give_the_optimum_of_the_relaxation(program: MixedIntegerProgram) -> None:
    from scipy.optimize import linprog

    sense = 1.0 if program.maximize else -1.0
    matrix = np.zeros((program.number_of_rows, program.number_of_variables))
    matrix[program.row_of_entry(), program.columns] = program.coefficients
    finite_upper, finite_lower = np.isfinite(program.row_upper), np.isfinite(program.row_lower)
    if not matrix.size or not (finite_upper | finite_lower).any():
        return
    found = linprog(
        -sense * program.objective,
        A_ub=np.concatenate((matrix[finite_upper], -matrix[finite_lower])),
        b_ub=np.concatenate((program.row_upper[finite_upper], -program.row_lower[finite_lower])),
        bounds=list(zip(program.lower, program.upper, strict=True)),
        method="highs",
    )
    if found.status != 0 or found.fun is None:
        return
    marginals = -found.ineqlin.marginals
    duals = np.zeros(program.number_of_rows)
    duals[finite_upper] += marginals[: finite_upper.sum()]
    duals[finite_lower] -= marginals[finite_upper.sum() :]
    bound = dual_bound(program, sense * duals)
    assert bound is not None
    assert float(bound) == pytest.approx(-sense * found.fun, abs=1e-4)  # within the grid's width


THIRDS = dense([1, 1], [[3, 1], [1, 3]], [(-INFINITY, 4), (-INFINITY, 4)], [(0, 9), (0, 9)], [True, True])


def test_multipliers_with_small_denominators_are_exact() -> None:
    assert dual_bound(THIRDS, np.array([0.25, 0.25])) == 2
    assert dual_bound(THIRDS, np.array([1 / 3, 0.0])) == Fraction(4, 3) + Fraction(2, 3) * 9
    assert (
        dual_bound(THIRDS, np.array([1 / 7, 0.3]))
        == (Fraction(1, 7) + Fraction(3, 10)) * 4 + (1 - Fraction(3, 7) - Fraction(3, 10)) * 9
    )


@pytest.mark.parametrize("flip", [np.array([-1.0, -1.0]), np.array([-1.0, 1.0]), np.array([5.0, 5.0])])
def test_multipliers_that_were_tampered_with_give_a_worse_bound_and_never_a_false_one(
    flip: NDArray[np.float64],
) -> None:
    bound = dual_bound(THIRDS, flip * 0.25)
    assert bound is not None
    assert bound > 2


def test_a_minimization_is_bounded_from_below() -> None:
    program = dense([2, 3], [[1, 1]], [(4, INFINITY)], [(0, INFINITY), (0, INFINITY)], [False, False], maximize=False)
    assert dual_bound(program, np.array([2.0])) == 8
    assert dual_bound(program, np.array([1.0])) == 4
    assert dual_bound(program, np.array([-1.0])) == 0  # the row has no upper side: counts as 0


def test_multipliers_that_push_a_variable_without_a_bound_are_changed_or_prove_nothing() -> None:
    program = dense([1], [[1]], [(-INFINITY, 5)], [(-INFINITY, INFINITY)], [False])
    for multiplier in (1.0, 0.5, 1.0 + 0.4 / GRID, 1.0 + 0.6 / GRID):  # the one that proves something is 1
        assert dual_bound(program, np.array([multiplier])) == 5
    unbounded = dense([1], [[1]], [(5, INFINITY)], [(-INFINITY, INFINITY)], [False])
    unrelated = dense([1, 1], [[1, 0]], [(-INFINITY, 5)], [(-INFINITY, INFINITY)] * 2, [False, False])
    for one in (unbounded, unrelated):
        assert dual_bound(one, np.array([1.0])) is None


@pytest.mark.parametrize("broken", [float("nan"), INFINITY, 2 * LARGEST_MULTIPLIER])
def test_a_multiplier_that_is_none_counts_as_zero(broken: float) -> None:
    assert dual_bound(THIRDS, np.array([0.25, broken])) == dual_bound(THIRDS, np.array([0.25, 0.0]))


def test_large_data_do_not_overflow() -> None:
    program = dense([2.0**60, 1e300], [[2.0**61, 0.1]], [(-INFINITY, 1e200)], [(0, 7), (0, 3)], [True, True])
    bound = dual_bound(program, np.array([LARGEST_MULTIPLIER]))
    y = Fraction(int(LARGEST_MULTIPLIER))
    second = Fraction(1e300) - y * Fraction(0.1)
    assert bound == y * Fraction(1e200) + 3 * second


def test_multipliers_of_another_number_are_refused() -> None:
    with pytest.raises(ProgramError, match="program"):
        dual_bound(THIRDS, np.array([1.0]))


def test_a_program_without_rows_is_bounded_by_its_box() -> None:
    program = dense([2, -1], [], [], [(0, 3), (-1, 5)], [True, False])
    assert dual_bound(program, np.empty(0)) == 7


def test_the_relaxation_leaves_integrality_out_and_nothing_else() -> None:
    relaxed = linear_relaxation(THIRDS)
    assert not relaxed.integrality.any()
    assert dual_bound(relaxed, np.array([0.25, 0.25])) == 2
    assert linear_relaxation(relaxed) is relaxed


# (x - 3)^2 / 2 + 2 (y + 1)^2 / 2 with x + y <= 1 on [0, 2]^2: optimum at (1, 0), value 3
BOX = dense([0, 0], [[1, 1]], [(-INFINITY, 1)], [(0, 2), (0, 2)], [False, False], maximize=False)
SQUARE = squares(BOX, [[1, 0], [0, 1]], [3, -1], [1, 2])


def test_the_optimum_of_a_quadratic_program_is_proven_by_point_and_multipliers() -> None:
    assert quadratic_bound(SQUARE, np.array([1.0, 0.0]), np.array([-2.0])) == 3
    assert exact_objective(SQUARE, np.array([1.0, 0.0])) == 3


@given(
    st.lists(st.floats(-10, 10), min_size=2, max_size=2),
    st.one_of(st.floats(-10, 10), st.sampled_from([INFINITY, float("nan")])),
)
def test_any_point_and_multiplier_bound_a_quadratic_program(point: list[float], dual: float) -> None:
    bound = quadratic_bound(SQUARE, np.array(point), np.array([dual]))
    assert bound is not None
    assert bound <= 3


def test_a_quadratic_program_refuses_a_point_that_does_not_fit() -> None:
    for point in (np.array([1.0]), np.array([1.0, INFINITY])):
        with pytest.raises(ProgramError, match="finite"):
            quadratic_bound(SQUARE, point, np.array([0.0]))


def answer(point: ArrayLike | None, *, duals: ArrayLike | None = None, bound: float | None = None) -> SolveResult:
    empty = SolveResult(Termination.FAILED, None, None, None, bound, "s", "", "", 0.0)
    if point is None:
        return empty
    solution, prices = (None if one is None else np.asarray(one, dtype=np.float64) for one in (point, duals))
    return replace(empty, termination=Termination.IMPRECISE, solution=solution, objective=1e9, duals=prices)


def test_an_optimal_point_with_its_duals_has_no_gap() -> None:
    found = certify_point(THIRDS, answer([1, 1], duals=[0.25, 0.25], bound=2.5))
    assert (found.primal_violation, found.integrality_violation) == (0.0, 0.0)
    assert (found.objective, found.proven_bound, found.proven_gap) == (Fraction(2), Fraction(2), Fraction(0))
    assert (found.reported_bound, found.reported_gap) == (2.5, Fraction(1, 2))


def test_a_point_that_was_moved_shows_where() -> None:
    found = certify_point(THIRDS, answer([1.5, 1]))
    assert (found.primal_violation, found.integrality_violation) == (1.5, 0.5)
    assert found.objective == Fraction(5, 2)
    assert (found.proven_bound, found.proven_gap) == (None, None)
    assert (found.reported_bound, found.reported_gap) == (None, None)


def test_duals_that_were_changed_prove_less() -> None:
    changed = certify_point(THIRDS, answer([1, 1], duals=[0.25, 0.5])).proven_gap
    assert changed is not None
    assert changed > 0


def test_the_objective_is_exact_where_floating_point_is_not() -> None:
    assert certify_point(THIRDS, answer([0.1, 0.2])).objective == Fraction(0.1) + Fraction(0.2)


def test_a_quadratic_program_is_certified_from_below() -> None:
    found = certify_point(SQUARE, answer([1, 0], duals=[-2], bound=2.0))
    assert (found.objective, found.proven_bound, found.proven_gap) == (Fraction(3), Fraction(3), Fraction(0))
    assert found.reported_gap == 1
    elsewhere = certify_point(SQUARE, answer([0, 1], duals=[-2]))
    assert elsewhere.objective == Fraction(17, 2)
    assert elsewhere.proven_gap is not None
    assert elsewhere.proven_gap >= Fraction(11, 2)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(NoSolutionError):
        certify_point(THIRDS, answer(None))
    for point in ([1.0], [1.0, float("nan")]):
        with pytest.raises(ProgramError, match="finite"):
            certify_point(THIRDS, answer(point))
    with pytest.raises(ProgramError, match="rows"):
        certify_point(THIRDS, answer([1, 1], duals=[1.0]))


@example(1593, 1e-7)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e-12, 1e-7, 1e-3]))
def test_multipliers_near_the_best_prove_a_program_with_free_variables(seed: int, noise: float) -> None:
    """The least largest deviation of a line from numbers: its optimum by every three points, in fractions.

    The best multipliers w have three entries, and all that leave no reduced cost on the free slope and height are t w. Of noisy
    ones w + e, two entries are changed and one is kept: t = 1 + e_k / w_k, and the bound is t times the best. (Where t > 1, the
    cost of E pushes too, and all three are changed, to w.) So it is short by the best times the largest |e_k / w_k| at most,
    and the smallest w_k is 1/22 here.
    """
    generator = np.random.default_rng(seed)
    size = int(generator.integers(3, 7))
    values = generator.integers(-9, 10, size).astype(np.float64)
    points = np.sort(generator.choice(12, size, replace=False)).astype(np.float64)
    build = Builder()
    x = build.variables("x", 2, lower=-np.inf)
    error = build.variables("E", objective=1.0)
    each = np.arange(size)
    line = (each, x[0], 1.0), (each, x[1], points)
    build.rows("above", size, *line, (each, error, 1.0), lower=values)
    build.rows("below", size, *line, (each, error, -1.0), upper=values)
    program = build.program()
    assert isinstance(program, MixedIntegerProgram)
    best, weights = Fraction(), np.zeros(2 * size)
    for chosen in itertools.combinations(range(size), 3):
        a, b, c = (Fraction(points[one]) for one in chosen)
        pull = ((c - b), -(c - a), (b - a))  # orthogonal to lines; of sum 2 (c - a) in absolute value
        reached = sum(p * Fraction(values[one]) for p, one in zip(pull, chosen, strict=True)) / (2 * (c - a))
        if abs(reached) > best:
            best, weights = abs(reached), np.zeros(2 * size)
            for p, one in zip(pull, chosen, strict=True):
                share = float(p / (2 * (c - a)) * (1 if reached > 0 else -1))
                weights[one if share > 0 else size + one] = share
    off, used = noise * generator.normal(size=2 * size), weights != 0
    bound = dual_bound(program, weights + off * used)
    if not best:
        return  # the numbers lie on a line
    assert bound is not None
    short = Fraction(float(np.abs(off[used] / weights[used]).max()))
    assert best * (1 - short) - Fraction(1e-9) <= bound <= best


def test_a_multiplier_that_the_finer_grid_holds_proves_a_program_with_a_free_variable() -> None:
    build = Builder()
    x = build.variables("x", 1, lower=-np.inf, objective=2.0**-20)
    build.rows("R", 1, (0, x, 1.0), lower=3.0)
    program = build.program()
    assert isinstance(program, MixedIntegerProgram)
    assert dual_bound(program, np.array([2.0**-20])) == Fraction(3, 2**20)
