"""Counting sets of two and three columns that are lists of the records with a one.

Importing this module imports numba. The list of one column is walked through and looked up in the bits of another one.
These are made from its list once for all clauses that need them, unless the column is among those that are kept as bits
all the time; so most columns are bits for a moment only, whatever their number. What a walk costs grows with the
shorter list, not with the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from dpopt.compilation import kernel
from dpopt.queries.counting.compiled import population_count

# Unsigned, so that no index can be negative: with signed ones each step takes twice as long.
ONE, SIX, LAST = np.uint64(1), np.uint64(6), np.uint64(63)
AHEAD = np.uint64(2)  # clauses whose list is asked for while another one is counted
LINE, MOST_AHEAD = 16, 1024  # records in a cache line; of a list, at most so many are asked for


def _ask(_typing_context, array, index):  # type: ignore[no-untyped-def]
    """Bring the cache line of an element near: lists lie far apart, and waiting for each would take longer than walking it."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        place = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
        builder.call(
            function, [place, number(0), number(2), number(1)]
        )  # to read, into the second-level cache
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
    """Write the records of a list whose bit is set to kept[first:], and return how many; one place more may be written."""
    place_kept = np.uint64(first)
    for place in range(np.uint64(begin), np.uint64(end)):
        row = np.uint64(listed[place])
        kept[place_kept] = np.uint32(row)
        place_kept += bits[row >> SIX] >> (row & LAST) & ONE
    return np.int64(place_kept) - first


@kernel
def _both(left: NDArray[np.uint64], right: NDArray[np.uint64]) -> np.int64:
    """Return the number of bits that are set in both."""
    found = np.uint64(0)
    for word in range(np.uint64(right.size)):
        found += population_count(left[word] & right[word])
    return np.int64(found)


@kernel
def _common(
    starts: NDArray[np.int64],
    listed: NDArray[np.uint32],
    dense: NDArray[np.uint64],
    places: NDArray[np.int32],
    column: np.int32,
    bits: NDArray[np.uint64],
) -> np.int64:
    """Return how many records have a one in a column and their bit set."""
    if places[column] >= 0:
        return _both(dense[places[column]], bits)
    return _met(listed, starts[column], starts[column + 1], bits)


@kernel
def count_short_pairs(
    starts: NDArray[np.int64],
    listed: NDArray[np.uint32],
    dense: NDArray[np.uint64],
    places: NDArray[np.int32],
    columns: NDArray[np.int32],
    coefficients: NDArray[np.int8],
    kept: NDArray[np.uint32],
    place: np.int64,
    spans: NDArray[np.int64],
    found_in: NDArray[np.int64],
) -> None:
    """Write the part of the two shorter columns in the counts of clauses, and keep where both are one.

    Clauses with the same second column follow each other; columns[i] are in the order of their lengths. Records where
    the first two columns of clause i are one go to kept[spans[i, 0]:spans[i, 1]] if its three columns are needed
    together, from `place` on. dense[places[c]] are the bits of column c, places[c] = -1 where they are not kept.
    """
    made = np.zeros(dense.shape[1], np.uint64)
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
            if held >= 0 and places[held] < 0:
                _clear(listed, starts[held], starts[held + 1], made)
            bits = made
            if places[second] >= 0:
                bits = dense[places[second]]
            else:
                _set(listed, starts[second], starts[second + 1], made)
            held = second
        if coefficients[i, 7] == 0:
            found = _common(starts, listed, dense, places, first, bits)
        else:
            found = _keep_met(listed, starts[first], starts[first + 1], bits, kept, place)
            spans[i, 0], spans[i, 1] = place, place + found
            place += found
        found_in[i] = np.int64(coefficients[i, 3]) * found


@kernel
def count_longest(
    starts: NDArray[np.int64],
    listed: NDArray[np.uint32],
    dense: NDArray[np.uint64],
    places: NDArray[np.int32],
    columns: NDArray[np.int32],
    coefficients: NDArray[np.int8],
    kept: NDArray[np.uint32],
    spans: NDArray[np.int64],
    found_in: NDArray[np.int64],
) -> None:
    """Write the part of the third, longest column in the counts of clauses.

    Clauses with the same third column follow each other. The rest as `count_short_pairs` has it, or left it.
    """
    made = np.zeros(dense.shape[1], np.uint64)
    bits = made
    held = np.int32(-1)
    m = np.uint64(columns.shape[0])
    for i in range(m):
        first, second, third = columns[i, 0], columns[i, 1], columns[i, 2]
        if i + AHEAD < m:
            _ask_needed(starts, listed, places, columns, coefficients, i + AHEAD, kept, spans)
        if third != held:
            if held >= 0 and places[held] < 0:
                _clear(listed, starts[held], starts[held + 1], made)
            bits = made
            if places[third] >= 0:
                bits = dense[places[third]]
            else:
                _set(listed, starts[third], starts[third + 1], made)
            held = third
        total = np.int64(0)
        if coefficients[i, 5] != 0:
            total += np.int64(coefficients[i, 5]) * _common(starts, listed, dense, places, first, bits)
        if coefficients[i, 6] != 0:
            total += np.int64(coefficients[i, 6]) * _common(starts, listed, dense, places, second, bits)
        if coefficients[i, 7] != 0:
            total += np.int64(coefficients[i, 7]) * _met(kept, spans[i, 0], spans[i, 1], bits)
        found_in[i] = total


@kernel
def _ask_needed(
    starts: NDArray[np.int64],
    listed: NDArray[np.uint32],
    places: NDArray[np.int32],
    columns: NDArray[np.int32],
    coefficients: NDArray[np.int8],
    i: np.uint64,
    kept: NDArray[np.uint32],
    spans: NDArray[np.int64],
) -> None:
    """Ask for the lists that `count_longest` will walk through for clause i."""
    first, second = columns[i, 0], columns[i, 1]
    if coefficients[i, 5] != 0 and places[first] < 0:
        _ask_list(listed, starts[first], starts[first + 1])
    if coefficients[i, 6] != 0 and places[second] < 0:
        _ask_list(listed, starts[second], starts[second + 1])
    if coefficients[i, 7] != 0:
        _ask_list(kept, spans[i, 0], spans[i, 1])
