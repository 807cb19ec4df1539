"""The bytes and texts of files that dpopt reads besides private tables: limited in size, UTF-8, refused in one line."""

from __future__ import annotations

import errno
import os
import stat
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dpopt.errors import DpoptError, meant

MOST_BYTES = 2**30
"""Of a file of text or JSON, at most."""
_BLOCK = 2**20
_DAMAGE = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, RuntimeError, TypeError, ValueError),
    *(AssertionError, zipfile.BadZipFile, zlib.error),
)


@contextmanager
def damage_as(error: type[DpoptError], place: str) -> Iterator[None]:
    """Raise `error` for all that Python, NumPy and zipfile raise of a damaged file; errors of dpopt pass unchanged."""
    try:
        yield
    except DpoptError:
        raise
    except _DAMAGE as problem:
        raise error(f"{place}: {_said(problem)}") from problem


def _said(problem: BaseException) -> str:
    if isinstance(problem, KeyError):
        return f"{problem.args[0]!r} is missing or unknown"
    if isinstance(problem, MemoryError):
        return "it does not fit into memory"
    if isinstance(problem, RecursionError):
        return "it is nested too deeply"
    return f"{problem}" or type(problem).__name__


def open_file(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a regular file to read; anything else raises OSError, such as a pipe, for whose writer a run would wait."""
    mode = Path(path).stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # of a folder the system's own words are better
        raise OSError(errno.EINVAL, "it is not a regular file and can be read only once; save it as a file")
    return Path(path).open("rb")


def read_bytes(path: str | os.PathLike[str], place: str, error: type[DpoptError], most: int = MOST_BYTES) -> bytes:
    """Return the bytes of a file; no more than `most` are in memory."""
    parts, left = [], most + 1
    try:
        with open_file(path) as file:
            while left and (part := file.read(min(left, _BLOCK))):
                parts.append(part)
                left -= len(part)
    except OSError as problem:
        near = neighbours(Path(path)) if isinstance(problem, FileNotFoundError) else ""
        raise error(f"{place} cannot be read: {problem.strerror or problem}{near}") from problem
    except ValueError as problem:  # a NUL in the path
        raise error(f"{place} cannot be read: {problem}; expected the path of a file") from problem
    if not left:
        raise error(f"{place} has more than {most:,} bytes; it is not such a file, or it is too large")
    return b"".join(parts)


def neighbours(path: Path, *, but: Collection[str] = ()) -> str:
    """Return, for a file that is not there, that its folder is not, or which files have names like it, but for some endings."""
    if not path.parent.is_dir():
        return f": there is no folder {str(path.parent)!r}"
    others = (other.name for other in path.parent.iterdir() if other.suffix.lower() not in but)
    return meant(path.name, others, most=2)


def read_text(path: str | os.PathLike[str], place: str, error: type[DpoptError]) -> str:
    """Return the text of a file in UTF-8, without the byte order mark that may stand before it."""
    data = read_bytes(path, place, error)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise error(
            f"{place} cannot be read: it is not UTF-8 text (line {line:,} holds the byte 0x{data[problem.start]:02x}); "
            f"convert it"
        ) from problem
    for sign, name in (("\0", "a NUL"), ("\ufeff", "a byte order mark")):
        found = text.find(sign) if sign == "\0" or text.startswith(sign) else text.find("\n" + sign)
        if found >= 0:
            line = text.count("\n", 0, found + 1) + 1
            raise error(f"{place} cannot be read: line {line:,} holds {name}, which does not show; remove it")
    return text
