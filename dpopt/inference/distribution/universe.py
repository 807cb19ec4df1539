"""A product universe that is held in memory: a probability for every possible record."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import ProgramError
from dpopt.schema.domains import Domains

MOST_CELLS = 2**26
"""Half a gigabyte for a distribution of doubles."""
_LOW_CELLS = 2**12


@dataclass(frozen=True, slots=True, eq=False)
class ProductUniverse:
    """All combinations of the codes that some attributes may take."""

    domains: Domains
    """The codes that each of the d attributes of a schema may take."""
    attributes: NDArray[np.int64]
    """Shape (a,). The attributes that the universe is over; all others are left out."""
    axes: NDArray[np.int64] = field(init=False)
    """Shape (a,). The same attributes, those of the most codes first: sums over the first axes then leave little to
    do."""
    shape: tuple[int, ...] = field(init=False)
    """Number of codes of each axis."""
    cells: int = field(init=False)
    """|X|, the number of cells; cell x is the mixed-radix number of its codes' positions, the last axis running
    fastest."""

    def __post_init__(self) -> None:
        counts = self.domains.counts[self.attributes]
        axes = self.attributes[np.lexsort((self.attributes, -counts))]
        shape = tuple(int(count) for count in self.domains.counts[axes])
        object.__setattr__(self, "axes", freeze(np.ascontiguousarray(axes, dtype=np.int64)))
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "cells", prod(shape))
        if self.cells > MOST_CELLS:
            raise ProgramError(f"a universe of {self.cells:,} cells is beyond the {MOST_CELLS:,} that are held")

    def strides(self) -> tuple[int, ...]:
        """Return by how much the number of a cell grows with the position on each axis."""
        return tuple(prod(self.shape[axis + 1 :]) for axis in range(len(self.shape)))

    def places(
        self, attributes: NDArray[np.int64], strides: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (high, low): cell i B + j of the universe lies on cell high[i] + low[j] of a table.

        The table is over some attributes (k,) of the universe; its cell grows with each one's position by the stride
        (k,).
        """
        moves = dict(zip(np.asarray(attributes).tolist(), np.asarray(strides).tolist(), strict=True))
        split = self._split()
        own = [int(moves.get(axis, 0)) for axis in self.axes.tolist()]
        return (_sums(self.shape[:split], own[:split]), _sums(self.shape[split:], own[split:]))

    def run_of(self, attributes: NDArray[np.int64]) -> int:
        """Return how many neighbouring cells, at least, lie on one cell of any table over these attributes."""
        last = int(np.flatnonzero(np.isin(self.axes, attributes)).max(initial=-1))
        return prod(self.shape[max(last + 1, self._split()) :])

    def _split(self) -> int:
        """Return the first of the last axes, which together have about as many cells as fit into the nearest memory."""
        split, held = len(self.shape), 1
        while split > 0 and held * self.shape[split - 1] <= _LOW_CELLS:
            split -= 1
            held *= self.shape[split]
        return split

    def records(self, cells: NDArray[np.int64], others: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the codes of cells (r,), (r, d); `others` (d,) are those of attributes that the universe leaves out."""
        found = np.tile(np.asarray(others, dtype=np.int32), (len(cells), 1))
        attributes, codes = self.codes(cells)
        found[:, attributes] = codes
        return found

    def codes(self, cells: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return the attributes of the universe, (a,), increasing, and their codes in cells (r,), (r, a)."""
        attributes = np.sort(self.axes)
        places = np.searchsorted(attributes, self.axes)
        found = np.empty((len(cells), attributes.size), dtype=np.int32)
        rest = np.asarray(cells, dtype=np.int64)
        axes = zip(self.axes.tolist(), places.tolist(), self.strides(), self.shape, strict=True)
        for axis, place, stride, count in axes:
            position = rest // stride % count
            found[:, place] = self.domains.codes[self.domains.starts[axis] + position]
        return attributes, found


def _sums(shape: tuple[int, ...], moves: list[int]) -> NDArray[np.int64]:
    """Return the sum of moves times positions for all positions on some axes, the last one running fastest."""
    total = np.zeros(1, dtype=np.int64)
    for count, move in zip(shape, moves, strict=True):
        total = (total[:, None] + move * np.arange(count, dtype=np.int64)).reshape(-1)
    return freeze(np.ascontiguousarray(total))
