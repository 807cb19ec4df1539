"""Matrix Market files of coordinates as columns of zeros and ones.

A file begins with public lines: the header, remarks, and the size line "rows columns entries". Each line after that is
an entry, "row column" or "row column value", numbered from 1, or empty. Every such line is read independently.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError
from dpopt.private.readers.binary.matrices import columns_of_arrays
from dpopt.private.readers.table_problems import shown
from dpopt.private.readers.text_fields import Fields, TextForm, fields_of, is_packed
from dpopt.queries.counting.binary_columns import MOST_ROWS, SparseColumns

if TYPE_CHECKING:
    import pyarrow as pa

MARK = b"%%MatrixMarket"
_NUMBERS = {"pattern": 2, "integer": 3, "unsigned-integer": 3, "real": 3, "double": 3}
"""How many numbers an entry has."""
_LONGEST_NUMBER = 18  # digits
_FORM = TextForm(" \t", runs=True, quotes=False)


@dataclass(frozen=True, slots=True)
class _Head:
    """What the public lines say."""

    rows: int
    columns: int
    entries: int
    numbers: int  # of an entry


def read_matrix_market(path: Path, width: int) -> SparseColumns:
    """Return the columns of a sparse matrix in a Matrix Market file, plain or gzip, with one row for each record.

    Entries may be real, integer or pattern; one that is not 0 counts as 1, and repeated ones are added up.

    Raises
    ------
    PrivateDataError
        If the file is damaged, holds a dense, complex or symmetric matrix, or one without `width` columns, or a line is no
        entry. The message quotes lines, for the owner.
    """
    blocks = fields_of(path, _FORM, packed=is_packed(path, public_start=True))
    head, first = _head(path.name, blocks)
    _check_size(path.name, head, width)
    parts = [_entries(path.name, head, fields) for fields in _chained(first, blocks)]
    rows, items, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    if rows.size != head.entries:
        raise PrivateDataError(
            f"{_broken(path.name)}: it announces {head.entries:,} entries and holds {rows.size:,}; write it again"
        )
    arrays = {"data": values, "row": rows, "col": items}
    return columns_of_arrays(path.name, "coo", (head.rows, head.columns), arrays.__getitem__, width)


def _chained(first: Fields, blocks: Iterator[Fields]) -> Iterator[Fields]:
    yield first
    yield from blocks


def _head(title: str, blocks: Iterator[Fields]) -> tuple[_Head, Fields]:
    """Return what the public lines say, and the lines of their last block that stand behind them."""
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
    raise PrivateDataError(
        f"{_broken(title)}: the line with the numbers of rows, columns and entries is missing"
    )


def _numbers_of_an_entry(title: str, words: list[str]) -> int:
    """Return how many numbers an entry has, by the words of the first line."""
    if len(words) != 5 or [word.lower() for word in words[:2]] != [MARK.decode().lower(), "matrix"]:
        raise PrivateDataError(
            f"{_broken(title)}: expected a first line such as '%%MatrixMarket matrix coordinate pattern general'; write it "
            "with scipy.io.mmwrite"
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
            f"{title} holds a {symmetry} matrix, in which one line stands for entries of two records; write every entry, by "
            "scipy.io.mmwrite(..., symmetry='general')"
        )
    return _NUMBERS[kind]


def _sizes(title: str, line: int, words: list[str]) -> tuple[int, int, int]:
    whole = all(word.isascii() and word.isdigit() and len(word) <= _LONGEST_NUMBER for word in words)
    if len(words) != 3 or not whole:
        raise PrivateDataError(
            f"{_broken(title)}: line {line:,} is {shown(' '.join(words))}; expected the numbers of rows, columns and entries"
        )
    return int(words[0]), int(words[1]), int(words[2])


def _check_size(title: str, head: _Head, width: int) -> None:
    if head.columns != width:
        raise PrivateDataError(
            f"{title} has {head.columns:,} columns, and {width:,} are declared; the number of columns is public: declare the "
            "one that does not depend on its records, or write the matrix with the declared width"
        )
    if not 1 <= head.rows <= MOST_ROWS:
        raise PrivateDataError(f"{title} has {head.rows:,} rows; expected 1 to {MOST_ROWS:,} records")


def _entries(
    title: str, head: _Head, fields: Fields
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.generic]]:
    """Return rows and columns, from 0, and values of the entries of some lines."""
    from dpopt.private.readers.text_kernels import numbers_of_fields

    wrong = np.flatnonzero((fields.bad > 0) | ((fields.counts > 0) & (fields.counts != head.numbers)))
    if wrong.size:
        line = int(fields.lines(wrong[:1])[0])
        raise PrivateDataError(
            f"{_broken(title)}: line {line:,}: {fields.complaint(int(wrong[0]))}; expected {head.numbers} numbers, an entry"
        )
    numbers = numbers_of_fields(fields.data, fields.ends, 1, max(head.rows, head.columns))
    places = np.arange(0, numbers.size, head.numbers)
    rows, items = numbers[:: head.numbers].copy(), numbers[1 :: head.numbers].copy()
    for found, most, place in ((rows, head.rows, places), (items, head.columns, places + 1)):
        _refuse_entries(
            title, fields, place[(found < 0) | (found >= most)], f"a whole number from 1 to {most:,}"
        )
    if head.numbers == 2:
        return rows, items, np.ones(rows.size, dtype=np.bool_)
    return rows, items, _values(title, fields, places + 2)


def _values(title: str, fields: Fields, places: NDArray[np.int64]) -> NDArray[np.float64]:
    import pyarrow as pa

    texts = fields.arrow().take(pa.array(places))
    values = _as_numbers(texts)
    if values is None:  # some of them: the first is looked for by halves
        low, high = 0, len(texts)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if _as_numbers(texts[low:middle]) is None else (middle, high)
        values = np.full(len(texts), np.nan)
        values[:low] = 0.0
    _refuse_entries(title, fields, places[~np.isfinite(values)], "a finite number")
    return values


def _as_numbers(texts: pa.Array) -> NDArray[np.float64] | None:
    """Return the numbers that stand in texts; None if some are none."""
    import pyarrow as pa

    try:
        return np.asarray(texts.cast(pa.string()).cast(pa.float64()))
    except pa.ArrowInvalid:
        return None


def _refuse_entries(title: str, fields: Fields, places: NDArray[np.int64], expected: str) -> None:
    """Refuse the first of these fields."""
    if places.size:
        line = int(fields.lines_of(places[:1])[0])
        raise PrivateDataError(
            f"{_broken(title)}: line {line:,} holds {shown(fields.text(int(places[0])))}; expected {expected}"
        )


def _broken(title: str) -> str:
    return f"{title} is no whole Matrix Market file"
