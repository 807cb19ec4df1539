"""Text files, plain or gzip, in blocks of whole lines."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError

_BLOCK_BYTES = 2**25
_LONGEST_LINE = 2**30
_BROKEN = (EOFError, zlib.error, gzip.BadGzipFile)
_MARK_OF_UTF8 = b"\xef\xbb\xbf"


def first_line(path: Path) -> str:
    """Return the first line of a file that is not blank, for a look at its form; "" if there is none."""
    with _opened(path) as stream:
        try:
            for line in stream:
                text = line.removeprefix(_MARK_OF_UTF8).decode("utf-8", "replace").strip("\r\n")
                if text.strip():
                    return text
        except _BROKEN as problem:
            raise _damaged(path, problem) from problem
    return ""


def whole_lines(path: Path) -> Iterator[NDArray[np.uint8]]:
    """Yield the bytes of a file in blocks of whole lines; the last line gets its newline where it lacks one.

    Raises
    ------
    PrivateDataError
        If it is a damaged gzip file, a line is beyond every measure, or a line other than the first begins with a byte order
        mark, as where files were joined: a mark does not show, and would make another user or item of the same.
    """
    rest, first, lines = b"", True, 0
    with _opened(path) as stream:
        while True:
            try:
                read = stream.read(_BLOCK_BYTES)
            except _BROKEN as problem:
                raise _damaged(path, problem) from problem
            if not read:
                break
            if first:
                read, first = read.removeprefix(_MARK_OF_UTF8), False
            end = read.rfind(b"\n") + 1
            if end:
                block = rest + read[:end]
                _refuse_marks(path, block, lines)
                lines += block.count(b"\n")
                yield np.frombuffer(block, dtype=np.uint8)
                rest = read[end:]
            else:
                rest += read
            if len(rest) > _LONGEST_LINE:
                raise PrivateDataError(
                    f"{path.name} holds a line of more than 1 GiB; expected a text with a record on each line"
                )
    if rest:
        _refuse_marks(path, rest, lines)
        yield np.frombuffer(rest + b"\n", dtype=np.uint8)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        if packed:
            with gzip.GzipFile(fileobj=file) as stream:
                yield stream  # type: ignore[misc]  # it reads as any binary file
        else:
            yield file


def _refuse_marks(path: Path, block: bytes, before: int) -> None:
    place = 0 if block.startswith(_MARK_OF_UTF8) else block.find(b"\n" + _MARK_OF_UTF8) + 1
    if place or block.startswith(_MARK_OF_UTF8):
        line = before + block.count(b"\n", 0, place) + 1
        raise PrivateDataError(
            f"{path.name}, line {line:,}: the line begins with a byte order mark (U+FEFF), which does not show, as where files "
            "in UTF-8 were joined; remove it"
        )


def _damaged(path: Path, problem: Exception) -> PrivateDataError:
    return PrivateDataError(f"{path.name} is a damaged or incomplete gzip file: {problem}")
