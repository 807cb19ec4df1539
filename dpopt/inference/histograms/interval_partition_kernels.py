"""The best partition of bins into a number of intervals, by dynamic programming. Compiled; importing this imports numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel


@kernel
def best_cuts(
    sums: NDArray[np.float64],
    squares: NDArray[np.float64],
    by_depth: bool,
    intervals: int,
    before: NDArray[np.int32],
) -> float:
    """Write where the last interval of the best k intervals of the first j bins begins, (intervals + 1, n + 1); return f_K(n).

    f_k(j) = min_i f_(k-1)(i) + w(i, j) (IV-6). Intervals are made longer from j down; w only grows with them (IV-5), so that
    the search ends where w alone is no better than the best sum.

    Parameters
    ----------
    sums, squares : (n + 1,) float64
        Sums over the bins before each place, of the values and of their squares.
    by_depth : bool
        Whether w is the squared sum (IV-4), and not the sum of squared differences to the mean (IV-3).
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
