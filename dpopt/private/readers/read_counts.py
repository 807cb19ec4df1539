"""Counts that were made already: one row of a table for each bin, in the order of the bins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dpopt.errors import PrivateDataError
from dpopt.private.readers.domain_codes import with_points
from dpopt.private.readers.open_table import AnyTable, open_table
from dpopt.private.readers.table_reading import TableReading
from dpopt.private.readers.table_sources import column_positions
from dpopt.private.tables.bin_counts import BinCounts

if TYPE_CHECKING:
    import pyarrow as pa


def read_counts(table: AnyTable, column: str, reading: TableReading | None = None) -> BinCounts:
    """Read a column of counts.

    Raises
    ------
    PrivateDataError
        If the table cannot be read, lacks the column, or holds anything but whole numbers from 0 on; the message may quote it.
    """
    source = open_table(table, reading)
    pieces = [array for _, array in source.pieces(column_positions(source, [column]), None)]
    faults = source.faults()
    if faults:
        raise PrivateDataError(f"{source.title}:\n" + "\n".join(faults))
    if not sum(map(len, pieces)):
        raise PrivateDataError(f"{source.title} has no rows; expected one for each bin")
    return BinCounts.from_counts(
        np.concatenate([_numbers(array, column, source.decimal) for array in pieces])
    )


def _numbers(array: pa.Array, column: str, decimal: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    empty = array.null_count
    if pa.types.is_string(array.type):
        empty += int(compute.sum(compute.equal(array, "")).as_py() or 0)
    if empty:
        raise PrivateDataError(
            f"column {column!r} has empty cells, or the file empty lines; expected a count for each bin, 0 for empty ones"
        )
    try:
        texts = pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
        numbers = (with_points(array, decimal) if texts else array).cast(pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as problem:
        raise PrivateDataError(f"column {column!r} holds something that is no number: {problem}") from problem
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
