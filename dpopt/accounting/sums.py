"""Sums that are never below the exact value: what lets a total be compared with a budget by a plain `<=`.

The products are split into pairs of floats without error (Dekker 1971), the pairs are added without error
(`math.fsum`, Shewchuk 1997), and the one rounding that is left goes up. A total that is representable comes
out as it is, so ten charges of 1/2 fit a budget of exactly 5; and the result does not depend on the order of
the charges, so a planner and the ledger always agree. Privacy: B9 in docs/privacy.md.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SMALLEST_SQUARED = 1e-120  # below it the low half of a square would underflow
_SPLITTER = 2.0**27 + 1.0


def split_product(left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return (high, low) with high + low = left * right exactly and high the rounded product.

    Factors and products must be 0 or between 1e-270 and 1e270 in size, so that nothing overflows or
    underflows.
    """
    high = left * right
    left_top, left_rest = _halves(left)
    right_top, right_rest = _halves(right)
    low = (
        (left_top * right_top - high) + left_top * right_rest + left_rest * right_top
    ) + left_rest * right_rest
    return high, low


def _halves(values: Floats) -> tuple[Floats, Floats]:
    scaled = values * _SPLITTER
    top = scaled - (scaled - values)
    return top, values - top


def sum_upward(*parts: Floats) -> float:
    """Return the smallest float that is at least the exact sum of all entries of all parts."""
    terms: list[float] = [term for part in parts for term in part.tolist()]
    total = math.fsum(terms)
    if math.isinf(total):
        return total
    terms.append(-total)
    return math.nextafter(total, math.inf) if math.fsum(terms) > 0.0 else total


def weighted_sum_upward(counts: Floats, values: Floats) -> float:
    """Return sum_i counts_i * values_i, rounded up once."""
    return sum_upward(*split_product(counts, values))


def weighted_squares(counts: Floats, values: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return four arrays whose entries add up to sum_i counts_i * values_i^2 exactly.

    Values between 0 and 1e-120 are taken as 1e-120 (an upper bound that no budget can see).
    """
    values = lifted(values)
    high, low = split_product(values, values)
    return (*split_product(counts, high), *split_product(counts, low))


def lifted(values: Floats) -> Floats:
    """Return the values with those between 0 and 1e-120 replaced by 1e-120, so that squares do not underflow."""
    return np.where((values > 0.0) & (values < SMALLEST_SQUARED), SMALLEST_SQUARED, values)


def scaled_upward(values: Floats, factor: int) -> Floats:
    """Return values * factor, each the smallest float that is not below the exact product."""
    high, low = split_product(lifted(values), np.full(len(values), float(factor)))
    return np.where(values == 0.0, 0.0, np.where(low > 0.0, np.nextafter(high, np.inf), high))
