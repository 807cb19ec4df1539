"""Selections fed by the operating system's generator, against the exact distribution, by a chi-square test of stated power."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.private.mechanisms.randomness import SystemWords
from dpopt.private.mechanisms.selection_distribution import draw_candidate, selection_weights
from tests.exact_distribution import exp_minus
from tests.statistics.power import miss_probability, statistic, threshold

pytestmark = pytest.mark.statistics

SAMPLE = 40_000
FALSE_ALARM = 1e-6
MISSED = 1e-6
SCORES = [40, 31, 22, 38, 5, 40, 17, 28]
RANGE, SPREAD = Decimal("0.7"), 8


def exact_distribution(range_: Decimal) -> NDArray[np.float64]:
    rate = Fraction(range_) / SPREAD
    weights = [exp_minus(rate * (max(SCORES) - score)) for score in SCORES]
    return np.array([float(weight / sum(weights)) for weight in weights])


def frequencies(range_: Decimal) -> NDArray[np.int64]:
    weights = selection_weights(SCORES, range_=range_, spread=SPREAD)
    words = SystemWords()
    drawn = [draw_candidate(weights, words) for _ in range(SAMPLE)]
    return np.bincount(drawn, minlength=len(SCORES))


LIMIT = threshold(len(SCORES), FALSE_ALARM)


def test_draws_follow_the_exact_distribution() -> None:
    """40,000 draws among 8 candidates; false alarm with probability 1e-6."""
    assert SAMPLE * exact_distribution(RANGE).min() > 200
    assert statistic(frequencies(RANGE), exact_distribution(RANGE)) < LIMIT


@pytest.mark.parametrize("factor", ["1.2", "0.8", "2", "0.5"])
def test_draws_with_a_wrong_range_are_rejected(factor: str) -> None:
    """The same test misses a range that is wrong by the factor with probability below 1e-6."""
    wrong = RANGE * Decimal(factor)
    assert miss_probability(exact_distribution(RANGE), exact_distribution(wrong), SAMPLE, LIMIT) < MISSED
    assert statistic(frequencies(wrong), exact_distribution(RANGE)) > LIMIT
