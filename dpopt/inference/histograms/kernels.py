"""The best partition of bins into intervals, by dynamic programming, and moments of boxes of a grid halved at random.

Compiled; importing this module imports numba.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel


@kernel
def best_cuts(
    sums: NDArray[np.float64], squares: NDArray[np.float64], by_depth: bool, intervals: int, before: NDArray[np.int32]
) -> float:
    """Write where the last of the best k intervals of the first j bins begins, (intervals + 1, n + 1); return f_K(n).

    f_k(j) = min_i f_(k-1)(i) + w(i, j) (IV-6). Intervals are made longer from j down; w only grows with them (IV-5), so
    that the search ends where w alone is no better than the best sum. w is the squared sum (IV-4) by depth, else the
    sum of squared differences to the mean (IV-3); `sums` and `squares` (n + 1,) are those of the values before each
    place.
    """
    bins = sums.size - 1
    last = np.full(bins + 1, np.inf)
    last[0] = 0.0
    for number in range(1, intervals + 1):
        best = np.full(bins + 1, np.inf)
        for stop in range(number, bins + 1):
            least, place = np.inf, stop - 1
            for start in range(stop - 1, number - 2, -1):
                total = sums[stop] - sums[start]
                spread = squares[stop] - squares[start] - total * total / (stop - start)
                cost = total * total if by_depth else spread
                if cost > least:
                    break
                found = last[start] + cost
                if found < least:
                    least, place = found, start
            best[stop] = least
            before[number, stop] = place
        last = best
    return float(last[bins])


@kernel
def box_moments(
    axes: NDArray[np.int64],
    halves: NDArray[np.int64],
    heights: NDArray[np.int64],
    shares: NDArray[np.float64],
    variances: NDArray[np.float64],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    means: NDArray[np.float64],
    apart: NDArray[np.float64],
) -> None:
    """Write mean and variance of the share of all records in each box.

    Node i of the tree of halves has the children 2 i + 1 and 2 i + 2; step d halves axis axes[d], into 2^halves[d] bins
    each. With l and r the shares of the box in both halves, p the first half's share of the node: p l + (1 - p) r.
    """
    depth = axes.size
    sides = starts.shape[1]
    low = np.zeros((depth + 1, sides), dtype=np.int64)
    width = np.empty((depth + 1, sides), dtype=np.int64)
    for axis in range(sides):
        width[0, axis] = 1 << heights[axis]
    for step in range(depth):
        for axis in range(sides):
            width[step + 1, axis] = width[step, axis]
        width[step + 1, axes[step]] = 1 << halves[step]
    node, turn = np.zeros(depth + 1, dtype=np.int64), np.zeros(depth + 1, dtype=np.int64)
    first, first_spread = np.zeros(depth + 1), np.zeros(depth + 1)
    for box in range(starts.shape[0]):
        level, node[0], turn[0] = 0, 0, 0
        for axis in range(sides):
            low[0, axis] = 0
        while True:
            inside, beside = True, False
            for axis in range(sides):
                end = low[level, axis] + width[level, axis]
                beside |= stops[box, axis] <= low[level, axis] or end <= starts[box, axis]
                inside &= starts[box, axis] <= low[level, axis] and end <= stops[box, axis]
            if not beside and not inside:
                turn[level + 1], node[level + 1] = 0, 2 * node[level] + 1
                for axis in range(sides):
                    low[level + 1, axis] = low[level, axis]
                level += 1
                continue
            mean, spread = (0.0 if beside else 1.0), 0.0
            while level > 0 and turn[level] == 1:
                level -= 1
                p, v = shares[node[level]], variances[node[level]]
                spread = (
                    (p * p + v) * first_spread[level]
                    + ((1.0 - p) * (1.0 - p) + v) * spread
                    + v * (first[level] - mean) ** 2
                )
                mean = p * first[level] + (1.0 - p) * mean
            if level == 0:
                break
            first[level - 1], first_spread[level - 1] = mean, spread
            turn[level] = 1
            node[level] += 1
            low[level, axes[level - 1]] += width[level, axes[level - 1]]
        means[box], apart[box] = mean, spread
