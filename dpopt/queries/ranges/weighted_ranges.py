"""Ranges of bins with weights: which ranges matter, and how much, as a user declares it in public."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import frozen
from dpopt.errors import WorkloadError
from dpopt.files.reading import read_text
from dpopt.queries.ranges.bins import Bins

MOST_RANGES = 2**20
"""In a file, at most."""
_HEADERS = (["range"], ["range", "weight"])


@dataclass(frozen=True, slots=True, eq=False)
class WeightedRanges:
    """Ranges start, ..., stop - 1 of n bins.

    Attributes
    ----------
    starts, stops : (q,) int64
        0 <= start < stop <= n.
    weights : (q,) float64
        At least 0, not all 0; only their ratios matter.
    bins : int
        n.
    """

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    weights: NDArray[np.float64]
    bins: int

    def __post_init__(self) -> None:
        try:
            for name in ("starts", "stops"):
                object.__setattr__(self, name, frozen(getattr(self, name), np.int64))
        except OverflowError as problem:
            raise WorkloadError("starts and stops of ranges are whole numbers") from problem
        object.__setattr__(self, "weights", frozen(self.weights, np.float64))
        if self.starts.ndim != 1 or not self.starts.size:
            raise WorkloadError("expected at least one range")
        if not self.starts.shape == self.stops.shape == self.weights.shape:
            raise WorkloadError(
                f"found {self.starts.size:,} starts, {self.stops.size:,} stops and {self.weights.size:,} weights of ranges"
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
        """Read a CSV file: in each line a range, as `Bins.range_of` takes it, and after a comma its weight, 1 if left out.

        A first line "range,weight" and empty lines count for nothing.

        Raises
        ------
        WorkloadError
            If the file cannot be read, holds no range or over 1,048,576, or a line is no range; the message names the line.
        """
        name = f"the file of ranges {os.fspath(path)!r}"
        starts: list[int] = []
        stops: list[int] = []
        weights: list[float] = []
        for line, cells in _lines(Path(path), name):
            place = f"{name}, line {line}"
            if len(cells) > 2:
                raise WorkloadError(
                    f"{place}: found {len(cells)} cells; expected a range and perhaps its weight"
                )
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
            raise WorkloadError(f"{name} holds no range; expected one in each line, such as 10:20")
        if not any(weights):
            raise WorkloadError(f"{name}: all weights are 0; give at least one range a weight above 0")
        return cls(
            np.array(starts, dtype=np.int64), np.array(stops, dtype=np.int64), np.array(weights), bins.number
        )


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
