"""Whether a new file can be written: asked before any budget is spent on what is to be in it."""

from __future__ import annotations

import tempfile
from pathlib import Path

from dpopt.errors import ReleaseFolderError


def check_new(path: Path) -> None:
    """Refuse a file that is there, whose folder is not, or that cannot be written; nothing is left behind.

    That it can be written is tried, with an empty file under another name, as the writers use one: what may be written is not
    always what the file's mode says (read-only file systems, names that are too long, the superuser).

    Raises
    ------
    ReleaseFolderError
        With what to do.
    """
    try:
        there, has_folder = path.exists(), path.parent.is_dir() and bool(path.name)
    except OSError as problem:
        raise _unwritable(path, problem) from problem
    if there:
        raise ReleaseFolderError(
            f"{path} exists already, and may hold a release that was paid for; choose another name"
        )
    if not has_folder:
        raise ReleaseFolderError(f"there is no folder {path.parent}; make it, or choose another name")
    try:
        with tempfile.NamedTemporaryFile(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent):
            pass
    except OSError as problem:
        raise _unwritable(path, problem) from problem


def _unwritable(path: Path, problem: OSError) -> ReleaseFolderError:
    return ReleaseFolderError(
        f"{path} cannot be written: {problem.strerror or problem}; choose a folder that can be written, and a shorter name "
        "if that is why"
    )
