"""The files of a release folder: their names, the folder's making and unmaking, JSON written whole."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dpopt.errors import ReleaseFolderError
from dpopt.files.json_files import json_object, read_json_value
from dpopt.files.written_files import unfinished_files, whole_file

PLAN, SCHEMA, WORKLOAD, TRANSCRIPT, RELEASE = (
    "plan.json",
    "schema.json",
    "workload.json",
    "transcript.jsonl",
    "release.json",
)
REQUEST = "request.json"
"""The request, while the number of records is measured; removed when the plan is there."""
_OURS = (PLAN, SCHEMA, WORKLOAD, REQUEST, TRANSCRIPT, "README.txt", "synthetic.*", "answers.*", "weights.txt")
_INDENTED = json.JSONEncoder(indent=1, ensure_ascii=False)


def missing_folders(folder: Path) -> list[Path]:
    """Return the folders that are made when `folder` is, innermost first."""
    return [place for place in (folder, *folder.parents) if not os.path.exists(place)]  # noqa: PTH110  # also of names that are too long


@contextmanager
def new_folder(folder: Path) -> Iterator[None]:
    """Make a folder for the body's files, or accept an empty one; if the body fails, remove them."""
    made = missing_folders(folder)
    make_empty(folder)
    try:
        yield
    except BaseException:
        withdraw(folder, made)
        raise


def withdraw(folder: Path, made: list[Path]) -> None:
    """Remove the files of a run that never began, and the folders made for it."""
    remove_unfinished(folder)
    for path in (found for pattern in _OURS for found in folder.glob(pattern)):
        with suppress(OSError):
            path.unlink(missing_ok=True)
    for place in made:
        with suppress(OSError):
            place.rmdir()


def check_empty(folder: Path) -> None:
    """Refuse a folder that holds something or cannot be made; nothing is made."""
    place = folder
    try:
        while not os.path.lexists(place) and place != place.parent:
            place = place.parent
        filled = any(place.iterdir()) and place == folder
        if not os.access(place, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _cannot_make(folder, error) from error
    if filled:
        raise occupied(folder)


def make_empty(folder: Path) -> None:
    """Make `folder`, or accept it where it is empty."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        filled = any(folder.iterdir())
    except OSError as error:
        raise _cannot_make(folder, error) from error
    if filled:
        raise occupied(folder)


def occupied(folder: Path) -> ReleaseFolderError:
    """Return the error that a folder holds something; it names `dpopt resume` if that is a run which has not ended."""
    planned = (folder / PLAN).exists() or (folder / REQUEST).exists()
    begun = planned and (folder / TRANSCRIPT).exists() and not (folder / RELEASE).exists()
    hint = f", or continue the run in it with 'dpopt resume {folder} TABLE'" if begun else ""
    hint = ", or remove it: a run in it was killed before anything was spent" if never_began(folder) else hint
    return ReleaseFolderError(f"{folder} is not empty. Choose a new folder{hint}")


def never_began(folder: Path) -> bool:
    """Return whether a run was killed while its folder was being made: its journal is there and empty, and no plan or request.

    With one of them the run goes on from its start, under the mark of a reservation that it may have made.
    """
    transcript = folder / TRANSCRIPT
    asked = (folder / PLAN).exists() or (folder / REQUEST).exists()
    return not asked and transcript.exists() and transcript.stat().st_size == 0


def _cannot_make(folder: Path, error: OSError) -> ReleaseFolderError:
    return ReleaseFolderError(f"cannot make {folder}: {error.strerror}. Choose a folder that can be written")


def write_json(path: Path, obj: Mapping[str, Any], *, ready: Callable[[], None] | None = None) -> None:
    """Write a JSON file whole; `ready` is called when all of it is written, before it gets its name."""
    with whole_file(path) as file:
        file.writelines(text.encode() for text in _INDENTED.iterencode(obj))
        file.write(b"\n")
        file.flush()
        if ready is not None:
            ready()


def remove_unfinished(folder: Path) -> None:
    """Remove the files that a killed run, also of an earlier version, left; only for the holder of the journal's lock."""
    for path in (*unfinished_files(folder), *folder.glob(f".{TRANSCRIPT}.*")):
        with suppress(OSError):
            path.unlink(missing_ok=True)


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object of a release folder."""
    if not path.is_file():
        raise ReleaseFolderError(f"{path.parent} is not a release folder: it has no file {path.name}")
    damaged = f"{path} is damaged"
    found = read_json_value(path, f"{damaged}: it", ReleaseFolderError)
    return json_object(found, damaged, ReleaseFolderError)


def give_one_time(folder: Path) -> None:
    """Give all files of a folder one modification time: the seconds between them would reveal how long private stages took."""
    now = int(time.time())
    for path in folder.iterdir():
        os.utime(path, (now, now))
