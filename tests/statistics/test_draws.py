"""What is drawn with the operating system's generator, against exact distributions, by chi-square tests of stated power.

Every row of `DRAWN` states its sample. The false-alarm rate is 1e-6, and a parameter that is wrong by one of the factors is
missed with probability below 1e-6. A new sampler adds a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.private.mechanisms.net.net_boxes import BoxSampler, draw_listed, multiset_of
from dpopt.private.mechanisms.net.net_distribution import Multisets, NetDistribution
from dpopt.private.mechanisms.noise import OpendpNoise
from dpopt.private.mechanisms.randomness import SystemWords
from dpopt.private.mechanisms.selection_distribution import draw_candidate, selection_weights
from dpopt.private.selections.query_weights import ExactSampler, QueryWeights
from tests.exact_distribution import distribution, exp_minus, signed_scores
from tests.statistics.power import miss_probability, statistic, threshold
from tests.tiny_nets import all_multisets, cells, distance_of

pytestmark = pytest.mark.statistics

FALSE_ALARM = MISSED = 1e-6
Shares = NDArray[np.float64]
Frequencies = NDArray[np.int64]


@dataclass(frozen=True)
class Drawn:
    """A distribution with one parameter, and how it is drawn from.

    Attributes
    ----------
    shares : callable
        The exact probability of each cell, given the parameter.
    frequencies : callable
        How often each cell is drawn, given the parameter and the number of draws.
    right : Decimal
        The parameter that is tested.
    wrong : sequence of str
        Factors by which it is wrong.
    sample : int
        Number of draws.
    fewest : int
        So many are expected in every cell at least.
    """

    shares: Callable[[Decimal], Shares]
    frequencies: Callable[[Decimal, int], Frequencies]
    right: Decimal
    wrong: Sequence[str]
    sample: int
    fewest: int

    @property
    def expected(self) -> Shares:
        return self.shares(self.right)

    @property
    def limit(self) -> float:
        return threshold(len(self.expected), FALSE_ALARM)


def as_shares(values: Sequence[Fraction]) -> Shares:
    return np.array([float(value / sum(values)) for value in values])


# Signed queries of DualQuery, after some records.

STEP, SIZE = Decimal("1.4"), 100
COUNTS = [3, 97, 50, 41, 66, 12, 80, 29]
OBSERVED = [np.array([bit == "1" for bit in bits]) for bits in ("01011010", "11001010", "01011101")]


def query_shares(step: Decimal, observed: Sequence[NDArray[np.bool_]] = OBSERVED) -> Shares:
    return as_shares(distribution(signed_scores(COUNTS, observed, rows=SIZE, size=SIZE), step, SIZE))


def queries(step: Decimal, sample: int, observed: Sequence[NDArray[np.bool_]] = OBSERVED) -> Frequencies:
    weights = QueryWeights(np.array(COUNTS), rows=SIZE, size=SIZE, step=step)
    for answers in observed:
        weights.observe(answers)
    return np.bincount(ExactSampler(SystemWords()).draw(weights, sample), minlength=2 * len(COUNTS))


# Candidates of a selection.

SCORES, SPREAD = [40, 31, 22, 38, 5, 40, 17, 28], 8


def candidate_shares(range_: Decimal) -> Shares:
    return as_shares([exp_minus(Fraction(range_) / SPREAD * (max(SCORES) - score)) for score in SCORES])


def candidates(range_: Decimal, sample: int) -> Frequencies:
    weights, words = selection_weights(SCORES, range_=range_, spread=SPREAD), SystemWords()
    return np.bincount([draw_candidate(weights, words) for _ in range(sample)], minlength=len(SCORES))


# Small databases, by branch and bound and from a list.

ANSWERS, RECORDS, ROWS = cells(2, 2), 3, 10
TARGETS = RECORDS * (ANSWERS.astype(np.int64) @ np.array([4, 1, 2, 3]))
MULTISETS = all_multisets(4, RECORDS)  # 20 of them
DISTANCES = {counts: distance_of(ANSWERS, TARGETS.tolist(), ROWS, counts) for counts in MULTISETS}


def database_shares(range_: Decimal) -> Shares:
    return as_shares([exp_minus(Fraction(range_) / (2 * RECORDS) * DISTANCES[one]) for one in MULTISETS])


def databases(range_: Decimal, sample: int, *, listed: bool) -> Frequencies:
    multisets, words = Multisets(ANSWERS, RECORDS), SystemWords()
    rule = NetDistribution(range_, 2 * RECORDS, 2 * RECORDS * ROWS)
    ranked = [tuple(multiset_of(multisets, rank).tolist()) for rank in range(multisets.number)]
    distances = np.array([DISTANCES[counts] for counts in ranked])

    def drawn() -> tuple[int, ...]:
        if listed:
            return ranked[draw_listed(distances, rule.weight, words)]
        sampler = BoxSampler(multisets, TARGETS, size=ROWS, distribution=rule, source=words)
        return tuple(sampler.draw().tolist())

    return np.bincount([MULTISETS.index(drawn()) for _ in range(sample)], minlength=len(MULTISETS))


# Noise.

REACH = 7  # cells -7 .. 7, and everything beyond on either side in one cell each


def cells_of(noise: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.clip(noise, -REACH - 1, REACH + 1) + REACH + 1


def noise_shares(name: str, scale: Decimal) -> Shares:
    values, b = np.arange(-400, 401), float(scale)
    weights = np.exp(-(values**2) / (2 * b**2) if name == "discrete_gaussian" else -np.abs(values) / b)
    return np.asarray(np.bincount(cells_of(values), weights=weights / weights.sum()), dtype=np.float64)


def noise(name: str, scale: Decimal, sample: int) -> Frequencies:
    drawn = getattr(OpendpNoise(), name)(np.full(sample, 7, dtype=np.int64), float(scale)) - 7
    return np.bincount(cells_of(drawn), minlength=2 * REACH + 3)


QUERIES = Drawn(query_shares, queries, STEP, ("1.1", "0.9", "2", "0.5"), 400_000, 1000)
DRAWN = {
    "16 signed queries": QUERIES,
    "8 candidates": Drawn(candidate_shares, candidates, Decimal("0.7"), ("1.2", "0.8", "2", "0.5"), 20_000, 200),
    **{
        f"20 databases, {'listed' if listed else 'branch and bound'}": Drawn(
            database_shares,
            partial(databases, listed=listed),
            Decimal("0.8"),
            () if listed else ("2", "0.5"),
            3_500,
            10,
        )
        for listed in (False, True)
    },
    **{
        f"{name} noise in 17 cells": Drawn(
            partial(noise_shares, name), partial(noise, name), Decimal("2.5"), ("1.1", "0.9", "2"), 50_000, 50
        )
        for name in ("discrete_gaussian", "discrete_laplace")
    },
}


@pytest.mark.parametrize("name", DRAWN)
def test_draws_follow_their_exact_distribution(name: str) -> None:
    """As many draws as the row says; false alarm with probability 1e-6."""
    row = DRAWN[name]
    assert row.sample * row.expected.min() > row.fewest
    assert statistic(row.frequencies(row.right, row.sample), row.expected) < row.limit


@pytest.mark.parametrize(("name", "factor"), [(name, by) for name, row in DRAWN.items() for by in row.wrong])
def test_draws_with_a_wrong_parameter_are_rejected(name: str, factor: str) -> None:
    """The same test misses a step, range, epsilon or scale that is wrong by the factor with probability below 1e-6."""
    row, wrong = DRAWN[name], DRAWN[name].right * Decimal(factor)
    assert miss_probability(row.expected, row.shares(wrong), row.sample, row.limit) < MISSED
    assert statistic(row.frequencies(wrong, row.sample), row.expected) > row.limit


def test_draws_that_leave_out_one_round_are_rejected() -> None:
    """400,000 draws of a query: they are missed with probability below 1e-6."""
    row, earlier = QUERIES, OBSERVED[:-1]
    assert miss_probability(row.expected, query_shares(STEP, earlier), row.sample, row.limit) < MISSED
    assert statistic(queries(STEP, row.sample, earlier), row.expected) > row.limit


def test_the_draws_of_one_call_are_independent() -> None:
    """Pairs from 20,000 calls with two draws follow the product distribution; false alarm with probability 1e-6. Draws without
    replacement, which never give a pair of equal queries, would be rejected at once."""
    calls, answers = 20_000, np.array([False, True])
    weights = QueryWeights(np.array([30, 70]), rows=SIZE, size=SIZE, step=Decimal(1))
    weights.observe(answers)
    sampler = ExactSampler(SystemWords())
    pairs = np.array([sampler.draw(weights, 2) for _ in range(calls)])
    scores = signed_scores([30, 70], [answers], rows=SIZE, size=SIZE)
    shares = as_shares(distribution(scores, Decimal(1), SIZE))
    both = [(i, j) for i in range(4) for j in range(i, 4)]
    product = np.array([shares[i] * shares[j] * (1 if i == j else 2) for i, j in both])
    found = np.array([int(np.sum((pairs[:, 0] == i) & (pairs[:, 1] == j))) for i, j in both])
    assert calls * product.min() > 500
    assert statistic(found, product) < threshold(len(both), FALSE_ALARM)
