"""The sampler fed by the operating system's generator, against the exact distribution, by a chi-square test of stated power."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.private.mechanisms.randomness import SystemWords
from dpopt.private.selections.query_weights import ExactSampler, QueryWeights
from tests.exact_distribution import distribution, signed_scores
from tests.statistics.power import miss_probability, statistic, threshold

pytestmark = pytest.mark.statistics

SAMPLE = 400_000
FALSE_ALARM = 1e-6
MISSED = 1e-6
STEP, SIZE = Decimal("1.4"), 100
COUNTS = [3, 97, 50, 41, 66, 12, 80, 29]
OBSERVED = [np.array([bit == "1" for bit in bits]) for bits in ("01011010", "11001010", "01011101")]


def exact_distribution(step: Decimal) -> NDArray[np.float64]:
    scores = signed_scores(COUNTS, OBSERVED, rows=SIZE, size=SIZE)
    return np.array([float(share) for share in distribution(scores, step, SIZE)])


def frequencies(step: Decimal) -> NDArray[np.int64]:
    weights = QueryWeights(np.array(COUNTS), rows=SIZE, size=SIZE, step=step)
    for answers in OBSERVED:
        weights.observe(answers)
    drawn = ExactSampler(SystemWords()).draw(weights, SAMPLE)
    return np.bincount(drawn, minlength=2 * len(COUNTS))


LIMIT = threshold(2 * len(COUNTS), FALSE_ALARM)


def test_draws_follow_the_exact_distribution() -> None:
    """400,000 draws of 16 signed queries; false alarm with probability 1e-6."""
    assert SAMPLE * exact_distribution(STEP).min() > 1000
    assert statistic(frequencies(STEP), exact_distribution(STEP)) < LIMIT


@pytest.mark.parametrize("factor", ["1.1", "0.9", "2", "0.5"])
def test_draws_with_a_wrong_step_are_rejected(factor: str) -> None:
    """The same test misses a step that is wrong by the factor with probability below 1e-6."""
    wrong = STEP * Decimal(factor)
    assert miss_probability(exact_distribution(STEP), exact_distribution(wrong), SAMPLE, LIMIT) < MISSED
    assert statistic(frequencies(wrong), exact_distribution(STEP)) > LIMIT


def test_draws_that_leave_out_one_round_are_rejected() -> None:
    weights = QueryWeights(np.array(COUNTS), rows=SIZE, size=SIZE, step=STEP)
    for answers in OBSERVED[:-1]:
        weights.observe(answers)
    drawn = ExactSampler(SystemWords()).draw(weights, SAMPLE)
    scores = signed_scores(COUNTS, OBSERVED[:-1], rows=SIZE, size=SIZE)
    wrong = np.array([float(share) for share in distribution(scores, STEP, SIZE)])
    assert miss_probability(exact_distribution(STEP), wrong, SAMPLE, LIMIT) < MISSED
    assert statistic(np.bincount(drawn, minlength=2 * len(COUNTS)), exact_distribution(STEP)) > LIMIT


def test_the_draws_of_one_call_are_independent() -> None:
    """Pairs from 20,000 calls with two draws follow the product distribution; false alarm with probability 1e-6. Draws without
    replacement, which never give a pair of equal queries, would be rejected at once."""
    calls, answers = 20_000, np.array([False, True])
    weights = QueryWeights(np.array([30, 70]), rows=SIZE, size=SIZE, step=Decimal(1))
    weights.observe(answers)
    sampler = ExactSampler(SystemWords())
    pairs = np.array([sampler.draw(weights, 2) for _ in range(calls)])
    scores = signed_scores([30, 70], [answers], rows=SIZE, size=SIZE)
    shares = [float(share) for share in distribution(scores, Decimal(1), SIZE)]
    cells = [(i, j) for i in range(4) for j in range(i, 4)]
    product = np.array([shares[i] * shares[j] * (1 if i == j else 2) for i, j in cells])
    found = np.array([int(np.sum((pairs[:, 0] == i) & (pairs[:, 1] == j))) for i, j in cells])
    assert calls * product.min() > 500
    assert statistic(found, product) < threshold(len(cells), FALSE_ALARM)
