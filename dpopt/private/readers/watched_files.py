"""Files that are read more than once: whether they are still what they were."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dpopt.errors import PrivateDataError


@dataclass(frozen=True, slots=True)
class WatchedFiles:
    """Files and their state when the first pass began.

    A change that leaves size and times as they were is not noticed.
    """

    paths: tuple[Path, ...]
    _states: tuple[tuple[int, ...], ...] = field(repr=False)

    @classmethod
    def of(cls, paths: Sequence[Path]) -> WatchedFiles:
        """Note the state of files.

        Raises
        ------
        PrivateDataError
            If one of them is not there, or can be read once only, such as a pipe.
        """
        return cls(tuple(paths), tuple(_state(path) for path in paths))

    def check(self, paths: Sequence[Path]) -> None:
        """Refuse files that are not the same any more, or others.

        Raises
        ------
        PrivateDataError
            If a file was added, removed or changed.
        """
        for path in sorted({*self.paths, *paths}):
            if (path in self.paths) is not (path in paths):
                raise PrivateDataError(
                    f"{path.name} was {'removed' if path in self.paths else 'added'} {_WHILE}"
                )
        for path, before in zip(self.paths, self._states, strict=True):
            if _state(path) != before:
                raise PrivateDataError(f"{path.name} was changed {_WHILE}")


_WHILE = (
    "while the table was in use; it is read several times and must stay as it is. Keep a copy that nothing writes to, and "
    "begin again"
)


def _state(path: Path) -> tuple[int, ...]:
    """Return what the file system says of a file: which it is, its size, when contents or properties changed."""
    try:
        found = path.stat()
    except OSError as problem:
        raise PrivateDataError(f"the file {str(path)!r} cannot be read: {problem.strerror}") from problem
    if not stat.S_ISREG(found.st_mode):
        raise PrivateDataError(
            f"{str(path)!r} is no regular file and can be read once only; save it as a file, or use --engine memory"
        )
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
