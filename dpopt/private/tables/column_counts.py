"""How many records lie in each finer bin of numeric columns; the counts never leave this room."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.private.tables.closed import Closed


class ColumnCounts(Closed):
    """Exact counts of the cells of several columns, one column after the other; a record lies in at most one cell of each.

    Made by `dpopt.private.engines.fine_counts.count_columns`.
    """

    __slots__ = ("_ends", "_sums")
    _sums: NDArray[np.int64]  # (cells + 1,): of all cells before each
    _ends: NDArray[np.int64]  # (columns,): the cell after the last one of each column

    @property
    def _public(self) -> NDArray[np.int64]:
        """Where the cells of each column end: what a charge depends on."""
        return self._ends

    @classmethod
    def of(cls, counts: Sequence[NDArray[np.int64]], rows: int) -> ColumnCounts:
        """Put the counts of columns one after the other."""
        sums = np.concatenate(([0], *counts), dtype=np.int64)
        ends = np.cumsum([column.size for column in counts], dtype=np.int64)
        return cls._holding(_sums=freeze(np.cumsum(sums)), _ends=freeze(ends), _rows=rows)
