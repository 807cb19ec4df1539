"""How many records lie in each bin of a domain or each finer bin of columns, or meet in each node of a graph.

The counts never leave this room.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.arrays import freeze
from dpopt.errors import PrivateDataError
from dpopt.private.tables.closed import Closed
from dpopt.private.tables.dataset import PrivateDataset

LARGEST_COUNT = 2**40


class BinCounts(Closed):
    """Exact counts behind a closed door; made by the methods below, used by the curator.

    A record of a table lies in one bin. A record of a graph is an edge, which counts in two of them: the degrees of its
    ends.
    """

    __slots__ = ("_bins_of_a_record", "_counts")
    _counts: NDArray[np.int64]  # (n,), read-only
    _bins_of_a_record: int

    @property
    def _public(self) -> int:
        """The number of bins in which a record counts: charges depend on it."""
        return self._bins_of_a_record

    @classmethod
    def of_columns(cls, dataset: PrivateDataset, attributes: tuple[str, ...]) -> BinCounts:
        """Count the records of each combination of codes, row by row (the last attribute's codes run fastest)."""
        names, sizes = dataset._schema.names, dataset._schema.sizes
        unknown = [name for name in attributes if name not in names]
        if unknown:
            raise PrivateDataError(
                f"found no attribute {', '.join(map(repr, unknown))}; the schema has {', '.join(names)}"
            )
        chosen = [names.index(name) for name in attributes]
        shape = tuple(int(sizes[position]) for position in chosen)
        codes = tuple(dataset._columns[position].astype(np.int64) for position in chosen)
        flat = np.ravel_multi_index(codes, shape)
        return cls._of(np.bincount(flat, minlength=int(np.prod(shape))), dataset._rows, 1)

    @classmethod
    def from_counts(cls, counts: ArrayLike) -> BinCounts:
        """Take counts (n,) that were made already, from 0 to 2^40, one for each bin, each record in one of them."""
        given = np.asarray(counts)
        if given.ndim != 1 or not given.size or given.dtype.kind not in "iuf":
            raise PrivateDataError(
                f"expected one number for each bin, found an array of shape {given.shape} and type {given.dtype}"
            )
        with np.errstate(invalid="ignore"):
            bad = ~((given >= 0) & (given <= LARGEST_COUNT) & (given == np.floor(given)))
        if bad.any():
            first = int(np.flatnonzero(bad)[0])
            raise PrivateDataError(
                f"bin {first} has the count {given[first]}; counts are whole numbers from 0 to {LARGEST_COUNT:,}"
            )
        whole = given.astype(np.int64)
        return cls._of(whole, int(whole.sum()), 1)

    @classmethod
    def of_degrees(cls, degrees: NDArray[np.int64], edges: int) -> BinCounts:
        """Take the degrees of the nodes of an undirected graph without loops and double edges."""
        return cls._of(degrees, edges, 2)

    @classmethod
    def _of(cls, counts: NDArray[np.integer], rows: int, bins_of_a_record: int) -> BinCounts:
        own = freeze(np.array(counts, dtype=np.int64))
        return cls._holding(_rows=rows, _counts=own, _bins_of_a_record=bins_of_a_record)


class ColumnCounts(Closed):
    """Exact counts of the cells of several columns, one column after the other; a record lies in at most one cell of each.

    Made by `dpopt.private.engines.fine_counts.count_columns`.
    """

    __slots__ = ("_ends", "_sums")
    _sums: NDArray[np.int64]  # (cells + 1,): of all cells before each
    _ends: NDArray[np.int64]  # (columns,): the cell after the last one of each column

    @property
    def _public(self) -> NDArray[np.int64]:
        """The ends of the cells of each column: charges depend on them."""
        return self._ends

    @classmethod
    def of(cls, counts: Sequence[NDArray[np.int64]], rows: int) -> ColumnCounts:
        """Put the counts of columns one after the other."""
        sums = np.concatenate(([0], *counts), dtype=np.int64)
        ends = np.cumsum([column.size for column in counts], dtype=np.int64)
        return cls._holding(_sums=freeze(np.cumsum(sums)), _ends=freeze(ends), _rows=rows)


def public_number_of_bins(counts: BinCounts) -> int:
    """Return how many bins were counted: a file with one row for each bin shows the domain, which is public."""
    return int(counts._counts.size)
