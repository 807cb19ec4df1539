"""Text files, plain or gzip, in blocks of whole lines."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dpopt.errors import PrivateDataError

BLOCK_BYTES = 2**25
LONGEST_LINE = 2**28
"""Bytes; a longer line is a bad record."""

GZIP_MARK = b"\x1f\x8b"
_BROKEN = (EOFError, zlib.error, gzip.BadGzipFile)


def is_packed(path: Path, *, public_start: bool) -> bool:
    """Return whether a text file is gzip: by its first bytes, where they are public; else by its name, which ends with .gz.

    The first bytes of a file that begins with a record are that record's, which must not decide how the others are read.
    """
    if not public_start:
        return path.suffix.lower() == ".gz"
    with path.open("rb") as file:
        return file.read(2) == GZIP_MARK


def whole_lines(path: Path, *, packed: bool, size: int | None = None) -> Iterator[bytes | None]:
    """Yield the bytes of a file in blocks of whole lines; None stands for one line that is too long.

    The last line gets its newline where it lacks one. Lines end with a newline and nowhere else.

    Parameters
    ----------
    packed
        Whether the file is gzip.
    size
        Bytes of a block, about; `BLOCK_BYTES` if left out.

    Raises
    ------
    PrivateDataError
        If it cannot be read, or is a damaged gzip file.
    """
    parts: list[bytes] = []
    held, skipping = 0, False
    with _opened(path, packed=packed) as stream:
        while read := _read(path, stream, size or BLOCK_BYTES):
            first, end = read.find(b"\n") + 1, read.rfind(b"\n") + 1
            skipping |= held + (first or len(read)) > LONGEST_LINE + (first > 0)
            if skipping:
                parts, held = [], 0
                if not end:
                    continue
                yield None
                skipping = False
                read, end = read[first:], end - first
            if end:
                yield b"".join([*parts, read[:end]])
                parts, held = [], 0
            parts.append(read[end:])
            held += len(read) - end
    if skipping:
        yield None
    elif held:
        yield b"".join([*parts, b"\n"])


@contextmanager
def _opened(path: Path, *, packed: bool) -> Iterator[IO[bytes]]:
    try:
        file = path.open("rb")
    except OSError as problem:
        raise PrivateDataError(f"the file {str(path)!r} cannot be read: {problem.strerror}") from problem
    with file:
        if packed:
            with gzip.GzipFile(fileobj=file) as stream:
                yield stream  # type: ignore[misc]  # it reads as any binary file
        else:
            yield file


def _read(path: Path, stream: IO[bytes], size: int) -> bytes:
    try:
        return stream.read(size)
    except _BROKEN as problem:
        raise PrivateDataError(f"{path.name} is a damaged or incomplete gzip file: {problem}") from problem
    except OSError as problem:
        raise PrivateDataError(f"the file {str(path)!r} cannot be read: {problem.strerror}") from problem
