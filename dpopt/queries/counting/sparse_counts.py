"""Counting clauses of at most three literals on columns that are lists of the records with a one.

Importing this module imports numba. By inclusion and exclusion every such clause follows from the lengths of its lists
and from how many records its columns have in common, two by two and all three (`set_coefficients`); only what has a
coefficient other than 0 is counted.

Columns with more ones than they have words (n / 64) are kept as bits too, so that no set of two columns costs more than
their bits do. What a clause costs is known before it is counted, in steps through lists (`list_steps`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpopt.queries.counting.binary_columns import SparseColumns
from dpopt.queries.counting.bitmap_counts import SET_WIDTH, Resolved
from dpopt.queries.counting.packing_kernels import aligned_zeros
from dpopt.queries.counting.resolved_kernels import set_coefficients, stable_order, take_column, take_rows
from dpopt.queries.counting.sparse_clause_kernels import add_uses, list_steps, start_counts
from dpopt.queries.counting.sparse_count_kernels import count_longest, count_short_pairs
from dpopt.threads import Progress, in_threads

MOST_KEPT = (
    1 << 28
)  # records that two columns have in common, kept at once: 1 GB at most, of which only what is used is taken
MOST_BITS = 1 << 30  # bytes of columns that are kept as bits too; the longest ones if not all fit
PARTS = 4  # parts of the work for each thread


@dataclass(frozen=True, slots=True, eq=False)
class ListClauses:
    """Clauses of at most three literals over columns that are lists, and what of their sets is needed.

    Attributes
    ----------
    table
        Columns c.
    columns : (m, 3) int32
        In the order of the lengths of their lists; beyond the width of a clause, anything.
    widths : (m,) int8
        Number of literals.
    coefficients : (m, 8) int8
        As in `set_coefficients`.
    """

    table: SparseColumns = field(repr=False)
    columns: NDArray[np.int32] = field(repr=False)
    widths: NDArray[np.int8] = field(repr=False)
    coefficients: NDArray[np.int8] = field(repr=False)

    @classmethod
    def of(cls, table: SparseColumns, clauses: Resolved) -> ListClauses:
        """Return clauses of at most three literals over all columns of a table, in the order of the lengths of their lists."""
        columns, given = clauses.columns, clauses.columns.shape[1]
        if given != SET_WIDTH:
            columns = np.zeros((clauses.widths.size, SET_WIDTH), dtype=np.int32)
            columns[:, : min(given, SET_WIDTH)] = clauses.columns[:, :SET_WIDTH]
        coefficients = set_coefficients(clauses.flips, clauses.widths, clauses.accepted)
        return cls(table, columns, clauses.widths, coefficients)

    def take(self, chosen: NDArray[np.int64]) -> ListClauses:
        """Return these clauses, in this order."""
        return ListClauses(
            self.table,
            take_rows(self.columns, chosen),
            self.widths[chosen],
            take_rows(self.coefficients, chosen),
        )

    @property
    def words(self) -> int:
        """Words of a column of bits."""
        return -(-self.table.rows // 64)

    def steps(self) -> NDArray[np.float64]:
        """Return what counting each clause by lists costs, in steps through lists, (m,)."""
        uses = np.zeros((2, len(self.table)), dtype=np.int64)
        add_uses(self.columns, self.widths, uses)
        steps = np.empty(self.widths.size)
        list_steps(self.table.starts, self.words, self.columns, self.widths, self.coefficients, uses, steps)
        return steps


@dataclass(frozen=True, slots=True, eq=False)
class LongColumns:
    """The columns of clauses that have more ones than words, as bits: (c, W); places[i] is the row of column i, or -1."""

    words: NDArray[np.uint64] = field(repr=False)
    places: NDArray[np.int32] = field(repr=False)


def count_by_lists(clauses: ListClauses, *, threads: int, tell: Callable[[float], None]) -> NDArray[np.int64]:
    """Return for every clause the number of records of which it is true, (m,) int64.

    `tell` is called with the share that is done.
    """
    table, m = clauses.table, clauses.widths.size
    counts, most = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    start_counts(
        table.starts, table.rows, clauses.columns, clauses.widths, clauses.coefficients, most, counts
    )
    long = _long_columns(clauses)
    of_two = np.flatnonzero(clauses.widths >= 2)
    order = of_two[_by_column(clauses.columns, of_two, 1)]
    ends = np.concatenate(([0], np.cumsum(most[order])))
    edges = _edges(ends)
    parts = threads * PARTS
    kept = np.empty(int(np.max(ends[edges[1:]] - ends[edges[:-1]], initial=0)) + parts + 1, dtype=np.uint32)
    told = Progress(tell)
    # The arrays of clauses are put in the order in which they are gone through: fetching them one by one takes longer
    # than counting.
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        chosen = order[begin:end]
        now = clauses.take(chosen)
        third = np.flatnonzero(now.coefficients[:, 5] | now.coefficients[:, 6] | now.coefficients[:, 7])
        third = third[_by_column(now.columns, third, 2)]
        half = begin + (end - begin) * now.widths.size / (now.widths.size + third.size)
        tell_first = told.part(begin / order.size, half / order.size)
        begins = ends[begin:end] - ends[begin]
        found, spans = _short_pairs(now, long, kept, begins, threads, tell_first)
        counts[chosen] += found
        tell_second = told.part(half / order.size, end / order.size)
        late = now.take(third)
        counts[chosen[third]] += _longest(late, long, kept, spans[third], threads, tell_second)
    return counts


def _short_pairs(
    now: ListClauses,
    long: LongColumns,
    kept: NDArray[np.uint32],
    begins: NDArray[np.int64],
    threads: int,
    tell: Callable[[float], None],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the part of the two shorter columns, and where common records are kept; for clause i not before begins[i]."""
    m = now.widths.size
    found, spans = np.zeros(m, dtype=np.int64), np.zeros((m, 2), dtype=np.int64)
    size = max(1, -(-m // (threads * PARTS)))

    def run(part: slice) -> None:
        count_short_pairs(
            now.table.starts,
            now.table.listed,
            long.words,
            long.places,
            now.columns[part],
            now.coefficients[part],
            kept,
            # Each part before this one may write one place more than it keeps.
            begins[part.start] + np.int64(part.start // size),
            spans[part],
            found[part],
        )

    in_threads(run, m, size, threads, tell)
    return found, spans


def _longest(
    now: ListClauses,
    long: LongColumns,
    kept: NDArray[np.uint32],
    spans: NDArray[np.int64],
    threads: int,
    tell: Callable[[float], None],
) -> NDArray[np.int64]:
    """Return the part of the third column."""
    m = now.widths.size
    found = np.zeros(m, dtype=np.int64)

    def run(part: slice) -> None:
        count_longest(
            now.table.starts,
            now.table.listed,
            long.words,
            long.places,
            now.columns[part],
            now.coefficients[part],
            kept,
            spans[part],
            found[part],
        )

    in_threads(run, m, max(1, -(-m // (threads * PARTS))), threads, tell)
    return found


def _edges(ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where rounds begin and end, so that what one keeps fits into memory; ends[i] belongs to the first i clauses."""
    new = np.flatnonzero(np.diff(ends[1:] // MOST_KEPT, prepend=0))
    return np.unique(np.concatenate(([0], new, [ends.size - 1])))


def _by_column(columns: NDArray[np.int32], chosen: NDArray[np.int64], literal: int) -> NDArray[np.int64]:
    """Return the order of the chosen clauses by the column of one literal."""
    return stable_order(take_column(columns, chosen, literal), np.arange(chosen.size))


def _long_columns(clauses: ListClauses) -> LongColumns:
    table, words = clauses.table, clauses.words
    lengths = np.diff(table.starts)
    named = np.zeros(len(table), dtype=np.bool_)
    for literal in range(SET_WIDTH):
        named[clauses.columns[clauses.widths > literal, literal]] = True
    long = np.flatnonzero(named & (lengths > words))
    most = max(1, MOST_BITS // (8 * max(words, 1)))
    long = np.sort(long[np.argsort(-lengths[long], kind="stable")][:most])
    dense = aligned_zeros(long.size, words)
    table.pack_into(long, dense)
    places = np.full(len(table), -1, dtype=np.int32)
    places[long] = np.arange(long.size)
    return LongColumns(dense, places)
