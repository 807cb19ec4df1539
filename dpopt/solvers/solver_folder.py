"""The temporary folder of a solver that works through files: locked while its process lives, removed after it.

A folder belongs to whoever holds the lock on it (flock), which the kernel takes away with the process, however that ends. So a
folder without a lock is what a killed process left, and the next process that asks for a solver removes it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

PREFIX = "dpopt-solver-files-"


class SolverFolder:
    """A folder that only this user can enter, empty and locked.

    Attributes
    ----------
    path : str
        Where it is: in the system's folder for temporary files.
    """

    def __init__(self) -> None:
        while True:
            self.path = tempfile.mkdtemp(prefix=PREFIX)
            handle = _locked(Path(self.path))
            if handle is not None:  # else another process took it for one that was left, and removes it
                self._handle = handle
                return

    def remove(self) -> None:
        """Remove the folder and all that is in it."""
        _remove(Path(self.path), self._handle)


def remove_left_folders() -> None:
    """Remove the folders of this user's processes that ended without removing them, as those do that are killed."""
    with suppress(OSError):
        for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
            handle = _locked(path)
            if handle is not None:
                _remove(path, handle)


def _locked(path: Path) -> int | None:
    """Open a folder and lock it; None if it is not a folder of this user's alone, is gone, or is in use."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        found = os.fstat(handle)
        if found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) == stat.S_IRWXU:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(found, os.lstat(path)):  # nobody removed it before it was locked
                return handle
    except OSError:
        pass
    os.close(handle)
    return None


def _remove(path: Path, handle: int) -> None:
    """Remove a folder that is locked here: what is in it through its handle, so that no link in its place is followed."""
    with suppress(OSError):
        for name in os.listdir(handle):
            with suppress(OSError):
                os.unlink(name, dir_fd=handle)
            shutil.rmtree(name, ignore_errors=True, dir_fd=handle)
        path.rmdir()
    os.close(handle)
