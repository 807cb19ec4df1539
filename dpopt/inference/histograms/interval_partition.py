"""The best intervals for the bins of a histogram: a shortest path, found by dynamic programming.

Problem (models/interval_partition; as a linear program in `dpopt.models.histograms.interval_partition`): for values
x_1, ..., x_n of bins and a number K of intervals,

    minimize sum_k w(c_(k-1), c_k) over 0 = c_0 < c_1 < ... < c_K = n          IV-1
    w(i, j) = sum_(i < b <= j) (x_b - m)^2, m the mean of these   (by error)   IV-3
    w(i, j) = (sum_(i < b <= j) x_b)^2                            (by depth)   IV-4
    w(i', j) >= w(i, j) for i' < i                                             IV-5
    f_k(j) = min_i f_(k-1)(i) + w(i, j),  f_0(0) = 0                           IV-6

By error it is the v-optimal histogram (Jagadish et al. 1998); by depth, for values that are not negative, the partition
whose intervals have sums as equal as they can be: sum_k (s_k - n / K)^2 differs from sum_k s_k^2 by a constant.

The values are released ones: it costs no privacy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.arrays import freeze
from dpopt.errors import ProgramError

MOST_BINS = 2**16
MOST_WORK = 2**37
"""Bins squared times intervals; a run of this number of steps takes a minute or two, mostly far less (IV-5)."""


def best_intervals(values: ArrayLike, intervals: int, *, by_depth: bool = False) -> NDArray[np.int64]:
    """Return the places c_0 = 0, c_1, ..., c_K = n of a best partition of x, (K + 1,).

    x (n,) is finite; by depth (IV-4 in place of IV-3) none is negative. K is from 1 to n.
    """
    from dpopt.inference.histograms.kernels import best_cuts

    given = np.asarray(values, dtype=np.float64)
    if given.ndim != 1 or not given.size or not np.isfinite(given).all():
        raise ProgramError(f"expected finite numbers in one row, found an array of shape {given.shape}")
    if not 1 <= intervals <= given.size:
        raise ProgramError(f"found {intervals:,} intervals for {given.size:,} bins; expected 1 to {given.size:,}")
    if given.size > MOST_BINS or given.size**2 * intervals > MOST_WORK:
        raise ProgramError(
            f"found {given.size:,} bins and {intervals:,} intervals; the search takes at most {MOST_BINS:,} bins, and "
            f"bins squared times intervals up to {MOST_WORK:.3g}. Join bins first, or ask for fewer intervals"
        )
    if by_depth and given.min() < 0:
        raise ProgramError("by depth no value may be negative; take an estimate without negative counts")
    # IV-3 is the same, and sums of squares keep their digits
    used = given if by_depth else given - given.mean()
    sums, squares = (np.concatenate(([0.0], np.cumsum(part))) for part in (used, used**2))
    before = np.zeros((intervals + 1, given.size + 1), dtype=np.int32)
    best_cuts(sums, squares, by_depth, intervals, before)
    places = np.empty(intervals + 1, dtype=np.int64)
    places[intervals] = given.size
    for number in range(intervals, 0, -1):
        places[number - 1] = before[number, places[number]]
    return freeze(places)


def partition_cost(values: ArrayLike, places: NDArray[np.int64]) -> float:
    """Return the squared error of a partition, interval by interval from its values (IV-1)."""
    given = np.asarray(values, dtype=np.float64)
    if places.size < 2 or places[0] != 0 or places[-1] != given.size or np.any(np.diff(places) < 1):
        raise ProgramError(f"expected increasing places from 0 to {given.size:,}, found {places.tolist()}")
    sums = np.add.reduceat(given, places[:-1])
    means = np.repeat(sums / np.diff(places), np.diff(places))
    return float(np.sum((given - means) ** 2))
