"""How ranges of bins lie in blocks of 1, 2, 4, ... bins: what the variance of a range depends on (LB-5).

For a range and blocks of B bins, a(B) = sum over blocks of (bins of the range in the block)^2 / B, the squared norm of its
projection onto functions constant on blocks. The load of level h is a(2^h) - a(2^(h+1)), of the last one a alone: what of the
range is told by that level's blocks and not by the next one's. Loads are not negative and add up to the range's size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import WorkloadError


def height_of(bins: int) -> int:
    """Return the least h with 2^h >= bins: the level that is one block."""
    return max(0, int(bins - 1).bit_length())


def loads_of(
    starts: NDArray[np.int64], stops: NDArray[np.int64], bins: int, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the mean loads of ranges start, ..., stop - 1, (L + 1,).

    Parameters
    ----------
    starts, stops : (q,) int64
        0 <= start < stop <= bins.
    weights : (q,) float64, optional
        At least 0, not all 0.

    Raises
    ------
    WorkloadError
        A range outside the bins, or none at all.
    """
    if not starts.size or np.any(starts < 0) or np.any(stops > bins) or np.any(starts >= stops):
        raise WorkloadError(f"expected at least one range with 0 <= start < stop <= {bins:,}")
    return loads_of_norms([_norms(starts, stops, 1 << h, weights) for h in range(height_of(bins) + 1)])


def loads_of_size(size: int, bins: int) -> NDArray[np.float64]:
    """Return the mean loads of all ranges of `size` bins, (L + 1,)."""
    if not 1 <= size <= bins:
        raise WorkloadError(f"a range of {size:,} bins; the domain has {bins:,}")
    starts = np.arange(bins - size + 1, dtype=np.int64)
    return loads_of(starts, starts + size, bins)


def loads_of_all_ranges(bins: int) -> NDArray[np.float64]:
    """Return the mean loads of all ranges, (L + 1,).

    A pair of bins i <= j of one block lies in (i + 1) (n - j) of the n (n + 1) / 2 ranges.
    """
    position = np.arange(bins, dtype=np.float64)
    before, after = position + 1.0, bins - position
    ranges = bins * (bins + 1) / 2.0
    norms = []
    for h in range(height_of(bins) + 1):
        size = 1 << h
        sums = np.cumsum(before)
        first = np.arange(bins) // size * size
        earlier = sums - before - np.where(first > 0, sums[np.maximum(first - 1, 0)], 0.0)
        norms.append(float((after * (2.0 * earlier + before)).sum()) / size / ranges)
    return loads_of_norms(norms)


def loads_of_norms(norms: list[float]) -> NDArray[np.float64]:
    """Return loads from the mean squared norms a(2^h), lowest level first."""
    above = np.append(norms[1:], 0.0)
    return np.asarray(np.maximum(np.asarray(norms) - above, 0.0), dtype=np.float64)


def _norms(
    starts: NDArray[np.int64], stops: NDArray[np.int64], size: int, weights: NDArray[np.float64] | None
) -> float:
    return float(np.average(squared_norms(starts, stops, size), weights=weights))


def squared_norms(starts: NDArray[np.int64], stops: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """Return a(size) of each range, (q,)."""
    first, last = starts // size, (stops - 1) // size
    left, right = (first + 1) * size - starts, stops - last * size
    inside = (stops - starts).astype(np.float64) ** 2 / size
    across = (left.astype(np.float64) ** 2 + right.astype(np.float64) ** 2) / size + (last - first - 1) * size
    return np.where(first == last, inside, across)
