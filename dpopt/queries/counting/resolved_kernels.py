"""Clauses as literals over columns of bits, some of them flipped, and what follows from counts of sets of columns.

Importing this module imports numba. A two-code attribute needs one column, that of code 1: its code 0 is the same
column flipped. Clauses are symmetric in their literals, so that these can be put in any order.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel
from dpopt.queries.counting.compiled import population_count

Number = TypeVar("Number", bound=np.generic)
SETS = 8  # subsets of three literals


@kernel
def name_columns(
    offsets: NDArray[np.int64],
    attributes: NDArray[np.int32],
    values: NDArray[np.int32],
    named: NDArray[np.bool_],
) -> bool:
    """Set `named` for every flat column that a literal asks for; False if an attribute or a code does not exist."""
    m, k = attributes.shape
    last = offsets.size - 1
    for i in range(m):
        for literal in range(k):
            attribute, value = attributes[i, literal], values[i, literal]
            if attribute < 0:
                break
            if attribute >= last or value >= offsets[attribute + 1] - offsets[attribute]:
                return False
            named[offsets[attribute] + value] = True
    return True


@kernel
def resolve_chunk(
    positions: NDArray[np.int32],
    keys: NDArray[np.int64],
    offsets: NDArray[np.int64],
    attributes: NDArray[np.int32],
    values: NDArray[np.int32],
    signs: NDArray[np.bool_],
    columns: NDArray[np.int32],
    flips: NDArray[np.uint32],
    widths: NDArray[np.int8],
) -> bool:
    """Write the columns of each clause in the order of their keys, and which are flipped; False if one is not packed.

    positions[f] >= 0 is the column of bits of flat column f, -1 is none, and -2 - p says that it is column p flipped. Bit j of
    flips[i] belongs to columns[i, j]. Columns beyond the width are left alone.
    """
    m, k = attributes.shape
    last = offsets.size - 1
    for i in range(m):
        width = 0
        flip = np.uint32(0)
        for literal in range(k):
            attribute, value = attributes[i, literal], values[i, literal]
            if attribute < 0:
                break
            if attribute >= last or value >= offsets[attribute + 1] - offsets[attribute]:
                return False
            column = positions[offsets[attribute] + value]
            flipped = not signs[i, literal]
            if column == -1:
                return False
            if column < 0:
                column, flipped = np.int32(-2 - column), not flipped
            place = width
            while place > 0 and keys[columns[i, place - 1]] > keys[column]:
                columns[i, place] = columns[i, place - 1]
                place -= 1
            columns[i, place] = column
            below = (np.uint32(1) << np.uint32(place)) - np.uint32(1)
            flip = (flip & below) | (flip & ~below) << np.uint32(1) | np.uint32(flipped) << np.uint32(place)
            width += 1
        widths[i], flips[i] = width, flip
    return True


@kernel
def stable_order(keys: NDArray[np.int32], before: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order of the keys >= 0, by a counting sort; equal keys stay in the order `before`."""
    bound = 0
    for i in range(keys.size):
        bound = max(bound, keys[i] + 1)
    ends = np.zeros(bound + 1, np.int64)
    for i in range(keys.size):
        ends[keys[i] + 1] += 1
    for key in range(bound):
        ends[key + 1] += ends[key]
    order = np.empty(keys.size, np.int64)
    for i in before:
        order[ends[keys[i]]] = i
        ends[keys[i]] += 1
    return order


@kernel
def take_rows(rows: NDArray[Number], chosen: NDArray[np.int64]) -> NDArray[Number]:
    """Return rows[chosen] for an array of two dimensions; several times faster than by indexing."""
    made = np.empty((chosen.size, rows.shape[1]), rows.dtype)
    for i in range(np.uint64(chosen.size)):
        row = np.uint64(chosen[i])
        for j in range(np.uint64(rows.shape[1])):
            made[i, j] = rows[row, j]
    return made


@kernel
def take_column(rows: NDArray[Number], chosen: NDArray[np.int64], column: int) -> NDArray[Number]:
    """Return rows[chosen, column]."""
    made = np.empty(chosen.size, rows.dtype)
    for i in range(np.uint64(chosen.size)):
        made[i] = rows[np.uint64(chosen[i]), column]
    return made


@kernel
def set_coefficients(
    flips: NDArray[np.uint32], widths: NDArray[np.int8], accepted: NDArray[np.uint32]
) -> NDArray[np.int8]:
    """Return for clauses of at most three literals the coefficient of each set of its columns, shape (m, 8).

    With N(S) the number of records that have a one in every column of S, a clause is true of sum_S coefficient(S) N(S) records,
    exactly (Moebius inversion over the subsets). Bit j of a subset's number is literal j.
    """
    made = np.zeros((widths.size, SETS), np.int8)
    for i in range(widths.size):
        count = 1 << widths[i]
        for pattern in range(count):
            true_literals = np.uint32(population_count(np.uint64(np.uint32(pattern) ^ flips[i])))
            made[i, pattern] = np.int8(accepted[i] >> true_literals & np.uint32(1))
        for literal in range(widths[i]):
            for pattern in range(count):
                if pattern >> literal & 1:
                    made[i, pattern] -= made[i, pattern ^ (1 << literal)]
    return made


@kernel
def add_sets(
    coefficients: NDArray[np.int8],
    columns: NDArray[np.int32],
    widths: NDArray[np.int8],
    rows: int,
    ones: NDArray[np.int64],
    pairs: NDArray[np.int64],
    triples: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Write the count of each clause from those of its sets: pairs[i, j], i < j, and triples[i] for its three columns."""
    for i in range(widths.size):
        total = np.int64(coefficients[i, 0]) * rows
        for literal in range(widths[i]):
            column = columns[i, literal]
            total += np.int64(coefficients[i, 1 << literal]) * ones[column]
            for earlier in range(literal):
                other = columns[i, earlier]
                found = pairs[min(other, column), max(other, column)]
                total += np.int64(coefficients[i, (1 << literal) | (1 << earlier)]) * found
        counts[i] = total + np.int64(coefficients[i, SETS - 1]) * triples[i]
