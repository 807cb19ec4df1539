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

    ticks, finest = column.values.to_numpy().astype(np.int64), list(NANOSECONDS)[3:]
    if not ticks.size:
        return column
    whole = next(one for one, size in NANOSECONDS.items() if int(np.gcd.reduce(ticks)) * TICKS[tick] % size == 0)
    half = np.median(np.repeat(np.abs(ticks / 1.0), column.counts)) * TICKS[tick]
    usual = next((one for one in finest if half >= 2 * NANOSECONDS[one]), finest[-1])
    unit = max(whole, usual, key=NANOSECONDS.__getitem__)
    numbers = durations_of(column.values.view(pa.duration(tick)), unit)
    exact = unit == whole and np.abs(numbers).max() < 2**53
    return replace(column, values=pa.array(numbers.astype(np.int64) if exact else numbers), unit=unit)
