"""The values of a column from which its attribute is drafted, its type, and the unit of a column of durations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import SchemaError
from dpopt.private.readers.arrow_types import durations_of
from dpopt.schema.dates import NANOSECONDS, TICKS, has_time
from dpopt.schema.schema import Attribute, AttributeKind

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


def with_type(attribute: Attribute, kind: pa.DataType) -> Attribute:
    """Return an attribute with the Arrow type of its column, if it would come back in another and this holds its bins.

    Texts have no type to keep: what they say, such as a date, comes back as what it is.
    """
    import pyarrow as pa

    name, usual = str(kind), "double"
    if pa.types.is_dictionary(kind):
        name = "ordered category" if kind.ordered else "category"
    if attribute.kind is AttributeKind.BOOLEAN:
        usual = "bool"
    elif attribute.date_format is not None:
        usual = "timestamp[s]" if has_time(attribute.date_format) else "date32[day]"
    elif attribute.duration is not None:
        usual = "duration[ns]" if attribute.duration == "nanoseconds" else "duration[us]"
    elif attribute.integer or all(isinstance(value, int) for value in attribute.values or (0.5,)):
        usual = "int64"
    # pandas has types of its own for whole numbers and truth values of which some are missing
    nullable = attribute.missing is not None and (pa.types.is_integer(kind) or pa.types.is_boolean(kind))
    try:
        same = name == usual and not nullable
        return attribute if same else replace(attribute, arrow=name, ordered=attribute.ordered or "ordered" in name)
    except SchemaError:  # it is read as something else, or its bins reach farther
        return attribute
