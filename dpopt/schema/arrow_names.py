"""Types of columns by Arrow's names: which an attribute can have, so that every value it can get fits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from zoneinfo import ZoneInfo

from dpopt.schema.dates import NANOSECONDS, TICKS, first_and_last

_WHOLE = re.compile(r"(u?)int(8|16|32|64)")
_FRACTIONS = re.compile(r"float|double|decimal128\(([1-9]|[12]\d|3[0-8]), (\d|[12]\d|3[0-8])\)")
_MOMENTS = re.compile(r"date(?:32\[day\]|64\[ms\])|timestamp\[(s|ms|us|ns)(?:, tz=([^\]]+))?\]")
_DURATIONS = re.compile(r"duration\[(s|ms|us|ns)\]")
_TEXTS = re.compile(r"(ordered )?category")
_LARGEST = {"float": 2.0**127, "double": 2.0**1023}


def refused_type(
    name: str,
    numbers: Sequence[str | float],
    *,
    listed: bool,
    whole: bool,
    date_format: str | None = None,
    duration: str | None = None,
) -> str | None:
    """Return the attribute that would fit a type; None if that suits its edges or its listed values."""
    if any(isinstance(value, str | bool) for value in numbers):
        truth = name == "bool" and all(isinstance(value, bool) for value in numbers)
        return None if truth or _TEXTS.fullmatch(name) else "category, ordered category or, of truth values, bool"
    least, most = min(map(float, numbers)), max(map(float, numbers))
    if date_format is not None:
        return None if first_and_last(date_format)[0] and holds_moments(name, least, most) else _SUCH_AS["date"]
    if duration is not None:
        found = _DURATIONS.fullmatch(name)
        size = max(-least, most) * NANOSECONDS[duration]
        return None if found and size < 2**63 * TICKS[found[1]] else _SUCH_AS["duration"]
    if (found := _WHOLE.fullmatch(name)) is not None and whole:
        low = 0 if found[1] else -(2 ** (int(found[2]) - 1))
        return None if low <= least and most < low + 2 ** int(found[2]) else _SUCH_AS["number"]
    if (found := _FRACTIONS.fullmatch(name)) is not None:
        largest = _LARGEST.get(name) or 10.0 ** (int(found[1]) - int(found[2]))
        return None if max(-least, most) < largest else _SUCH_AS["number"]
    return None if listed and _TEXTS.fullmatch(name) else _SUCH_AS["number"]


_SUCH_AS = {
    "date": "date32[day], date64[ms], or a timestamp that holds all bins, such as timestamp[us] or timestamp[s, tz=UTC]",
    "duration": "a duration such as duration[ms] that holds all bins",
    "number": "int8 to int64 or uint8 to uint64 (of whole numbers), float, double or one such as decimal128(10, 2) that holds "
    "all numbers; for listed ones category or ordered category too",
}


def holds_moments(name: str, least: float, most: float) -> bool:
    """Return whether a type of dates or moments has these seconds since 1970, and its time zone is known here."""
    if (found := _MOMENTS.fullmatch(name)) is None:
        return False
    try:
        _ = None if found[2] is None else ZoneInfo(found[2])
    except (OSError, ValueError):  # ZoneInfoNotFoundError is a KeyError
        return False
    except KeyError:
        return re.fullmatch(r"[+-]\d\d:\d\d", found[2]) is not None
    return max(-least, most) * TICKS["s"] < 2**63 * TICKS[found[1] or "s"]
