"""Columns declared as lengths after other columns: their form in files, and conversions both ways.

The codes of such an attribute are bins of what its column says less what the other column says. What is written is the
sum. So both are in order by construction, and their difference is measured as any other number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import SchemaError
from dpopt.schema.arrow_names import holds_moments
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.binary_attributes import BinaryAttributes
from dpopt.schema.dates import UNITS, Seconds, cut_off, date_number, first_and_last, forms_of

_Numbers = NDArray[np.float64]
_FINEST = {"%S": "seconds", "%M": "minutes", "%H": "hours", "%d": "days"}
_OUT_OF_THE_WAY = (1e300, 2e300)  # where no missing text is
# Digits after the first one of the larger number: so 0.3 - 0.1 is 0.2, however small the numbers are.
_DIGITS, _MOST_DIGITS = 14, 300


def lengths(attributes: Sequence[Attribute]) -> list[tuple[int, int]]:
    """Return the positions of each length and of the column that it counts from, in the order of addition."""
    if isinstance(attributes, BinaryAttributes):
        return []
    waiting = {place: one.after for place, one in enumerate(attributes) if one.after is not None}
    if not waiting:
        return []
    places, found = {one.name: place for place, one in enumerate(attributes)}, []
    while waiting:
        ready = [place for place, base in waiting.items() if places.get(base, -1) not in waiting]
        if not ready:
            named = ", ".join(repr(attributes[place].name) for place in waiting)
            raise SchemaError(f"{named}: lengths count from each other; one of them must count from none")
        for place in ready:
            if (base := waiting.pop(place)) not in places:
                name = attributes[place].name
                raise SchemaError(f"attribute {name!r}: 'after' names {base!r}, which is not an attribute")
            found.append((place, places[base]))
    return found


def check_lengths(attributes: Sequence[Attribute]) -> None:
    """Refuse, by SchemaError, lengths that cannot be written as their columns are."""
    for place, base in lengths(attributes):
        one, first = attributes[place], attributes[base]
        form = as_in_files(attributes, base).date_format
        problem = None
        if first.kind is not AttributeKind.NUMERIC or first.duration is not None:
            what = "duration" if first.duration else first.kind.value
            problem = f"it is a length after {first.name!r}, which is {what}; only numbers and dates have lengths"
        elif form is None and one.unit is not None:
            problem = f"it has the unit {one.unit!r}, but {first.name!r} is not a date; leave the unit out"
        elif form is not None and one.unit is None:
            problem = f"it is a length after the date {first.name!r}, and needs its 'unit' out of {', '.join(UNITS)}"
        elif form is not None and finest_unit(form) is None:
            problem = f"dates of {first.name!r} in the form {form!r} name no days, and have no lengths"
        elif form is not None and one.unit == finest_unit(form) and not one.integer:
            problem = f"lengths between dates in the form {form!r} are whole {one.unit}: declare 'integer'"
        elif first.missing is not None and one.missing is None:
            problem = f"{first.name!r} may be missing, and then this length is: declare 'missing' here too"
        if problem is None:
            low, high = ends_in_files(attributes, place)
            if form is None and not math.isfinite(high - low):
                problem = f"sums with {first.name!r} would reach from {low:g} to {high:g}; declare smaller edges"
            elif sums := [text for text in one.missing_texts if low <= _number(text, form) <= high]:
                problem = f"the missing text {sums[0]!r} is also a sum with {first.name!r}; use another text"
        if problem is not None:
            raise SchemaError(f"attribute {one.name!r}: {problem}")


def as_in_files(attributes: Sequence[Attribute], place: int) -> Attribute:
    """Return an attribute as files hold it: of a length the sum, whose edges say nothing; all others as they are."""
    one = attributes[place]
    if one.after is None:
        return one
    first = as_in_files(attributes, [other.name for other in attributes].index(one.after))
    whole, form = one.integer and first.integer, first.date_format
    last = None if form is None else first_and_last(form)[1]
    ends = _OUT_OF_THE_WAY if last is None else (Seconds(last - 1), Seconds(last))
    return Attribute(
        one.name, one.kind, edges=ends, integer=whole, missing=one.missing, also_missing=one.also_missing, date_format=form
    )  # fmt: skip


def arrow_of(attributes: Sequence[Attribute], place: int) -> str | None:
    """Return the Arrow type that a column declares; of a length that of the date before it, if it holds all sums."""
    one = attributes[place]
    if one.after is None:
        return one.arrow
    name = arrow_of(attributes, [other.name for other in attributes].index(one.after))
    return name if name is not None and holds_moments(name, *ends_in_files(attributes, place)) else None


def ends_in_files(attributes: Sequence[Attribute], place: int) -> tuple[float, float]:
    """Return the least and the largest number, or seconds, that files may hold of an attribute."""
    one = attributes[place]
    if one.after is None:
        return one.edges[0], one.edges[-1]
    low, high = ends_in_files(attributes, [other.name for other in attributes].index(one.after))
    unit = 1 if one.unit is None else UNITS[one.unit]
    return low + unit * one.edges[0], high + unit * one.edges[-1]


def _number(text: str, form: str | None) -> float:
    try:
        return float(text) if form is None else date_number(text, form)
    except ValueError:
        return math.nan


def finest_unit(form: str) -> str | None:
    """Return the unit that dates of a form tell apart; None if they name no days."""
    return next((unit for part, unit in _FINEST.items() if part in forms_of(form)[0]), None)


def length(since: _Numbers, until: _Numbers, form: str | None, unit: str | None) -> _Numbers:
    """Return the lengths between numbers, or in a unit between seconds of dates in a form; NaN where one is missing.

    Examples
    --------
    >>> length(np.array([0.0, 90000]), np.array([86400.0, 172800]), "%Y-%m-%d", "days")
    array([1., 1.])
    """
    if form is None or unit is None:
        with np.errstate(all="ignore"):
            apart = until - since
        return np.where(np.isfinite(apart), _rounded(apart, np.maximum(np.abs(since), np.abs(until))), apart)
    return (cut_off(until, form) - cut_off(since, form)) / UNITS[unit]


def _rounded(numbers: _Numbers, largest: _Numbers) -> _Numbers:
    with np.errstate(all="ignore"):
        up = 10.0 ** np.clip(_DIGITS - np.floor(np.log10(largest)), 0, _MOST_DIGITS)
        return np.asarray(np.round(numbers * up) / up)


def add_lengths(
    attributes: Sequence[Attribute], records: NDArray[np.int32], numbers: Mapping[int, _Numbers]
) -> dict[int, _Numbers]:
    """Return numbers by the positions of columns, as files hold them: each length becomes a sum.

    `numbers` (r,) stand in place of those of the codes' bins (r, d), NaN where missing; lengths as lengths.
    """
    found = dict(numbers)

    def of(place: int) -> _Numbers:
        stated = np.append(attributes[place].representatives, np.nan)
        return found[place] if place in found else np.asarray(stated[records[:, place]])

    for place, base in lengths(attributes):
        form, unit = as_in_files(attributes, base).date_format, attributes[place].unit
        if form is None or unit is None:
            since, apart = of(base), of(place)
            total = since + apart
            shown = [_rounded(one, np.maximum(np.abs(since), np.abs(total))) for one in (since, apart, total)]
            # Only where both have so few digits: else a sum could come to lie before its start.
            found[place] = np.where((shown[0] == since) & (shown[1] == apart), shown[2], total)
        else:
            later = cut_off(of(base), form) + UNITS[unit] * of(place)
            found[place] = cut_off(np.clip(later, *first_and_last(form)), form)
    return found
