"""Predictions of marginals from those of fewer attributes, scales of interactions, and counts after shrinkage."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.inference.interactions import (
    DOUBTS,
    interaction_scales,
    onto_simplices,
    predicted_counts,
    says_something,
    shrunken_counts,
    with_margins,
)
from dpopt.models.noise_budgets.residual_allocation import prices
from dpopt.queries.residuals import residuals_of
from tests.queries.test_residuals import counts_of, sets_of

SIZES = (3, 2, 4)
PAIRS = sets_of(SIZES, (0, 1), (0, 2), (1, 2))
ONES = sets_of(SIZES, (0,), (1,), (2,))
TRIPLE = sets_of(SIZES, (0, 1, 2))


def table(seed: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).gamma(1.5, 40.0, size=SIZES)


def test_pairs_are_predicted_to_be_independent() -> None:
    found = table(0)
    predicted = predicted_counts(PAIRS, ONES, counts_of(ONES, found), found.sum())
    ones = [found.sum(axis=(1, 2)), found.sum(axis=(0, 2)), found.sum(axis=(0, 1))]
    expected = [np.outer(ones[a], ones[b]).ravel() / found.sum() for a, b in ((0, 1), (0, 2), (1, 2))]
    np.testing.assert_allclose(predicted, np.concatenate(expected))


def test_a_triple_is_predicted_with_the_given_pairs_and_no_interaction_of_all_three() -> None:
    found = table(1)
    predicted = predicted_counts(TRIPLE, PAIRS, counts_of(PAIRS, found), found.sum()).reshape(SIZES)
    np.testing.assert_allclose(counts_of(PAIRS, predicted), counts_of(PAIRS, found), rtol=1e-3)
    log = np.log(predicted)
    for axis in range(3):  # differences along all axes vanish where there is no interaction of all
        log = np.diff(log, axis=axis)
    assert np.abs(log).max() < 1e-9


def test_a_missing_margin_is_refused() -> None:
    with pytest.raises(ProgramError, match="missing"):
        predicted_counts(TRIPLE, PAIRS.take([0, 1]), np.ones(6 + 12), 10.0)


def test_tables_get_margins_by_the_nearest_table_of_which_no_cell_is_lifted_from_zero() -> None:
    """20 triples of which the third value follows from others: noise that lifts empty cells goes, and no margin is off."""
    found = table(2)
    np.testing.assert_allclose(with_margins(TRIPLE, PAIRS, counts_of(PAIRS, found), found.ravel()), found.ravel())
    single = np.array([[9.0, 1.0, 0.0, 0.0], [2.0, 0.0, 8.0, 0.0]])
    pair, each = sets_of((2, 4), (0, 1)), sets_of((2, 4), (0,), (1,))
    margins = np.concatenate([np.array([8.0, 12.0]), single.sum(axis=0) - np.array([1.5, 0.5, -2.0, 0.0])])
    kept = with_margins(pair, each, margins, single.ravel()).reshape(2, 4)
    assert (kept[single == 0] == 0).all()
    np.testing.assert_allclose(kept.sum(axis=0), margins[2:], atol=0.1)
    errors = []
    for seed in range(20):
        generator = np.random.default_rng(seed)
        truth = np.zeros(SIZES)
        for a, b in np.ndindex(3, 2):
            truth[a, b, (a + b) % 4] = generator.gamma(4.0, 20.0)
        noisy, exact = np.maximum(truth + generator.normal(0, 4, SIZES), 0.0), counts_of(PAIRS, truth)
        mended = with_margins(TRIPLE, PAIRS, exact, noisy.ravel())
        np.testing.assert_allclose(counts_of(PAIRS, mended.reshape(SIZES)), exact, atol=0.5)
        errors.append([np.abs(each - truth).sum() for each in (mended.reshape(SIZES), noisy)])
    mended_errors, noisy_errors = np.mean(errors, axis=0)
    assert mended_errors < 0.2 * noisy_errors


def test_scales_are_found_and_shrinkage_lowers_the_error() -> None:
    """200 sets, half of them with an interaction of scale .01, half with none; noise of 5 records. Error below 60 % of both the
    measured and the predicted one, in each of the seeds tried."""
    generator = np.random.default_rng(2)
    size, number, noise = 10_000.0, 200, 5.0
    sets = sets_of((4,) * 40, *[(a, b) for a in range(40) for b in range(a + 1, 40)][:number])
    predicted = np.repeat(size / 16, sets.number_of_cells)
    strong = np.repeat(np.arange(number) < number // 2, 16)
    truth = residuals_of(
        sets, np.where(strong, np.sqrt(0.001 * size * predicted), 0.0) * generator.normal(size=predicted.size)
    )
    noisy = truth + residuals_of(sets, noise * 10 * generator.normal(size=predicted.size))
    variances = np.full(number, (10 * noise) ** 2)
    spread = np.repeat(variances * prices(sets), 16)
    scales, means = interaction_scales(sets, noisy, spread, predicted, size)
    assert 0.0003 < np.median(scales[: number // 2]) < 0.003
    assert np.median(scales[number // 2 :]) < 0.0003
    assert (means >= scales * (1 - 1e-9)).all()
    counts = shrunken_counts(sets, noisy, spread, predicted, scales, size)
    error = ((counts - predicted - truth) ** 2).mean()
    assert error < 0.6 * min(((noisy - truth) ** 2).mean(), (truth**2).mean())


def test_predictions_stay_where_an_order_says_nothing() -> None:
    """In 1,000 draws of noise alone; at most 2 DOUBTS of them may differ, and three deviations more by chance."""
    generator, predicted = np.random.default_rng(3), np.full(PAIRS.number_of_cells, 10.0)
    variances = np.array([30.0, 300.0, 3000.0]) ** 2
    spread = np.repeat(variances * prices(PAIRS), PAIRS.cells())
    differ = 0
    for _ in range(1000):
        noise = np.sqrt(np.repeat(variances, PAIRS.cells())) * generator.normal(size=predicted.size)
        scales, _ = interaction_scales(PAIRS, residuals_of(PAIRS, noise), spread, predicted, 100.0)
        differ += bool(scales.any())
    expected = 2 * DOUBTS[1] * 1000
    assert differ <= expected + 3 * np.sqrt(expected)
    assert differ > 0


def test_noise_alone_seldom_counts_as_a_distance() -> None:
    """4,000 draws of 15 noisy distances, of which two tests at .05 see something; right code fails once in a million runs.

    Noise counted at half of what it is, and tests at half or twice their level, would be noticed with a power above .999.
    """
    random, own = np.random.default_rng(5), np.full(15, 100.0)
    noise = random.normal(own, np.hypot(50.0, 15.0), (4_000, 15))
    rate = np.mean([says_something(one, 50.0, own) for one in noise])
    bound = 0.1
    assert 0.6 * bound < rate <= bound + 5 * np.sqrt(bound / 4_000)
    assert np.mean([says_something(own + 2 * (one - own), 50.0, own) for one in noise]) > 2 * bound
    assert np.mean([says_something(one + 4 * 52 * (np.arange(15) == 3), 50.0, own) for one in noise]) > 0.8
    assert np.mean([says_something(one + 52.0, 50.0, own) for one in noise]) > 0.95


def test_what_is_not_measured_stays_as_it_was_predicted() -> None:
    predicted = np.full(PAIRS.number_of_cells, 7.0)
    noise = np.full(predicted.size, np.inf)
    found = shrunken_counts(PAIRS, np.full(predicted.size, 3.0), noise, predicted, np.zeros(3), 100.0)
    np.testing.assert_array_equal(found, predicted)


def test_the_nearest_point_of_a_simplex() -> None:
    found = onto_simplices(sets_of((3, 2), (0,), (1,)), np.array([6.0, 1.0, -2.0, 4.0, 4.0]), 6.0)
    np.testing.assert_allclose(found, [5.5, 0.5, 0.0, 3.0, 3.0])
