"""How files come to be: whole or not at all, with the permissions that umask and folder give, or for the owner alone.

No other file makes files of users, so that nothing is wider than the umask allows and nothing private wider than 0600.
The journal of a run, which grows line by line, is the one exception.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from dpopt.errors import DpoptError, ReleaseFolderError

PUBLIC, PRIVATE = 0o666, 0o600
"""Modes of new files before the umask, or the folder's default list of access, narrows them."""

AS_WRITTEN = getattr(os, "O_BINARY", 0)
"""A flag for `os.open`: Windows would write two bytes for the end of a line."""
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | AS_WRITTEN  # never through a link, never onto a file that is there


@contextmanager
def whole_file(path: str | os.PathLike[str], *, private: bool = False) -> Iterator[IO[bytes]]:
    """Give a stream for a file that appears whole or not at all: under another name, on the disk, then renamed.

    A file of this name, or the one that a link of this name points to, is replaced. Nothing is left behind where the
    body, or the writing, fails; a killed process leaves a file in the folder whose name begins with a dot and ends with
    ".tmp". What depends on a table without a charge is `private`: only its owner may read it. Raises
    `ReleaseFolderError` if it cannot be written, or `path` is something else than a file; other errors of the body, such
    as of a file that it reads, pass unchanged.
    """
    with _written(path) as place:
        target = Path(os.path.realpath(place))
        if target.exists() and not target.is_file():
            raise FileExistsError(errno.EEXIST, "it exists and is not a regular file", str(target))
    # Named before it is made, so that an interruption at any moment finds it: no other writer has this name.
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex[:12]}.tmp")
    try:
        with _written(path):
            raw = _Part(os.open(temporary, _NEW, PRIVATE if private else PUBLIC), path)
        with io.BufferedWriter(raw, buffer_size=2**20) as stream:
            yield stream
            stream.flush()
            with _written(path):
                os.fsync(stream.fileno())
        with _written(path):
            temporary.replace(target)
            flush_folder(target.parent)
    except BaseException:
        with suppress(OSError):  # of a name that is too long
            temporary.unlink()
        raise


class _Part(io.FileIO):
    """A file on its way, whose place is to blame where it cannot be written."""

    def __init__(self, handle: int, place: str | os.PathLike[str]) -> None:
        super().__init__(handle, "wb")
        self._place = place

    def write(self, data: Any) -> int:
        """Write bytes, or raise ReleaseFolderError."""
        with _written(self._place):
            return super().write(data)


@contextmanager
def _written(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a path that is written to, and raise ReleaseFolderError in place of the system's errors."""
    try:
        _refuse_no_name(path)
        yield Path(path)
    except DpoptError:
        raise
    except OSError as problem:
        raise ReleaseFolderError(
            f"{path} cannot be written: {problem.strerror or problem}; choose a folder that exists, can be "
            f"written and has room, and a shorter name if that is why"
        ) from problem


def _refuse_no_name(path: str | os.PathLike[str]) -> None:
    with suppress(UnicodeEncodeError):
        if b"\0" not in os.fsencode(path):
            return
    raise OSError(errno.EINVAL, "no file has such a name")


def check_new(path: Path, held: str = "a release that was paid for") -> None:
    """Refuse a file that is there, whose folder is not, or that cannot be written; nothing is left behind.

    It is asked before any budget is spent on what is to be in the file; `held` are words for what one that is there may
    hold. That it can be written is tried, with an empty file under another name, as the writers use one: what may be
    written is not always what the file's mode says (read-only file systems, names that are too long, the superuser).
    """
    with _written(path):
        if os.path.lexists(path):
            raise ReleaseFolderError(f"{path} exists already, and may hold {held}; choose another name")
        _try_writing(path)


def check_replaceable(path: str | os.PathLike[str], beginning: bytes, what: str) -> None:
    """Refuse to replace a file that does not begin as `what` does, but for case and blanks, and one that cannot be written."""
    with _written(path) as place:
        found = b""
        if place.is_file():
            with place.open("rb") as file:
                found = file.read(200)
        others = place.exists() and not place.is_file()
        if others or not b"".join(found.lower().split()).startswith(beginning if found else b""):
            raise ReleaseFolderError(f"{place} exists already and is not a {what}; choose another name")
        _try_writing(Path(os.path.realpath(place)))


def _try_writing(path: Path) -> None:
    if not (path.parent.is_dir() and path.name):
        raise ReleaseFolderError(f"there is no folder {path.parent}; make it, or choose another name")
    with tempfile.NamedTemporaryFile(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent):
        pass


def open_private(path: str | os.PathLike[str], flags: int) -> int:
    """Open a file that only its owner may read, and make it if it is not there; one that is wider becomes narrower.

    Raises OSError if it cannot be opened, or belongs to another user.
    """
    handle = os.open(path, flags | os.O_CREAT | AS_WRITTEN, PRIVATE)
    try:
        found = os.fstat(handle)
        wide = stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) & ~PRIVATE
        if wide and hasattr(os, "geteuid"):  # Windows keeps no modes: there the folder says who may read
            os.fchmod(handle, stat.S_IMODE(found.st_mode) & PRIVATE)
    except BaseException:
        os.close(handle)
        raise
    return handle


def flush_folder(folder: Path) -> None:
    """Make the names in a folder last through a power failure. Windows opens no folders: its file systems keep names."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def unfinished_files(folder: Path) -> Iterator[Path]:
    """Yield the files that `whole_file` left when it was killed, or is writing now."""
    return folder.glob(".*.*.tmp")
