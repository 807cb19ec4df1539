"""Draws of small databases by branch and bound, against enumeration, by a chi-square test of stated power."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.private.mechanisms.net.net_boxes import BoxSampler
from dpopt.private.mechanisms.net.net_distribution import Multisets, NetDistribution
from dpopt.private.mechanisms.net.net_draw import draw_listed, multiset_of
from dpopt.private.mechanisms.randomness import SystemWords
from tests.exact_distribution import exp_minus
from tests.statistics.power import miss_probability, statistic, threshold
from tests.tiny_nets import all_multisets, cells, distance_of

pytestmark = pytest.mark.statistics

SAMPLE = 6_000
FALSE_ALARM = 1e-6
MISSED = 1e-6
ANSWERS, RECORDS, SIZE = cells(2, 2), 3, 10
TABLE = np.array([4, 1, 2, 3])
TARGETS = RECORDS * (ANSWERS.astype(np.int64) @ TABLE)
MULTISETS = all_multisets(4, RECORDS)  # 20 of them
RANGE = Decimal("0.8")


def exact_distribution(range_: Decimal) -> NDArray[np.float64]:
    rate = Fraction(range_) / (2 * RECORDS)
    distances = [distance_of(ANSWERS, TARGETS.tolist(), SIZE, counts) for counts in MULTISETS]
    weights = [exp_minus(rate * distance) for distance in distances]
    return np.array([float(weight / sum(weights)) for weight in weights])


def distribution_of(range_: Decimal) -> NetDistribution:
    return NetDistribution(range_, 2 * RECORDS, 2 * RECORDS * SIZE)


def frequencies(range_: Decimal, *, listed: bool = False) -> NDArray[np.int64]:
    multisets, distribution, words = Multisets(ANSWERS, RECORDS), distribution_of(range_), SystemWords()
    places = {counts: place for place, counts in enumerate(MULTISETS)}
    found = np.zeros(len(MULTISETS), dtype=np.int64)
    ranked = [tuple(multiset_of(multisets, rank).tolist()) for rank in range(multisets.number)]
    distances = np.array([distance_of(ANSWERS, TARGETS.tolist(), SIZE, counts) for counts in ranked])
    for _ in range(SAMPLE):
        drawn = (
            ranked[draw_listed(distances, distribution.weight, words)]
            if listed
            else tuple(
                BoxSampler(multisets, TARGETS, size=SIZE, distribution=distribution, source=words)
                .draw()
                .tolist()
            )
        )
        found[places[drawn]] += 1
    return found


LIMIT = threshold(len(MULTISETS), FALSE_ALARM)


@pytest.mark.parametrize("listed", [False, True], ids=["branch and bound", "listed"])
def test_draws_follow_the_exact_distribution(listed: bool) -> None:
    """6,000 draws among 20 databases; false alarm with probability 1e-6."""
    assert SAMPLE * exact_distribution(RANGE).min() > 10
    assert statistic(frequencies(RANGE, listed=listed), exact_distribution(RANGE)) < LIMIT


@pytest.mark.parametrize("factor", ["2", "0.5"])
def test_draws_with_a_wrong_epsilon_are_rejected(factor: str) -> None:
    """The same test misses an epsilon that is wrong by a factor of two with probability below 1e-6."""
    wrong = RANGE * Decimal(factor)
    assert miss_probability(exact_distribution(RANGE), exact_distribution(wrong), SAMPLE, LIMIT) < MISSED
    assert statistic(frequencies(wrong), exact_distribution(RANGE)) > LIMIT
