"""What cannot be done: medians on a fine domain (Theorem 5.1), and many answers about few records (Theorem 3.11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from math import exp

from dpopt.private.mechanisms.net.net_distribution import NetDistribution


def median_distribution(values: Sequence[int], size: int, epsilon: str) -> list[Fraction]:
    """Return the distribution of the exponential mechanism for the median on {0, ..., size - 1}: the best private one.

    The score of r is minus how far the numbers of values below and above it are from balanced; one value moves it by 1.
    """
    n = len(values)
    scores = []
    for r in range(size):
        below, above = sum(v < r for v in values), sum(v > r for v in values)
        scores.append(max(0, below - n // 2, above - n // 2))
    distribution = NetDistribution(Decimal(epsilon), 2, n)
    weights = [distribution.weight(score) for score in scores]
    total = sum(weights)
    return [Fraction(weight, total) for weight in weights]


@dataclass(frozen=True)
class MedianChain:
    """The chain of the proof: n values 0, one after the other moved to v."""

    size: int
    """Points of the domain."""
    useful: float
    """Probability that the median of n equal values is given as that value, the only useful answer."""
    allowed: float
    """Most that theory leaves: e^(epsilon n) / (size - 1), as v is the least likely answer where all values are 0."""
    steps: tuple[float, ...]
    """The probability of the answer v along the chain."""


def median_chain(n: int, size: int, epsilon: str) -> MedianChain:
    """Return the chain for a domain of this size: on a continuum the size has no end, and nothing is left."""
    start = median_distribution([0] * n, size, epsilon)
    v = min(range(1, size), key=lambda point: start[point])
    steps = [
        median_distribution([0] * (n - sensitivity) + [v] * sensitivity, size, epsilon)[v]
        for sensitivity in range(n + 1)
    ]
    allowed = min(1.0, exp(float(epsilon) * n) / (size - 1))
    return MedianChain(size, float(steps[-1]), allowed, tuple(map(float, steps)))


@dataclass(frozen=True)
class Reconstruction:
    """The attack of Theorem 3.11 on a mechanism, exactly: over all databases and all of what it gives."""

    dimension: int
    epsilon: float
    """VC dimension d of the class of all subsets, with n = d / 2 records; the mechanism's epsilon."""
    error: float
    """Its expected largest error."""
    in_place: float
    """P(x in T') for x in T: how often a record of the database is in the reconstruction."""
    elsewhere: float
    """P(x in T') for x not in T."""
    ratio: float
    """The first over the second; differential privacy allows e^epsilon of it."""
    least_error: float
    """1 / (2 (1 + e^epsilon)): below this error (with certainty) the ratio would have to exceed e^epsilon."""


def reconstruct(dimension: int, epsilon: str) -> Reconstruction:
    """Attack the net mechanism over all databases of d / 2 distinct elements of d, for all queries on subsets.

    T' is the candidate that minimizes Q_T'(T') - Q_T'(D'), D' what the mechanism gives (Lemma 3.13); here T' = D'.
    """
    half = dimension // 2
    databases = [frozenset(chosen) for chosen in combinations(range(dimension), half)]
    first = databases[0]
    # By symmetry one database is enough. |Q_S(T) - Q_S(D')| is largest at S = T: |T minus D'| / (d / 2).
    distances = [len(first - other) for other in databases]
    distribution = NetDistribution(Decimal(epsilon), 2, half)
    weights = [distribution.weight(distance) for distance in distances]
    total = sum(weights)
    shares = [Fraction(weight, total) for weight in weights]
    error = sum((s * Fraction(d, half) for s, d in zip(shares, distances, strict=True)), start=Fraction(0))
    inside = sum(
        (s for s, other in zip(shares, databases, strict=True) if 0 in _attack(other, databases)), start=Fraction(0)
    )
    outside = sum(
        (s for s, other in zip(shares, databases, strict=True) if dimension - 1 in _attack(other, databases)),
        start=Fraction(0),
    )
    return Reconstruction(
        dimension,
        float(epsilon),
        float(error),
        float(inside),
        float(outside),
        float(inside / outside),
        1 / (2 * (1 + exp(float(epsilon)))),
    )


def _attack(given: frozenset[int], databases: list[frozenset[int]]) -> frozenset[int]:
    """Return the candidate T' that minimizes Q_T'(T') - Q_T'(given), with Q_T'(T') = 1."""
    return min(databases, key=lambda candidate: 1 - Fraction(len(candidate & given), len(given)))
