"""The nearest nondecreasing sequences: optimality conditions, bounds, totals, whole numbers, medians."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from dpopt.errors import ProgramError
from dpopt.inference.histograms.sorted.isotonic import (
    expected_error_bound,
    isotonic,
    isotonic_integers,
    isotonic_median,
)

ROWS = st.lists(st.tuples(st.integers(-6, 6), st.integers(1, 3)), min_size=1, max_size=12)


def best_integers(
    values: np.ndarray, weights: np.ndarray, power: int, bounds: tuple[int, int]
) -> tuple[float, np.ndarray]:
    """Return the least cost of nondecreasing whole numbers within the bounds, and the largest that has it: all are tried."""
    grid = np.arange(bounds[0], bounds[1] + 1)
    best, kept = np.inf, np.zeros(0)
    for chosen in itertools.combinations_with_replacement(grid.tolist(), values.size):
        cost = float(weights @ np.abs(np.array(chosen) - values) ** power)
        if cost < best - 1e-12 or (cost < best + 1e-12 and sum(chosen) > kept.sum()):
            best, kept = min(cost, best), np.array(chosen)
    return best, kept


@given(ROWS)
def test_optimality_conditions_hold(rows: list[tuple[int, int]]) -> None:
    """IR-7 of models/isotonic_regression, without bounds and total."""
    values, weights = np.array(rows, dtype=np.float64).T
    fitted = isotonic(values, weights=weights)
    multipliers = np.cumsum(weights * (values - fitted))
    assert (np.diff(fitted) >= 0).all()
    assert multipliers.min() >= -1e-9
    assert abs(multipliers[-1]) <= 1e-9
    np.testing.assert_allclose(multipliers[:-1] * np.diff(fitted), 0, atol=1e-8)


@given(ROWS, st.integers(-3, 0), st.integers(0, 3), st.floats(0, 1))
def test_a_total_holds_within_bounds_and_is_optimal(
    rows: list[tuple[int, int]], low: int, high: int, share: float
) -> None:
    """IR-7 with a shift; an entry at a bound may be pushed outward by any amount."""
    values, weights = np.array(rows, dtype=np.float64).T
    total = values.size * (low + share * (high - low))
    fitted = isotonic(values, weights=weights, lower=low, upper=high, total=total)
    assert fitted.sum() == pytest.approx(total, abs=1e-9 * values.size)
    assert (np.diff(fitted) >= 0).all()
    assert low <= fitted.min() <= fitted.max() <= high
    # No feasible direction lowers the cost: towards every vertex of the chain polytope with the same total.
    slope = weights * (fitted - values)
    inside = np.flatnonzero((fitted > low + 1e-9) & (fitted < high - 1e-9))
    if inside.size:
        first, last = int(inside[0]), int(inside[-1]) + 1
        levels = np.flatnonzero(np.diff(fitted[first:last]) > 1e-9) + 1
        blocks = np.split(slope[first:last], levels)
        shift = np.array([block.mean() for block in blocks])
        np.testing.assert_allclose(shift, shift[0], atol=1e-6)
        for block in blocks:  # pooled entries would fall if they were let free
            assert np.cumsum(shift[0] - block).min() >= -1e-6
        assert (slope[:first] >= shift[0] - 1e-6).all() or np.cumsum(
            (slope[:first] - shift[0])[::-1]
        ).min() >= -1e-6
        assert np.cumsum(shift[0] - slope[last:]).min(initial=0.0) >= -1e-6


@given(st.lists(st.tuples(st.integers(-8, 8), st.integers(1, 3)), min_size=1, max_size=5))
def test_rounding_half_up_is_optimal_among_whole_numbers(rows: list[tuple[int, int]]) -> None:
    """IR-8, all sequences tried: values are quarters, so ties occur."""
    values, weights = np.array(rows, dtype=np.float64).T
    values = values / 4
    best, largest = best_integers(values, weights, 2, (-1, 2))
    fitted = isotonic_integers(values, weights=weights, lower=-1.4, upper=2.3)
    assert float(weights @ (fitted - values) ** 2) == pytest.approx(best, abs=1e-12)
    np.testing.assert_array_equal(fitted, largest)


@given(st.lists(st.tuples(st.integers(-3, 4), st.integers(1, 3)), min_size=1, max_size=6))
def test_medians_are_optimal_and_whole(rows: list[tuple[int, int]]) -> None:
    values, weights = np.array(rows, dtype=np.float64).T
    for bounds in ((-3, 4), (-1, 2)):
        fitted = isotonic_median(values, weights=weights, lower=bounds[0], upper=bounds[1])
        assert (np.diff(fitted) >= 0).all()
        assert (fitted == np.floor(fitted)).all()
        best = best_integers(values, weights, 1, bounds)[0]
        assert float(weights @ np.abs(fitted - values)) == pytest.approx(best, abs=1e-12)


def test_medians_of_many_values_cost_no_more_than_those_of_a_slow_method() -> None:
    """Against the same problem by thresholds: s_k >= c on the suffix that is best for c."""
    generator = np.random.default_rng(0)
    values = np.sort(generator.integers(0, 60, 3000)) + np.rint(generator.laplace(0, 10, 3000))
    slow = np.full(values.size, -50)
    for level in range(-49, 120):
        gains = np.cumsum(np.where(values >= level, 1, -1)[::-1])[::-1]
        best = int(np.argmax(gains)) if gains.max() > 0 else values.size
        slow[best:] += 1
    fast = isotonic_median(values)
    assert np.abs(fast - values).sum() == np.abs(slow - values).sum()


def test_a_total_alone_moves_all_entries_alike() -> None:
    generator = np.random.default_rng(1)
    values = generator.normal(size=50)
    fitted = isotonic(values, total=100.0)
    np.testing.assert_allclose(fitted, isotonic(values) + (100 - values.sum()) / 50, atol=1e-9)


def test_a_total_at_the_end_of_what_bounds_allow() -> None:
    np.testing.assert_array_equal(isotonic([5.0, 1.0, 2.0], lower=0, upper=3, total=9), [3, 3, 3])
    np.testing.assert_array_equal(isotonic([5.0, 1.0, 2.0], lower=0, upper=3, total=0), [0, 0, 0])
    np.testing.assert_allclose(isotonic([-9.0, 1.0, 90.0], lower=0, total=50), [0, 0, 50])


def test_the_bound_of_the_error_is_reached_by_separate_blocks() -> None:
    """v sum_r H_(n_r), and far below it where values are near each other. 4,000 draws, standard error below 1%."""
    generator = np.random.default_rng(2)
    for gap, low, high in ((1e3, 0.96, 1.04), (0.3, 0.0, 0.8)):
        truth = gap * np.repeat([0.0, 1.0, 2.0], [7, 1, 20])
        errors = [
            ((isotonic_regression(truth + noise).x - truth) ** 2).sum()
            for noise in generator.laplace(0, 2, (4000, truth.size))
        ]
        assert low <= np.mean(errors) / expected_error_bound([7, 1, 20], 8.0) <= high
    assert expected_error_bound([1, 2, 4], 1.0) == pytest.approx(1 + 1.5 + 25 / 12)
    assert expected_error_bound([], 1.0) == 0


def test_what_does_not_fit_is_refused() -> None:
    for values in ([], [[1.0]], [np.nan], [np.inf]):
        with pytest.raises(ProgramError, match="finite numbers in one row"):
            isotonic(values)
    for weights in ([1.0], [1.0, 0.0], [1.0, np.inf]):
        with pytest.raises(ProgramError, match="positive finite"):
            isotonic([1.0, 2.0], weights=weights)
    for lower, upper in ((2, 1), (np.nan, 1), (np.inf, np.inf)):
        with pytest.raises(ProgramError, match="between the bounds"):
            isotonic([1.0], lower=lower, upper=upper)
    with pytest.raises(ProgramError, match="no whole number"):
        isotonic_integers([1.0], lower=1.2, upper=1.8)
    for total in (7, np.nan, np.inf):
        with pytest.raises(ProgramError, match="add up"):
            isotonic([1.0, 2.0], upper=3, total=total)
    with pytest.raises(ProgramError, match="at least 1"):
        expected_error_bound([0], 1.0)
    with pytest.raises(ProgramError, match="variance"):
        expected_error_bound([1], -1.0)
