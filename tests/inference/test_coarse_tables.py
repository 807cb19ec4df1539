"""Coarse tables: parts of columns, exact noise of coarse cells, and what they add to predictions."""

from __future__ import annotations

import numpy as np
import pytest

from dpopt.inference.coarse_tables import coarse_predictions, column_parts, with_coarse_tables
from dpopt.inference.interactions import DISTANCES
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import coarse_cells, coarser, residuals_of
from tests.queries.test_residuals import sets_of

SIZES = (9, 7)
PAIR = sets_of(SIZES, (0, 1))
PARTS = np.array([0, 0, 1, 1, 1, 2, 2, 3, 3, 0, 1, 1, 2, 2, 3, 3])
SIZE = 5_000.0


def trend(slope: float) -> np.ndarray:
    """Return counts of a pair whose columns rise together, with even margins, (63,)."""
    x, y = (np.linspace(-1, 1, n) for n in SIZES)
    return (SIZE / 63 * (1 + slope * np.outer(x, y))).ravel()


def coarse(counts: np.ndarray) -> np.ndarray:
    added = np.zeros((4, 4))
    np.add.at(added, (PARTS[:9, None], PARTS[9:][None, :]), counts.reshape(SIZES))
    return added


@pytest.mark.parametrize(
    ("shares", "ordered", "missing", "expected"),
    [
        ([0.5, 0.5], True, False, [0, 1]),
        ([1.0, 0, 0, 0, 0, 0], True, False, [0, 1, 1, 1, 1, 1]),
        ([0, 0, 0, 0, 0, 1.0], True, False, [0, 0, 0, 0, 0, 1]),
        ([0.0] * 6, True, False, [0, 1, 1, 1, 1, 1]),
        ([0.25, 0.25, 0.25, 0.25, 0, 0], True, False, [0, 1, 2, 3, 3, 3]),
        ([0.2, 0.1, 0.3, 0.2, 0.1, 0.1], True, True, [0, 0, 1, 2, 2, 3]),
        ([0.1, 0.1, 0.5, 0.2, 0.05, 0.05], False, True, [2, 3, 0, 1, 3, 3]),
    ],
)
def test_parts_are_few_and_none_is_empty(
    shares: list[float], ordered: bool, missing: bool, expected: list[int]
) -> None:
    found = column_parts(np.array(shares), ordered=ordered, missing=missing)
    assert found.tolist() == expected
    assert set(found.tolist()) == set(range(found.max() + 1))


def test_without_noise_predictions_have_the_coarse_table_and_the_margins() -> None:
    truth, predicted = trend(0.8), np.full(63, SIZE / 63)
    deviations = residuals_of(PAIR, truth) - residuals_of(PAIR, predicted)
    none = np.zeros((1, DISTANCES.size))
    found = coarse_predictions(PAIR, PARTS, deviations, np.array([1e-6]), predicted, SIZE, likelihoods=none)
    np.testing.assert_allclose(coarse(found), coarse(truth), rtol=0.01)
    for axis in (0, 1):
        np.testing.assert_allclose(found.reshape(SIZES).sum(axis=axis), truth.reshape(SIZES).sum(axis=axis), rtol=0.02)
    assert np.abs(found - truth).sum() < 0.4 * np.abs(predicted - truth).sum()


def test_noise_of_coarse_cells_has_the_stated_variance() -> None:
    """20,000 draws; each variance is within 5 % of the formula (five standard errors)."""
    noise = np.random.default_rng(1).normal(size=(20_000, *SIZES))
    noise -= noise.mean(axis=1, keepdims=True)
    noise -= noise.mean(axis=2, keepdims=True)
    rows, columns = np.eye(4)[PARTS[:9]], np.eye(4)[PARTS[9:]]
    found = np.einsum("nij,ia,jb->nab", noise, rows, columns).var(axis=0)
    codes = [np.bincount(each) for each in (PARTS[:9], PARTS[9:])]
    expected = np.outer(*(each * (1 - each / each.sum()) for each in codes))
    np.testing.assert_allclose(found, expected, rtol=0.05)


def test_a_trend_below_the_noise_of_every_cell_is_found_and_none_is_invented() -> None:
    """40 pairs with a trend: the error of predictions is less than half that of independence; 40 without: they stay."""
    generator, pairs = np.random.default_rng(3), sets_of(SIZES * 40, *((2 * k, 2 * k + 1) for k in range(40)))
    parts, even = np.tile(PARTS, 40), np.full(63 * 40, SIZE / 63)
    spread = 40.0  # cells hold 79 records, and deviate by at most 48
    noise = residuals_of(pairs, spread * generator.normal(size=even.size))
    for slope, limit in ((0.6, 0.5), (0.0, None)):
        truth = np.tile(trend(slope), 40)
        deviations = residuals_of(pairs, truth) - residuals_of(pairs, even) + noise
        none = np.zeros((40, DISTANCES.size))
        found = coarse_predictions(pairs, parts, deviations, np.full(40, spread**2), even, SIZE, likelihoods=none)
        if limit is None:
            assert np.abs(found - even).max() < 1e-6 * SIZE
        else:
            assert ((found - truth) ** 2).sum() < limit * ((even - truth) ** 2).sum()


def test_cells_and_coarse_tables_add_up_by_their_precisions() -> None:
    """200 pairs with a trend: cells alone, coarse tables alone, and both, which are nearest; so are both without noise."""
    generator, number = np.random.default_rng(5), 200
    pairs = sets_of(SIZES * number, *((2 * k, 2 * k + 1) for k in range(number)))
    parts, even = np.tile(PARTS, number), np.full(63 * number, SIZE / 63)
    truth, none = np.tile(trend(0.6), number), np.zeros((number, DISTANCES.size))
    tables = MarginalSet(coarser(pairs.domains, parts), pairs.attributes)
    places = coarse_cells(pairs, tables, parts)
    added = np.bincount(places, truth).astype(float)
    np.testing.assert_allclose(added[:16].reshape(4, 4), coarse(truth[:63]))
    fine, few = 40.0, 60.0
    deviations = residuals_of(pairs, truth) - residuals_of(pairs, even)
    deviations += residuals_of(pairs, fine * generator.normal(size=even.size))
    own = residuals_of(tables, added) + residuals_of(tables, few * generator.normal(size=added.size))
    errors = []
    for one, other in ((fine, np.inf), (np.inf, few), (fine, few), (np.inf, 1e-3)):
        measured = own if other >= few else residuals_of(tables, added), np.full(number, other**2)
        found = coarse_predictions(
            pairs, parts, deviations, np.full(number, one**2), even, SIZE, likelihoods=none, measured=measured
        )
        errors.append(float(((np.bincount(places, found) - added) ** 2).sum()))
    assert errors[2] < 0.8 * min(errors[:2])
    assert errors[3] < 0.02 * errors[2]


def test_noisy_residuals_of_cells_take_over_what_coarse_tables_say() -> None:
    """2,000 pairs: means stay within 5 standard errors, noise shrinks along coarse tables alone, margins stay 0."""
    generator, number = np.random.default_rng(7), 2_000
    pairs = sets_of(SIZES * number, *((2 * k, 2 * k + 1) for k in range(number)))
    parts, even = np.tile(PARTS, number), np.full(63 * number, SIZE / 63)
    tables = MarginalSet(coarser(pairs.domains, parts), pairs.attributes)
    places = coarse_cells(pairs, tables, parts)
    truth, fine, few = np.tile(trend(0.6), number), 40.0, 20.0
    estimates = residuals_of(pairs, truth + fine * generator.normal(size=even.size))
    values = residuals_of(
        tables, np.bincount(places, truth).astype(float) + few * generator.normal(size=len(tables) * 16)
    )
    measured = values, np.where(np.arange(number) % 2, few**2, np.inf)
    found, rest = with_coarse_tables(pairs, parts, estimates, np.full(number, fine**2), even, measured)
    np.testing.assert_array_equal(rest, fine**2)
    np.testing.assert_allclose(found, residuals_of(pairs, found), atol=1e-8)
    np.testing.assert_allclose(found.reshape(number, 63)[::2], estimates.reshape(number, 63)[::2], atol=1e-8)
    apart = (found - residuals_of(pairs, truth)).reshape(number, 63)[1::2]
    assert np.abs(apart.mean(axis=0)).max() < 5 * fine / np.sqrt(number / 2)
    before = (estimates - residuals_of(pairs, truth)).reshape(number, 63)[1::2]
    added = [np.stack([np.bincount(places[:63], one) for one in each]).var() for each in (apart, before)]
    assert added[0] < 0.3 * added[1]
    assert 0.75 < apart.var() / before.var() < 0.95


def test_pairs_that_were_not_measured_are_what_their_coarse_tables_say() -> None:
    """2,000 pairs: means stay within 5 standard errors, and the noise is the stated one along each direction (within 5 %)."""
    generator, number = np.random.default_rng(8), 2_000
    pairs = sets_of(SIZES * number, *((2 * k, 2 * k + 1) for k in range(number)))
    parts, predicted = np.tile(PARTS, number), np.tile(trend(0.6), number)
    tables = MarginalSet(coarser(pairs.domains, parts), pairs.attributes)
    places, few = coarse_cells(pairs, tables, parts), 20.0
    whole = np.bincount(places, predicted).astype(float)
    measured = residuals_of(tables, whole + few * generator.normal(size=whole.size)), np.full(number, few**2)
    found, rest = with_coarse_tables(
        pairs, parts, np.zeros(predicted.size), np.full(number, np.inf), predicted, measured
    )
    apart = (found - residuals_of(pairs, predicted)).reshape(number, 63)
    assert (np.abs(apart.mean(axis=0)) < 5 * apart.std(axis=0) / np.sqrt(number)).all()
    # The 16 cells of a coarse table vary along nine directions.
    assert 63 * apart.var() == pytest.approx(16 * rest[0] * (8 / 9) * (6 / 7), rel=0.05)


def test_what_was_not_measured_and_small_columns_stay_as_predicted() -> None:
    predicted = np.full(63, SIZE / 63)
    none = np.zeros((1, DISTANCES.size))
    found = coarse_predictions(PAIR, PARTS, np.full(63, 9.0), np.array([np.inf]), predicted, SIZE, likelihoods=none)
    np.testing.assert_array_equal(found, predicted)
    small = sets_of((4, 3), (0, 1))
    parts, counts = np.array([0, 1, 2, 3, 0, 1, 2]), np.full(12, SIZE / 12)
    found = coarse_predictions(small, parts, np.full(12, 9.0), np.array([1.0]), counts, SIZE, likelihoods=none)
    np.testing.assert_array_equal(found, counts)
