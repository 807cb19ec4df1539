"""The form in which a column writes dates, and bins whose width follows their span."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpopt.private.readers.domain_codes import parse_dates
from dpopt.schema.dates import OR, Seconds, cut_off, date_pattern, first_and_last, forms_of, has_time

if TYPE_CHECKING:
    import pyarrow as pa

_DAYS = (
    *(f"%Y{sign}%m{sign}%d" for sign in "-/."),
    "%m/%d/%Y",  # with slashes the month usually comes first, with other signs the day
    *(f"%d{sign}%m{sign}%Y" for sign in "-./"),
    *(f"%m{sign}%d{sign}%Y" for sign in "-."),
    "%Y%m%d",
    "%Y-%m",
    "%m/%Y",
    *(f"%d{sign}%b{sign}%{year}" for sign in ("-", " ", "") for year in "Yy"),
    *(f"%{month}{sign}%d{comma}{sign}%Y" for month in "bB" for sign in " -" for comma in ("", ",")),
    "%d %B %Y",
    *(f"%{month}{sign}%Y" for month in "bB" for sign in " -"),
    *(f"%Y{sign}%b" for sign in " -"),
    "%m/%d/%y",
    "%d/%m/%y",
    "%d.%m.%y",
)
_HALVES = tuple(f"{clock}{sign}%p" for clock in ("%I:%M", "%I:%M:%S", "%I") for sign in (" ", ""))
_CLOCK = ("%H:%M", "%H:%M:%S", "%H:%M:%S.%f", *_HALVES)
_TIMES = ("", *(f"{sign}{clock}" for sign in " T" for clock in (*_CLOCK, "%H")), *(f", {clock}" for clock in _CLOCK))
_ZONE = re.compile(r":\d{2}(?:\.\d+)?( ?(?:Z|UTC|GMT|[+-]\d{2}(?::?\d{2})?))$")
_FORMS = [day + time for day in _DAYS for time in _TIMES if not time or "%d" in day] + [*_CLOCK]
_MOST_FORMS = 4
_YEARS = (1850, 2150)  # numbers of eight digits are dates only between them

_HOUR, _DAY = 3600, 86400
_STEPS = (("hour", _HOUR), ("6 hours", 6 * _HOUR), ("day", _DAY), ("week", 7 * _DAY))
_YEAR = (("year", 12), ("5 years", 60), ("10 years", 120), ("100 years", 1200))
_MONTHS = (("month", 1), ("quarter", 3), *_YEAR)
_MONDAY = 4 * _DAY  # 1970-01-05


@dataclass(frozen=True, slots=True)
class Dated:
    """The form of dates, another one that fits as well, and the seconds since 1970 of each text."""

    form: str
    other: str | None
    seconds: NDArray[np.float64]


def date_form(texts: pa.Array) -> Dated | None:
    """Return the first known form that all texts have, with the zone that all name, else several; None without any."""
    first = texts[0].as_py()
    if max(len(first), len(texts[len(texts) - 1].as_py())) < len("9 am"):  # most columns of a wide table are done
        return None
    found = _fitting(texts)
    whole = [(form, seconds) for form, seconds, readable in found if readable.all() and form != "%Y"]
    if not whole:
        return _of_several_forms(texts, found)
    other = next((form for form, _ in whole[1:] if sorted(form) == sorted(whole[0][0])), None)
    return Dated(whole[0][0], other, whole[0][1]) if _plausible(*whole[0]) else None


def _fitting(texts: pa.Array) -> list[tuple[str, NDArray[np.float64], NDArray[np.bool_]]]:
    """Return the forms that the first text has, with the seconds of all, and which of them have the form."""
    first = texts[0].as_py()
    zone = _ZONE.search(first)  # of all texts, or they have no form
    days = tuple(form for form in (*_DAYS, *_CLOCK) if re.match(_pattern(form).removesuffix("$"), first))
    forms = [
        form + ("" if zone is None else zone[1]) for form in (*_FORMS, "%Y") if form.startswith(days) or form == "%Y"
    ]
    return [(form, *parse_dates(texts, form)) for form in forms if re.match(_pattern(form), first)]


def _pattern(form: str) -> str:
    return date_pattern(form) or "$^"


def _of_several_forms(texts: pa.Array, found: list[tuple[str, Any, Any]]) -> Dated | None:
    """Return the formats that fit all texts, the coarsest first; None if days and months could be confused."""
    import pyarrow as pa

    chosen: list[str] = []
    rest = texts
    while found and len(chosen) < _MOST_FORMS:
        form, _, readable = max(found, key=lambda one: np.count_nonzero(one[2]))
        if any(one[0] != form and sorted(one[0]) == sorted(form) and (one[2] == readable).all() for one in found):
            return None
        chosen.append(form)
        rest = rest.filter(pa.array(~readable))
        found = _fitting(rest) if len(rest) else []
    parts = {form: "".join(part for part in re.findall("%([^p])", form) if part not in "yY") for form in chosen}
    days_first = {
        order.index("d") < order.index("m")
        for form, order in parts.items()
        if {"d", "m"} <= {*order} and not form.startswith("%Y")
    }
    dated = {"%y" in form.lower() for form in chosen}
    if len(rest) or {*chosen} <= {"%Y", "%Y%m%d"} or len(days_first) > 1 or len(dated) > 1:
        return None
    form = OR.join(sorted(chosen, key=lambda one: (len(parts[one]), "%y" in one)))
    return Dated(form, None, parse_dates(texts, form)[0])


def _plausible(form: str, seconds: NDArray[np.float64]) -> bool:
    if not form.startswith("%Y%m%d"):
        return True
    years = seconds.astype("datetime64[s]").astype("datetime64[Y]").astype(np.int64) + 1970
    return bool(years.min() >= _YEARS[0] and years.max() <= _YEARS[1])


def date_edges(seconds: NDArray[np.float64], form: str, bins: int) -> tuple[tuple[float, ...], str]:
    """Return edges at whole hours, days, months, years and so on, and which of them: the finest with 2 * bins bins or fewer."""
    form = forms_of(form)[0]
    low, high = float(seconds.min()), float(seconds.max())
    for name, step in _STEPS:
        if (step < _DAY and not has_time(form)) or (step < 28 * _DAY and not has_time(form) and "%d" not in form):
            continue
        start = _MONDAY if name == "week" else 0
        first, last = (low - start) // step, (high - start) // step + 1
        if last - first <= 2 * bins:
            edges = [start + step * (first + place) for place in range(int(last - first) + 1)]
            return _within(edges, form), name
    months = np.array([low, high]).astype("datetime64[s]").astype("datetime64[M]").astype(np.int64)
    for name, step in _MONTHS if re.search("%[mbB]", form) else _YEAR:
        first_month, last_month = int(months[0]) // step, int(months[1]) // step + 1
        if last_month - first_month <= 2 * bins or step == _MONTHS[-1][1]:
            numbers = np.arange(first_month, last_month + 1) * step
            starts = numbers.astype("datetime64[M]").astype("datetime64[s]").astype(np.float64)
            return _within(starts.tolist(), form), name
    raise AssertionError


def _within(edges: list[float], form: str) -> tuple[float, ...]:
    """Return edges that a form can write: the last one is at most its last date, a last bin holds its end."""
    first, last = first_and_last(form)
    edges = [max(edges[0], first), *edges[1:]]
    if edges[-1] <= last:
        return tuple(map(Seconds, edges))
    end = float(cut_off(np.array([last]), form)[0])
    inside = [edge for edge in edges if edge < end] or [end - 366 * _DAY]
    return tuple(map(Seconds, (*inside, end)))
