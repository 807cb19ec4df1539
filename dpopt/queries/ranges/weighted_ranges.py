"""Ranges of bins with weights, as a user declares them in public, and how ranges lie in blocks of 1, 2, 4, ... bins.

Weights say how much a range matters. Its variance depends on its loads (LB-5).

For a range and blocks of B bins, a(B) = sum over blocks of (bins of the range in the block)^2 / B, the squared norm of
its projection onto functions constant on blocks. The load of level h is a(2^h) - a(2^(h+1)), of the last one a alone:
what of the range is answered by that level's blocks and not by the next one's. Loads are not negative and add up to the
range's size.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpopt.constraints import constrain
from dpopt.errors import WorkloadError
from dpopt.files.reading import read_text
from dpopt.queries.ranges.bins import Bins

MOST_RANGES = 2**20
"""In a file, at most."""
_HEADERS = (["range"], ["range", "weight"])


@dataclass(frozen=True, slots=True, eq=False)
class WeightedRanges:
    """Ranges start, ..., stop - 1 of n bins."""

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    """Shape (q,). 0 <= start < stop <= n."""
    weights: NDArray[np.float64]
    """Shape (q,). At least 0, not all 0; only their ratios matter."""
    bins: int
    """n."""

    def __post_init__(self) -> None:
        constrain(self, WorkloadError)
        if self.starts.ndim != 1 or not self.starts.size:
            raise WorkloadError("expected at least one range")
        if not self.starts.shape == self.stops.shape == self.weights.shape:
            raise WorkloadError(
                f"found {self.starts.size:,} starts, {self.stops.size:,} stops and {self.weights.size:,} weights of "
                f"ranges"
            )
        bad = (self.starts < 0) | (self.stops > self.bins) | (self.starts >= self.stops)
        if bad.any():
            place = int(np.argmax(bad))
            raise WorkloadError(
                f"range {place} goes from {self.starts[place]} to {self.stops[place]}; expected 0 <= start < stop <= "
                f"{self.bins:,}"
            )
        if not ((self.weights >= 0) & (self.weights < np.inf)).all() or not self.weights.any():
            raise WorkloadError("weights of ranges are finite numbers of at least 0, not all of them 0")

    @property
    def shares(self) -> NDArray[np.float64]:
        """The weights, divided by their sum, (q,)."""
        return np.asarray(self.weights / self.weights.sum())

    @classmethod
    def read(cls, path: str | os.PathLike[str], bins: Bins) -> WeightedRanges:
        """Read a CSV file: in each line a range for `Bins.range_of`, and after a comma its weight, 1 if left out.

        A first line "range,weight" and empty lines count for nothing.
        """
        name = f"the file of ranges {os.fspath(path)!r}"
        starts: list[int] = []
        stops: list[int] = []
        weights: list[float] = []
        for line, cells in _lines(Path(path), name):
            place = f"{name}, line {line}"
            if len(cells) > 2:
                raise WorkloadError(f"{place}: found {len(cells)} cells; expected a range and perhaps its weight")
            if len(starts) >= MOST_RANGES:
                raise WorkloadError(f"{place}: a file holds at most {MOST_RANGES:,} ranges; give fewer")
            try:
                start, stop = bins.range_of(cells[0].strip())
            except WorkloadError as error:
                raise WorkloadError(f"{place}: {error}") from error
            starts.append(start)
            stops.append(stop)
            weights.append(_weight(cells[1], place) if len(cells) == 2 else 1.0)
        if not starts:
            raise WorkloadError(f"{name} has no range; expected one in each line, such as 10:20")
        if not any(weights):
            raise WorkloadError(f"{name}: all weights are 0; give at least one range a weight above 0")
        return cls(np.array(starts, dtype=np.int64), np.array(stops, dtype=np.int64), np.array(weights), bins.number)


def _lines(path: Path, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines that are not empty, with their numbers from 1, but for a header."""
    rows = csv.reader(read_text(path, name, WorkloadError).splitlines())
    try:
        filled = [(rows.line_num, cells) for cells in rows if any(cell.strip() for cell in cells)]
    except csv.Error as problem:
        raise WorkloadError(f"{name}, line {rows.line_num}: {problem}") from problem
    if filled and [cell.strip().lower() for cell in filled[0][1]] in _HEADERS:
        filled = filled[1:]
    yield from filled


def _weight(cell: str, place: str) -> float:
    try:
        weight = float(cell)
    except ValueError:
        weight = -1.0
    if not isfinite(weight) or weight < 0:
        raise WorkloadError(f"{place}: found the weight {cell!r}; expected a number of at least 0")
    return weight


def height_of(bins: int) -> int:
    """Return the least h with 2^h >= bins: the level that is one block."""
    return max(0, int(bins - 1).bit_length())


def loads_of(
    starts: NDArray[np.int64], stops: NDArray[np.int64], bins: int, weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return the mean loads of ranges start, ..., stop - 1, (L + 1,).

    0 <= start < stop <= bins, (q,); weights (q,), if given, are at least 0, not all 0.
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
