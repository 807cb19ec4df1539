"""The files of halfspace releases: an .npz archive with the statement and the noisy numbers."""

from __future__ import annotations

import json
import lzma
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.folder_files import write_whole
from dpopt.algorithms.halfspaces.halfspace_plan import HalfspacePlan
from dpopt.algorithms.halfspaces.halfspaces import Halfspaces
from dpopt.algorithms.new_files import check_new
from dpopt.errors import ReleaseFolderError, TranscriptError
from dpopt.queries.arrays import freeze

_STATEMENT = "statement"
_DAMAGE = (
    *(ArithmeticError, AttributeError, EOFError, KeyError, MemoryError, OSError, RuntimeError, TypeError),
    *(ValueError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)
"""What NumPy, zipfile and JSON raise where bytes of a file are lost or changed."""


def write_halfspaces(halfspaces: Halfspaces, path: str | os.PathLike[str]) -> None:
    """Write a release, whole or not at all; a file that is there is not replaced.

    Raises
    ------
    ReleaseFolderError
        If the file is there already, or cannot be written.
    """
    target = Path(path)
    check_new(target)
    arrays: dict[str, Any] = {_name(place): values for place, values in enumerate(halfspaces.noisy)}
    statement = np.frombuffer(json.dumps(halfspaces.statement()).encode(), dtype=np.uint8)

    def write(stream: IO[bytes]) -> None:
        np.savez_compressed(stream, allow_pickle=False, **{_STATEMENT: statement, **arrays})

    write_whole(target, write, "release")


def read_halfspaces(path: str | os.PathLike[str]) -> Halfspaces:
    """Read what `write_halfspaces` wrote.

    Raises
    ------
    ReleaseFolderError
        If the file is missing.
    TranscriptError
        If it is no such release, or damaged.
    """
    source = Path(path)
    if not source.is_file():
        raise ReleaseFolderError(f"there is no file {source}")
    try:
        with source.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            return _halfspaces(stored)
    except _DAMAGE as error:
        raise TranscriptError(f"{source} is no release of halfspaces, or damaged: {error}") from error


def _halfspaces(stored: Mapping[str, NDArray[Any]]) -> Halfspaces:
    statement = json.loads(bytes(stored[_STATEMENT]))
    if statement.get("dpopt_halfspaces") != 1:
        raise TranscriptError("not of this version; expected a file of 'dpopt halfspaces release'")
    privacy = dict(statement["privacy"])
    if missing := {"epsilon", "delta", "neighbours"} - set(privacy):
        raise TranscriptError(f"it does not say what it cost: {', '.join(sorted(missing))} missing")
    plan = HalfspacePlan.from_json(statement["plan"])
    return Halfspaces(
        plan, tuple(_numbers(stored[_name(place)]) for place in range(len(plan.scales))), privacy
    )


def _numbers(stored: NDArray[Any]) -> NDArray[np.int64]:
    if stored.dtype != np.int64 or stored.ndim != 1:
        raise TranscriptError(f"found numbers of the type {stored.dtype}; expected int64")
    return freeze(stored)


def _name(place: int) -> str:
    return f"measured_{place}"
