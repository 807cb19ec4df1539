"""The unit of a column of durations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpopt.private.drafts.guess_attribute import ColumnValues
from dpopt.private.readers.arrow_types import durations_of
from dpopt.schema.dates import NANOSECONDS, TICKS


def in_natural_unit(column: ColumnValues, tick: str) -> ColumnValues:
    """Return durations, given as whole numbers of ticks ("us", ...), as numbers of the largest unit in which all are whole.

    Where that is finer than seconds: of the largest unit up to seconds that half of the rows reach twice.
    """
    import pyarrow as pa

    ticks = column.values.to_numpy(zero_copy_only=False)
    if not ticks.size:
        return column
    size, common = TICKS[tick], int(np.gcd.reduce(ticks))
    whole = next(unit for unit, one in NANOSECONDS.items() if common * size % one == 0)
    half = np.median(np.repeat(np.abs(ticks.astype(np.float64)), column.counts)) * size
    usual = next(
        (one for one in ("seconds", "milliseconds", "microseconds") if half >= 2 * NANOSECONDS[one]),
        "nanoseconds",
    )
    unit = max(whole, usual, key=NANOSECONDS.__getitem__)
    numbers = durations_of(column.values.view(pa.duration(tick)), unit)
    whole_numbers = unit == whole and np.abs(numbers).max() < 2**53
    return replace(column, values=pa.array(numbers.astype(np.int64) if whole_numbers else numbers), unit=unit)
