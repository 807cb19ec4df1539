"""Arrays in files of NumPy: the declared sizes are checked against the file before anything is unpacked or allocated."""

from __future__ import annotations

import csv
import io
import os
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from dpopt.errors import DpoptError
from dpopt.files.reading import damage_as, open_file, read_text

MOST_ARRAYS = 4096
"""In one archive, at most."""
_MOST_TIMES = 1032  # deflate packs no bytes into less than one part in so many
_LONGEST_HEADER = 1000
_KINDS = "biufSU"  # of types; no objects, which would be unpickled

Header = tuple[tuple[int, ...], np.dtype[Any]]
"""Shape and type of an array."""


class ArrayFile:
    """The arrays of an open archive. Nothing is unpacked but headers, until an array is asked for."""

    def __init__(self, archive: zipfile.ZipFile, most: int) -> None:
        self._archive = archive
        members = archive.infolist()
        self._members = {one.filename.removesuffix(".npy"): one for one in members}
        if len(members) > MOST_ARRAYS or len(self._members) < len(members):
            raise ValueError(f"it holds {len(members):,} arrays; at most {MOST_ARRAYS:,} are read, each name once")
        total = sum(one.file_size for one in members)
        if total > most:
            raise ValueError(f"its arrays unpack to {total:,} bytes; at most {most:,} are read")
        for name, one in self._members.items():
            if one.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(f"the array {name!r} is packed in a way that NumPy does not use")
            if one.file_size > _MOST_TIMES * one.compress_size:
                raise ValueError(
                    f"the array {name!r} is said to unpack from {one.compress_size:,} bytes to {one.file_size:,}, "
                    f"which none do"
                )

    def __contains__(self, name: object) -> bool:
        """Return whether there is an array of this name."""
        return name in self._members

    def header(self, name: str) -> Header:
        """Return shape and type of an array, which is not unpacked."""
        if name not in self._members:
            raise ValueError(f"there is no array {name!r}")
        member = self._members[name]
        with self._archive.open(member) as stream:
            return _header(stream, member.file_size)

    def array(self, name: str) -> NDArray[Any]:
        """Return an array."""
        self.header(name)
        with self._archive.open(self._members[name]) as stream:
            return np.asarray(npy.read_array(stream, allow_pickle=False))


@contextmanager
def open_arrays(path: str | os.PathLike[str], place: str, error: type[DpoptError], most: int) -> Iterator[ArrayFile]:
    """Open an .npz archive of at most `most` bytes, unpacked; damage that shows within the `with` raises `error`."""
    with _refusing(error, place), open_file(path) as stream, zipfile.ZipFile(stream) as archive:
        yield ArrayFile(archive, most)


def read_array(path: str | os.PathLike[str], place: str, error: type[DpoptError]) -> NDArray[Any]:
    """Return the array of an .npy file; errors as of `open_arrays`."""
    array_header(path, place, error)
    with _refusing(error, place), open_file(path) as stream:
        return np.asarray(npy.read_array(stream, allow_pickle=False))


def read_columns(
    path: str | os.PathLike[str], names: Sequence[str], error: type[DpoptError], *, named: bool = False
) -> NDArray[np.float64]:
    """Return the numbers of a CSV file, (rows, columns), in the order of these names.

    A first line that is not of numbers, or the first line of a file that has to be `named`, names the columns, in any
    order.
    """
    source = Path(path)
    place = f"the file {str(source)!r}"
    try:
        lines = csv.reader(io.StringIO(read_text(source, place, error), newline=""))
        rows = [(number, row) for number, row in enumerate(lines, 1) if row]
    except csv.Error as problem:
        raise error(f"{place} cannot be read: {problem}") from problem
    order = list(range(len(names)))
    if rows and (named or not _are_numbers(rows[0][1])):
        heads = [head.strip() for head in rows.pop(0)[1]]
        if sorted(heads) != sorted(names):
            raise error(f"{source.name} has the columns {', '.join(heads)}; expected {', '.join(names)}, in any order")
        order = [heads.index(name) for name in names]
    for number, row in rows:
        if len(row) != len(names) or not _are_numbers(row):
            raise error(f"{source.name}, line {number}: found {','.join(row)[:60]!r}; expected {len(names)} numbers")
    if not rows:
        raise error(f"{source.name} holds no query; expected a line of {len(names)} numbers for each")
    return np.array([[float(row[place]) for place in order] for _, row in rows])


def _are_numbers(row: list[str]) -> bool:
    try:
        return all(isinstance(float(one), float) for one in row)
    except ValueError:
        return False


def array_header(path: str | os.PathLike[str], place: str, error: type[DpoptError]) -> Header:
    """Return shape and type of the array in an .npy file, which is not read; errors as of `open_arrays`."""
    with _refusing(error, place), open_file(path) as stream:
        return _header(stream, os.fstat(stream.fileno()).st_size)


def _header(stream: IO[bytes], size: int) -> Header:
    """Return shape and type, once they and the length of the header add up to the size of the whole."""
    version = npy.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"an array has the unknown form {version[0]}.{version[1]}")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy tries what it cannot read once more, as Python 2 may have written it
        try:
            shape, _, dtype = read(stream, max_header_size=_LONGEST_HEADER)
        except (SyntaxError, TokenError, Warning) as problem:
            raise ValueError(f"the header of an array is damaged: {problem.args[0]}") from problem
    if dtype.kind not in _KINDS or not dtype.itemsize:
        raise ValueError(f"an array is of the type {dtype}; expected real numbers, truth values or text")
    taken = prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or stream.tell() + taken != size:
        raise ValueError(
            f"an array of the shape {shape} and the type {dtype} takes {taken:,} bytes; found {size - stream.tell():,}"
        )
    return shape, dtype


@contextmanager
def _refusing(error: type[DpoptError], place: str) -> Iterator[None]:
    with damage_as(error, place):
        try:
            yield
        except OSError as problem:
            if isinstance(problem, DpoptError):
                raise
            raise ValueError(problem.strerror or f"{problem}") from problem
