"""Which cells of marginals records lie in, and how many records or how much weight each cell holds.

Pure functions of arrays; nothing here knows where the records came from. Importing this module imports numba.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import frozen
from dpopt.compilation import kernel
from dpopt.errors import SchemaError
from dpopt.queries.marginal_set import MarginalSet
from dpopt.threads import USUAL, in_threads

# records whose positions are kept at a time: bounds the temporary arrays, and they stay in the cache
BLOCK = 1 << 15
TASK = 1 << 20  # pairs of a record and a marginal that one call of the kernel takes
FEW = 1 << 14  # pairs that are counted before a thread has started
NUMBERS = "iu"  # kinds of NumPy's types that hold codes
MOST_NUMBERS = 1 << 22  # of rows that are numbered: small beside a table for which it is worth it
WORTH = 4  # rows for each distinct one, from which on these are counted in their place


def count_cells(
    marginals: MarginalSet,
    columns: Sequence[NDArray[np.integer]],
    *,
    weights: NDArray[np.float64] | None = None,
    threads: int = USUAL,
) -> NDArray[np.int64] | NDArray[np.float64]:
    """Return how many records, or how much of their weight, lie in every cell.

    `columns` has one (n,) array of codes for each of d attributes, of any whole-number type; a code that the domain
    leaves out puts the record in no cell of the marginals over that attribute. The counts, (cells,), are int64, or
    float64 with `weights` (n,), which are added in the order of the records. One number for each cell is held: of very
    large sets, count some marginals at a time.
    """
    given = _checked(columns, marginals)
    rows = given[0].size if given else 0
    added = None if weights is None else frozen(weights, np.float64)
    if added is not None and added.shape != (rows,):
        raise SchemaError(f"{rows} records need as many weights, found an array of shape {added.shape}")
    cells = marginals.number_of_cells
    counts: NDArray[np.int64] | NDArray[np.float64]
    counts = np.zeros(cells, np.int64) if added is None else np.zeros(cells, np.float64)
    if rows == 0 or len(marginals) == 0:
        return counts
    finder = _Positions(marginals)
    step = max(1, min(TASK // min(rows, BLOCK), -(-len(marginals) // max(threads, 1))))
    threads = threads if rows * len(marginals) > FEW else 1
    for begin in range(0, rows, BLOCK):
        part = slice(begin, min(begin + BLOCK, rows))
        positions = finder.of([column[part] for column in given])
        share = None if added is None else added[part]

        def run(
            some: slice, positions: NDArray[np.int32] = positions, share: NDArray[np.float64] | None = share
        ) -> None:
            _add(positions, finder.rows, marginals.strides, marginals.starts, some.start, some.stop, share, counts)

        in_threads(run, len(marginals), step, threads, None)
    return counts


def cells_of_records(marginals: MarginalSet, records: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the cell of each marginal in which each record lies.

    The place in the flat order of all cells for each of r records (r, d) and M marginals, (r, M); -1 where the record
    has a code that the domain leaves out.
    """
    return cells_of_columns(marginals, list(np.asarray(records).T))


def cells_of_columns(marginals: MarginalSet, columns: Sequence[NDArray[np.integer]]) -> NDArray[np.int64]:
    """Return the cell of each marginal in which each record lies, (n, M), as `cells_of_records` does.

    `columns` has one (n,) array of codes for each attribute, of any whole-number type.
    """
    given = _checked(columns, marginals)
    rows = given[0].size if given else 0
    cells = np.empty((rows, len(marginals)), dtype=np.int64)
    finder = _Positions(marginals)
    for begin in range(0, rows, BLOCK):
        part = slice(begin, min(begin + BLOCK, rows))
        positions = finder.of([column[part] for column in given])
        _find(positions, finder.rows, marginals.strides, marginals.starts, cells[part])
    return cells


def distinct_rows(
    columns: Sequence[NDArray[np.unsignedinteger]], sizes: NDArray[np.integer]
) -> tuple[list[NDArray[np.unsignedinteger]], NDArray[np.float64]] | None:
    """Return the columns of the distinct rows, and how many rows are equal to each; None where there are too many.

    Rows are numbered column by column, and anew wherever the next column could make too many numbers.
    """
    rows = columns[0].size if columns else 0
    numbers, most = np.zeros(rows, dtype=np.int32), 1
    for column, size in zip(columns, sizes.tolist(), strict=True):
        if most * size > MOST_NUMBERS:
            numbers, most = _numbered_anew(numbers, most)
        if most * size > MOST_NUMBERS:
            return None
        numbers *= size
        numbers += column
        most *= size
    numbers, most = _numbered_anew(numbers, most)
    if most * WORTH > rows:
        return None
    place = np.empty(most, dtype=np.int64)
    place[numbers] = np.arange(rows)
    return [column[place] for column in columns], np.bincount(numbers).astype(np.float64)


def _numbered_anew(numbers: NDArray[np.int32], most: int) -> tuple[NDArray[np.int32], int]:
    """Return numbers below `most` with none left out, in the same order, and how many there are."""
    there = np.bincount(numbers, minlength=most) > 0
    return (np.cumsum(there, dtype=np.int32) - np.int32(1))[numbers], int(there.sum())


class _Positions:
    """Codes of the attributes that marginals use, as positions in their domains, of one type."""

    def __init__(self, marginals: MarginalSet) -> None:
        self.used = np.unique(marginals.attributes[marginals.attributes >= 0])
        place = np.full(marginals.domains.counts.size, -1, dtype=np.int32)
        place[self.used] = np.arange(self.used.size, dtype=np.int32)
        # Row of `of` for each literal; the first one in padding, where the stride is 0 and never read.
        self.rows = frozen(np.where(marginals.attributes >= 0, place[marginals.attributes], -1), np.int32)
        tables = marginals.position_tables()
        self.tables = [np.append(tables[attribute], np.int32(-1)) for attribute in self.used]

    def of(self, columns: list[NDArray[np.integer]]) -> NDArray[np.int32]:
        """Return (used attributes, n) positions, -1 for codes that the domain leaves out."""
        positions = np.empty((len(self.tables), columns[0].size if columns else 0), dtype=np.int32)
        for row, (attribute, table) in enumerate(zip(self.used, self.tables, strict=True)):
            column = columns[attribute]
            if column.dtype.kind == "i" and column.size and int(column.min()) < 0:
                raise SchemaError(f"attribute number {attribute}: a code is negative; codes count from 0")
            # Codes beyond the table meet its last entry, -1. The bound has 64 bits, whatever the column has.
            last = np.array(table.size - 1, dtype=np.int64 if column.dtype.kind == "i" else np.uint64)
            known = np.minimum(column, last).astype(np.intp)
            np.take(table, known, out=positions[row], mode="clip")
        return positions


def _checked(columns: Sequence[NDArray[np.integer]], marginals: MarginalSet) -> list[NDArray[np.integer]]:
    """Return the columns as arrays that fit the attributes and each other."""
    given = [np.asarray(column) for column in columns]
    if len(given) != marginals.domains.counts.size:
        raise SchemaError(
            f"{len(given)} columns of codes for {marginals.domains.counts.size} attributes; expected one for each"
        )
    for attribute, column in enumerate(given):
        if column.ndim != 1 or column.dtype.kind not in NUMBERS or column.size != given[0].size:
            raise SchemaError(
                f"attribute number {attribute}: expected {given[0].size} whole-number codes in one dimension, found "
                f"{column.dtype} of shape {column.shape}"
            )
    return given


@kernel
def _add(
    positions: NDArray[np.int32],
    rows: NDArray[np.int32],
    strides: NDArray[np.int64],
    starts: NDArray[np.int64],
    first: int,
    stop: int,
    weights: NDArray[np.float64] | None,
    counts: NDArray[np.int64] | NDArray[np.float64],
) -> None:
    """Add to `counts` the number of records, or their weight, in each cell of the marginals first .. stop - 1."""
    n = positions.shape[1]
    cells = np.empty(n, np.int64)
    outside = np.empty(n, np.int32)
    for marginal in range(first, stop):
        _cells_of(positions, rows[marginal], strides[marginal], starts[marginal], cells, outside)
        for i in range(n):
            if outside[i] >= 0:
                if weights is None:  # decided when it is compiled
                    counts[np.uint64(cells[i])] += 1
                else:
                    counts[np.uint64(cells[i])] += weights[i]


@kernel
def _cells_of(
    positions: NDArray[np.int32],
    rows: NDArray[np.int32],
    strides: NDArray[np.int64],
    start: int,
    cells: NDArray[np.int64],
    outside: NDArray[np.int32],
) -> None:
    """Write the cell of each record in one marginal; `outside` is negative where it lies in none."""
    n = cells.size
    cells[:] = start
    outside[:] = 0
    for literal in range(rows.size):
        row, stride = rows[literal], strides[literal]
        if row < 0:
            break
        for i in range(n):
            position = positions[row, i]
            cells[i] += stride * position
            outside[i] |= position  # the sign bit stays set


@kernel
def _find(
    positions: NDArray[np.int32],
    rows: NDArray[np.int32],
    strides: NDArray[np.int64],
    starts: NDArray[np.int64],
    result: NDArray[np.int64],
) -> None:
    """Write the cell of each record (rows of `result`) in each marginal, -1 where it lies in none."""
    n = positions.shape[1]
    cells = np.empty(n, np.int64)
    outside = np.empty(n, np.int32)
    for marginal in range(rows.shape[0]):
        _cells_of(positions, rows[marginal], strides[marginal], starts[marginal], cells, outside)
        for i in range(n):
            result[i, marginal] = cells[i] if outside[i] >= 0 else -1
