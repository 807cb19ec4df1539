"""The values of a column from which its attribute is drafted, and the unit of a column of durations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.private.readers.arrow_types import durations_of
from dpopt.schema.dates import NANOSECONDS, TICKS

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """The different values of a column (no nulls, no NaN) with their numbers of rows, and the rows without a value.

    `labels` are the words that a file gives to its values, by their text; `typed`: its type is that of dates or
    moments; `unit`: it holds durations, as numbers of it; `order`: its values as its type lists them, if it has an order.
    """

    name: str
    values: pa.Array
    counts: NDArray[np.int64]
    missing_rows: int
    labels: Mapping[str, str] = field(default_factory=dict)
    typed: bool = False
    unit: str | None = None
    order: tuple[str, ...] = ()

    def in_order(self, values: Collection[str]) -> tuple[str, ...] | None:
        """Return the values in the order of the type; None where it has none, or not all of them."""
        return tuple(text for text in self.order if text in values) if {*values} <= {*self.order} else None


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
