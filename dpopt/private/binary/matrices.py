"""Sparse matrices of SciPy as columns of zeros and ones: in memory, and in npz files, which are read array by array."""

from __future__ import annotations

import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError
from dpopt.private.binary.listing import columns_of_entries, columns_of_records, records_of_pairs
from dpopt.queries.arrays import freeze
from dpopt.queries.binary_columns import MOST_ROWS, SparseColumns

Arrays = Callable[[str], NDArray[Any]]
"""Gives an array of a sparse matrix by its name in npz files: data, indices, indptr, row, col."""

_DAMAGED = (
    ValueError,
    OSError,
    EOFError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)


def is_sparse_matrix(table: object) -> bool:
    """Return whether this is a sparse matrix or array of SciPy; SciPy is not imported for it."""
    scipy = sys.modules.get("scipy.sparse")
    return scipy is not None and bool(scipy.issparse(table))


def columns_of_matrix(matrix: Any, width: int) -> SparseColumns:
    """Return the columns of a sparse matrix in memory, with one row for each record.

    Raises
    ------
    PrivateDataError
        If it does not have `width` columns, or its entries are not numbers.
    """
    title = "the sparse matrix"
    if matrix.ndim != 2:
        raise PrivateDataError(f"{title} has {matrix.ndim} dimensions; expected records times columns")
    held = matrix if matrix.format in {"csr", "csc", "coo"} else matrix.tocoo()
    return _columns(title, held.format, held.shape, lambda name: np.asarray(getattr(held, name)), width)


def read_npz(path: Path, width: int) -> SparseColumns:
    """Return the columns of a sparse matrix in a file of `scipy.sparse.save_npz`, with one row for each record.

    Raises
    ------
    PrivateDataError
        If the file is damaged or holds something else, or the matrix does not have `width` columns.
    """
    title = path.name
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            form, shape = _form(held, title), _shape(held, title)
            return _columns(title, form, shape, lambda name: np.asarray(held[name]), width)
    except PrivateDataError:
        raise
    except _DAMAGED as problem:
        raise PrivateDataError(
            f"{title} is a damaged npz file ({_said(problem)}); save it again with scipy.sparse.save_npz"
        ) from problem


def _said(problem: Exception) -> str:
    return f"no array {problem.args[0]!r}" if isinstance(problem, KeyError) else str(problem)


def _form(held: Mapping[str, Any], title: str) -> str:
    if "format" not in held or "shape" not in held:
        raise PrivateDataError(
            f"{title} holds no sparse matrix (arrays named format, shape, data, ...); write one with scipy.sparse.save_npz"
        )
    name = np.asarray(held["format"])
    if name.shape != () or name.dtype.kind not in "SU":
        raise PrivateDataError(
            f"{title}: 'format' is no text; save the matrix again with scipy.sparse.save_npz"
        )
    found = name.item()
    form = found.decode("ascii", "replace") if isinstance(found, bytes) else str(found)
    if form not in {"csr", "csc", "coo"}:
        raise PrivateDataError(
            f"{title} holds a sparse matrix in the form {form!r}; csr, csc and coo can be read: save matrix.tocsr()"
        )
    return form


def _shape(held: Mapping[str, Any], title: str) -> tuple[int, int]:
    shape = np.asarray(held["shape"])
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or (shape < 0).any():
        raise PrivateDataError(
            f"{title}: the shape is not that of a matrix; save it again with scipy.sparse.save_npz"
        )
    return int(shape[0]), int(shape[1])


def _columns(title: str, form: str, shape: tuple[int, int], array: Arrays, width: int) -> SparseColumns:
    rows = _checked_shape(title, shape, width)
    values = _values(title, array("data"))
    if form == "coo":
        records = _whole(title, "row", array("row"), rows, len(values))
        items = _whole(title, "col", array("col"), width, len(values))
        return _of_pairs(records, items, rows, width, None if _only_ones(values) else values)
    major, minor = (rows, width) if form == "csr" else (width, rows)
    starts = _starts(title, array("indptr"), major, len(values))
    indices = _whole(title, "indices", array("indices"), minor, len(values))
    end = int(starts[-1])
    indices, values = indices[:end], values[:end]
    plain = _only_ones(values)
    if form == "csr":
        if plain:
            return columns_of_records([(starts, indices)], width)
        return columns_of_entries(starts, indices, _summands(values), width)
    from dpopt.queries.binary_kernels import lists_increase

    if plain:
        listed = indices.astype(np.uint32)
        if lists_increase(starts, listed, rows):
            return SparseColumns(rows, freeze(starts), freeze(listed))
        del listed
    items = np.repeat(np.arange(width, dtype=np.int32), np.diff(starts))
    return _of_pairs(indices, items, rows, width, None if plain else values)


def _of_pairs(
    records: NDArray[np.integer],
    items: NDArray[np.integer],
    rows: int,
    width: int,
    values: NDArray[Any] | None,
) -> SparseColumns:
    if rows > _MANY_EMPTY * max(records.size, 1):
        # Nearly all records are empty: only the others are grouped, and get their numbers back. Their order stays.
        filled, records = np.unique(records, return_inverse=True)
        columns = _of_pairs(records, items, max(filled.size, 1), width, values)
        listed = filled.astype(np.uint32)[columns.listed]
        return SparseColumns(rows, columns.starts, freeze(listed))
    if values is None:
        starts, grouped, _ = records_of_pairs(records, items, rows)
        return columns_of_records([(starts, grouped)], width)
    starts, grouped, carried = records_of_pairs(records, items, rows, _summands(values))
    return columns_of_entries(starts, grouped, np.asarray(carried), width)


def _checked_shape(title: str, shape: tuple[int, int], width: int) -> int:
    rows, columns = shape
    if columns != width:
        raise PrivateDataError(
            f"{title} has {columns:,} columns, and {width:,} are declared; the number of columns is public: declare the one "
            "that the table has by its making, or save the matrix with the declared width"
        )
    if rows == 0:
        raise PrivateDataError(f"{title} has no rows; expected at least one record")
    if rows > MOST_ROWS:
        raise PrivateDataError(f"{title} has {rows:,} rows; at most {MOST_ROWS:,} can be read")
    return rows


def _values(title: str, data: NDArray[Any]) -> NDArray[Any]:
    if data.ndim != 1 or data.dtype.kind not in "biuf":
        raise PrivateDataError(
            f"{title}: the entries are {data.dtype} with {data.ndim} dimensions; expected one number or truth value for each"
        )
    if data.dtype.kind == "f":
        finite = np.isfinite(data)
        if not finite.all():
            place = int(np.argmin(finite))
            raise PrivateDataError(
                f"{title}: entry number {place + 1:,} is {data[place]}; every entry must be a finite number: remove it"
            )
    return data


def _only_ones(values: NDArray[Any]) -> bool:
    """Return whether every entry is above 0: then each is a one, whether it stands there once or repeatedly."""
    return bool((values > 0).all())


_LARGE = 2**31
_MANY_EMPTY = 8
"""With more records than so many for each entry, a number for each record would take more memory than the entries."""


def _summands(values: NDArray[Any]) -> NDArray[Any]:
    """Return the entries in a type in which they can be added up."""
    if values.dtype.kind == "f":
        return values.astype(np.float64)
    if values.dtype.kind == "i":
        small = (
            values.dtype.itemsize <= 4 or not values.size or -_LARGE < values.min() <= values.max() < _LARGE
        )
        return values.astype(
            np.int64 if small else np.float64
        )  # sums of larger ones could pass 64 bits and come out as 0
    return np.asarray(values != 0, dtype=np.int64)  # none is below 0, so that no sum is 0 but that of zeros


def _whole(title: str, name: str, array: NDArray[Any], limit: int, entries: int) -> NDArray[np.integer]:
    if array.ndim != 1 or array.dtype.kind not in "iu" or len(array) != entries:
        raise PrivateDataError(
            f"{title}: the array {name!r} should hold {entries:,} whole numbers, one for each entry; found {array.dtype} of "
            f"shape {array.shape}. Save the matrix again"
        )
    if array.size and not (array.min() >= 0 and array.max() < limit):
        place = int(np.argmax((array < 0) | (array >= limit)))
        raise PrivateDataError(
            f"{title}: entry number {place + 1:,} has {name} {array[place]}, none of 0 .. {limit - 1:,}; the arrays "
            "do not fit the shape: save the matrix again"
        )
    whole: NDArray[np.integer] = array if array.dtype in (np.int32, np.int64) else array.astype(np.int64)
    return whole


def _starts(title: str, array: NDArray[Any], major: int, entries: int) -> NDArray[np.int64]:
    fits = (
        array.ndim == 1
        and array.dtype.kind in "iu"
        and array.size == major + 1
        and array[0] == 0
        and not (array[1:] < array[:-1]).any()
        and array[-1] <= entries
    )
    if not fits:
        raise PrivateDataError(
            f"{title}: the array 'indptr' does not divide {entries:,} entries into {major:,} parts; save the matrix again"
        )
    starts: NDArray[np.int64] = array.astype(np.int64)
    return starts
