"""Counting and satisfaction as pure functions of arrays; nothing here knows where the records came from.

Importing this module imports numba. Counting: each flat column (attribute, code) is a row of 64-bit words, one bit per
record; a conjunction is the AND of its columns, complemented for "!=", and its count is the number of set bits.

Answers on records with weights are shares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import frozen
from dpopt.compilation import kernel
from dpopt.errors import SchemaError, WorkloadError
from dpopt.queries.clauses import ClauseArrays, Clauses
from dpopt.queries.counting.binary_columns import WIDE, BitRecords, are_kept_as_bits
from dpopt.queries.counting.compiled import Literals, population_count
from dpopt.queries.counting.counting import column_positions, count_on_columns, positions_of_bits
from dpopt.queries.counting.marginal_kernels import cells_of_records, count_cells
from dpopt.queries.counting.packing_kernels import pack_codes
from dpopt.queries.counting.resolved_kernels import FlatColumns, resolve
from dpopt.queries.marginal_set import MarginalSet, over_named
from dpopt.threads import USUAL, in_threads

SATISFIED_CHUNK = 1 << 17


def count_on_records(
    clauses: Clauses, records: NDArray[np.int32] | BitRecords, sizes: NDArray[np.integer], *, threads: int = USUAL
) -> NDArray[np.int64]:
    """Count the given records for which each clause is true, (m,).

    `records` (r, d) are codes, one record per row, or bits where every attribute has two codes; of many attributes only
    the columns that clauses name are taken. `sizes` (d,) are the numbers of codes.
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
    return count_on_columns(list(records.T), sizes, clauses, threads=threads)


def satisfied(clauses: Clauses | MarginalSet, record: NDArray[np.int32], *, threads: int = USUAL) -> NDArray[np.bool_]:
    """Return for every clause whether it is true of one record (d,), or for every cell whether that lies in it, (m,)."""
    codes = frozen(record, np.int32)
    if codes.ndim != 1:
        raise WorkloadError(f"a record has shape (d,), found shape {codes.shape}")
    if isinstance(clauses, MarginalSet):  # one cell of each marginal, if any
        cells, result = cells_of_records(clauses, codes[None])[0], np.zeros(clauses.number_of_cells, dtype=np.bool_)
        result[cells[cells >= 0]] = True
        return result
    result = np.empty(len(clauses), dtype=np.bool_)

    def run(chunk: slice) -> None:
        inside = _satisfied_chunk(codes, clauses.arrays(chunk), result[chunk])
        if not inside:
            raise WorkloadError(f"a clause names an attribute that a record of {codes.size} codes does not have")

    in_threads(run, len(clauses), SATISFIED_CHUNK, threads, None)
    return result


@kernel
def _satisfied_chunk(record: NDArray[np.int32], clauses: ClauseArrays, result: NDArray[np.bool_]) -> bool:
    """Write to `result` whether each clause is true of one record; False if an attribute lies beyond the record."""
    attributes, values, signs, accepted = clauses
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


CHUNK = 1 << 13  # clauses that one call of the kernel takes
BLOCK = 1 << 16  # records whose packed columns are held at a time
PLANES = 5  # binary digits of a number of true literals (at most 31)


def shares_on_records(
    queries: MarginalSet | Clauses,
    records: NDArray[np.int32] | BitRecords,
    sizes: NDArray[np.integer],
    weights: NDArray[np.float64] | None = None,
    *,
    threads: int = USUAL,
) -> NDArray[np.float64]:
    """Return the share of the records, or of their weight, for which each query is true.

    Of m clauses, or of marginals with m cells, (m,) float64 in [0, 1]. `records` (r, d) are codes, one record per row,
    at least one; of records over many attributes of two codes only those are unpacked that queries name, and no loop
    runs over the attributes. `sizes` (d,) are the numbers of codes. `weights` (r,) are nonnegative, not all zero, 1
    each if left out, and divided by their sum; sums of weights are made in the order of the records.
    """
    table = _fitting(records, sizes)
    if weights is None and isinstance(queries, Clauses):
        return count_on_records(queries, table, sizes, threads=threads) / len(table)
    if isinstance(table, BitRecords):
        attributes, queries = over_named(queries, sizes)
        table, sizes = table.over(attributes), sizes[attributes]
    given = frozen(np.ones(len(table)) if weights is None else weights, np.float64)
    total = float(given.sum())
    if given.shape != (len(table),) or not (given >= 0).all() or not 0 < total < np.inf:
        raise SchemaError(
            f"{len(table)} records need as many nonnegative weights with a positive finite sum, found an array of "
            f"shape {given.shape} with the sum {total}"
        )
    held: NDArray[np.int64] | NDArray[np.float64]
    if isinstance(queries, MarginalSet):
        columns, counted = _columns(table), None if weights is None else given
        held = count_cells(queries, columns, weights=counted, threads=threads)
    else:
        held = weigh_on_records(queries, table, sizes, given, threads=threads)
    # The sums are rounded one by one, so that a query that is always true could pass 1 by a last digit.
    return np.minimum(held / total, 1.0)


def _fitting(records: NDArray[np.int32] | BitRecords, sizes: NDArray[np.integer]) -> NDArray[np.int32] | BitRecords:
    """Return the records, as bits where there are many attributes of two codes; refuse those outside the sizes."""
    table = records if isinstance(records, BitRecords) else np.asarray(records)
    if len(table.shape) != 2 or table.shape[1] != len(sizes) or len(table) == 0:
        raise SchemaError(
            f"records of shape {table.shape} have no answers over a schema of {len(sizes)} attributes; expected at "
            f"least one record of {len(sizes)} codes"
        )
    if isinstance(table, BitRecords):
        if (np.asarray(sizes) == 2).all():
            return table
        table = table.codes()
    if (table < 0).any() or (table >= np.asarray(sizes)).any():
        raise SchemaError("a record has a code that its attribute does not have; codes are 0 .. size - 1")
    return BitRecords.of(table) if are_kept_as_bits(sizes) and (np.asarray(sizes) == 2).all() else table


def _columns(table: NDArray[np.int32] | BitRecords) -> Sequence[NDArray[np.integer]]:
    return table.columns() if isinstance(table, BitRecords) else list(table.T)


def weigh_on_records(
    clauses: Clauses,
    records: NDArray[np.int32] | BitRecords,
    sizes: NDArray[np.integer],
    weights: NDArray[np.float64],
    *,
    threads: int = USUAL,
) -> NDArray[np.float64]:
    """Return the weight of the records for which each clause is true.

    Of m clauses, (m,), given codes (r, d), one record per row, or bits where every attribute has two codes; `sizes`
    (d,), the numbers of codes; and `weights` (r,), any finite numbers, added in the order of the records.
    """
    given = frozen(weights, np.float64)
    if len(records.shape) != 2 or records.shape[1] != len(sizes) or given.shape != records.shape[:1]:
        raise SchemaError(
            f"records of shape {records.shape} with weights of shape {given.shape} do not fit a schema of {len(sizes)} "
            "attributes; expected one weight for each record"
        )
    offsets = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    if isinstance(records, BitRecords):
        if (np.asarray(sizes) != 2).any():
            raise SchemaError("records as bits need attributes of two codes each")
        positions = positions_of_bits(len(sizes))
    else:
        positions, _ = column_positions(offsets, clauses)
    columns = np.arange(int(positions.max(initial=-1)) + 1)
    resolved = resolve(clauses, FlatColumns(offsets, positions, columns), threads)
    result = np.zeros(len(clauses), dtype=np.float64)
    for words, part in _packed(records, sizes, positions):

        def run(chunk: slice, words: NDArray[np.uint64] = words, weights: NDArray[np.float64] = given[part]) -> None:
            _weigh(words, weights, resolved.part(chunk), result[chunk])

        in_threads(run, len(clauses), CHUNK, threads, None)
    return result


def _packed(
    records: NDArray[np.int32] | BitRecords, sizes: NDArray[np.integer], positions: NDArray[np.int32]
) -> Iterator[tuple[NDArray[np.uint64], slice]]:
    """Yield the columns of bits of some records at a time, and which records they are."""
    if isinstance(records, BitRecords):
        yield records.columns().words, slice(None)
        return
    for begin in range(0, len(records), BLOCK):
        part = slice(begin, begin + BLOCK)
        yield pack_codes(list(records[part].T), sizes, positions)[0], part


@kernel
def _weigh(
    words: NDArray[np.uint64], weights: NDArray[np.float64], clauses: Literals, result: NDArray[np.float64]
) -> None:
    """Add to `result` the weight of the packed records for which each clause is true.

    The truth of 64 records is one word: the AND of the literals for a conjunction; otherwise the number of true
    literals in binary digits, one word per digit, compared with every accepted number.
    """
    columns, flips = clauses.columns, np.empty(clauses.columns.shape[1], np.uint64)
    digits = np.empty(PLANES, np.uint64)
    none, every, one = np.uint64(0), ~np.uint64(0), np.uint64(1)
    length = (weights.size + 63) // 64
    last = every >> np.uint64((64 - weights.size % 64) % 64)  # the records of the last word that exist
    for i in range(clauses.widths.size):
        width, mask = np.int64(clauses.widths[i]), clauses.accepted[i]
        for literal in range(width):
            flips[literal] = every if (clauses.flips[i] >> np.uint32(literal)) & np.uint32(1) else none
        total = result[i]
        for j in range(length):
            true = every
            if mask == np.uint32(1) << np.uint32(width):
                for literal in range(width):
                    true &= words[columns[i, literal], j] ^ flips[literal]
            else:
                digits[:] = none
                for literal in range(width):
                    carry = words[columns[i, literal], j] ^ flips[literal]
                    for digit in range(PLANES):
                        digits[digit], carry = digits[digit] ^ carry, digits[digit] & carry
                true = none
                for number in range(width + 1):
                    if (mask >> np.uint32(number)) & np.uint32(1):
                        equal = every
                        for digit in range(PLANES):
                            equal &= digits[digit] if (number >> digit) & 1 else ~digits[digit]
                        true |= equal
            if j == length - 1:
                true &= last
            while true != none:
                lowest = true & (~true + one)
                total += weights[64 * j + np.int64(population_count(lowest - one))]
                true ^= lowest
        result[i] = total
