"""Weak duality: whatever the multipliers are, the bound holds; the right ones give the optimum."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.programs import MixedIntegerProgram, QuadraticProgram
from dpopt.programs.duality import (
    GRID,
    LARGEST_MULTIPLIER,
    dual_bound,
    dual_violation,
    linear_relaxation,
    quadratic_bound,
)
from dpopt.programs.dyadic import Dyadic
from dpopt.programs.point_certificate import exact_objective
from tests.programs.mixed_integer_programs import INFINITY, dense

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
        low <= value <= high
        for low, value, high in zip(program.row_lower, activity, program.row_upper, strict=True)
    )


@given(boxes(), st.data())
def test_any_multipliers_bound_every_feasible_point(
    program: MixedIntegerProgram, data: st.DataObject
) -> None:
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
    program = dense(
        [2, 3], [[1, 1]], [(4, INFINITY)], [(0, INFINITY), (0, INFINITY)], [False, False], maximize=False
    )
    assert dual_bound(program, np.array([2.0])) == 8
    assert dual_bound(program, np.array([1.0])) == 4
    assert dual_bound(program, np.array([-1.0])) == 0  # the row has no upper side: counts as 0


def test_a_variable_without_a_bound_on_the_side_it_is_pushed_to_proves_nothing() -> None:
    program = dense([1], [[1]], [(-INFINITY, 5)], [(-INFINITY, INFINITY)], [False])
    assert dual_bound(program, np.array([1.0])) == 5
    assert dual_bound(program, np.array([0.5])) is None
    assert dual_bound(program, np.array([1.0 + 0.4 / GRID])) == 5  # rounds away
    assert dual_bound(program, np.array([1.0 + 0.6 / GRID])) is None


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
    with pytest.raises(ProgramError, match="this program has 2 rows"):
        dual_bound(THIRDS, np.array([1.0]))


def test_a_program_without_rows_is_bounded_by_its_box() -> None:
    program = dense([2, -1], [], [], [(0, 3), (-1, 5)], [True, False])
    assert dual_bound(program, np.empty(0)) == 7


def test_the_relaxation_leaves_integrality_out_and_nothing_else() -> None:
    relaxed = linear_relaxation(THIRDS)
    assert not relaxed.integrality.any()
    assert dual_bound(relaxed, np.array([0.25, 0.25])) == 2
    assert linear_relaxation(relaxed) is relaxed


def squares(
    rows: list[list[float]], targets: list[float], weights: list[float], linear: MixedIntegerProgram
) -> QuadraticProgram:
    matrix = np.array(rows, dtype=np.float64)
    row, column = np.nonzero(matrix)
    starts = np.searchsorted(row, np.arange(len(rows) + 1))
    return QuadraticProgram(
        linear, starts, column.astype(np.int32), matrix[row, column], np.array(targets), np.array(weights)
    )


SQUARE = squares(  # (x - 3)^2 / 2 + 2 (y + 1)^2 / 2 with x + y <= 1 on [0, 2]^2: optimum at (1, 0), value 3
    [[1, 0], [0, 1]],
    [3, -1],
    [1, 2],
    dense([0, 0], [[1, 1]], [(-INFINITY, 1)], [(0, 2), (0, 2)], [False, False], maximize=False),
)


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
        with pytest.raises(ProgramError, match="2 finite numbers"):
            quadratic_bound(SQUARE, point, np.array([0.0]))


def test_a_push_towards_an_infinite_side_is_a_dual_violation() -> None:
    program = dense([1, 1], [[1, 2]], [(-INFINITY, 5)], [(0, INFINITY), (-INFINITY, 4)], [False, False])
    assert (
        dual_violation(program, program.objective, np.array([1.0])) == 1.0
    )  # r = (0, -1), y = 0 wants r2 >= 0
    assert dual_violation(program, program.objective, np.array([0.25])) == 0.75
    assert dual_violation(program, program.objective, np.array([-2.0])) == 3.0
    assert dual_violation(THIRDS, THIRDS.objective, np.array([4.0, 4.0])) == 0.0
