"""JSON objects: canonical bytes, strict reading, writing that never leaves half a file."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import NoReturn

from dpopt.errors import DpoptError, meant
from dpopt.files.reading import read_text
from dpopt.files.written_files import whole_file

MOST_VALUES, MOST_LISTS = 2**27, 2**24
"""Values, and lists and objects, of one text."""
MOST_KEYS, MOST_LEVELS, MOST_DIGITS = 2**17, 250, 300
"""Keys of one object; levels of lists and objects in each other; digits of a whole number."""
_HALF_A_PAIR = re.compile(r"\\u[dD][89a-fA-F]")


def parse_json(text: str, place: str, error: type[DpoptError]) -> object:
    """Return the JSON value that a text holds; every number in it fits a finite float, and every text is Unicode."""
    strict = _Strict(place, error)
    strict.check_size(text)
    try:
        value: object = json.loads(
            text,
            object_pairs_hook=strict.object_of,
            parse_int=strict.whole,
            parse_float=strict.real,
            parse_constant=strict.no_number,
        )
    except json.JSONDecodeError as problem:
        raise error(f"{place} is not JSON: line {problem.lineno}, column {problem.colno}: {problem.msg}") from problem
    except RecursionError:
        strict.refuse_depth()
    strict.check_levels(value)
    if _HALF_A_PAIR.search(text):
        strict.check_texts(value)
    return value


class _Strict:
    """The parts of one text that its reader refuses."""

    def __init__(self, place: str, error: type[DpoptError]) -> None:
        self._place, self._error = place, error

    def refuse(self, reason: str) -> NoReturn:
        raise self._error(f"{self._place} {reason}")

    def refuse_depth(self) -> NoReturn:
        self.refuse(f"is nested too deeply: more than {MOST_LEVELS} lists and objects in each other")

    def check_size(self, text: str) -> None:
        # Each value but the first of a list stands behind a comma; signs inside of texts make the check stricter only.
        if text.count(",") > MOST_VALUES or text.count("[") + text.count("{") > MOST_LISTS:
            self.refuse(f"holds more than {MOST_VALUES:,} values, or {MOST_LISTS:,} lists and objects")

    def object_of(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            key, times = Counter(key for key, _ in pairs).most_common(1)[0]
            self.refuse(f"is ambiguous: the key {key[:60]!r} occurs {times} times in one object; keep one of them")
        if len(found) > MOST_KEYS:
            self.refuse(f"holds an object of {len(found):,} keys; at most {MOST_KEYS:,} are read")
        return found

    def whole(self, digits: str) -> int:
        if len(digits) > MOST_DIGITS:
            self.refuse(f"holds a whole number of {len(digits):,} digits; at most {MOST_DIGITS} are read")
        return int(digits)

    def real(self, digits: str) -> float:
        number = float(digits)
        if not isfinite(number):
            self.refuse(f"holds the number {digits[:60]}, which is beyond all that can be computed with")
        return number

    def no_number(self, name: str) -> NoReturn:
        self.refuse(f"holds {name}, which is not a number in JSON; give a finite one")

    def check_levels(self, value: object) -> None:
        """Refuse lists and objects that stand in each other too deeply; level by level, without recursion."""
        level: list[object] = [value]
        for _ in range(MOST_LEVELS):
            level = [
                inner
                for part in level
                if isinstance(part, dict | list)
                for inner in (part.values() if isinstance(part, dict) else part)
                if isinstance(inner, dict | list)
            ]
            if not level:
                return
        self.refuse_depth()

    def check_texts(self, value: object) -> None:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            self.refuse("holds half a surrogate pair, such as \\ud800, which is not text; write the whole character")


def canonical_json(value: object) -> bytes:
    """Return the one spelling of a JSON value: sorted keys, no blanks, ASCII only, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode("ascii")


def sha256_of_json(value: object) -> str:
    """Return the SHA-256 digest (64 hexadecimal digits) of the canonical spelling."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def read_json_value(path: str | os.PathLike[str], place: str, error: type[DpoptError]) -> object:
    """Return the JSON value that a file holds; `place` names the file in messages."""
    return parse_json(read_text(path, place, error), place, error)


def read_json_object(path: str | os.PathLike[str], what: str, error: type[DpoptError]) -> dict[str, object]:
    """Read a file that must hold one JSON object."""
    place = f"{what} file {os.fspath(path)!r}"
    return json_object(read_json_value(path, place, error), place, error)


def write_json_object(path: str | os.PathLike[str], value: Mapping[str, object], *, private: bool = False) -> None:
    """Write an object as JSON with a line for each key, and for each object of a list, whole or not at all.

    Only its owner may read the file where it is private.
    """

    def line(inner: object) -> str:
        return json.dumps(inner, ensure_ascii=False, allow_nan=False)

    parts = []
    for key, inner in value.items():
        if isinstance(inner, list) and inner and isinstance(inner[0], dict):
            parts.append(f"{line(key)}: [\n  " + ",\n  ".join(map(line, inner)) + "\n ]")
        else:
            parts.append(f"{line(key)}: {line(inner)}")
    text = "{\n " + ",\n ".join(parts) + "\n}\n"
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


def refuse_unknown_keys(found: Iterable[str], known: Iterable[str], place: str, error: type[DpoptError]) -> None:
    """Raise `error` for the first key that is not known, naming the nearest known one."""
    known = list(known)
    for key in found:
        if key not in known:
            raise error(f"{place}: unknown key {key!r}{meant(key, known)} (known: {', '.join(known)})")


def shown(value: object, limit: int = 60, other: Callable[[object], object] = repr) -> str:
    """Return a JSON value as short text for a message; `other` replaces values that JSON cannot hold."""
    text = json.dumps(value, ensure_ascii=False, default=other)
    return text if len(text) <= limit else text[: limit - 3] + "..."
