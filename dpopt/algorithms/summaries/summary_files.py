"""The files of summaries: an .npz archive with the statement and the noisy counts."""

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
from dpopt.algorithms.new_files import check_new
from dpopt.algorithms.summaries.summary import Summary
from dpopt.algorithms.summaries.summary_plan import SummaryPlan
from dpopt.errors import ReleaseFolderError, TranscriptError
from dpopt.queries.arrays import freeze

_STATEMENT = "statement"
_DAMAGE = (
    *(ArithmeticError, AttributeError, EOFError, KeyError, MemoryError, OSError, RuntimeError, TypeError),
    *(ValueError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)
"""What NumPy, zipfile and JSON raise where bytes of a file are lost or changed."""


def write_summary(summary: Summary, path: str | os.PathLike[str]) -> None:
    """Write a summary, whole or not at all; a file that is there is not replaced.

    Raises
    ------
    ReleaseFolderError
        If the file is there already, or cannot be written.
    """
    target = Path(path)
    check_new(target)
    arrays: dict[str, Any] = {
        _name(size): noisy for size, noisy in zip(summary.plan.sizes, summary.noisy, strict=True)
    }
    statement = np.frombuffer(json.dumps(summary.statement()).encode(), dtype=np.uint8)

    def write(stream: IO[bytes]) -> None:
        np.savez_compressed(stream, allow_pickle=False, **{_STATEMENT: statement, **arrays})

    write_whole(target, write, "summary")


def read_summary(path: str | os.PathLike[str]) -> Summary:
    """Read what `write_summary` wrote.

    Raises
    ------
    ReleaseFolderError
        If the file is missing.
    TranscriptError
        If it is no summary, or damaged.
    """
    source = Path(path)
    if not source.is_file():
        raise ReleaseFolderError(f"there is no file {source}")
    try:
        with source.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            return _summary(stored)
    except _DAMAGE as error:
        raise TranscriptError(f"{source} is no summary, or damaged: {error}") from error


def _summary(stored: Mapping[str, NDArray[Any]]) -> Summary:
    statement = json.loads(bytes(stored[_STATEMENT]))
    if statement.get("dpopt_summary") != 1:
        raise TranscriptError("not of this version; expected a file of 'dpopt summary release'")
    privacy = dict(statement["privacy"])
    if missing := {"epsilon", "delta", "neighbours"} - set(privacy):
        raise TranscriptError(f"it does not say what it cost: {', '.join(sorted(missing))} missing")
    plan = SummaryPlan.from_json(statement["plan"])
    return Summary(plan, tuple(_counts(stored[_name(size)]) for size in plan.sizes), privacy)


def _counts(stored: NDArray[Any]) -> NDArray[np.int64]:
    if stored.dtype != np.int64:
        raise TranscriptError(f"found counts of the type {stored.dtype}; expected int64")
    return freeze(stored)


def _name(size: int) -> str:
    return f"conjunctions_of_{size}"
