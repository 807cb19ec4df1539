"""Dates and times as numbers, seconds since 1970 without zones, and the texts that a form gives them."""

from __future__ import annotations

import datetime as dt
import math
import re
from contextlib import suppress
from functools import cache

import numpy as np
from numpy.typing import NDArray

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
MONTHS = {"B": tuple(month.lower() for month in _MONTHS), "b": tuple(month[:3].lower() for month in _MONTHS)}
"""Names of months in small letters, by the part of a format: %B for whole ones, %b for their first three letters."""
_PARTS = {
    **dict.fromkeys("mdHI", r"\d{1,2}"),
    **dict.fromkeys("yMS", r"\d{2}"),
    **{part: f"(?i:{'|'.join(names)})" for part, names in MONTHS.items()},
    "Y": r"\d{4}",
    "f": r"\d{1,9}",
    "p": r"(?i:[ap]\.?m\.?)",
}
_ORDER, _CLOCK, _SAME = "YmdHMSf", "HMSf", {"y": "Y", "b": "m", "B": "m", "I": "H"}
OR = "|"  # between forms of which each date has one; dates are cut off to what the first one holds, and written in it
CENTURY = 1930
"""The year that the first of the years of two digits stands for: 30 is 1930, and 29 is 2029."""
UNITS = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}
"""Units of lengths of time, in seconds."""
TICKS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
NANOSECONDS = {
    **{unit: size * 10**9 for unit, size in UNITS.items()},
    "milliseconds": 10**6, "microseconds": 10**3, "nanoseconds": 1,
}  # fmt: skip
"""Units of durations, in nanoseconds; those of dates are whole seconds."""
FIRST, LAST = -62_135_596_800.0, 253_402_300_799.0
"""The first second of year 1 and the last one of year 9999: texts of dates reach no farther."""
_FIRST_OF_CENTURY, _LAST_OF_CENTURY = -1_262_304_000.0, 1_893_455_999.0
_EXAMPLE = 1_706_659_200.0  # 2024-01-31


class Seconds(float):
    """A date as seconds since 1970-01-01 00:00: it was read in a form, while a bare number could mean anything."""

    __slots__ = ()


@cache
def date_pattern(form: str) -> str | None:
    """Return the regular expression of a format such as "%d-%m-%Y %H:%M", with groups named as its parts, or None.

    A format holds %Y, and of %m, %d, %H, %M, %S, %f as many as there are, each once and none without those before it;
    or a time of day from %H on. %y, two digits from 1930 on, can stand for %Y; %b (Jan), %B (January) for %m; %I and %p
    (PM) for %H. Other signs but | stand for themselves. Where digits follow digits with nothing between, each part has
    all of its digits.
    """
    parts = re.split(r"%(.)", form)
    named = [_SAME.get(part, part) for part in parts[1::2] if part != "p"]
    found = "".join(part for part in _ORDER if part in named)
    if (
        sorted(named) != sorted(found)
        or not found
        or not (_ORDER.startswith(found) or _CLOCK.startswith(found))
        or not form.count("%I") == form.count("%p") <= 1
        or "%" in "".join(parts[::2])
        or OR in form
    ):
        return None
    pieces = [rf"(?P<{part}>{_PARTS[part]})" if place % 2 else re.escape(part) for place, part in enumerate(parts)]
    if re.search("%[^bBp]%[^bBp]", form):  # nothing divides their digits: "1112024" may be two days
        pieces = [piece.replace("{1,2}", "{2}") for piece in pieces]
    return "^" + "".join(pieces) + "$"


def forms_of(form: str) -> tuple[str, ...]:
    """Return the forms that dates may have; the first is the one in which they are written."""
    return tuple(form.split(OR))


def first_and_last(form: str) -> tuple[float, float]:
    """Return the first and the last second that a format can write."""
    if not has_years(form):
        return 0.0, 86399.0
    return (_FIRST_OF_CENTURY, _LAST_OF_CENTURY) if "%y" in forms_of(form)[0] else (FIRST, LAST)


def has_years(form: str) -> bool:
    """Return whether a format is one of dates; else it is one of times of day."""
    return "%y" in form.lower()


def has_time(form: str) -> bool:
    """Return whether a format holds hours."""
    return re.search("%[HI]", forms_of(form)[0]) is not None


def date_number(text: object, form: str) -> Seconds:
    """Return the seconds of a text in a format, since 1970-01-01 00:00; of several in the first that it has.

    Raises ValueError if it is no text, has another form, or there is no such day or time; the message shows the form.

    Examples
    --------
    >>> date_number("02-01-1970", "%d-%m-%Y"), date_number("1970-01-02 03:00 PM", "%Y|%Y-%m-%d %I:%M %p")
    (86400.0, 0.0)
    """
    forms, found = forms_of(form), {}
    patterns = (date_pattern(one) or "$^" for one in forms) if isinstance(text, str) else ()
    match = next(filter(None, (re.fullmatch(pattern, str(text), re.ASCII) for pattern in patterns)), None)
    parts = {} if match is None else match.groupdict()
    half = parts.pop("p", None)
    for part, text_of in parts.items():
        number = MONTHS[part].index(text_of.lower()) + 1 if part in MONTHS else int(text_of)
        found[_SAME.get(part, part)] = CENTURY + (number - CENTURY) % 100 if part == "y" else number
    if match is not None and (half is None or 1 <= found["H"] <= 12):
        if half is not None:
            found["H"] = found["H"] % 12 + 12 * (half[0] in "pP")
        given = [found.get(part, {"Y": 1970, "m": 1, "d": 1}.get(part, 0)) for part in _ORDER.removesuffix("f")]
        with suppress(ValueError):  # no such day, or time
            seconds = (dt.datetime(*given, tzinfo=dt.UTC) - _EPOCH).total_seconds()  # type: ignore[misc,arg-type]
            return Seconds(seconds if len(forms) == 1 else cut_off(np.array([seconds]), form)[0])
    raise ValueError(f"{text!r} is not a date in the form {form!r}, such as {date_text(_EXAMPLE, form)!r}")


def cut_off(numbers: NDArray[np.float64], form: str) -> NDArray[np.float64]:
    """Return seconds without the parts that a format drops, NaN as it is: those of their texts (`date_text`).

    Examples
    --------
    >>> cut_off(np.array([86400.0 + 3600, np.nan]), "%d-%m-%Y")
    array([86400.,    nan])
    """
    parts = [_SAME.get(part, part) for part in re.findall("%([^p])", forms_of(form)[0])]
    unit = dict(zip(_ORDER, "YMDhmss", strict=True))[max(parts, key=_ORDER.index)]
    given, found = ~np.isnan(numbers), numbers.copy()
    moments = np.floor(numbers[given]).astype(np.int64).astype("datetime64[s]").astype(f"datetime64[{unit}]")
    found[given] = moments.astype("datetime64[s]").astype(np.int64)
    return found


def date_text(number: float, form: str) -> str:
    """Return the text of some seconds since 1970-01-01 00:00 in a format; fractions and missing parts are cut off.

    Examples
    --------
    >>> date_text(86400.0 + 3600, "%d-%m-%Y"), date_text(0, "%B %d, %Y")
    ('02-01-1970', 'January 01, 1970')
    """
    moment = _EPOCH + dt.timedelta(seconds=math.floor(number))
    values = {"Y": f"{moment.year:04d}", "m": f"{moment.month:02d}", "d": f"{moment.day:02d}"}
    values |= {"H": f"{moment.hour:02d}", "M": f"{moment.minute:02d}", "S": f"{moment.second:02d}"}
    values |= {"y": values["Y"][-2:], "f": "000", "B": (month := _MONTHS[moment.month - 1]), "b": month[:3]}
    values |= {"I": f"{(moment.hour - 1) % 12 + 1:02d}", "p": "PM" if moment.hour >= 12 else "AM"}
    return re.sub(r"%(.)", lambda found: values[found[1]], forms_of(form)[0])
