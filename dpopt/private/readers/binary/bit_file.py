"""Wide tables of zeros and ones column by column, a bit for each record: in files, mapped into memory, and in memory.

The form of a file: 64 bytes of head (the mark DPOPTBIT; version 1 and length 64 of the head, 32 bits each; numbers of
records n, of columns d and of words W = ceil(n / 64) of a column, 64 bits each; zeros), then d times W words of 64
bits. All numbers are little-endian. Bit r % 64 of word r // 64 of a column is record r; the bits from n on are 0.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError, SchemaError
from dpopt.files.written_files import check_replaceable, whole_file
from dpopt.private.readers.table_sources import WatchedFiles
from dpopt.private.tables.closed import Closed
from dpopt.private.tables.dataset import AnyQueries, PrivateDataset, Progress
from dpopt.queries.counting.binary_columns import MOST_ROWS, BitColumns
from dpopt.schema.binary_attributes import MOST_COLUMNS
from dpopt.schema.schema import Schema

MARK = b"DPOPTBIT"
_HEAD = struct.Struct("<8sIIQQQ24x")
_VERSION = 1
_WORD = np.dtype("<u8")


def write_bit_file(path: str | os.PathLike[str], rows: int, columns: Iterable[NDArray[np.generic]]) -> int:
    """Write a wide table of zeros and ones as a bit file, one column after the other; return the number of columns.

    The file is as private as the table. It appears whole or not at all, and no more than a column is in memory.

    Parameters
    ----------
    path
        The file; one that is there is replaced.
    rows
        Number of records n.
    columns
        Gives each column in turn: (n,) truth values, or (n,) uint8 of zeros and ones, or (ceil(n / 64),) uint64 with
        bit r % 64 of word r // 64 for record r.

    Raises
    ------
    PrivateDataError
        If a column has another form, there is none, or the file cannot be written.

    Examples
    --------
    >>> import dpopt, numpy, tempfile
    >>> dpopt.write_bit_file(tempfile.mkdtemp() + "/table.bits", 3, iter(numpy.eye(3, dtype=bool)))
    3
    """
    words = _words_of(rows)
    check_replaceable(path, MARK.lower(), "bit file")
    with whole_file(path, private=True) as stream:
        stream.write(bytes(_HEAD.size))
        number = 0
        for number, packed in _packed_columns(rows, columns):  # noqa: B007  # the last one is how many there are
            stream.write(packed.data)
        stream.seek(0)
        stream.write(_HEAD.pack(MARK, _VERSION, _HEAD.size, rows, number, words))
    return number


def read_bit_file(path: Path, width: int) -> BitColumns:
    """Return the columns of a bit file; the file stays where it is and is read where counting needs it."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size or not head.startswith(MARK):
        raise PrivateDataError(
            f"{path.name} is not a bit file: its header is missing; write it with dpopt.write_bit_file"
        )
    _, version, length, rows, number, words = _HEAD.unpack(head)
    if version != _VERSION or length != _HEAD.size or words != (rows + 63) // 64 or any(head[40:]):
        raise PrivateDataError(
            f"{path.name} is a bit file of another version, or its header is damaged; write it again with "
            f"dpopt.write_bit_file"
        )
    if number != width:
        raise PrivateDataError(
            f"{path.name} has {number:,} columns, and {width:,} are declared; declare the number that the table has "
            "from what is publicly known"
        )
    if not 1 <= rows <= MOST_ROWS:
        raise PrivateDataError(f"{path.name} has {rows:,} records; expected 1 to {MOST_ROWS:,}")
    expected = _HEAD.size + _WORD.itemsize * words * number
    if size != expected:
        raise PrivateDataError(
            f"{path.name} has {size:,} bytes where {number:,} columns of {rows:,} records take {expected:,}: the "
            "file is torn. Copy or write it again"
        )
    held = np.memmap(path, dtype=_WORD, mode="r", offset=_HEAD.size, shape=(number, words))
    try:
        return BitColumns(rows, held)
    except SchemaError as problem:
        raise PrivateDataError(f"{path.name}: {problem}; the file is damaged: write it again") from None


def _packed_columns(rows: int, columns: Iterable[NDArray[np.generic]]) -> Iterator[tuple[int, NDArray[np.uint64]]]:
    """Yield the columns as words, counted from 1; refuse none, and too many."""
    number = 0
    for number, column in enumerate(columns, start=1):
        yield number, packed_column(column, rows, number - 1)
    if not 1 <= number <= MOST_COLUMNS:
        raise PrivateDataError(f"{number:,} columns were given; a table has 1 to {MOST_COLUMNS:,}")


def _words_of(rows: int) -> int:
    """Return the number of words of a column over this many records; refuse none, and too many."""
    if isinstance(rows, bool) or not isinstance(rows, int | np.integer) or not 1 <= rows <= MOST_ROWS:
        raise PrivateDataError(f"the number of records is a whole number from 1 to {MOST_ROWS:,}, found {rows!r}")
    return (int(rows) + 63) // 64


def packed_column(column: NDArray[np.generic], rows: int, number: int) -> NDArray[np.uint64]:
    """Return a column as words, (ceil(rows / 64),), if it is zeros and ones; `number` says in messages which it is."""
    given, words = np.asarray(column), _words_of(rows)
    if given.dtype == np.uint64 and given.shape == (words,):
        if rows % 64 and given[-1] >> np.uint64(rows % 64):
            raise PrivateDataError(f"column {number:,}: a bit is set beyond the last of {rows:,} records")
        return np.ascontiguousarray(given, dtype=_WORD)
    if given.dtype not in (np.bool_, np.uint8) or given.shape != (rows,):
        raise PrivateDataError(
            f"column {number:,}: expected {rows:,} truth values, or {words:,} words (uint64) of their bits; found "
            f"{given.dtype} of shape {given.shape}"
        )
    if given.dtype == np.uint8 and given.size and given.max() > 1:
        row = int(np.argmax(given > 1))
        raise PrivateDataError(f"column {number:,}, record {row + 1:,}: {given[row]} is neither 0 nor 1")
    packed = np.zeros(8 * words, dtype=np.uint8)
    bits = np.packbits(given, bitorder="little")
    packed[: bits.size] = bits
    return packed.view(_WORD)


_GROWTH = 2**26  # bytes by which the memory grows


class BitTable(Closed):
    """A wide table of zeros and ones in memory, a bit for each; made by `bit_table`, read by `read_binary_table`."""

    __slots__ = ("_columns",)
    _columns: BitColumns


def bit_table(rows: int, columns: Iterable[NDArray[np.generic]]) -> BitTable:
    """Return a table of bits from its columns, which are asked for one after the other.

    Parameters and what is refused: as for `write_bit_file`.

    Examples
    --------
    >>> import dpopt, numpy
    >>> table = dpopt.bit_table(3, iter(numpy.eye(3, dtype=bool)))
    >>> dpopt.release(
    ...     table, dpopt.Schema.binary(3), "marginals:1", epsilon=1, n0=3, algorithm="noise", predict=False
    ... )  # doctest: +ELLIPSIS
    SyntheticRelease: Do not use: shares of single columns, which can be off by ... points; relationships ...
    (noise, answers only, epsilon=1, delta=1e-06, one record more or less (add-remove))
    """
    length = _words_of(rows)
    step = max(1, _GROWTH // (8 * length))
    words = np.zeros((0, length), dtype=np.uint64)
    number = 0
    for number, packed in _packed_columns(rows, columns):
        if number > len(words):
            words.resize((number - 1 + step, length), refcheck=False)  # in place: nothing else holds the array
        words[number - 1] = packed
    words.resize((number, length), refcheck=False)
    words.flags.writeable = False
    return BitTable._holding(_rows=int(rows), _columns=BitColumns(int(rows), words))


class BitFileTable(PrivateDataset):
    """Records of zeros and ones in a bit file; refuses to count once the file was changed.

    All counts of a run must be those of one table, and a file that was written to may hold bits beyond the last record.
    """

    __slots__ = ("_files",)
    _files: WatchedFiles

    @classmethod
    def open(cls, path: Path, schema: Schema) -> BitFileTable:
        """Validate a bit file by the number of columns that a schema declares."""
        files = WatchedFiles.of((path,))
        made = cls.from_binary(schema, read_bit_file(path, len(schema)))
        files.check((path,))
        object.__setattr__(made, "_files", files)
        return made

    def _count(self, queries: AnyQueries, *, threads: int, progress: Progress | None) -> NDArray[np.int64]:
        """Return how many records lie in each cell, or satisfy each clause; see `exact_counts`."""
        self._files.check(self._files.paths)
        counts = super()._count(queries, threads=threads, progress=progress)
        self._files.check(self._files.paths)
        return counts
