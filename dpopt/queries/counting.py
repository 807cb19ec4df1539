"""Counting clauses on the columns of a table, however it is kept: arrays of codes, lists of ones, or bits.

Importing this module imports numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import SchemaError
from dpopt.queries.arrays import freeze
from dpopt.queries.binary_columns import BinaryColumns
from dpopt.queries.clauses import Clauses
from dpopt.queries.kernels import count_clauses
from dpopt.queries.packing_kernels import STEP, PackedColumns, aligned_zeros, pack_columns, words_for


def count_on_columns(
    columns: Sequence[NDArray[np.integer]] | BinaryColumns,
    sizes: NDArray[np.integer],
    clauses: Clauses,
    *,
    threads: int = 2,
    progress: Callable[[float], None] | None = None,
) -> NDArray[np.int64]:
    """Count, for every clause, the records of which it is true.

    Parameters
    ----------
    columns
        The table: one array of codes (n,) per attribute, or columns of zeros and ones.
    sizes : (d,) integers
        Number of codes of each attribute; 2 each where the columns are of zeros and ones.
    clauses
        m clauses.
    threads
        Number of threads.
    progress
        Called in the caller's thread with the share that is done, in (0, 1].

    Returns
    -------
    counts : (m,) int64
        Between 0 and n, exact.

    Raises
    ------
    SchemaError
        If the columns do not fit the sizes.
    WorkloadError
        If a clause names an attribute or a code that does not exist.
    """
    if not isinstance(columns, BinaryColumns):
        packed = pack_columns(columns, sizes, clauses)
        offsets = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        return count_clauses(packed, clauses, offsets, threads=threads, progress=progress)
    if len(columns) != len(sizes) or (np.asarray(sizes) != 2).any():
        raise SchemaError(
            f"columns of zeros and ones: {len(columns)} columns need as many attributes of two codes"
        )
    clauses.check_against(sizes)
    named = np.zeros(len(columns), dtype=np.bool_)
    for begin in range(0, len(clauses), STEP):
        attributes = clauses.attributes[begin : begin + STEP]
        named[attributes[attributes >= 0]] = True
    wanted = np.flatnonzero(named)
    words = aligned_zeros(wanted.size, words_for(columns.rows))
    columns.pack_into(wanted, words)
    place = (np.cumsum(named) - 1).astype(np.int32)
    used = clauses.attributes >= 0
    literals = Clauses(
        freeze(np.where(used, place[clauses.attributes], -1).astype(np.int32)),
        freeze(np.zeros_like(clauses.values)),
        freeze(used & (clauses.signs == (clauses.values == 1))),
        clauses.accepted,
    )
    positions = freeze(np.arange(wanted.size, dtype=np.int32))
    held = PackedColumns(columns.rows, freeze(words), positions)
    offsets = np.arange(wanted.size + 1, dtype=np.int64)
    return count_clauses(held, literals, offsets, threads=threads, progress=progress)
