"""Sparse matrices as columns of zeros and ones: of SciPy in memory, in npz files, and in Matrix Market files.

An npz file is read array by array.

A Matrix Market file of coordinates begins with public lines: the header, remarks, and the size line "rows columns
entries". Each line after that is an entry, "row column" or "row column value", numbered from 1, or empty, and is read
independently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import PrivateDataError
from dpopt.files.array_files import ArrayFile, open_arrays
from dpopt.private.readers.binary.sparse_columns import columns_of_pairs, columns_of_records
from dpopt.private.readers.domain_codes import parse_numbers
from dpopt.private.readers.table_problems import shown
from dpopt.private.readers.text_fields import Fields, TextForm, fields_of, is_packed
from dpopt.queries.counting.binary_columns import MOST_ROWS, SparseColumns

Arrays = Callable[[str], NDArray[Any]]
"""Gives an array of a sparse matrix by its name in npz files: data, indices, indptr, row, col."""

_MOST_BYTES = 2**40  # of all arrays of a file, unpacked


def columns_of_matrix(matrix: Any, width: int) -> SparseColumns:
    """Return the columns of a sparse matrix in memory, with one row for each record."""
    title = "the sparse matrix"
    if matrix.ndim != 2:
        raise PrivateDataError(f"{title} has {matrix.ndim} dimensions; expected records times columns")
    held = matrix if matrix.format in {"csr", "csc", "coo"} else matrix.tocoo()
    return columns_of_arrays(title, held.format, held.shape, lambda name: np.asarray(getattr(held, name)), width)


def read_npz(path: Path, width: int) -> SparseColumns:
    """Return the columns of a sparse matrix in a file of `scipy.sparse.save_npz`, with one row for each record."""
    title = path.name
    damaged = f"{title} is a damaged npz file (save it again with scipy.sparse.save_npz)"
    with open_arrays(path, damaged, PrivateDataError, _MOST_BYTES) as held:
        if "format" not in held or "shape" not in held:
            raise PrivateDataError(
                f"{title} holds no sparse matrix (arrays named format, shape, data, ...); write one with "
                f"scipy.sparse.save_npz"
            )
        form, shape = _form(held, title), _shape(held, title)
        _checked_shape(title, shape, width)
        _check_lengths(held, form, shape, title)
        return columns_of_arrays(title, form, shape, held.array, width)


def _form(held: ArrayFile, title: str) -> str:
    shape, kind = held.header("format")
    if shape != () or kind.kind not in "SU":
        raise PrivateDataError(f"{title}: 'format' is not text; save the matrix again with scipy.sparse.save_npz")
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
        raise PrivateDataError(f"{title}: the shape is not that of a matrix; save it again with scipy.sparse.save_npz")
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
                f"{title}: the array {name!r} has the shape {found}; the others ask for {expected[name]}, and entries "
                f"stand in one dimension. Save the matrix again"
            )


def columns_of_arrays(title: str, form: str, shape: tuple[int, int], array: Arrays, width: int) -> SparseColumns:
    """Return the columns of a sparse matrix that its arrays give; `title` names it in messages."""
    rows = _checked_shape(title, shape, width)
    values = _values(title, array("data"))
    if form == "coo":
        records = _whole(title, "row", array("row"), rows, len(values))
        items = _whole(title, "col", array("col"), width, len(values))
        return columns_of_pairs(records, items, rows, width, _summands(values))
    major, minor = (rows, width) if form == "csr" else (width, rows)
    starts = _starts(title, array("indptr"), major, len(values))
    indices = _whole(title, "indices", array("indices"), minor, len(values))
    end = int(starts[-1])
    indices, values = indices[:end], values[:end]
    summands = _summands(values)
    if form == "csr":
        own = None if summands is None else summands.copy()
        return columns_of_records(starts, indices.astype(np.int32), width, own)
    from dpopt.queries.counting.packing_kernels import lists_increase

    if summands is None:
        listed = indices.astype(np.uint32)
        if lists_increase(starts, listed, rows):
            return SparseColumns(rows, freeze(starts), freeze(listed))
        del listed
    items = np.repeat(np.arange(width, dtype=np.int32), np.diff(starts))
    return columns_of_pairs(indices, items, rows, width, summands)


def _checked_shape(title: str, shape: tuple[int, int], width: int) -> int:
    rows, columns = shape
    if columns != width:
        raise PrivateDataError(
            f"{title} has {columns:,} columns, and {width:,} are declared; the number of columns is public: declare "
            f"the one that does not depend on its records, or save the matrix with the declared width"
        )
    if rows == 0:
        raise PrivateDataError(f"{title} has no rows; expected at least one record")
    if rows > MOST_ROWS:
        raise PrivateDataError(f"{title} has {rows:,} rows; at most {MOST_ROWS:,} can be read")
    return rows


def _values(title: str, data: NDArray[Any]) -> NDArray[Any]:
    if data.ndim != 1 or data.dtype.kind not in "biuf":
        raise PrivateDataError(
            f"{title}: the entries are {data.dtype} with {data.ndim} dimensions; expected one number or truth value "
            f"for each"
        )
    if data.dtype.kind == "f":
        if data.dtype.itemsize > _WIDEST_FLOAT:
            # Sums are taken in doubles, where tiny values would be 0: but not where all entries are above 0.
            raise PrivateDataError(
                f"{title}: the entries are {data.dtype}, floating numbers of more than 8 bytes; expected float64 or "
                f"narrower: convert them (matrix.astype('float64')), or save truth values (matrix.astype(bool))"
            )
        finite = np.isfinite(data)
        if not finite.all():
            place = int(np.argmin(finite))
            raise PrivateDataError(
                f"{title}: entry number {place + 1:,} is {data[place]}; every entry must be a finite number: remove it"
            )
    return data


_WIDEST_FLOAT = 8  # bytes


def _summands(values: NDArray[Any]) -> NDArray[Any] | None:
    """Return the entries in a type in which they can be added up, which their own type alone decides.

    None where every entry is above 0: then each is a one, whether it stands there once or repeatedly. In either type a
    sum of entries above 0 is not 0, too. 64-bit integers are added up as doubles: their sums could pass 64 bits and
    come out as 0. No entry becomes 0 by it, and sums up to 2^53 are exact.
    """
    if (values > 0).all():
        return None
    kind = values.dtype.kind
    if kind == "f" or (kind == "i" and values.dtype.itemsize > 4):
        return values.astype(np.float64, copy=False)
    if kind == "i":
        return values.astype(np.int64, copy=False)
    return np.asarray(values != 0, dtype=np.int64)  # none is below 0, so that no sum is 0 but that of zeros


def _whole(title: str, name: str, array: NDArray[Any], limit: int, entries: int) -> NDArray[np.integer]:
    if array.ndim != 1 or array.dtype.kind not in "iu" or len(array) != entries:
        raise PrivateDataError(
            f"{title}: the array {name!r} should hold {entries:,} whole numbers, one for each entry; found "
            f"{array.dtype} of shape {array.shape}. Save the matrix again"
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
            f"{title}: the array 'indptr' does not divide {entries:,} entries into {major:,} parts; save the matrix "
            f"again"
        )
    starts: NDArray[np.int64] = array.astype(np.int64)
    return starts


MARK = b"%%MatrixMarket"
_NUMBERS = {"pattern": 2, "integer": 3, "unsigned-integer": 3, "real": 3, "double": 3}
"""How many numbers an entry has."""
_LONGEST_NUMBER = 18  # digits
_FORM = TextForm(" \t", runs=True, quotes=False)


@dataclass(frozen=True, slots=True)
class _Head:
    """The content of the public lines."""

    rows: int
    columns: int
    entries: int
    numbers: int  # of an entry


def read_matrix_market(path: Path, width: int) -> SparseColumns:
    """Return the columns of a sparse matrix in a Matrix Market file, plain or gzip, with one row for each record.

    Entries may be real, integer or pattern; one that is not 0 counts as 1, and repeated ones are added up.
    """
    blocks = fields_of(path, _FORM, packed=is_packed(path, public_start=True))
    head, first = _head(path.name, blocks)
    _checked_shape(path.name, (head.rows, head.columns), width)
    parts = [_entries(path.name, head, fields) for fields in chain([first], blocks)]
    rows, items, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    if rows.size != head.entries:
        raise PrivateDataError(
            f"{_broken(path.name)}: it announces {head.entries:,} entries and holds {rows.size:,}; write it again"
        )
    arrays = {"data": values, "row": rows, "col": items}
    return columns_of_arrays(path.name, "coo", (head.rows, head.columns), arrays.__getitem__, width)


def _head(title: str, blocks: Iterator[Fields]) -> tuple[_Head, Fields]:
    """Return the content of the public lines, and the lines of their last block that follow them."""
    numbers = None
    for fields in blocks:
        field = 0
        for line, count in enumerate(fields.counts.tolist()):
            words = [fields.text(place) for place in range(field, field + count)]
            field += count
            if numbers is None:
                numbers = _numbers_of_an_entry(title, words)
            elif words and not words[0].startswith("%"):
                sizes = _sizes(title, fields.before + line + 1, words)
                return _Head(*sizes, numbers), fields.after(line + 1)
    raise PrivateDataError(f"{_broken(title)}: the line with the numbers of rows, columns and entries is missing")


def _numbers_of_an_entry(title: str, words: list[str]) -> int:
    """Return how many numbers an entry has, by the words of the first line."""
    if len(words) != 5 or [word.lower() for word in words[:2]] != [MARK.decode().lower(), "matrix"]:
        raise PrivateDataError(
            f"{_broken(title)}: expected a first line such as '%%MatrixMarket matrix coordinate pattern general'; "
            f"write it with scipy.io.mmwrite"
        )
    form, kind, symmetry = (word.lower() for word in words[2:])
    if form != "coordinate":
        raise PrivateDataError(
            f"{title} holds a dense matrix; write it as coordinates (scipy.io.mmwrite of a sparse matrix)"
        )
    if kind not in _NUMBERS:
        raise PrivateDataError(f"{title} holds {kind} numbers; expected pattern, integer or real")
    if symmetry != "general":
        raise PrivateDataError(
            f"{title} holds a {symmetry} matrix, in which one line stands for entries of two records; write every "
            f"entry, by scipy.io.mmwrite(..., symmetry='general')"
        )
    return _NUMBERS[kind]


def _sizes(title: str, line: int, words: list[str]) -> tuple[int, int, int]:
    whole = all(word.isascii() and word.isdigit() and len(word) <= _LONGEST_NUMBER for word in words)
    if len(words) != 3 or not whole:
        raise PrivateDataError(
            f"{_broken(title)}: line {line:,} is {shown(' '.join(words))}; expected the numbers of rows, columns and "
            f"entries"
        )
    return int(words[0]), int(words[1]), int(words[2])


def _entries(
    title: str, head: _Head, fields: Fields
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.generic]]:
    """Return rows and columns, from 0, and values of the entries of some lines."""
    import pyarrow as pa

    from dpopt.private.readers.text_kernels import numbers_of_fields

    wrong = np.flatnonzero((fields.bad > 0) | ((fields.counts > 0) & (fields.counts != head.numbers)))
    if wrong.size:
        line = int(fields.lines(wrong[:1])[0])
        raise PrivateDataError(
            f"{_broken(title)}: line {line:,}: {fields.complaint(int(wrong[0]))}; expected {head.numbers} numbers, an "
            f"entry"
        )
    numbers = numbers_of_fields(fields.data, fields.ends, 1, max(head.rows, head.columns))
    places = np.arange(0, numbers.size, head.numbers)
    rows, items = numbers[:: head.numbers].copy(), numbers[1 :: head.numbers].copy()
    for found, most, place in ((rows, head.rows, places), (items, head.columns, places + 1)):
        _refuse_entries(title, fields, place[(found < 0) | (found >= most)], f"a whole number from 1 to {most:,}")
    if head.numbers == 2:
        return rows, items, np.ones(rows.size, dtype=np.bool_)
    values, _ = parse_numbers(fields.arrow().take(pa.array(places + 2)).cast(pa.string()))
    _refuse_entries(title, fields, (places + 2)[~np.isfinite(values)], "a finite number")
    return rows, items, values


def _refuse_entries(title: str, fields: Fields, places: NDArray[np.int64], expected: str) -> None:
    """Refuse the first of these fields."""
    if places.size:
        line = int(fields.lines_of(places[:1])[0])
        raise PrivateDataError(
            f"{_broken(title)}: line {line:,} holds {shown(fields.text(int(places[0])))}; expected {expected}"
        )


def _broken(title: str) -> str:
    return f"{title} is not a complete Matrix Market file"
