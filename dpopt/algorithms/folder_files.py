"""The files of a release folder: their names, the folder's making and unmaking, JSON written whole."""

from __future__ import annotations

import errno
import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from dpopt.errors import ReleaseFolderError

PLAN, SCHEMA, WORKLOAD, TRANSCRIPT, RELEASE = (
    "plan.json",
    "schema.json",
    "workload.json",
    "transcript.jsonl",
    "release.json",
)


def missing_folders(folder: Path) -> list[Path]:
    """Return the folders that are made when `folder` is, innermost first."""
    return [place for place in (folder, *folder.parents) if not place.exists()]


def withdraw(folder: Path, made: list[Path]) -> None:
    """Remove the public inputs of a run that never began, and the folders made for it."""
    for name in (SCHEMA, WORKLOAD, PLAN, TRANSCRIPT):
        for path in (folder / name, _unfinished(folder / name)):
            with suppress(OSError):
                path.unlink(missing_ok=True)
    for place in made:
        with suppress(OSError):
            place.rmdir()


def check_empty(folder: Path) -> None:
    """Refuse a folder that holds something or cannot be made; nothing is made.

    Raises
    ------
    ReleaseFolderError
        With the reason.
    """
    place = folder
    try:
        while not place.exists() and place != place.parent:
            place = place.parent
        filled = any(place.iterdir()) and place == folder
        if not os.access(place, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _cannot_make(folder, error) from error
    if filled:
        raise occupied(folder)


def make_empty(folder: Path) -> None:
    """Make `folder`, or accept it where it is empty.

    Raises
    ------
    ReleaseFolderError
        If it holds something already or cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        filled = any(folder.iterdir())
    except OSError as error:
        raise _cannot_make(folder, error) from error
    if filled:
        raise occupied(folder)


def occupied(folder: Path) -> ReleaseFolderError:
    """Return the error that a folder holds something; it names `dpopt resume` if that is a run which has not ended."""
    begun = (folder / PLAN).exists() and (folder / TRANSCRIPT).exists() and not (folder / RELEASE).exists()
    hint = f", or continue the run in it with 'dpopt resume {folder} TABLE'" if begun else ""
    hint = ", or remove it: a run in it was killed before anything was spent" if never_began(folder) else hint
    return ReleaseFolderError(f"{folder} is not empty. Choose a new folder{hint}")


def never_began(folder: Path) -> bool:
    """Return whether a run was killed while its folder was being made: its journal is there and empty, and no plan."""
    transcript = folder / TRANSCRIPT
    return not (folder / PLAN).exists() and transcript.exists() and transcript.stat().st_size == 0


def _cannot_make(folder: Path, error: OSError) -> ReleaseFolderError:
    return ReleaseFolderError(f"cannot make {folder}: {error.strerror}. Choose a folder that can be written")


def write_json(path: Path, obj: Mapping[str, Any], *, ready: Callable[[], None] | None = None) -> None:
    """Write a JSON file whole: temporary file in the same folder, on the disk, then renamed; `ready` is called before that."""
    temporary = _unfinished(path)
    with temporary.open("w", encoding="utf-8", newline="\n") as file:
        json.dump(obj, file, indent=1, ensure_ascii=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    if ready is not None:
        ready()
    temporary.replace(path)


def remove_unfinished(folder: Path) -> None:
    """Remove the files that a killed run left half-written; only for whoever holds the lock of the journal."""
    files = [_unfinished(folder / name) for name in (SCHEMA, WORKLOAD, PLAN, TRANSCRIPT, RELEASE)]
    files += [path for what in ("synthetic", "weights", "answers") for path in folder.glob(f".{what}.*.tmp")]
    for path in files:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _unfinished(path: Path) -> Path:
    return path.with_name(f".{path.name}.part")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object of a release folder.

    Raises
    ------
    ReleaseFolderError
        If the file is missing or is no JSON object.
    """
    try:
        obj = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReleaseFolderError(
            f"{path.parent} is no release folder: {path.name}: {error.strerror}"
        ) from error
    except ValueError as error:
        raise ReleaseFolderError(f"{path} is damaged: {error}") from error
    if not isinstance(obj, dict):
        raise ReleaseFolderError(f"{path} is damaged: it holds no JSON object")
    return obj


def give_one_time(folder: Path) -> None:
    """Give all files of a folder one modification time: the seconds between them would tell how long private stages took."""
    now = int(time.time())
    for path in folder.iterdir():
        os.utime(path, (now, now))


def write_whole(target: Path, write: Callable[[IO[bytes]], None], what: str) -> None:
    """Write a file that appears whole or not at all: under another name, flushed to disk, then renamed.

    Raises
    ------
    ReleaseFolderError
        If it cannot be written; `what` says what it holds.
    """
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        with os.fdopen(handle, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
        temporary = None
        _flush_folder(target.parent)
    except OSError as problem:
        raise ReleaseFolderError(
            f"the {what} cannot be written to {str(target)!r}: {problem.strerror or problem}; choose a folder that "
            "exists, can be written and has room"
        ) from problem
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _flush_folder(folder: Path) -> None:
    """Make the new name last through a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
