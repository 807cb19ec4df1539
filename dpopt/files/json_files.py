"""JSON objects: canonical bytes, strict reading, writing that never leaves half a file."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping

from dpopt.errors import DpoptError
from dpopt.files.reading import read_text
from dpopt.files.strict_json import parse_json
from dpopt.files.written_files import whole_file


def canonical_json(value: object) -> bytes:
    """Return the one spelling of a JSON value: sorted keys, no blanks, ASCII only, no NaN."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    ).encode("ascii")


def sha256_of_json(value: object) -> str:
    """Return the SHA-256 digest (64 hexadecimal digits) of the canonical spelling."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def read_json_value(path: str | os.PathLike[str], place: str, error: type[DpoptError]) -> object:
    """Return the JSON value that a file holds; `place` names the file in messages.

    Raises
    ------
    error
        If the file cannot be read, or as `parse_json`.
    """
    return parse_json(read_text(path, place, error), place, error)


def read_json_object(path: str | os.PathLike[str], what: str, error: type[DpoptError]) -> dict[str, object]:
    """Read a file that must hold one JSON object.

    Raises
    ------
    error
        As `read_json_value`, or if it holds something else than an object.
    """
    place = f"{what} file {os.fspath(path)!r}"
    return json_object(read_json_value(path, place, error), place, error)


def write_json_object(
    path: str | os.PathLike[str], value: Mapping[str, object], *, private: bool = False
) -> None:
    """Write an object as indented JSON, whole or not at all, readable by its owner alone where it is private."""
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    with whole_file(path, private=private) as stream:
        stream.write(text.encode())


def json_object(value: object, place: str, error: type[DpoptError]) -> dict[str, object]:
    """Return `value` if it is a JSON object, else raise `error` naming the place."""
    if not isinstance(value, dict):
        raise error(f"{place}: expected a JSON object {{...}}, found {shown(value)}")
    return value


def json_list(value: object, place: str, error: type[DpoptError]) -> list[object]:
    """Return `value` if it is a JSON list, else raise `error` naming the place."""
    if not isinstance(value, list):
        raise error(f"{place}: expected a list [...], found {shown(value)}")
    return value


def refuse_unknown_keys(
    found: Iterable[str], known: Iterable[str], place: str, error: type[DpoptError]
) -> None:
    """Raise `error` for the first key that is not known, naming the nearest known one."""
    known = list(known)
    for key in found:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise error(f"{place}: unknown key {key!r}{hint} (known: {', '.join(known)})")


def shown(value: object, limit: int = 60, other: Callable[[object], object] = repr) -> str:
    """Return a JSON value as short text for a message; `other` stands in for what JSON has no form for."""
    text = json.dumps(value, ensure_ascii=False, default=other)
    return text if len(text) <= limit else text[: limit - 3] + "..."
