"""Sparse matrices of SciPy as columns of zeros and ones: in memory, and in npz files, which are read array by array."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import PrivateDataError
from dpopt.files.array_files import ArrayFile, open_arrays
from dpopt.queries.counting.binary_columns import MOST_ROWS, SparseColumns

Arrays = Callable[[str], NDArray[Any]]
"""Gives an array of a sparse matrix by its name in npz files: data, indices, indptr, row, col."""

_MOST_BYTES = 2**40  # of all arrays of a file, unpacked


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
    return columns_of_arrays(
        title, held.format, held.shape, lambda name: np.asarray(getattr(held, name)), width
    )


def read_npz(path: Path, width: int) -> SparseColumns:
    """Return the columns of a sparse matrix in a file of `scipy.sparse.save_npz`, with one row for each record.

    Raises
    ------
    PrivateDataError
        If the file is damaged or holds something else, or the matrix does not have `width` columns.
    """
    title = path.name
    damaged = f"{title} is a damaged npz file (save it again with scipy.sparse.save_npz)"
    with open_arrays(path, damaged, PrivateDataError, _MOST_BYTES) as held:
        if "format" not in held or "shape" not in held:
            raise PrivateDataError(
                f"{title} holds no sparse matrix (arrays named format, shape, data, ...); write one with scipy.sparse.save_npz"
            )
        form, shape = _form(held, title), _shape(held, title)
        _checked_shape(title, shape, width)
        _check_lengths(held, form, shape, title)
        return columns_of_arrays(title, form, shape, held.array, width)


def _form(held: ArrayFile, title: str) -> str:
    shape, kind = held.header("format")
    if shape != () or kind.kind not in "SU":
        raise PrivateDataError(
            f"{title}: 'format' is no text; save the matrix again with scipy.sparse.save_npz"
        )
    found = held.array("format").item()
    form = found.decode("ascii", "replace") if isinstance(found, bytes) else str(found)
    if form not in {"csr", "csc", "coo"}:
        raise PrivateDataError(
            f"{title} holds a sparse matrix in the form {form!r}; csr, csc and coo can be read: save matrix.tocsr()"
        )
    return form


def _shape(held: ArrayFile, title: str) -> tuple[int, int]:
    form, kind = held.header("shape")
    if form != (2,) or kind.kind not in "iu" or ((shape := held.array("shape")) < 0).any():
        raise PrivateDataError(
            f"{title}: the shape is not that of a matrix; save it again with scipy.sparse.save_npz"
        )
    return int(shape[0]), int(shape[1])


def _check_lengths(held: ArrayFile, form: str, shape: tuple[int, int], title: str) -> None:
    """Refuse arrays whose lengths do not fit each other and the shape, before any is unpacked."""
    places = {"coo": ("row", "col"), "csr": ("indices",), "csc": ("indices",)}[form]
    lengths = {name: held.header(name)[0] for name in ("data", *places)}
    expected = dict.fromkeys(lengths, lengths["data"])
    if form != "coo":
        lengths["indptr"], expected["indptr"] = held.header("indptr")[0], (shape[form == "csc"] + 1,)
    for name, found in lengths.items():
        if len(lengths["data"]) != 1 or found != expected[name]:
            raise PrivateDataError(
                f"{title}: the array {name!r} has the shape {found}; the others ask for {expected[name]}, and entries stand in "
                "one dimension. Save the matrix again"
            )


def columns_of_arrays(
    title: str, form: str, shape: tuple[int, int], array: Arrays, width: int
) -> SparseColumns:
    """Return the columns of a sparse matrix that its arrays give; `title` names it in messages.

    Raises
    ------
    PrivateDataError
        As `columns_of_matrix`.
    """
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
        from dpopt.private.readers.binary.listing_kernels import ONES, columns_of_records

        return columns_of_records([(starts, indices)], width, ONES if plain else _summands(values))
    from dpopt.queries.counting.packing_kernels import lists_increase

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
    from dpopt.private.readers.binary.listing_kernels import ONES, columns_of_records, records_of_pairs

    part, carried = records_of_pairs(records, items, rows, ONES if values is None else _summands(values))
    return columns_of_records([part], width, carried)


def _checked_shape(title: str, shape: tuple[int, int], width: int) -> int:
    rows, columns = shape
    if columns != width:
        raise PrivateDataError(
            f"{title} has {columns:,} columns, and {width:,} are declared; the number of columns is public: declare the one "
            "that does not depend on its records, or save the matrix with the declared width"
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
        if data.dtype.itemsize > _WIDEST_FLOAT:
            # Sums are taken in doubles, where tiny values would be 0: but not where all entries are above 0.
            raise PrivateDataError(
                f"{title}: the entries are {data.dtype}, floating numbers of more than 8 bytes; expected float64 or narrower: "
                "convert them (matrix.astype('float64')), or save truth values (matrix.astype(bool))"
            )
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


_WIDEST_FLOAT = 8  # bytes
_MANY_EMPTY = 8
"""With more records than so many for each entry, a number for each record would take more memory than the entries."""


def _summands(values: NDArray[Any]) -> NDArray[Any]:
    """Return the entries in a type in which they can be added up, which their own type alone decides.

    In either type a sum of entries above 0 is not 0, as `_only_ones` has it. 64-bit integers are added up as doubles: their
    sums could pass 64 bits and come out as 0. No entry becomes 0 by it, and sums up to 2^53 are exact.
    """
    kind = values.dtype.kind
    if kind == "f" or (kind == "i" and values.dtype.itemsize > 4):
        return values.astype(np.float64)
    if kind == "i":
        return values.astype(np.int64)
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
