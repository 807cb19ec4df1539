"""Clauses as literals over columns of bits, some of them flipped, and the counts that counts of sets of columns imply.

Importing this module imports numba. A two-code attribute needs one column, that of code 1: its code 0 is the same
column flipped. Clauses are symmetric in their literals, so that these can be put in any order.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel
from dpopt.errors import WorkloadError
from dpopt.queries.clauses import ClauseArrays, Clauses
from dpopt.queries.counting.compiled import Literals, population_count
from dpopt.threads import in_threads

Number = TypeVar("Number", bound=np.generic)
SETS = 8  # subsets of three literals
CHUNK = 1 << 14  # clauses that are looked at together


@kernel
def name_columns(offsets: NDArray[np.int64], clauses: ClauseArrays, named: NDArray[np.bool_]) -> bool:
    """Set `named` for every flat column that a literal asks for; False if an attribute or a code does not exist."""
    m, k = clauses.attributes.shape
    last = offsets.size - 1
    for i in range(m):
        for literal in range(k):
            attribute, value = clauses.attributes[i, literal], clauses.values[i, literal]
            if attribute < 0:
                break
            if attribute >= last or value >= offsets[attribute + 1] - offsets[attribute]:
                return False
            named[offsets[attribute] + value] = True
    return True


class FlatColumns(NamedTuple):
    """Where flat columns (an attribute and a code) lie among columns of bits."""

    offsets: NDArray[np.int64]
    """Shape (d + 1,). Flat column of attribute a and code v is offsets[a] + v."""
    positions: NDArray[np.int32]
    """Shape (flat columns,). Column of bits of a flat column; -1: none; -2 - p: column p flipped."""
    keys: NDArray[np.int64]
    """Shape (columns,). In their increasing order the columns of a clause are written."""


def resolve(clauses: Clauses, flat: FlatColumns, threads: int) -> Literals:
    """Return clauses over columns of bits, the columns of each in the order of increasing keys."""
    m = len(clauses)
    made = Literals(
        np.zeros(clauses.attributes.shape, np.int32), np.zeros(m, np.uint32), np.zeros(m, np.int8), clauses.accepted
    )

    def run(chunk: slice) -> None:
        if not _resolve(flat, clauses.arrays(chunk), made.part(chunk)):
            clauses.check_against(np.diff(flat.offsets))
            raise WorkloadError("the clauses name a column that is not packed; pack the columns for these clauses")

    in_threads(run, m, CHUNK, threads, None)
    return made


def take_clauses(clauses: Literals, chosen: NDArray[np.int64]) -> Literals:
    """Return these clauses, in this order."""
    return Literals(
        take_rows(clauses.columns, chosen), clauses.flips[chosen], clauses.widths[chosen], clauses.accepted[chosen]
    )


@kernel
def _resolve(flat: FlatColumns, clauses: ClauseArrays, made: Literals) -> bool:
    """Write the columns of each clause in the order of their keys, and the flips; False if one is not packed."""
    m, k = clauses.attributes.shape
    offsets, keys, columns = flat.offsets, flat.keys, made.columns
    last = offsets.size - 1
    for i in range(m):
        width = 0
        flip = np.uint32(0)
        for literal in range(k):
            attribute, value = clauses.attributes[i, literal], clauses.values[i, literal]
            if attribute < 0:
                break
            if attribute >= last or value >= offsets[attribute + 1] - offsets[attribute]:
                return False
            column = flat.positions[offsets[attribute] + value]
            flipped = not clauses.signs[i, literal]
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
        made.widths[i], made.flips[i] = width, flip
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
def set_coefficients(clauses: Literals) -> NDArray[np.int8]:
    """Return for clauses of at most three literals the coefficient of each set of its columns, shape (m, 8).

    With N(S) the number of records that have a one in every column of S, a clause is true of sum_S coefficient(S) N(S)
    records, exactly (Moebius inversion over the subsets). Bit j of a subset's number is literal j.
    """
    flips, widths = clauses.flips, clauses.widths
    made = np.zeros((widths.size, SETS), np.int8)
    for i in range(widths.size):
        count = 1 << widths[i]
        for pattern in range(count):
            true_literals = np.uint32(population_count(np.uint64(np.uint32(pattern) ^ flips[i])))
            made[i, pattern] = np.int8(clauses.accepted[i] >> true_literals & np.uint32(1))
        for literal in range(widths[i]):
            for pattern in range(count):
                if pattern >> literal & 1:
                    made[i, pattern] -= made[i, pattern ^ (1 << literal)]
    return made


@kernel
def add_sets(
    coefficients: NDArray[np.int8],
    clauses: Literals,
    rows: int,
    ones: NDArray[np.int64],
    pairs: NDArray[np.int64],
    triples: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Write each clause's count from those of its sets: pairs[i, j], i < j, and triples[i] for its three columns."""
    columns = clauses.columns
    for i in range(clauses.widths.size):
        total = np.int64(coefficients[i, 0]) * rows
        for literal in range(clauses.widths[i]):
            column = columns[i, literal]
            total += np.int64(coefficients[i, 1 << literal]) * ones[column]
            for earlier in range(literal):
                other = columns[i, earlier]
                found = pairs[min(other, column), max(other, column)]
                total += np.int64(coefficients[i, (1 << literal) | (1 << earlier)]) * found
        counts[i] = total + np.int64(coefficients[i, SETS - 1]) * triples[i]
