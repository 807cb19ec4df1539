"""How two columns hang together, from the shares of pairs of values alone."""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from dpopt.schema.attribute import Attribute, AttributeKind

Numbers = NDArray[np.float64]


def cramers_v(shares: Numbers) -> float:
    """Return Cramer's V of two columns, given the shares (n, m) of their values: 0 for independent ones, 1 at most.

    Values that do not occur are left aside; 0 where a column has one value only. Source: Cramer 1946, section 21.9.

    Examples
    --------
    >>> cramers_v(np.array([[0.5, 0.0], [0.0, 0.5]])), cramers_v(np.array([[0.25, 0.25], [0.25, 0.25]]))
    (1.0, 0.0)
    """
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    some = shares[np.ix_(rows > 0, columns > 0)]
    if min(some.shape) < 2:
        return 0.0
    expected = np.outer(rows[rows > 0], columns[columns > 0])
    squared = float(((some - expected) ** 2 / expected).sum()) / (min(some.shape) - 1)
    return min(1.0, sqrt(squared))


def correlation(one: Attribute, other: Attribute, shares: Numbers) -> float | None:
    """Return Pearson's correlation of two columns of numbers, given the shares (n, m) of their codes.

    Bins are taken at their representatives, and missing numbers are left aside. None where a column holds no numbers, or one
    number only.

    Examples
    --------
    >>> age = Attribute("age", AttributeKind.NUMERIC, edges=(0, 1, 2))
    >>> round(correlation(age, age, np.array([[0.4, 0.1], [0.1, 0.4]])) or 0.0, 3)
    0.6
    """
    if one.kind is not AttributeKind.NUMERIC or other.kind is not AttributeKind.NUMERIC:
        return None
    first, second = np.array(one.representatives), np.array(other.representatives)
    known = shares[: first.size, : second.size]
    total = float(known.sum())
    if total <= 0:
        return None
    rows, columns = known.sum(axis=1), known.sum(axis=0)
    first, second = first - rows @ first / total, second - columns @ second / total
    variances = float(rows @ first**2) * float(columns @ second**2)
    return float(first @ known @ second) / sqrt(variances) if variances > 0 else None
