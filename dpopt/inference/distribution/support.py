"""From a distribution over millions of cells to some weighted cells, by public and deterministic choice."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

UNITS = 2**32
"""Weights are whole numbers of 1 / 2^32."""


def weighted_cells(p: NDArray[np.float64], most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return at most about `most` cells and whole weights in units of 2^-32 that stand for a distribution.

    Cells of a mass of at least t keep it. Of the others every stretch of mass t, in the order of the cells, is given to the
    cell in its middle, so that the sum over any run of cells is right to t. t is such that `most` cells are chosen. Cells
    whose mass rounds to no unit are left out.

    Parameters
    ----------
    p : (cells,) float64 array
        Nonnegative, not all zero.
    most : int
        At least 1.
    """
    from dpopt.inference.distribution.kernels import choose_cells

    total = float(p.sum())
    threshold = _threshold(p, most)
    cells, masses = np.empty(most + 2, dtype=np.int64), np.empty(most + 2)
    count = choose_cells(p, threshold, cells, masses)
    weights = np.rint(masses[:count] / total * UNITS).astype(np.int64)
    kept = weights > 0
    return cells[:count][kept], weights[kept]


def _threshold(p: NDArray[np.float64], most: int) -> float:
    """Return t with (cells of mass >= t) + (mass of the others) / t = most; 0 where there are no more cells than that."""
    held = int(np.count_nonzero(p))
    if held <= most:
        return 0.0
    largest = np.sort(np.partition(p, p.size - most)[p.size - most :])[::-1]
    rest = float(p.sum()) - np.concatenate(([0.0], np.cumsum(largest)[:-1]))
    # With the k largest cells kept, the others get t_k = rest_k / (most - k); k is the first with p_(k+1) < t_k.
    thresholds = rest / (most - np.arange(most))
    first = np.flatnonzero(largest < thresholds)
    return float(thresholds[first[0]] if first.size else thresholds[-1])
