"""A partition of a grid into boxes, the tree of its cuts, and the part of each box that other boxes hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import TranscriptError, WorkloadError
from dpopt.queries.ranges.grids import box_of_cells
from dpopt.queries.ranges.tree import Tree

LARGEST_PARTITION = 2**17


@dataclass(frozen=True, eq=False)
class Partition:
    """Boxes that divide a grid, in the order of the cuts."""

    shape: tuple[int, ...]
    """Bins of each axis."""
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    """Shape (c, D). A box has the bins start, ..., stop - 1 of each axis."""
    groups: tuple[NDArray[np.int64], ...]
    """The measured levels from the top down: how many boxes, side by side in their order, each group of a level has.
    The last level is that of the boxes."""

    def __post_init__(self) -> None:
        number = len(self.starts)
        axes = len(self.shape)
        if not 1 <= number <= LARGEST_PARTITION or self.starts.shape != (number, axes):
            raise TranscriptError(
                f"found boxes of shape {self.starts.shape}; expected 1 to {LARGEST_PARTITION:,} of {axes} axes"
            )
        inside = (self.starts >= 0) & (self.starts < self.stops) & (self.stops <= np.array(self.shape))
        if self.stops.shape != self.starts.shape or not inside.all():
            raise TranscriptError(f"found boxes outside the grid of {' x '.join(map(str, self.shape))} bins")
        try:
            box_of_cells(self.shape, self.starts, self.stops)
        except WorkloadError as error:
            raise TranscriptError(str(error)) from error
        for level in self.groups:
            if level.ndim != 1 or level.size == 0 or level.min() < 1 or int(level.sum()) != number:
                raise TranscriptError(f"the groups of a level do not divide the {number:,} boxes")
        if not self.groups or self.groups[-1].size != number:
            raise TranscriptError("the lowest level is that of the boxes")
        _ = self.tree

    def __len__(self) -> int:
        """Return the number of boxes."""
        return len(self.starts)

    @cached_property
    def tree(self) -> Tree:
        """The measured levels below a root that holds all."""
        levels = [np.array([len(self)], dtype=np.int64), *self.groups]
        children = []
        for above, below in pairwise(levels):
            ends, reached = np.cumsum(above), np.cumsum(below)
            places = np.searchsorted(reached, ends)
            if not np.array_equal(reached[np.minimum(places, reached.size - 1)], ends):
                raise TranscriptError("the groups of a level do not divide those of the level above")
            children.append(np.diff(places + 1, prepend=0).tolist())
        children.append([0] * len(self))
        return Tree.of_levels(children)

    @cached_property
    def volumes(self) -> NDArray[np.float64]:
        """How many cells of the grid each box has, (c,)."""
        return freeze(np.prod((self.stops - self.starts).astype(np.float64), axis=1))

    def parts_within(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return which part of the cells of each box (column) lies in each other box (row), (q, c)."""
        bad = (starts < 0) | (stops > np.array(self.shape)) | (starts >= stops)
        if bad.any():
            place = int(np.argmax(bad.any(axis=1)))
            raise WorkloadError(
                f"found the box from {starts[place].tolist()} to {stops[place].tolist()}; expected 0 <= start < stop "
                f"<= {list(self.shape)}"
            )
        found = np.ones((len(starts), len(self)))
        for axis in range(len(self.shape)):
            low = np.maximum(starts[:, axis, None], self.starts[None, :, axis])
            high = np.minimum(stops[:, axis, None], self.stops[None, :, axis])
            width = (self.stops - self.starts)[:, axis]
            found *= np.maximum(high - low, 0) / width
        return found


def interval_partition(bins: int, ends: Sequence[int]) -> Partition:
    """Return the partition after the last bins of found intervals, and of each this bin alone: no comparison bounds it.

    What is left after the last one is an interval, too.
    """
    cuts = {0, bins - 1, bins, *ends, *(end + 1 for end in ends)}
    places = np.array(sorted(cuts), dtype=np.int64)
    number = places.size - 1
    return Partition(
        (bins,),
        freeze(places[:-1, None].copy()),
        freeze(places[1:, None].copy()),
        (freeze(np.ones(number, dtype=np.int64)),),
    )
