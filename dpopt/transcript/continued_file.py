"""A file that a later run continues (journals, growing releases, budgets): one writer at a time, by any name.

The operating system locks the file itself, so symbolic and hard links, linked folders and relative paths lead to one
lock.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from pathlib import Path
from typing import IO

from dpopt.files.written_files import AS_WRITTEN, flush_folder
from dpopt.machine import lock_file

_SECONDS_BETWEEN = 0.02


class ContinuedFile:
    """An open and locked file; closing it gives the lock back.

    A `mode` makes a new file with these permissions, never through a link; without it the file is there already.
    Another writer is waited for so many seconds. Raises BlockingIOError if another writer has it; OSError if it cannot
    be opened, or is no plain file.
    """

    def __init__(self, path: Path, *, mode: int | None = None, seconds: float = 0.0) -> None:
        if mode is None:
            self.path, flags = Path(os.path.realpath(path)), os.O_RDWR | AS_WRITTEN
        else:
            self.path = Path(os.path.realpath(path.parent)) / path.name
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | AS_WRITTEN
        until = time.monotonic() + seconds
        while not self._opened(flags, 0 if mode is None else mode):
            if time.monotonic() >= until:
                raise BlockingIOError(errno.EAGAIN, "another process is writing it")
            time.sleep(_SECONDS_BETWEEN)
        found = os.fstat(self._file)
        if not stat.S_ISREG(found.st_mode):
            os.close(self._file)
            raise OSError(errno.EINVAL, "it is not a regular file")
        self._length = found.st_size
        if mode is not None:
            flush_folder(self.path.parent)

    def _opened(self, flags: int, mode: int) -> bool:
        """Open and lock the file that has the name now; return False if another writer has it."""
        while True:
            self._file = os.open(self.path, flags, mode)
            try:
                locked = lock_file(self._file)
                if locked and self._has_its_name():
                    return True
            except BaseException:
                os.close(self._file)
                raise
            os.close(self._file)
            if not locked:
                return False

    def _has_its_name(self) -> bool:
        """Return whether this file was not replaced, moved or removed meanwhile."""
        try:
            return os.path.samestat(self.path.stat(), os.fstat(self._file))
        except FileNotFoundError:
            return False

    def stream(self) -> IO[bytes]:
        """Return a stream of all that it holds."""
        os.lseek(self._file, 0, os.SEEK_SET)
        return os.fdopen(self._file, "rb", closefd=False)

    def write(self, data: bytes, at: int | None = None, *, wait: bool = True) -> None:
        """Write `data` at the end, or in place of everything from byte `at` on; put it on the disk where `wait` is true.

        One byte of what is replaced stays until `data` takes its place: a kill in between leaves a torn line.

        Raises OSError if it cannot be written, or is no longer what this process read and wrote.
        """
        if os.fstat(self._file).st_size != self._length or not self._has_its_name():
            raise OSError(errno.ESTALE, "another process has changed, moved or replaced it meanwhile")
        start = self._length if at is None else at
        if start + 1 < self._length:
            os.ftruncate(self._file, start + 1)
        os.lseek(self._file, start, os.SEEK_SET)
        self._length, left = start + len(data), data
        while left:
            left = left[os.write(self._file, left) :]
        if wait:
            os.fsync(self._file)

    def close(self) -> None:
        """Put everything on the disk and close the file; does nothing where it is closed."""
        file, self._file = self._file, -1
        if file < 0:
            return
        try:
            os.fsync(file)
        finally:
            os.close(file)
