"""Answers of queries on records with weights, as shares; pure functions of arrays. Importing this module imports numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import SchemaError
from dpopt.queries.arrays import frozen
from dpopt.queries.clauses import Clauses
from dpopt.queries.compilation import kernel
from dpopt.queries.compiled import population_count
from dpopt.queries.kernels import count_on_records, in_threads
from dpopt.queries.marginal_kernels import count_cells
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.packing_kernels import PackedColumns, pack_columns

__all__ = ["shares_on_records", "weigh_on_records"]

CHUNK = 1 << 13  # clauses that one call of the kernel takes
BLOCK = 1 << 16  # records whose packed columns are held at a time
PLANES = 5  # binary digits of a number of true literals (at most 31)


def shares_on_records(
    queries: MarginalSet | Clauses,
    records: NDArray[np.int32],
    sizes: NDArray[np.integer],
    weights: NDArray[np.float64] | None = None,
    *,
    threads: int = 2,
) -> NDArray[np.float64]:
    """Return the share of the records, or of their weight, of which each query is true.

    Parameters
    ----------
    queries
        m clauses, or marginals with m cells.
    records : (r, d) int32
        Codes, one record per row; r >= 1.
    sizes : (d,) integers
        Number of codes of each attribute.
    weights : (r,) float64, optional
        Nonnegative, not all zero; 1 each if left out. Their sum is divided by.
    threads
        Number of threads; the result does not depend on it.

    Returns
    -------
    answers : (m,) float64
        In [0, 1]. With weights, sums of floating-point numbers in the order of the records.

    Raises
    ------
    SchemaError
        If the records or their codes do not fit the sizes, there is none, or the weights do not fit them.
    """
    table = np.asarray(records)
    if table.ndim != 2 or table.shape[1] != len(sizes) or len(table) == 0:
        raise SchemaError(
            f"records of shape {table.shape} have no answers over a schema of {len(sizes)} attributes; expected at least "
            f"one record of {len(sizes)} codes"
        )
    if (table < 0).any() or (table >= np.asarray(sizes)).any():
        raise SchemaError("a record has a code that its attribute does not have; codes are 0 .. size - 1")
    if weights is None:
        if isinstance(queries, MarginalSet):
            return count_cells(queries, list(table.T), threads=threads) / len(table)
        return count_on_records(queries, table, sizes, threads=threads) / len(table)
    given = frozen(weights, np.float64)
    total = float(given.sum())
    if given.shape != (len(table),) or not (given >= 0).all() or not 0 < total < np.inf:
        raise SchemaError(
            f"{len(table)} records need as many nonnegative weights with a positive finite sum, found an array of shape "
            f"{given.shape} with the sum {total}"
        )
    if isinstance(queries, MarginalSet):
        held = count_cells(queries, list(table.T), weights=given, threads=threads)
    else:
        held = weigh_on_records(queries, table, sizes, given, threads=threads)
    # The sums are rounded one by one, so that a query that is always true could pass 1 by a last digit.
    return np.minimum(held / total, 1.0)


def weigh_on_records(
    clauses: Clauses,
    records: NDArray[np.int32],
    sizes: NDArray[np.integer],
    weights: NDArray[np.float64],
    *,
    threads: int = 2,
) -> NDArray[np.float64]:
    """Return, for every clause, the weight of the records of which it is true.

    Parameters
    ----------
    clauses
        m clauses.
    records : (r, d) int32
        Codes, one record per row.
    sizes : (d,) integers
        Number of codes of each attribute.
    weights : (r,) float64
        Any finite numbers, added in the order of the records.
    threads
        Number of threads; the result does not depend on it.

    Returns
    -------
    weight : (m,) float64

    Raises
    ------
    SchemaError
        If the records do not fit the sizes, or the weights do not fit the records.
    WorkloadError
        If a clause names an attribute or a code that does not exist.
    """
    table, given = np.asarray(records), frozen(weights, np.float64)
    if table.ndim != 2 or table.shape[1] != len(sizes) or given.shape != table.shape[:1]:
        raise SchemaError(
            f"records of shape {table.shape} with weights of shape {given.shape} do not fit a schema of {len(sizes)} "
            "attributes; expected one weight for each record"
        )
    clauses.check_against(sizes)
    starts = frozen(np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))), np.int64)
    result = np.zeros(len(clauses), dtype=np.float64)
    for begin in range(0, len(table), BLOCK):
        part = table[begin : begin + BLOCK]
        packed = pack_columns(list(part.T), sizes, clauses)
        share = given[begin : begin + BLOCK]

        def run(chunk: slice, packed: PackedColumns = packed, share: NDArray[np.float64] = share) -> None:
            _weigh(
                packed.words,
                packed.positions,
                starts,
                share,
                clauses.attributes[chunk],
                clauses.values[chunk],
                clauses.signs[chunk],
                clauses.accepted[chunk],
                result[chunk],
            )

        in_threads(run, len(clauses), CHUNK, threads, None)
    return result


@kernel
def _weigh(
    words: NDArray[np.uint64],
    positions: NDArray[np.int32],
    offsets: NDArray[np.int64],
    weights: NDArray[np.float64],
    attributes: NDArray[np.int32],
    values: NDArray[np.int32],
    signs: NDArray[np.bool_],
    accepted: NDArray[np.uint32],
    result: NDArray[np.float64],
) -> None:
    """Add to `result` the weight of the packed records of which each clause is true; every literal must be packed.

    The truth of 64 records is one word: the AND of the literals for a conjunction; otherwise the number of true literals
    in binary digits, one word per digit, compared with every accepted number.
    """
    m, k = attributes.shape
    columns = np.empty(k, np.int64)
    flips = np.empty(k, np.uint64)
    digits = np.empty(PLANES, np.uint64)
    none, every, one = np.uint64(0), ~np.uint64(0), np.uint64(1)
    length = (weights.size + 63) // 64
    last = every >> np.uint64((64 - weights.size % 64) % 64)  # the records of the last word that exist
    for i in range(m):
        width = 0
        while width < k and attributes[i, width] >= 0:
            columns[width] = positions[offsets[attributes[i, width]] + values[i, width]]
            flips[width] = none if signs[i, width] else every
            width += 1
        mask = accepted[i]
        total = result[i]
        for j in range(length):
            true = every
            if mask == np.uint32(1) << np.uint32(width):
                for literal in range(width):
                    true &= words[columns[literal], j] ^ flips[literal]
            else:
                digits[:] = none
                for literal in range(width):
                    carry = words[columns[literal], j] ^ flips[literal]
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
