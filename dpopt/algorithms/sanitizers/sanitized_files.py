"""The files of released polynomials: an .npz archive with the statement and the noisy coefficients."""

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
from dpopt.algorithms.sanitizers.sanitized import SanitizedPolynomial
from dpopt.algorithms.sanitizers.sanitizer_plan import SanitizerFigures
from dpopt.errors import ReleaseFolderError, TranscriptError
from dpopt.queries.arrays import freeze

_STATEMENT, _NOISY = "statement", "noisy"
_DAMAGE = (
    *(ArithmeticError, AttributeError, EOFError, KeyError, MemoryError, OSError, RuntimeError, TypeError),
    *(ValueError, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)
"""What NumPy, zipfile and JSON raise where bytes of a file are lost or changed."""


def write_sanitized(released: SanitizedPolynomial, path: str | os.PathLike[str]) -> None:
    """Write a released polynomial, whole or not at all; a file that is there is not replaced.

    Raises
    ------
    ReleaseFolderError
        If the file is there already, or cannot be written.
    """
    target = Path(path)
    check_new(target)
    arrays: dict[str, Any] = {
        _STATEMENT: np.frombuffer(json.dumps(released.statement()).encode(), dtype=np.uint8),
        _NOISY: released.noisy,
    }

    def write(stream: IO[bytes]) -> None:
        np.savez_compressed(stream, allow_pickle=False, **arrays)

    write_whole(target, write, "released polynomial")


def read_sanitized(path: str | os.PathLike[str]) -> SanitizedPolynomial:
    """Read what `write_sanitized` wrote.

    Raises
    ------
    ReleaseFolderError
        If the file is missing.
    TranscriptError
        If it is no released polynomial, or damaged.
    """
    source = Path(path)
    if not source.is_file():
        raise ReleaseFolderError(f"there is no file {source}")
    try:
        with source.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            return _released(stored)
    except _DAMAGE as error:
        raise TranscriptError(f"{source} is no released polynomial, or damaged: {error}") from error


def _released(stored: Mapping[str, NDArray[Any]]) -> SanitizedPolynomial:
    statement = json.loads(bytes(stored[_STATEMENT]))
    if statement.get("dpopt_sanitizer") != 1:
        raise TranscriptError("not of this version; expected a file of write_sanitized")
    privacy = dict(statement["privacy"])
    if missing := {"epsilon", "delta", "neighbours"} - set(privacy):
        raise TranscriptError(f"it does not say what it cost: {', '.join(sorted(missing))} missing")
    noisy = stored[_NOISY]
    if noisy.dtype != np.int64:
        raise TranscriptError(f"found coefficients of the type {noisy.dtype}; expected int64")
    return SanitizedPolynomial(SanitizerFigures.from_json(statement["figures"]), freeze(noisy), privacy)
