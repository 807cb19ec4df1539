"""The distribution of a DualQuery draw in rational arithmetic, written again from the text of its docstring.

Nothing here calls the sampler: exponentials are computed with whole numbers, scores with Python's integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from tests.scripted import ScriptedWords

_BITS = 420
_LN = Context(prec=60)


@lru_cache(maxsize=100_000)
def exp_minus(exponent: Fraction) -> Fraction:
    """Return exp(-exponent) for exponent >= 0 with a relative error below 2**-300: halve, Taylor, square."""
    one = 1 << _BITS
    halvings = max(0, int(exponent).bit_length() + 8)
    small = (exponent.numerator << _BITS) // (exponent.denominator << halvings)
    term, total, number = one, one, 1
    while term:
        term = ((term * small) >> _BITS) // number
        total += -term if number % 2 else term
        number += 1
    for _ in range(halvings):
        total = (total * total) >> _BITS
    return Fraction(total, one)


@lru_cache(maxsize=20_000)
def logarithm(ratio: Fraction) -> Decimal:
    """Return ln of a positive ratio to about 55 digits."""
    return _LN.ln(_LN.divide(Decimal(ratio.numerator), Decimal(ratio.denominator)))


@lru_cache(maxsize=20_000)
def laplace_tail(distance: int, scale: float) -> Fraction:
    """Return P(X >= distance) of discrete Laplace noise."""
    ratio = exp_minus(1 / Fraction(scale))
    return ratio**distance / (1 + ratio) if distance >= 0 else 1 - ratio ** (1 - distance) / (1 + ratio)


def gaussian_logs(values: NDArray[np.number], centre: float, scale: float) -> NDArray[np.float64]:
    """Return ln of the probabilities of discrete Gaussian noise around a centre."""
    exponents = -((values - float(centre)) ** 2) / (2 * scale**2)
    return np.asarray(exponents - np.logaddexp.reduce(exponents))


@lru_cache(maxsize=64)
def table_form(step: Decimal, size: int, depth: int) -> tuple[int, int]:
    """Return (clamp, bits): the largest distance with exp(-step / size * distance) >= 2**-depth, and how it is split."""
    rate = Fraction(step) / size
    clamp = int(Decimal(depth) * Context(prec=50).ln(Decimal(2)) / (Decimal(step) / size))
    while exp_minus(rate * (clamp + 1)) >= Fraction(1, 2**depth):
        clamp += 1
    while exp_minus(rate * clamp) < Fraction(1, 2**depth):
        clamp -= 1
    return clamp, clamp.bit_length() // 2


@lru_cache(maxsize=100_000)
def weight(distance: int, step: Decimal, size: int, depth: int = 50) -> Fraction:
    """Return the implemented weight of a score that lies `distance` below the best: a product of two doubles, rounded."""
    clamp, bits = table_form(step, size, depth)
    distance = min(distance, clamp)
    rate = Fraction(step) / size
    high = float(exp_minus(rate * ((distance >> bits) << bits)))  # int / int is correctly rounded
    low = float(exp_minus(rate * (distance & ((1 << bits) - 1))))
    return Fraction(high * low)


def signed_scores(counts: Sequence[int], answers: Sequence[NDArray[np.bool_]], *, rows: int, size: int) -> list[int]:
    """Return the scores of base query 0, its negation, base query 1, ...: each counted on its own."""
    scores = []
    for i, count in enumerate(counts):
        scores.append(sum(int(count) - size * int(q[i]) for q in answers))
        scores.append(sum((rows - int(count)) - size * (1 - int(q[i])) for q in answers))
    return scores


def distribution(scores: Sequence[int], step: Decimal, size: int, depth: int = 50) -> list[Fraction]:
    """Return the probability of each signed query."""
    weights = [weight(max(scores) - score, step, size, depth) for score in scores]
    total = sum(weights, Fraction(0))
    return [value / total for value in weights]


def integer_weights(scores: Sequence[int], step: Decimal, size: int, depth: int = 50) -> list[int]:
    """Return the weights times 2**(depth + 54), which are whole numbers."""
    scaled = [weight(max(scores) - score, step, size, depth) * 2 ** (depth + 54) for score in scores]
    assert all(value.denominator == 1 for value in scaled)
    return [int(value) for value in scaled]


def scripted_points(points: Sequence[int]) -> ScriptedWords:
    """Return words that make `uniform_below` give exactly these points: high word, low word, each below the total."""
    return ScriptedWords([word for point in points for word in (point >> 64, point & (2**64 - 1))])


def boundaries(weights: Sequence[int]) -> list[tuple[int, int]]:
    """Return (point, signed query) for the first and last point of each query's interval."""
    ends = list(accumulate(weights))
    return [
        pair
        for query, (value, end) in enumerate(zip(weights, ends, strict=True))
        for pair in ((end - value, query), (end - 1, query))
    ]
