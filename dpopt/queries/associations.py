"""How two columns hang together, from the shares of pairs of values alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, prod, sqrt

import numpy as np
from numpy.typing import NDArray

from dpopt.schema.attribute import Attribute, AttributeKind

Numbers = NDArray[np.float64]


def cramers_v(shares: Numbers) -> float:
    """Return Cramer's V of two columns, given the shares (n, m) of their values: 0 for independent ones, 1 at most.

    Values that do not occur are left aside; 0 where a column has one value only. Source: Cramer 1946, section 21.9.
    """
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    some = shares[np.ix_(rows > 0, columns > 0)]
    if min(some.shape) < 2:
        return 0.0
    expected = np.outer(rows[rows > 0], columns[columns > 0])
    squared = float(((some - expected) ** 2 / expected).sum()) / (min(some.shape) - 1)
    return min(1.0, sqrt(squared))


def chi_square(shares: Numbers, rows: int) -> tuple[float, float, float] | None:
    """Return chi-square of two columns, given the shares (n, m) of their values, its mean and its variance over all shuffles.

    With N records, and counts n_i of the r and m_j of the c values that occur, these are exactly N (r - 1) (c - 1) /
    (N - 1), and 2 N / (N - 3) (v - w) (v' - w') + N^2 / (N - 1) w w', where v = (r - 1) (N - r) / (N - 1) and w = (sum_i
    N / n_i - r^2) / (N - 2), v' and w' likewise of the m_j. None where all shuffles are alike, or of fewer than 4
    records. Source: Haldane (1940), Dawson (1954).
    """
    both = [shares.sum(axis=1), shares.sum(axis=0)]
    margins = [one[one > 0] for one in both]
    if rows < 4 or min(map(len, margins)) < 2:
        return None
    found = float((shares[np.ix_(both[0] > 0, both[1] > 0)] ** 2 / np.outer(*margins)).sum())
    mean = rows * prod(len(one) - 1 for one in margins) / (rows - 1)
    v = [(len(one) - 1) * (rows - len(one)) / (rows - 1) for one in margins]
    w = [(float((1 / one).sum()) - len(one) ** 2) / (rows - 2) for one in margins]
    variance = 2 * rows / (rows - 3) * (v[0] - w[0]) * (v[1] - w[1]) + rows**2 / (rows - 1) * w[0] * w[1]
    return (rows * (found - 1), mean, variance) if variance > 1e-9 * mean**2 else None


def correlation(one: Attribute, other: Attribute, shares: Numbers) -> float | None:
    """Return Pearson's correlation of two columns of numbers, given the shares (n, m) of their codes.

    Bins are taken at their representatives, and missing numbers are left aside. None where a column holds no numbers,
    or one number only.

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
    # Divided by the largest, so that no square overflows.
    first, second = (apart / max(float(np.abs(apart).max()), 1e-300) for apart in (first, second))
    variances = float(rows @ first**2) * float(columns @ second**2)
    return float(first @ known @ second) / sqrt(variances) if variances > 0 else None


def group_sums(values: Numbers, weights: Numbers, groups: Sequence[NDArray[np.integer]], size: int) -> Numbers:
    """Return the number of records with a number in each group, and their sums, for all columns at once, (2, p, g).

    `values` (p, n) are the numbers of p columns, where NaN is left aside, `weights` (n,) those of records. Each of
    `groups` (n,) has the group of every record by one more column, numbered from 0 over all of them, g (`size`) in all.

    Examples
    --------
    >>> ages = np.array([[20.0, 40.0, np.nan]])
    >>> group_sums(ages, np.ones(3), [np.array([0, 0, 1])], 2).tolist()
    [[[2.0, 0.0]], [[60.0, 0.0]]]
    """
    known = np.isfinite(values)
    parts = np.stack([known * weights, np.where(known, values, 0.0) * weights])
    places, each = np.concatenate(groups), len(groups)
    return np.stack([[np.bincount(places, np.tile(column, each), size) for column in part] for part in parts])


@dataclass(frozen=True, slots=True, eq=False)
class PairSums:
    """Sums over the records that have both numbers of a pair of columns, for correlations and differences.

    Examples
    --------
    >>> sums = PairSums.of(np.array([[1.0, 2.0, np.nan], [3.0, 5.0, 9.0]]), np.ones(3), np.zeros(2))
    >>> round(sums.correlation(0, 1), 3), sums.difference(0, 1)
    (1.0, 2.5)
    """

    centres: Numbers
    """Shape (d,). The number subtracted from each column before, so that sums keep their digits."""
    number: Numbers
    first: Numbers
    squares: Numbers
    products: Numbers
    """Shape (d, d). Row i, column j: of the records that have both i and j, how many there are, and the sums of i, of
    its squares, and of its products with j."""

    @classmethod
    def of(cls, values: Numbers, weights: Numbers, centres: Numbers) -> PairSums:
        """Return the sums of records with values (d, n), without values that are not finite, and weights (n,)."""
        known = np.isfinite(values)
        ones, moved = known.astype(np.float64), np.where(known, values - centres[:, None], 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            weighted = moved * weights
            return cls(
                centres, (ones * weights) @ ones.T, weighted @ ones.T, (weighted * moved) @ ones.T, weighted @ moved.T
            )

    def __add__(self, others: PairSums) -> PairSums:
        """Return the sums over these and other records."""
        return PairSums(
            self.centres,
            self.number + others.number,
            self.first + others.first,
            self.squares + others.squares,
            self.products + others.products,
        )

    def difference(self, one: int, other: int) -> float | None:
        """Return the mean of the second less the first; None where no record has both."""
        if not self.number[one, other]:
            return None
        moved = (self.first[other, one] - self.first[one, other]) / self.number[one, other]
        return float(moved + self.centres[other] - self.centres[one])

    def correlation(self, one: int, other: int) -> float | None:
        """Return Pearson's correlation; None where one of the two is constant, or no record has both."""
        number = float(self.number[one, other])
        if not number:
            return None
        sums = self.first[one, other], self.first[other, one]
        parts = [
            float(self.squares[a, b]) - float(s) * float(s) / number  # as a power it would raise where it overflows
            for a, b, s in ((one, other, sums[0]), (other, one, sums[1]))
        ]
        rounding = [1e-12 * float(self.squares[a, b]) for a, b in ((one, other), (other, one))]
        if not all(isfinite(part) and part > least for part, least in zip(parts, rounding, strict=True)):
            return None
        both = float(self.products[one, other]) - float(sums[0]) * float(sums[1]) / number
        return max(-1.0, min(1.0, both / sqrt(parts[0] * parts[1])))
