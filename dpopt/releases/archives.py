"""Files of releases that answer by themselves: an .npz archive with a statement and arrays of noisy whole numbers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import DpoptError, ReleaseFolderError, TranscriptError
from dpopt.files.array_files import ArrayFile, open_arrays
from dpopt.files.json_files import json_object
from dpopt.files.strict_json import parse_json
from dpopt.releases.folder_files import check_new, write_whole

Numbers = Callable[[str, int], NDArray[np.int64]]
"""Gives an array of a file by its name and its size, which the plan in the same file says."""

_Read = TypeVar("_Read")
_STATEMENT = "statement"
_MOST_BYTES, _LONGEST_STATEMENT = 2**32, 2**26  # of all arrays of a file, unpacked; of the statement


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
    place = f"{source} is no {what}, or damaged"
    with open_arrays(source, place, TranscriptError, _MOST_BYTES) as stored:
        try:
            statement = json_object(
                parse_json(_text(stored), "its statement", TranscriptError), "it", TranscriptError
            )
            if statement.get(key) != 1:
                raise TranscriptError(f"not of this version; expected a file of {written_by}")
            return read(statement, lambda name, size: _numbers(stored, name, size))
        except DpoptError as problem:
            raise TranscriptError(f"{place}: {problem}") from problem


def _text(stored: ArrayFile) -> str:
    shape, kind = stored.header(_STATEMENT)
    if kind != np.uint8 or len(shape) != 1 or shape[0] > _LONGEST_STATEMENT:
        raise TranscriptError(
            f"the statement has the type {kind} and the shape {shape}; expected at most {_LONGEST_STATEMENT:,} bytes of text"
        )
    return bytes(stored.array(_STATEMENT)).decode()


def _numbers(stored: ArrayFile, name: str, size: int) -> NDArray[np.int64]:
    shape, kind = stored.header(name)
    if kind != np.int64 or shape != (size,):
        raise TranscriptError(
            f"found {name!r} of the type {kind} and the shape {shape}; expected {size:,} numbers of the type int64"
        )
    return freeze(stored.array(name))
