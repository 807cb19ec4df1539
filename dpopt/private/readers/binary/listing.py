"""Items of records to columns: lists of the records that have each item."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.queries.counting.binary_columns import SparseColumns

Part = tuple[NDArray[np.integer], NDArray[np.integer]]
"""Some records, one after the other: starts (r + 1,) from 0, and the items of record j at items[starts[j]:starts[j + 1]]."""


def columns_of_records(parts: Sequence[Part], width: int) -> SparseColumns:
    """Return the columns of records that are given as lists of items; an item that stands twice on a list counts once.

    Parameters
    ----------
    parts
        The records. Items are numbers from 0 to `width` - 1.
    width
        Number of columns d.
    """
    from dpopt.private.readers.binary.listing_kernels import add_items, drop_repeats, list_records

    starts = np.zeros(width + 1, dtype=np.int64)
    for _, items in parts:
        add_items(items, starts)
    np.cumsum(starts, out=starts)
    listed = np.empty(int(starts[-1]), dtype=np.uint32)
    free, rows = starts[:-1].copy(), 0
    for bounds, items in parts:
        list_records(bounds, items, rows, free, listed)
        rows += bounds.size - 1
    del free
    return _columns(rows, drop_repeats(starts, listed), listed)


def columns_of_entries(
    starts: NDArray[np.integer], items: NDArray[np.integer], values: NDArray[np.generic], width: int
) -> SparseColumns:
    """Return the columns of a sparse matrix whose entries with a sum that is not 0 are ones; repeated entries are added up.

    Parameters
    ----------
    starts : (n + 1,) integers
    items : (entries,) integers
        The columns of record r's entries are items[starts[r]:starts[r + 1]].
    values : (entries,) int64 or float64
    """
    from dpopt.private.readers.binary.listing_kernels import add_items, keep_sums, list_entries

    made = np.zeros(width + 1, dtype=np.int64)
    add_items(items, made)
    np.cumsum(made, out=made)
    listed, carried = np.empty(items.size, dtype=np.uint32), np.empty_like(values)
    list_entries(starts, items, values, made[:-1].copy(), listed, carried)
    return _columns(starts.size - 1, keep_sums(made, listed, carried), listed)


def records_of_pairs(
    records: NDArray[np.integer],
    items: NDArray[np.integer],
    rows: int,
    values: NDArray[np.generic] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.generic] | None]:
    """Return pairs of record and item, in any order, as lists of items: starts (rows + 1,), items, and values with them."""
    from dpopt.private.readers.binary.listing_kernels import add_items, group_entries, group_items

    starts = np.zeros(rows + 1, dtype=np.int64)
    add_items(records, starts)
    np.cumsum(starts, out=starts)
    grouped = np.empty(items.size, dtype=np.int32)
    if values is None:
        group_items(records, items, starts[:-1].copy(), grouped)
        return starts, grouped, None
    carried = np.empty_like(values)
    group_entries(records, items, values, starts[:-1].copy(), grouped, carried)
    return starts, grouped, carried


def _columns(rows: int, starts: NDArray[np.int64], listed: NDArray[np.uint32]) -> SparseColumns:
    kept = int(starts[-1])
    if kept < listed.size:
        listed = listed[:kept].copy()
    return SparseColumns(rows, freeze(starts), freeze(listed))
