"""Counting clauses of at most three literals on columns that are lists of the records with a one.

Importing this module imports numba. By inclusion and exclusion every such clause follows from the lengths of its lists
and from how many records its columns have in common, two by two and all three (`set_coefficients`); only what has a
coefficient other than 0 is counted.

The list of one column is walked through and looked up in the bits of another one. These are made from its list once for
all clauses that need them; so most columns are bits for a moment only, whatever their number, and what a walk costs
grows with the shorter list, not with the table. Columns with more ones than they have words (n / 64) are kept as bits
all the time, so that no set of two columns costs more than their bits do. What a clause costs is known before it is
counted, in steps through lists (`list_steps`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from dpopt.compilation import kernel
from dpopt.queries.counting.binary_columns import SparseColumns
from dpopt.queries.counting.bitmaps import SET_WIDTH
from dpopt.queries.counting.compiled import Literals, count_two
from dpopt.queries.counting.packing_kernels import aligned_zeros
from dpopt.queries.counting.resolved_kernels import set_coefficients, stable_order, take_column, take_rows
from dpopt.threads import Progress, in_threads

BUILD_STEPS = 2.0  # setting and clearing the bit of a record, in steps through a list
CLAUSE_STEPS = 150.0  # what a clause costs besides its steps


class Lists(NamedTuple):
    """Columns as lists, and long ones as bits too: dense[places[c]] are those of column c; places[c] = -1: none."""

    starts: NDArray[np.int64]
    listed: NDArray[np.uint32]
    dense: NDArray[np.uint64]
    places: NDArray[np.int32]


class ListClauses(NamedTuple):
    """m clauses of at most three literals over columns that are lists, and the sets that their counts need."""

    columns: NDArray[np.int32]
    """Shape (m, 3). In the order of the lengths of their lists; beyond the width of a clause, anything."""
    widths: NDArray[np.int8]
    """Shape (m,). Number of literals."""
    coefficients: NDArray[np.int8]
    """Shape (m, 8). As in `set_coefficients`."""

    @classmethod
    def of(cls, clauses: Literals) -> ListClauses:
        """Return clauses of at most three literals, their columns in the order of the lengths of their lists."""
        columns, given = clauses.columns, clauses.columns.shape[1]
        if given != SET_WIDTH:
            columns = np.zeros((clauses.widths.size, SET_WIDTH), dtype=np.int32)
            columns[:, : min(given, SET_WIDTH)] = clauses.columns[:, :SET_WIDTH]
        return cls(columns, clauses.widths, set_coefficients(clauses))

    def part(self, chosen: slice) -> ListClauses:
        """Return some of the clauses, without a copy."""
        return ListClauses(self.columns[chosen], self.widths[chosen], self.coefficients[chosen])

    def take(self, chosen: NDArray[np.int64]) -> ListClauses:
        """Return these clauses, in this order."""
        columns, coefficients = take_rows(self.columns, chosen), take_rows(self.coefficients, chosen)
        return ListClauses(columns, self.widths[chosen], coefficients)


def list_steps(table: SparseColumns, clauses: ListClauses) -> NDArray[np.float64]:
    """Return the cost of counting each clause by lists, in steps through lists, (m,)."""
    uses = np.zeros((2, len(table)), dtype=np.int64)
    _add_uses(clauses, uses)
    steps = np.empty(clauses.widths.size)
    _list_steps(table.starts, _words(table), clauses, uses, steps)
    return steps


def _words(table: SparseColumns) -> int:
    """Return the words of a column of bits."""
    return -(-table.rows // 64)


@kernel
def _add_uses(clauses: ListClauses, uses: NDArray[np.int64]) -> None:
    """Add to uses[0, c] and uses[1, c] how many clauses have c as their second and as their third column."""
    for i in range(clauses.widths.size):
        for literal in range(1, min(clauses.widths[i], 3)):
            uses[literal - 1, clauses.columns[i, literal]] += 1


@kernel
def _list_steps(
    starts: NDArray[np.int64], words: int, clauses: ListClauses, uses: NDArray[np.int64], steps: NDArray[np.float64]
) -> None:
    """Write the cost of counting each clause by lists, in steps through lists.

    A set of two columns costs the length of its shorter list, or the words of its bits if those are fewer; where all
    three columns are needed together, the shortest list is walked through in any case. Making the bits of a column is
    shared by all its uses; those of columns with more ones than words are made once.
    """
    columns, widths, coefficients = clauses
    for i in range(widths.size):
        total = CLAUSE_STEPS
        first = second = 0
        if widths[i] >= 2:
            first = starts[columns[i, 0] + 1] - starts[columns[i, 0]]
            second = starts[columns[i, 1] + 1] - starts[columns[i, 1]]
        if coefficients[i, 7] != 0:
            total += first
        elif coefficients[i, 3] != 0:
            total += min(first, words)
        if coefficients[i, 5] != 0:
            total += min(first, words)
        if coefficients[i, 6] != 0:
            total += min(second, words)
        for literal in range(1, widths[i]):
            column = columns[i, literal]
            length = starts[column + 1] - starts[column]
            if length <= words:
                total += BUILD_STEPS * length / uses[literal - 1, column]
        steps[i] = total


@kernel
def _start_counts(
    starts: NDArray[np.int64], rows: int, clauses: ListClauses, most: NDArray[np.int64], counts: NDArray[np.int64]
) -> None:
    """Write how the empty set and single columns add to each count, and how many records its first two can share.

    The latter is 0 where the three columns are not needed together.
    """
    columns, widths, coefficients = clauses
    for i in range(widths.size):
        total = np.int64(coefficients[i, 0]) * rows
        for literal in range(widths[i]):
            column = columns[i, literal]
            total += np.int64(coefficients[i, 1 << literal]) * (starts[column + 1] - starts[column])
        counts[i] = total
        most[i] = 0
        if coefficients[i, 7] != 0:
            most[i] = starts[columns[i, 0] + 1] - starts[columns[i, 0]]


# Unsigned, so that no index can be negative: with signed ones each step takes twice as long.
ONE, SIX, LAST = np.uint64(1), np.uint64(6), np.uint64(63)
AHEAD = np.uint64(2)  # clauses whose list is asked for while another one is counted
LINE, MOST_AHEAD = 16, 1024  # records in a cache line; of a list, at most so many are asked for


def _ask(_typing_context, array, index):  # type: ignore[no-untyped-def]
    """Bring the cache line of an element near: waiting for each list would take longer than walking it."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
        builder.call(function, [place, number(0), number(2), number(1)])  # to read, into the second-level cache
        return context.get_dummy_value()

    return types.void(array, index), generate


ask = cast("Callable[[NDArray[np.uint32], np.int64], None]", intrinsic(_ask))


@kernel
def _ask_list(listed: NDArray[np.uint32], begin: np.int64, end: np.int64) -> None:
    for place in range(begin, min(end, begin + MOST_AHEAD), LINE):
        ask(listed, np.int64(place))


@kernel
def _set(listed: NDArray[np.uint32], begin: np.int64, end: np.int64, bits: NDArray[np.uint64]) -> None:
    for place in range(np.uint64(begin), np.uint64(end)):
        row = np.uint64(listed[place])
        bits[row >> SIX] |= ONE << (row & LAST)


@kernel
def _clear(listed: NDArray[np.uint32], begin: np.int64, end: np.int64, bits: NDArray[np.uint64]) -> None:
    for place in range(np.uint64(begin), np.uint64(end)):
        bits[np.uint64(listed[place]) >> SIX] = np.uint64(0)


@kernel
def _met(listed: NDArray[np.uint32], begin: np.int64, end: np.int64, bits: NDArray[np.uint64]) -> np.int64:
    """Return how many records of a list have their bit set."""
    found = np.uint64(0)
    for place in range(np.uint64(begin), np.uint64(end)):
        row = np.uint64(listed[place])
        found += bits[row >> SIX] >> (row & LAST) & ONE
    return np.int64(found)


@kernel
def _keep_met(
    listed: NDArray[np.uint32],
    begin: np.int64,
    end: np.int64,
    bits: NDArray[np.uint64],
    kept: NDArray[np.uint32],
    first: np.int64,
) -> np.int64:
    """Write the records of a list whose bit is set to kept[first:], and return how many; can write one place more."""
    place_kept = np.uint64(first)
    for place in range(np.uint64(begin), np.uint64(end)):
        row = np.uint64(listed[place])
        kept[place_kept] = np.uint32(row)
        place_kept += bits[row >> SIX] >> (row & LAST) & ONE
    return np.int64(place_kept) - first


@kernel
def _common(lists: Lists, column: np.int32, bits: NDArray[np.uint64]) -> np.int64:
    """Return how many records have a one in a column and their bit set."""
    if lists.places[column] >= 0:
        zero = np.uint64(0)
        return count_two(lists.dense[lists.places[column]], bits, np.uint64(bits.size), zero, zero)
    return _met(lists.listed, lists.starts[column], lists.starts[column + 1], bits)


@kernel
def _bits_of(lists: Lists, column: np.int32, held: np.int32, made: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the bits of a column, made in `made` if none are kept, where column `held` (-1: none) is cleared."""
    starts, listed, places = lists.starts, lists.listed, lists.places
    if held >= 0 and places[held] < 0:
        _clear(listed, starts[held], starts[held + 1], made)
    if places[column] < 0:
        _set(listed, starts[column], starts[column + 1], made)
        return made
    bits: NDArray[np.uint64] = lists.dense[places[column]]
    return bits


@kernel
def count_short_pairs(
    lists: Lists,
    clauses: ListClauses,
    kept: NDArray[np.uint32],
    place: np.int64,
    spans: NDArray[np.int64],
    found_in: NDArray[np.int64],
) -> None:
    """Write the part of the two shorter columns in the counts of clauses, and keep where both are one.

    Clauses with the same second column follow each other; columns[i] are in the order of their lengths. Records where
    the first two columns of clause i are one go to kept[spans[i, 0]:spans[i, 1]] if its three columns are needed
    together, from `place` on.
    """
    starts, listed = lists.starts, lists.listed
    columns, _, coefficients = clauses
    made = np.zeros(lists.dense.shape[1], np.uint64)
    bits = made
    held = np.int32(-1)
    m = np.uint64(columns.shape[0])
    for i in range(m):
        first, second = columns[i, 0], columns[i, 1]
        if i + AHEAD < m:
            later = columns[i + AHEAD, 0]
            _ask_list(listed, starts[later], starts[later + 1])
        if coefficients[i, 3] == 0 and coefficients[i, 7] == 0:
            continue
        if second != held:
            bits, held = _bits_of(lists, second, held, made), second
        if coefficients[i, 7] == 0:
            found = _common(lists, first, bits)
        else:
            found = _keep_met(listed, starts[first], starts[first + 1], bits, kept, place)
            spans[i, 0], spans[i, 1] = place, place + found
            place += found
        found_in[i] = np.int64(coefficients[i, 3]) * found


@kernel
def count_longest(
    lists: Lists, clauses: ListClauses, kept: NDArray[np.uint32], spans: NDArray[np.int64], found_in: NDArray[np.int64]
) -> None:
    """Write the part of the third, longest column in the counts of clauses.

    Clauses with the same third column follow each other. The rest as `count_short_pairs` has it, or left it.
    """
    columns, _, coefficients = clauses
    made = np.zeros(lists.dense.shape[1], np.uint64)
    bits = made
    held = np.int32(-1)
    m = np.uint64(columns.shape[0])
    for i in range(m):
        first, second, third = columns[i, 0], columns[i, 1], columns[i, 2]
        if i + AHEAD < m:
            _ask_needed(lists, clauses, i + AHEAD, kept, spans)
        if third != held:
            bits, held = _bits_of(lists, third, held, made), third
        total = np.int64(0)
        if coefficients[i, 5] != 0:
            total += np.int64(coefficients[i, 5]) * _common(lists, first, bits)
        if coefficients[i, 6] != 0:
            total += np.int64(coefficients[i, 6]) * _common(lists, second, bits)
        if coefficients[i, 7] != 0:
            total += np.int64(coefficients[i, 7]) * _met(kept, spans[i, 0], spans[i, 1], bits)
        found_in[i] = total


@kernel
def _ask_needed(
    lists: Lists, clauses: ListClauses, i: np.uint64, kept: NDArray[np.uint32], spans: NDArray[np.int64]
) -> None:
    """Ask for the lists that `count_longest` will walk through for clause i."""
    starts, listed, places = lists.starts, lists.listed, lists.places
    columns, _, coefficients = clauses
    first, second = columns[i, 0], columns[i, 1]
    if coefficients[i, 5] != 0 and places[first] < 0:
        _ask_list(listed, starts[first], starts[first + 1])
    if coefficients[i, 6] != 0 and places[second] < 0:
        _ask_list(listed, starts[second], starts[second + 1])
    if coefficients[i, 7] != 0:
        _ask_list(kept, spans[i, 0], spans[i, 1])


# records that two columns have in common, kept at once: 1 GB at most, of which only what is used is taken
MOST_KEPT = 1 << 28
MOST_BITS = 1 << 30  # bytes of columns that are kept as bits too; the longest ones if not all fit
PARTS = 4  # parts of the work for each thread


def count_by_lists(
    table: SparseColumns, clauses: ListClauses, *, threads: int, report: Callable[[float], None]
) -> NDArray[np.int64]:
    """Return the number of records for which each clause is true, (m,) int64.

    `report` is called with the share that is done.
    """
    m = clauses.widths.size
    counts, most = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    _start_counts(table.starts, table.rows, clauses, most, counts)
    lists = _lists(table, clauses)
    of_two = np.flatnonzero(clauses.widths >= 2)
    order = of_two[_by_column(clauses.columns, of_two, 1)]
    ends = np.concatenate(([0], np.cumsum(most[order])))
    edges = _edges(ends)
    parts = threads * PARTS
    kept = np.empty(int(np.max(ends[edges[1:]] - ends[edges[:-1]], initial=0)) + parts + 1, dtype=np.uint32)
    progress = Progress(report)
    # The arrays of clauses are put in the order in which they are gone through: fetching them one by one takes longer
    # than counting.
    for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        chosen = order[begin:end]
        now = clauses.take(chosen)
        third = np.flatnonzero(now.coefficients[:, 5] | now.coefficients[:, 6] | now.coefficients[:, 7])
        third = third[_by_column(now.columns, third, 2)]
        half = begin + (end - begin) * now.widths.size / (now.widths.size + third.size)
        report_first = progress.part(begin / order.size, half / order.size)
        begins = ends[begin:end] - ends[begin]
        found, spans = _short_pairs(now, lists, kept, begins, threads, report_first)
        counts[chosen] += found
        report_second = progress.part(half / order.size, end / order.size)
        late = now.take(third)
        counts[chosen[third]] += _longest(late, lists, kept, spans[third], threads, report_second)
    return counts


def _short_pairs(
    now: ListClauses,
    lists: Lists,
    kept: NDArray[np.uint32],
    begins: NDArray[np.int64],
    threads: int,
    report: Callable[[float], None],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the part of the two shorter columns, and the place of common records, from begins[i] on for clause i."""
    m = now.widths.size
    found, spans = np.zeros(m, dtype=np.int64), np.zeros((m, 2), dtype=np.int64)
    size = max(1, -(-m // (threads * PARTS)))

    def run(part: slice) -> None:
        count_short_pairs(
            lists,
            now.part(part),
            kept,
            # Each part before this one may write one place more than it keeps.
            begins[part.start] + np.int64(part.start // size),
            spans[part],
            found[part],
        )

    in_threads(run, m, size, threads, report)
    return found, spans


def _longest(
    now: ListClauses,
    lists: Lists,
    kept: NDArray[np.uint32],
    spans: NDArray[np.int64],
    threads: int,
    report: Callable[[float], None],
) -> NDArray[np.int64]:
    """Return the part of the third column."""
    m = now.widths.size
    found = np.zeros(m, dtype=np.int64)

    def run(part: slice) -> None:
        count_longest(lists, now.part(part), kept, spans[part], found[part])

    in_threads(run, m, max(1, -(-m // (threads * PARTS))), threads, report)
    return found


def _edges(ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where rounds begin and end, so that each fits into memory; ends[i] belongs to the first i clauses."""
    new = np.flatnonzero(np.diff(ends[1:] // MOST_KEPT, prepend=0))
    return np.unique(np.concatenate(([0], new, [ends.size - 1])))


def _by_column(columns: NDArray[np.int32], chosen: NDArray[np.int64], literal: int) -> NDArray[np.int64]:
    """Return the order of the chosen clauses by the column of one literal."""
    return stable_order(take_column(columns, chosen, literal), np.arange(chosen.size))


def _lists(table: SparseColumns, clauses: ListClauses) -> Lists:
    words = _words(table)
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
    return Lists(table.starts, table.listed, dense, places)
