"""Dates and times as numbers: seconds since the beginning of 1970, without zones; and the texts that a form gives them."""

from __future__ import annotations

import datetime as dt
import math
import re
from functools import cache

import numpy as np
from numpy.typing import NDArray

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_PARTS = {"Y": r"\d{4}", "m": r"\d{1,2}", "d": r"\d{1,2}", "H": r"\d{1,2}", "M": r"\d{2}", "S": r"\d{2}"}
_ORDER = "YmdHMS"
FIRST, LAST = -62_135_596_800.0, 253_402_300_799.0
"""The first second of year 1 and the last one of year 9999: texts of dates reach no farther."""


@cache
def date_pattern(form: str) -> str | None:
    """Return the regular expression of a format such as "%d-%m-%Y %H:%M", with the groups Y, m, d, H, M, S; None if it is none.

    A format holds %Y, and of %m, %d, %H, %M, %S as many as there are, each once and none without those before it. Every other
    sign stands for itself.
    """
    parts = re.split(r"%(.)", form)
    named = parts[1::2]
    found = "".join(part for part in _ORDER if part in named)
    if (
        sorted(named) != sorted(found)
        or not found
        or not _ORDER.startswith(found)
        or "%" in "".join(parts[::2])
    ):
        return None
    pieces = [
        rf"(?P<{part}>{_PARTS[part]})" if place % 2 else re.escape(part) for place, part in enumerate(parts)
    ]
    return "^" + "".join(pieces) + "$"


def has_time(form: str) -> bool:
    """Return whether a format holds hours."""
    return "%H" in form


def date_number(text: str, form: str) -> float:
    """Return the seconds of a text in a format, since 1970-01-01 00:00.

    Raises
    ------
    ValueError
        If the text has another form, or there is no such day or time.

    Examples
    --------
    >>> date_number("02-01-1970", "%d-%m-%Y")
    86400.0
    """
    match = re.match(date_pattern(form) or "$^", text, re.ASCII)
    if match is None:
        raise ValueError(text)
    found = {name: int(number) for name, number in match.groupdict().items()}
    given = [found.get(part, 1 if part in "md" else 0) for part in _ORDER]
    return (dt.datetime(*given, tzinfo=dt.UTC) - _EPOCH).total_seconds()  # type: ignore[misc,arg-type]  # six numbers


def cut_off(numbers: NDArray[np.float64], form: str) -> NDArray[np.float64]:
    """Return seconds without what a format does not hold, NaN as it is: those of their texts (`date_text`).

    Examples
    --------
    >>> cut_off(np.array([86400.0 + 3600, np.nan]), "%d-%m-%Y")
    array([86400.,    nan])
    """
    unit = dict(zip(_ORDER, "YMDhms", strict=True))[max(re.findall("%(.)", form), key=_ORDER.index)]
    given, found = ~np.isnan(numbers), numbers.copy()
    moments = np.floor(numbers[given]).astype(np.int64).astype("datetime64[s]").astype(f"datetime64[{unit}]")
    found[given] = moments.astype("datetime64[s]").astype(np.int64)
    return found


def date_text(number: float, form: str) -> str:
    """Return the text of some seconds since 1970-01-01 00:00 in a format; what the format does not hold is cut off.

    Examples
    --------
    >>> date_text(86400.0 + 3600, "%d-%m-%Y")
    '02-01-1970'
    """
    moment = _EPOCH + dt.timedelta(seconds=math.floor(number))
    values = {"Y": f"{moment.year:04d}", "m": f"{moment.month:02d}", "d": f"{moment.day:02d}"}
    values |= {"H": f"{moment.hour:02d}", "M": f"{moment.minute:02d}", "S": f"{moment.second:02d}"}
    return re.sub(r"%(.)", lambda found: values[found[1]], form)
