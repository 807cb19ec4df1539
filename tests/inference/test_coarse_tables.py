"""Coarse tables: parts of columns, exact noise of coarse cells, and what they add to predictions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpopt.inference.coarse_tables import (
    _coarse_deviations,
    _scores,
    _with_trends,
    coarse_predictions,
    column_parts,
    noisy_trends,
    with_coarse_tables,
)
from dpopt.inference.interactions import DISTANCES
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import coarse_cells, coarser, residuals_of
from tests.queries.test_residuals import sets_of

SIZES = (9, 7)
PAIR = sets_of(SIZES, (0, 1))
PARTS = np.array([0, 0, 1, 1, 1, 2, 2, 3, 3, 0, 1, 1, 2, 2, 3, 3])
SIZE = 5_000.0


def predictions(
    pairs: MarginalSet,
    parts: np.ndarray,
    deviations: np.ndarray,
    spread: float,
    predicted: np.ndarray,
    ranked: tuple[int, int] = (0, 0),
    measured: tuple[np.ndarray, np.ndarray] | None = None,
    likelihoods: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Return predictions of pairs of alike columns, whose distances are not known; the noise of all deviates alike."""
    known, variances = np.zeros((len(pairs), DISTANCES.size)) + likelihoods, np.full(len(pairs), spread**2)
    ranks = np.tile(ranked, len(pairs))
    return coarse_predictions(
        pairs, parts, deviations, variances, predicted, SIZE, ranked=ranks, likelihoods=known, measured=measured
    )


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


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ([0.05, 0.1, 0.15, 0.2, 0.2, 0.15, 0.1, 0.05], [0, 0, 0, 1, 1, 2, 2, 2]),  # in four parts, two single ones
        ([0.1, 0.1, 0.5, 0.2, 0.1], [0, 0, 1, 2, 2]),
        ([0.25, 0.7, 0.03, 0.01, 0.01], [0, 1, 2, 2, 2]),  # the first one would be single in two parts, too
    ],
)
def test_a_single_code_is_a_part_only_with_a_large_share(shares: list[float], expected: list[int]) -> None:
    assert column_parts(np.array(shares), ordered=True, alone=0.3).tolist() == expected


@pytest.mark.parametrize(("uneven", "most"), [(False, 0.4), (True, 0.5)])
@pytest.mark.parametrize("ranked", [(0, 0), (4, 0), (4, 4)])
def test_without_noise_predictions_have_the_coarse_table_and_the_margins(
    ranked: tuple[int, int], uneven: bool, most: float
) -> None:
    masses = np.outer(np.linspace(1.8, 0.2, 9), np.linspace(0.1, 1.9, 7)) if uneven else np.ones(SIZES)
    truth = trend(0.8) * masses.ravel()
    rows, columns = (truth.reshape(SIZES).sum(axis=axis) for axis in (1, 0))
    predicted = np.outer(rows, columns).ravel() / truth.sum()
    deviations = residuals_of(PAIR, truth) - residuals_of(PAIR, predicted)
    found = predictions(PAIR, PARTS, deviations, 1e-3, predicted, ranked)
    np.testing.assert_allclose(coarse(found), coarse(truth), rtol=0.01)
    for axis in (0, 1):
        np.testing.assert_allclose(found.reshape(SIZES).sum(axis=axis), truth.reshape(SIZES).sum(axis=axis), rtol=0.02)
    assert np.abs(found - truth).sum() < most * np.abs(predicted - truth).sum()


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


@pytest.mark.parametrize("ranked", [(4, 0), (0, 3), (3, 4)])
def test_noise_of_trends_has_the_stated_variance(ranked: tuple[int, int]) -> None:
    """20,000 tables with uneven margins; each variance is within 5 % of the formula (five standard errors)."""
    shares = np.outer([0.1, 0.2, 0.4, 0.3], [0.3, 0.2, 0.15, 0.35])
    tables = sets_of((4, 4) * 20_000, *((2 * k, 2 * k + 1) for k in range(20_000)))
    noise = residuals_of(tables, np.random.default_rng(2).normal(size=tables.number_of_cells))
    even, variances = np.tile(SIZE * shares.ravel(), 20_000), np.full(noise.size, (3 / 4) ** 2)
    (found,) = noisy_trends(tables, noise, variances, even, np.tile(ranked, 20_000))
    assert found.values.shape[1] == (1 if all(ranked) else 4)
    np.testing.assert_allclose(found.values.var(axis=0), found.variances[0], rtol=0.05)
    (exact,) = noisy_trends(
        tables, even * (np.exp(0.01 * found.directions[:, 0]).reshape(-1) - 1), variances, even, np.tile(ranked, 20_000)
    )
    np.testing.assert_allclose(exact.values[:, 0], 0.01, rtol=0.02)


@pytest.mark.parametrize(("ranked", "most"), [((0, 0), 0.5), ((4, 0), 0.3), ((0, 4), 0.3), ((4, 4), 0.2)])
def test_a_trend_below_the_noise_of_every_cell_is_found_and_none_is_invented(
    ranked: tuple[int, int], most: float
) -> None:
    """40 pairs with trends: errors are a part of independence's (.11 without noise), less with orders; 40 without stay."""
    generator, pairs = np.random.default_rng(3), sets_of(SIZES * 40, *((2 * k, 2 * k + 1) for k in range(40)))
    parts, even = np.tile(PARTS, 40), np.full(63 * 40, SIZE / 63)
    spread = 40.0  # cells hold 79 records, and deviate by at most 48
    noise = residuals_of(pairs, spread * generator.normal(size=even.size))
    for slope, limit in ((0.6, most), (0.0, None)):
        truth = np.tile(trend(slope), 40)
        deviations = residuals_of(pairs, truth) - residuals_of(pairs, even) + noise
        found = predictions(pairs, parts, deviations, spread, even, ranked)
        if limit is None:
            assert np.abs(found - even).max() < 1e-6 * SIZE
        else:
            assert ((found - truth) ** 2).sum() < limit * ((even - truth) ** 2).sum()


def test_cells_and_coarse_tables_add_up_by_their_precisions() -> None:
    """200 pairs with a trend: cells alone, coarse tables alone, and both, which are nearest; so are both without noise."""
    generator, number = np.random.default_rng(5), 200
    pairs = sets_of(SIZES * number, *((2 * k, 2 * k + 1) for k in range(number)))
    parts, even = np.tile(PARTS, number), np.full(63 * number, SIZE / 63)
    truth = np.tile(trend(0.6), number)
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
        found = predictions(pairs, parts, deviations, one, even, measured=measured)
        errors.append(float(((np.bincount(places, found) - added) ** 2).sum()))
    assert errors[2] < 0.8 * min(errors[:2])
    assert errors[3] < 0.02 * errors[2]


@pytest.mark.parametrize(("fine", "few"), [(40.0, np.inf), (np.inf, 60.0), (40.0, 60.0)])
def test_deviations_of_coarse_cells_have_the_stated_precisions(fine: float, few: float) -> None:
    """4,000 pairs; each of 16 variances is within a tenth of what is stated (four standard errors)."""
    generator, number = np.random.default_rng(6), 4_000
    pairs = sets_of(SIZES * number, *((2 * k, 2 * k + 1) for k in range(number)))
    parts, even = np.tile(PARTS, number), np.full(63 * number, SIZE / 63)
    tables = MarginalSet(coarser(pairs.domains, parts), pairs.attributes)
    noise = residuals_of(pairs, generator.normal(0, fine if np.isfinite(fine) else 0.0, even.size))
    own = residuals_of(tables, generator.normal(0, few if np.isfinite(few) else 0.0, 16 * number))
    own += residuals_of(tables, np.bincount(coarse_cells(pairs, tables, parts), even).astype(float))
    variances, measured = np.full(number, fine**2), (own, np.full(number, few**2))
    *_, apart, precision = _coarse_deviations(pairs, parts, noise, variances, even, measured)
    np.testing.assert_allclose(apart.reshape(number, 16).var(axis=0), 1 / precision[:16], rtol=0.1)


def test_no_coarse_table_is_farther_than_its_pair() -> None:
    """40 pairs with dependence of which a distance says that there is none; .46 of their squares otherwise."""
    generator, pairs = np.random.default_rng(4), sets_of(SIZES * 40, *((2 * k, 2 * k + 1) for k in range(40)))
    even = np.full(63 * 40, SIZE / 63)
    dependence = np.tile(trend(0.6), 40) - even
    deviations = residuals_of(pairs, dependence + 40.0 * generator.normal(size=even.size))
    none = np.where(DISTANCES < 1e-3, 0.0, -1e4)
    found = predictions(pairs, np.tile(PARTS, 40), deviations, 40.0, even, likelihoods=none)
    assert ((found - even) ** 2).sum() < 1e-3 * (dependence**2).sum()


@pytest.mark.parametrize(("strengths", "spread"), [(np.full(60, 1.2), 1.0), (5.0 * (np.arange(60) == 0), 0.6)])
def test_trends_stand_out_together_or_alone(strengths: np.ndarray, spread: float) -> None:
    """Sixty slight trends, or one among sixty pairs, change predictions; neither is more than noise to the other test."""
    pairs, even = sets_of((4, 4) * 60, *((2 * k, 2 * k + 1) for k in range(60))), np.full(16 * 60, 100.0)
    (trends,) = noisy_trends(pairs, np.zeros(even.size), np.full(even.size, 56.0), even, np.full(120, 4))
    sizes = strengths + np.random.default_rng(1).normal(0, spread, 60)  # in deviations of the noise
    values = sizes[:, None] * np.sqrt(trends.variances)
    found = _with_trends([replace(trends, values=values)], even)
    whole = even * (values[:, :, None, None] * trends.directions).ravel()
    assert 0.05 < np.abs(found - even).sum() / np.abs(whole).sum() < 0.75  # shrunken
    assert np.array_equal(_with_trends([replace(trends, values=values / 2)], even), even)


@pytest.mark.parametrize("rows", [[0.5, 0.5], [0.2, 0.8]])
def test_a_trend_keeps_margins_and_leaves_no_cell_negative(rows: list[float]) -> None:
    """Two parts of each column and theta 3: with even margins, a cell would be -2 times what independence says."""
    pair, even = sets_of((2, 2), (0, 1)), 400.0 * np.outer(rows, [0.5, 0.5]).ravel()
    (trends,) = noisy_trends(pair, np.zeros(4), np.full(4, 25.0), even, np.full(2, 2))
    found = _with_trends([replace(trends, values=np.array([[3.0]]))], even).reshape(2, 2)
    assert found.min() > 0
    np.testing.assert_allclose(found.sum(axis=0), 200.0)
    np.testing.assert_allclose(found.sum(axis=1), 400.0 * np.array(rows), rtol=0.01)
    if rows[0] == 0.5:
        assert found[0, 1] / found[0, 0] == pytest.approx(np.exp(-3) / 4, rel=0.01)


def test_scores_are_even_and_missing_values_have_none() -> None:
    counts = np.array([[10.0, 20.0, 30.0, 40.0], [5.0, 5.0, 10.0, 80.0]])
    found, shares = _scores(counts, np.array([3, 4])), counts / 100
    np.testing.assert_allclose((shares * found).sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose((shares * found**2).sum(axis=1), 1.0)
    np.testing.assert_allclose(np.diff(found[1]), found[1, 1] - found[1, 0])
    assert found[0, 3] == 0
    assert found[0, 2] - found[0, 1] == pytest.approx(found[0, 1] - found[0, 0])


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
    found = predictions(PAIR, PARTS, np.full(63, 9.0), np.inf, predicted, (4, 4))
    np.testing.assert_array_equal(found, predicted)
    small = sets_of((4, 3), (0, 1))
    parts, counts = np.array([0, 1, 2, 3, 0, 1, 2]), np.full(12, SIZE / 12)
    found = predictions(small, parts, np.full(12, 9.0), 1.0, counts, (4, 3))
    np.testing.assert_array_equal(found, counts)
