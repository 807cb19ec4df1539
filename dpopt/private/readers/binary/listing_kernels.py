"""From the items of each record to the records of each item: counting sorts. Importing this module imports numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel


@kernel
def add_items(items: NDArray[np.integer], counts: NDArray[np.int64]) -> None:
    """Add 1 to counts[i + 1] for every item i."""
    for place in range(items.size):
        counts[items[place] + 1] += 1


@kernel
def list_records(
    starts: NDArray[np.integer],
    items: NDArray[np.integer],
    first_record: int,
    free: NDArray[np.int64],
    listed: NDArray[np.uint32],
) -> None:
    """Write record first_record + r at listed[free[i]++] for every item i of items[starts[r]:starts[r + 1]]."""
    for record in range(starts.size - 1):
        for place in range(starts[record], starts[record + 1]):
            item = items[place]
            listed[free[item]] = np.uint32(first_record + record)
            free[item] += 1


@kernel
def list_entries(
    starts: NDArray[np.integer],
    items: NDArray[np.integer],
    values: NDArray[np.generic],
    free: NDArray[np.int64],
    listed: NDArray[np.uint32],
    carried: NDArray[np.generic],
) -> None:
    """As `list_records`, and carry the value of each entry to the same place of `carried`."""
    for record in range(starts.size - 1):
        for place in range(starts[record], starts[record + 1]):
            item = items[place]
            listed[free[item]] = np.uint32(record)
            carried[free[item]] = values[place]
            free[item] += 1


@kernel
def group_items(
    records: NDArray[np.integer],
    items: NDArray[np.integer],
    free: NDArray[np.int64],
    grouped: NDArray[np.int32],
) -> None:
    """Write items[k] at grouped[free[records[k]]++] for every k."""
    for place in range(records.size):
        record = records[place]
        grouped[free[record]] = items[place]
        free[record] += 1


@kernel
def group_entries(
    records: NDArray[np.integer],
    items: NDArray[np.integer],
    values: NDArray[np.generic],
    free: NDArray[np.int64],
    grouped: NDArray[np.int32],
    carried: NDArray[np.generic],
) -> None:
    """As `group_items`, and carry the value of each entry."""
    for place in range(records.size):
        record = records[place]
        grouped[free[record]] = items[place]
        carried[free[record]] = values[place]
        free[record] += 1


@kernel
def drop_repeats(starts: NDArray[np.int64], listed: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Leave out, in place, records that stand next to themselves on a list; return the new starts."""
    made = np.zeros_like(starts)
    end = 0
    for item in range(starts.size - 1):
        begin = end
        for place in range(starts[item], starts[item + 1]):
            if end == begin or listed[end - 1] != listed[place]:
                listed[end] = listed[place]
                end += 1
        made[item + 1] = end
    return made


@kernel
def keep_sums(
    starts: NDArray[np.int64], listed: NDArray[np.uint32], values: NDArray[np.generic]
) -> NDArray[np.int64]:
    """Add up, in place, the values of a record that stands next to itself; keep it if the sum is not 0; return the starts."""
    made = np.zeros_like(starts)
    end = 0
    for item in range(starts.size - 1):
        place = starts[item]
        while place < starts[item + 1]:
            record = listed[place]
            total = values[place]
            place += 1
            while place < starts[item + 1] and listed[place] == record:
                total += values[place]
                place += 1
            if total != 0:
                listed[end] = record
                end += 1
        made[item + 1] = end
    return made
