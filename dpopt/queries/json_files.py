"""JSON objects: canonical bytes, strict reading, writing that never leaves half a file."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from dpopt.errors import DpoptError


def canonical_json(value: object) -> bytes:
    """Return the one spelling of a JSON value: sorted keys, no blanks, ASCII only, no NaN."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    ).encode("ascii")


def sha256_of_json(value: object) -> str:
    """Return the SHA-256 digest (64 hexadecimal digits) of the canonical spelling."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def read_json_object(path: str | os.PathLike[str], what: str, error: type[DpoptError]) -> dict[str, object]:
    """Read a file that must hold one JSON object; a key that occurs twice in one object is refused.

    Raises
    ------
    error
        If the file cannot be read, is no JSON in UTF-8, repeats a key, or holds something else than an object.
    """
    place = f"{what} file {os.fspath(path)!r}"

    def without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found: dict[str, object] = {}
        for key, value in pairs:
            if key in found:
                raise error(f"{place}: the key {key!r} occurs twice in one object; keep one of the two")
            found[key] = value
        return found

    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not UTF-8 text"
        raise error(f"{place} cannot be read: {reason}") from problem
    try:
        value = json.loads(text, object_pairs_hook=without_repeats)
    except json.JSONDecodeError as problem:
        raise error(
            f"{place} is no JSON: line {problem.lineno}, column {problem.colno}: {problem.msg}"
        ) from problem
    except ValueError as problem:  # a number of thousands of digits
        raise error(f"{place} holds a number that cannot be read: {problem}") from problem
    except RecursionError as problem:
        raise error(f"{place} is nested too deeply") from problem
    return json_object(value, place, error)


def write_json_object(path: str | os.PathLike[str], value: Mapping[str, object]) -> None:
    """Write an object as indented JSON: to a temporary file beside `path`, flushed to disk, then renamed."""
    target = Path(path)
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(0o644)  # mkstemp allows the owner only
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


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
