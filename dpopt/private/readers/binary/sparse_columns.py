"""Entries of a matrix with a row for each record, in any order, as lists of records: one for each column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.queries.counting.binary_columns import SparseColumns

_MANY_EMPTY = 8
"""With more records per entry than this, a number for each record would take more memory than the entries."""


def columns_of_records(
    starts: NDArray[np.integer], items: NDArray[np.integer], width: int, values: NDArray[Any] | None = None
) -> SparseColumns:
    """Return the columns of records, of which number r has the items items[starts[r]:starts[r + 1]].

    An item that stands twice in a record counts once. Where there are values, those of an item are added up, in an
    order that this record alone decides, and it counts if their sum is not 0. The arrays are overwritten.
    """
    from scipy.sparse import csr_array

    rows, entries = starts.size - 1, np.ones(items.size, dtype=np.bool_) if values is None else values
    matrix = csr_array((entries, items, starts), shape=(rows, width))
    # Else whether another record is in order would decide in which order this one is added up.
    matrix.has_sorted_indices = matrix.has_canonical_format = False
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    columns = matrix.tocsc()
    del matrix, entries
    listed = columns.indices if columns.indices.itemsize == 4 else columns.indices.astype(np.uint32)
    return SparseColumns(rows, freeze(columns.indptr.astype(np.int64)), freeze(listed.view(np.uint32)))


def columns_of_pairs(
    records: NDArray[np.integer], items: NDArray[np.integer], rows: int, width: int, values: NDArray[Any] | None = None
) -> SparseColumns:
    """Return the columns of pairs of record and item, in any order; as `columns_of_records`."""
    from scipy.sparse import coo_array

    if rows > _MANY_EMPTY * max(records.size, 1):
        # Nearly all records are empty: only the others are grouped, and get their numbers back. Their order stays.
        filled, records = np.unique(records, return_inverse=True)
        columns = columns_of_pairs(records, items, max(filled.size, 1), width, values)
        return SparseColumns(rows, columns.starts, freeze(filled.astype(np.uint32)[columns.listed]))
    entries = np.ones(items.size, dtype=np.bool_) if values is None else values
    pairs = coo_array((entries, (records, items)), shape=(rows, width))
    pairs.has_canonical_format = True  # nothing is added up yet
    grouped = pairs.tocsr()
    return columns_of_records(grouped.indptr, grouped.indices, width, None if values is None else grouped.data)
