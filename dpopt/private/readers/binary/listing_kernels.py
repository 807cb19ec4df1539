"""Items of records to records of items, by counting sorts. Importing this module imports numba.

An entry of a matrix may have a value. Arrays of values without an element stand for entries that are all ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.compilation import kernel
from dpopt.queries.counting.binary_columns import SparseColumns

Part = tuple[NDArray[np.integer], NDArray[np.integer]]
"""Some records, one after the other: starts (r + 1,) from 0, and the items of record j at items[starts[j]:starts[j + 1]]."""

ONES = np.zeros(0, dtype=np.int64)


def columns_of_records(parts: Sequence[Part], width: int, values: NDArray[np.generic] = ONES) -> SparseColumns:
    """Return the columns of records that are given as lists of items.

    An item that stands twice on a list counts once; where there are values they are added up, and count if the sum is
    not 0.

    Parameters
    ----------
    parts
        The records. Items are numbers from 0 to `width` - 1.
    width
        Number of columns d.
    values : (entries,) int64 or float64
        Values of the items of a single part.
    """
    starts = np.zeros(width + 1, dtype=np.int64)
    for _, items in parts:
        _count(items, starts)
    np.cumsum(starts, out=starts)
    listed, carried = np.empty(int(starts[-1]), dtype=np.uint32), np.empty_like(values)
    free, rows = starts[:-1].copy(), 0
    for bounds, items in parts:
        _list_entries(bounds, items, values, rows, free, listed, carried)
        rows += bounds.size - 1
    del free
    starts = _join_repeats(starts, listed, carried)
    kept = int(starts[-1])
    return SparseColumns(rows, freeze(starts), freeze(listed[:kept].copy() if kept < listed.size else listed))


def records_of_pairs(
    records: NDArray[np.integer], items: NDArray[np.integer], rows: int, values: NDArray[np.generic] = ONES
) -> tuple[Part, NDArray[np.generic]]:
    """Return pairs of record and item, in any order, as lists of items, and their values in that order."""
    starts = np.zeros(rows + 1, dtype=np.int64)
    _count(records, starts)
    np.cumsum(starts, out=starts)
    grouped, carried = np.empty(items.size, dtype=np.int32), np.empty_like(values)
    _group_entries(records, items, values, starts[:-1].copy(), grouped, carried)
    return (starts, grouped), carried


@kernel
def _count(items: NDArray[np.integer], counts: NDArray[np.int64]) -> None:
    """Add 1 to counts[i + 1] for every item i."""
    for place in range(items.size):
        counts[items[place] + 1] += 1


@kernel
def _list_entries(
    starts: NDArray[np.integer],
    items: NDArray[np.integer],
    values: NDArray[np.generic],
    first_record: int,
    free: NDArray[np.int64],
    listed: NDArray[np.uint32],
    carried: NDArray[np.generic],
) -> None:
    """Write record first_record + r at listed[free[i]++] for every item i of items[starts[r]:starts[r + 1]]."""
    for record in range(starts.size - 1):
        for place in range(starts[record], starts[record + 1]):
            item = items[place]
            listed[free[item]] = np.uint32(first_record + record)
            if values.size:
                carried[free[item]] = values[place]
            free[item] += 1


@kernel
def _group_entries(
    records: NDArray[np.integer],
    items: NDArray[np.integer],
    values: NDArray[np.generic],
    free: NDArray[np.int64],
    grouped: NDArray[np.int32],
    carried: NDArray[np.generic],
) -> None:
    """Write items[k] at grouped[free[records[k]]++] for every k."""
    for place in range(records.size):
        record = records[place]
        grouped[free[record]] = items[place]
        if values.size:
            carried[free[record]] = values[place]
        free[record] += 1


@kernel
def _join_repeats(
    starts: NDArray[np.int64], listed: NDArray[np.uint32], values: NDArray[np.generic]
) -> NDArray[np.int64]:
    """Make one, in place, of records that stand next to themselves; leave out sums that are 0; return the new starts."""
    made = np.zeros_like(starts)
    end = 0
    for item in range(starts.size - 1):
        place = starts[item]
        while place < starts[item + 1]:
            first, record = place, listed[place]
            place += 1
            while place < starts[item + 1] and listed[place] == record:
                place += 1
            kept = True
            if values.size:
                total = values[first]
                for other in range(first + 1, place):
                    total += values[other]
                kept = total != 0
            if kept:
                listed[end] = record
                end += 1
        made[item + 1] = end
    return made
