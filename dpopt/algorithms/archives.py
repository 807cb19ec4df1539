"""Files of releases that answer by themselves: an .npz archive with a statement and arrays of noisy whole numbers."""

from __future__ import annotations

import json
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.folder_files import write_whole
from dpopt.algorithms.new_files import check_new
from dpopt.errors import ReleaseFolderError, TranscriptError
from dpopt.queries.arrays import freeze

Numbers = Callable[[str], NDArray[np.int64]]
"""Gives an array of a file by its name."""

_Read = TypeVar("_Read")
_STATEMENT = "statement"
_DAMAGE = (
    *(ArithmeticError, AttributeError, EOFError, KeyError, MemoryError, OSError, RuntimeError, TypeError),
    *(ValueError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)
"""What NumPy, zipfile and JSON raise where bytes of a file are lost or changed."""


def write_archive(
    path: str | os.PathLike[str],
    what: str,
    statement: Mapping[str, Any],
    numbers: Mapping[str, NDArray[np.int64]],
) -> None:
    """Write a release, whole or not at all; a file that is there is not replaced.

    Raises
    ------
    ReleaseFolderError
        If the file is there already, or cannot be written.
    """
    target = Path(path)
    check_new(target)
    arrays: dict[str, Any] = dict(numbers)
    arrays[_STATEMENT] = np.frombuffer(json.dumps(statement).encode(), dtype=np.uint8)

    def write(stream: IO[bytes]) -> None:
        np.savez_compressed(stream, allow_pickle=False, **arrays)

    write_whole(target, write, what)


def read_archive(
    path: str | os.PathLike[str],
    what: str,
    key: str,
    written_by: str,
    read: Callable[[dict[str, Any], Numbers], _Read],
) -> _Read:
    """Return what `read` makes of the statement and the arrays of a file.

    Parameters
    ----------
    what : str
        What the file should be, for messages.
    key : str
        Whose value in the statement is 1, the version.
    written_by : str
        What writes such files.
    read : callable

    Raises
    ------
    ReleaseFolderError
        If the file is missing.
    TranscriptError
        If it is something else, or damaged.
    """
    source = Path(path)
    if not source.is_file():
        reason = "it is a folder" if source.is_dir() else "there is no such file"
        raise ReleaseFolderError(f"cannot read {source}: {reason}; expected a {what} (--out of {written_by})")
    if not zipfile.is_zipfile(source):
        raise TranscriptError(f"{source} is no {what}, or damaged: expected a file of {written_by}")
    try:
        with source.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            statement = json.loads(bytes(stored[_STATEMENT]))
            if statement.get(key) != 1:
                raise TranscriptError(f"not of this version; expected a file of {written_by}")
            return read(statement, lambda name: _numbers(stored[name]))
    except _DAMAGE as error:
        raise TranscriptError(f"{source} is no {what}, or damaged: {error}") from error


def _numbers(stored: NDArray[Any]) -> NDArray[np.int64]:
    if stored.dtype != np.int64 or stored.ndim != 1:
        raise TranscriptError(
            f"found {stored.ndim}-dimensional numbers of the type {stored.dtype}; expected int64 in one dimension"
        )
    return freeze(stored)
