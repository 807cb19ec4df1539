"""JSON read strictly: each key once, finite numbers, whole signs, and limits on how much and how deep."""

from __future__ import annotations

import json
import re
from collections import Counter
from math import isfinite
from typing import NoReturn

from dpopt.errors import DpoptError

MOST_VALUES, MOST_LISTS = 2**27, 2**24
"""Values, and lists and objects, of one text."""
MOST_KEYS, MOST_LEVELS, MOST_DIGITS = 2**17, 250, 300
"""Keys of one object; levels of lists and objects in each other; digits of a whole number."""
_HALF_A_PAIR = re.compile(r"\\u[dD][89a-fA-F]")


def parse_json(text: str, place: str, error: type[DpoptError]) -> object:
    """Return the JSON value that a text holds; every number in it fits a finite float, and every text is Unicode.

    Parameters
    ----------
    text : str
    place : str
        Names the text in messages.
    error : type
        What is raised.

    Raises
    ------
    error
        If it is no JSON, repeats a key in one object, holds NaN, an infinite number, one of more than `MOST_DIGITS` digits or
        half a surrogate pair, or is larger or deeper than the limits above.
    """
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
        raise error(
            f"{place} is no JSON: line {problem.lineno}, column {problem.colno}: {problem.msg}"
        ) from problem
    except RecursionError:
        strict.refuse_depth()
    strict.check_levels(value)
    if _HALF_A_PAIR.search(text):
        strict.check_texts(value)
    return value


class _Strict:
    """What is refused of one text, in the words of its reader."""

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
            self.refuse(
                f"is ambiguous: the key {key[:60]!r} occurs {times} times in one object; keep one of them"
            )
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
        self.refuse(f"holds {name}, which is no number in JSON; give a finite one")

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
            self.refuse(
                "holds half a surrogate pair, such as \\ud800, which is no text; write the whole character"
            )
