"""Counting and satisfaction as pure functions of arrays; nothing here knows where the records came from.

Importing this module imports numba. Counting: each flat column (attribute, code) is a row of 64-bit words, one bit
per record; a conjunction is the AND of its columns, complemented for "!=", and its count is the number of set bits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import frozen
from dpopt.compilation import kernel
from dpopt.errors import SchemaError, WorkloadError
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.bit_records import WIDE, BitRecords
from dpopt.queries.counting.bitmap_counts import count_on_bitmaps
from dpopt.queries.counting.bitmaps import Bitmaps
from dpopt.queries.counting.counting import count_on_columns
from dpopt.queries.counting.packing_kernels import PackedColumns, pack_columns
from dpopt.queries.named_attributes import over_named
from dpopt.threads import Progress, in_threads

__all__ = ["PackedColumns", "count_clauses", "count_on_records", "in_threads", "pack_columns", "satisfied"]

SATISFIED_CHUNK = 1 << 17


def count_clauses(
    packed: PackedColumns,
    clauses: Clauses,
    offsets: NDArray[np.int64],
    *,
    threads: int = 2,
    progress: Callable[[float], None] | None = None,
) -> NDArray[np.int64]:
    """Count, for every clause, the records of which it is true.

    Parameters
    ----------
    packed
        The packed columns; they must include all that the clauses name.
    clauses
        m clauses.
    offsets : (d + 1,) int64
        Flat column of attribute a and code v is offsets[a] + v.
    threads
        Number of threads.
    progress
        Called in the caller's thread with the shares 1/20, 2/20, ..., 1 of the work once they are done.

    Returns
    -------
    counts : (m,) int64
        Between 0 and packed.rows, exact.

    Raises
    ------
    WorkloadError
        If a clause names an attribute, a code or a column that `packed` does not hold.
    """
    starts = frozen(offsets, np.int64)
    if packed.positions.size != starts[-1]:
        raise WorkloadError(
            f"the packed columns belong to another schema: {packed.positions.size} flat columns, expected {starts[-1]}"
        )
    bitmaps = Bitmaps.of_packed(packed)
    told = Progress(progress)
    counts = count_on_bitmaps(bitmaps, clauses, starts, packed.positions, threads=threads, progress=told)
    told.reach(1)
    return counts


def count_on_records(
    clauses: Clauses, records: NDArray[np.int32] | BitRecords, sizes: NDArray[np.integer], *, threads: int = 2
) -> NDArray[np.int64]:
    """Count, for every clause, the given records of which it is true.

    Parameters
    ----------
    clauses
        m clauses.
    records : (r, d) int32, or BitRecords where every attribute has two codes
        Codes, one record per row. Of many attributes only the columns that clauses name are taken.
    sizes : (d,) integers
        Number of codes of each attribute.

    Returns
    -------
    counts : (m,) int64

    Raises
    ------
    SchemaError
        If the records or their codes do not fit the sizes.
    WorkloadError
        If a clause names an attribute or a code that does not exist.
    """
    if len(records.shape) != 2 or records.shape[1] != len(sizes):
        raise SchemaError(f"records of shape {records.shape} do not fit a schema of {len(sizes)} attributes")
    if isinstance(records, BitRecords):
        if (np.asarray(sizes) != 2).any():
            raise SchemaError("records as bits need attributes of two codes each")
        attributes, clauses = over_named(clauses, sizes)
        columns = records.over(attributes).columns()
        return count_on_columns(columns, np.full(attributes.size, 2), clauses, threads=threads)
    if len(sizes) >= WIDE and not ((records < 0) | (records >= sizes)).any():
        attributes, clauses = over_named(clauses, sizes)
        records, sizes = records[:, attributes], sizes[attributes]
    packed = pack_columns(list(records.T), sizes, clauses)
    return count_clauses(
        packed, clauses, np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))), threads=threads
    )


def satisfied(clauses: Clauses, record: NDArray[np.int32], *, threads: int = 2) -> NDArray[np.bool_]:
    """Return for every clause whether it is true of one record.

    Parameters
    ----------
    clauses
        m clauses.
    record : (d,) int32
        Codes of the record.

    Returns
    -------
    true : (m,) bool

    Raises
    ------
    WorkloadError
        If a clause names an attribute that the record does not have.
    """
    codes = frozen(record, np.int32)
    if codes.ndim != 1:
        raise WorkloadError(f"a record has shape (d,), found shape {codes.shape}")
    result = np.empty(len(clauses), dtype=np.bool_)

    def run(chunk: slice) -> None:
        inside = _satisfied_chunk(
            codes,
            clauses.attributes[chunk],
            clauses.values[chunk],
            clauses.signs[chunk],
            clauses.accepted[chunk],
            result[chunk],
        )
        if not inside:
            raise WorkloadError(
                f"a clause names an attribute that a record of {codes.size} codes does not have"
            )

    in_threads(run, len(clauses), SATISFIED_CHUNK, threads, None)
    return result


@kernel
def _satisfied_chunk(
    record: NDArray[np.int32],
    attributes: NDArray[np.int32],
    values: NDArray[np.int32],
    signs: NDArray[np.bool_],
    accepted: NDArray[np.uint32],
    result: NDArray[np.bool_],
) -> bool:
    """Write to `result` whether each clause is true of one record; False if an attribute lies beyond the record."""
    m, k = attributes.shape
    inside = True
    for i in range(m):
        true_literals = np.uint32(0)
        for literal in range(k):
            attribute = attributes[i, literal]
            if attribute < 0:
                break
            if attribute >= record.size:
                inside = False
                break
            true_literals += np.uint32((record[attribute] == values[i, literal]) == signs[i, literal])
        result[i] = (accepted[i] >> true_literals) & np.uint32(1) != 0
    return inside
