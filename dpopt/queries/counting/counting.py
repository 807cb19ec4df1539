"""Counting clauses on the columns of a table, however it is kept: arrays of codes, lists of ones, or bits.

Importing this module imports numba. Only columns that clauses name are packed into bits, and of lists only those for
which bits are the cheaper way to some clause; n / 8 bytes each. An attribute of two codes takes one column. How a
clause is counted depends on what is in the table, and so do time and memory; the counts are exact in every way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import SchemaError
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.binary_columns import BinaryColumns, SparseColumns
from dpopt.queries.counting.bitmaps import MOST_IN_ROWS, SET_WIDTH, Bitmaps, count_on_bitmaps, count_resolved, few_pairs
from dpopt.queries.counting.compiled import Literals
from dpopt.queries.counting.resolved_kernels import FlatColumns, name_columns, resolve, take_clauses
from dpopt.queries.counting.sparse_kernels import ListClauses, count_by_lists, list_steps
from dpopt.threads import USUAL, Progress

MOST_BYTES = 1 << 32  # of bits at once: clauses that name more columns are counted in parts
# What a word of the columns of one clause costs by bits, in steps through a list: with more columns than the caches
# hold (packing them included), with fewer, and where clauses share pairs of columns. LEAST_STEPS: what a clause costs
# besides.
WIDE_WORD, NARROW_WORD, SHARED_WORD, LEAST_STEPS = 2.0, 0.35, 0.15, 160.0
NEARLY_EMPTY = 64
"""Records for each one; with more of them a list of all ones is shorter than the bits of one column."""


def count_on_columns(
    columns: Sequence[NDArray[np.integer]] | BinaryColumns,
    sizes: NDArray[np.integer],
    clauses: Clauses,
    *,
    threads: int = USUAL,
    progress: Callable[[float], None] | None = None,
) -> NDArray[np.int64]:
    """Count the records for which each clause is true, (m,), exactly.

    `columns` is one array of codes (n,) for each attribute, or columns of zeros and ones, `sizes` (d,) the numbers of
    codes; 2 each where the columns are of zeros and ones. `progress` is called in the caller's thread with the shares
    1/20, 2/20, ..., 1 of the work once they are done.
    """
    steps = Progress(progress)
    offsets = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    if isinstance(columns, BinaryColumns):
        if len(columns) != len(sizes) or (np.asarray(sizes) != 2).any():
            raise SchemaError(
                f"{len(columns)} columns of zeros and ones for {len(sizes)} attributes; give each attribute two codes"
            )
        counts = _count_on_binary(columns, offsets, clauses, threads, steps)
    else:
        if len(columns) != len(sizes):
            raise SchemaError(f"{len(columns)} columns of codes for {len(sizes)} attributes; give one for each")
        positions, _ = column_positions(offsets, clauses)
        bitmaps = Bitmaps.of_codes(columns, sizes, positions)
        counts = count_on_bitmaps(bitmaps, clauses, offsets, positions, threads=threads, progress=steps)
    steps.reach(1)
    return counts


def column_positions(offsets: NDArray[np.int64], clauses: Clauses) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the column of bits of every flat column (see `FlatColumns`), and the flat columns that are needed."""
    named = np.zeros(int(offsets[-1]), dtype=np.bool_)
    if not name_columns(offsets, clauses.arrays(), named):
        clauses.check_against(np.diff(offsets))
    firsts = offsets[:-1][np.diff(offsets) == 2]
    named[firsts + 1] |= named[firsts]
    named[firsts] = False
    positions = np.where(named, np.cumsum(named) - 1, -1).astype(np.int32)
    positions[firsts] = np.where(named[firsts + 1], -2 - positions[firsts + 1], -1)
    return positions, np.flatnonzero(named)


def positions_of_bits(columns: int) -> NDArray[np.int32]:
    """Return the same for columns of zeros and ones: flat column 2 a + 1 is column a, 2 a the same flipped."""
    positions = np.arange(columns, dtype=np.int32).repeat(2)
    positions[::2] = -2 - positions[::2]
    return positions


def _count_on_binary(
    table: BinaryColumns, offsets: NDArray[np.int64], clauses: Clauses, threads: int, progress: Progress
) -> NDArray[np.int64]:
    if isinstance(table, SparseColumns):
        return _count_on_lists(table, offsets, clauses, threads, progress)
    positions, flat = column_positions(offsets, clauses)
    if flat.size * (table.rows // 8) > MOST_BYTES and len(clauses) > 1:
        half, counts = len(clauses) // 2, []
        for part, begin, end in ((slice(0, half), 0, 0.5), (slice(half, None), 0.5, 1)):
            some = clauses.take(np.arange(len(clauses))[part])
            counts.append(_count_on_binary(table, offsets, some, threads, Progress(progress.part(begin, end))))
        return np.concatenate(counts)
    bitmaps = Bitmaps.of_binary(table, flat // 2, threads)
    return count_on_bitmaps(bitmaps, clauses, offsets, positions, threads=threads, progress=progress)


def _count_on_lists(
    table: SparseColumns, offsets: NDArray[np.int64], clauses: Clauses, threads: int, progress: Progress
) -> NDArray[np.int64]:
    """Count each clause by lists or by bits, whichever costs less; of a nearly empty table on records with a one."""
    if table.rows > NEARLY_EMPTY * max(table.listed.size, 1):
        filled = _without_empty_records(table)
        counts = _count_on_lists(filled, offsets, clauses, threads, Progress(progress.part(0, 0.9)))
        empty = SparseColumns(1, np.zeros_like(table.starts), np.empty(0, dtype=np.uint32))
        true_of_empty = _count_on_lists(empty, offsets, clauses, threads, Progress(progress.part(0.9, 1)))
        return counts + (table.rows - filled.rows) * true_of_empty
    _, flat = column_positions(offsets, clauses)
    named = flat // 2
    positions = positions_of_bits(len(table))
    rank = np.empty(len(table), dtype=np.int64)
    rank[np.argsort(np.diff(table.starts), kind="stable")] = np.arange(len(table))
    resolved = resolve(clauses, FlatColumns(offsets, positions, rank), threads)
    per_word = WIDE_WORD if named.size > MOST_IN_ROWS else NARROW_WORD
    if few_pairs(named.size, len(clauses)):
        per_word = SHARED_WORD
    narrow = np.flatnonzero(resolved.widths <= SET_WIDTH)
    short = ListClauses.of(take_clauses(resolved, narrow) if narrow.size < len(clauses) else resolved)
    listed = np.zeros(len(clauses), dtype=np.bool_)
    listed[narrow] = list_steps(table, short) <= LEAST_STEPS + per_word * table.rows / 64
    by_lists, by_bits = np.flatnonzero(listed), np.flatnonzero(~listed)
    share = by_lists.size / max(len(clauses), 1)
    counts = np.empty(len(clauses), dtype=np.int64)
    some = short if by_lists.size == narrow.size else short.take(np.flatnonzero(listed[narrow]))
    counts[by_lists] = count_by_lists(table, some, threads=threads, report=progress.part(0, share))
    if by_bits.size:
        counts[by_bits] = _count_by_bits(
            table, take_clauses(resolved, by_bits), rank, threads, Progress(progress.part(share, 1))
        )
    return counts


def _without_empty_records(table: SparseColumns) -> SparseColumns:
    """Return the records that have a one, in their order: no bits of the others are made, however many there are."""
    filled, numbers = np.unique(table.listed, return_inverse=True)
    return SparseColumns(filled.size, table.starts, numbers.astype(np.uint32))


def _count_by_bits(
    table: SparseColumns, clauses: Literals, rank: NDArray[np.int64], threads: int, progress: Progress
) -> NDArray[np.int64]:
    """Pack the columns of these clauses, and no other, and count."""
    used = np.arange(clauses.columns.shape[1]) < clauses.widths[:, None]
    needed = np.unique(clauses.columns[used])
    needed = needed[np.argsort(rank[needed])]
    place = np.zeros(len(table), dtype=np.int32)
    place[needed] = np.arange(needed.size)
    bitmaps = Bitmaps.of_binary(table, needed.astype(np.int64), threads)
    packed = clauses._replace(columns=place[clauses.columns])
    return count_resolved(bitmaps, packed, threads=threads, progress=progress)
