"""From different values to the codes of one attribute: texts, numbers and truth values, each a whole array at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.private.readers.arrow_types import parse_durations
from dpopt.private.readers.table_problems import Problem
from dpopt.private.readers.table_reading import OnInvalid
from dpopt.schema.dates import CENTURY, MONTHS, cut_off, date_pattern, forms_of
from dpopt.schema.schema import Attribute, AttributeKind, value_text

if TYPE_CHECKING:
    import pyarrow as pa

Coded = NDArray[np.int32]  # codes, and members of Problem for what has none

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_NO_FINITE_NUMBER = r"^(?i:[+-]?(inf|infinity)|nan)$"
_LEADING_ZERO = r"^[+-]?0[0-9]"
_FEW_EDGES = 16  # as many comparisons are made faster than a search
_EXACT = 2**53  # whole numbers up to here are exact in float64


class NumericCodes:
    """Codes of a numeric attribute: bin i holds [edges[i], edges[i+1]), the last bin is closed."""

    def __init__(self, attribute: Attribute, policy: OnInvalid, decimal: str = ".") -> None:
        self._decimal = decimal
        self._low, self._high = attribute.edges[0], attribute.edges[-1]
        self._inner_edges = np.array(attribute.edges[1:-1], dtype=np.float64)
        self._integer = attribute.integer
        self.date_format, self._unit = attribute.date_format, attribute.duration
        self._clip = OnInvalid.CLIP in policy
        # What is missing in a file is an empty length: the declared text is one of the file, no length.
        self._missing = attribute.missing_texts if attribute.after is None else ()
        numbers = map(_finite_number, () if attribute.date_format else self._missing)
        self._missing_numbers = [number for number in numbers if number is not None]
        self.null_code = _null_code(attribute)

    def numbers(self, numbers: NDArray[np.float64]) -> Coded:
        """Return the code of each number; NaN is a missing value."""
        if self._inner_edges.size < _FEW_EDGES:
            reached = np.zeros(numbers.size, dtype=np.int8)
            for edge in self._inner_edges:
                reached += (numbers >= edge).view(np.int8)
            codes = reached.astype(np.int32)
        else:
            codes = np.searchsorted(self._inner_edges, numbers, side="right").astype(np.int32)
        if not self._clip:
            codes[(numbers < self._low) | (numbers > self._high)] = Problem.OUTSIDE
        if self._integer:
            codes[(numbers != np.floor(numbers)) & np.isfinite(numbers)] = Problem.FRACTION
        codes[np.isnan(numbers)] = self.null_code
        for number in self._missing_numbers:
            codes[numbers == number] = self.null_code
        return codes

    def texts(self, texts: pa.Array) -> Coded:
        """Return the code of each text of a string array without nulls."""
        if self.date_format is None:
            numbers, readable = parse_numbers(texts, self._decimal)
        else:
            numbers, readable = parse_dates(texts, self.date_format)
        if self._unit is not None and not readable.all():
            durations, clocks = parse_durations(texts, self._unit)
            numbers, readable = np.where(clocks, durations, numbers), readable | clocks
        codes = self.numbers(numbers)
        codes[~readable] = Problem.NO_NUMBER
        codes[_among(texts, ("", *self._missing))] = self.null_code
        return codes

    def truth_values(self) -> Coded:
        """Return the codes of false and true."""
        return self.numbers(np.array([0.0, 1.0]))


class CategoryCodes:
    """Codes of a categorical or boolean attribute, found by the text of a value, else by its number.

    By text first: "1" is the whole number 1, "true" the value true (also "True", "TRUE"). Then by number, so that "1.0"
    finds 1 and "0.50" finds 0.5; texts with leading zeros are codes rather than numbers and are not converted. A
    boolean attribute without tokens of its own also takes 1 and 0. Where no text is declared, "NaN" is missing.
    """

    def __init__(self, attribute: Attribute, decimal: str = ".") -> None:
        import pyarrow as pa

        self._decimal, self._prefix, self._missing = decimal, attribute.prefix, attribute.missing_texts
        self._digits = attribute.digits
        self._boolean = attribute.kind is AttributeKind.BOOLEAN
        self.null_code = _null_code(attribute)
        spellings = _spellings(attribute)
        self._texts = pa.array(list(spellings), pa.string())
        self._text_codes = np.array(list(spellings.values()), dtype=np.int32)
        self._all_numbers = not any(isinstance(value, str) for value in attribute.values)
        by_number = _by_number(attribute)
        self._numbers = np.array(sorted(by_number), dtype=np.float64)
        self._number_codes = np.array([by_number[number] for number in sorted(by_number)], dtype=np.int32)

    def truth_values(self) -> Coded:
        """Return the codes of false and true: the values with these texts, else the tokens of a boolean attribute."""
        import pyarrow as pa

        codes = self.texts(pa.array(["false", "true"]))
        if self._boolean and (codes < 0).any():
            return np.array([0, 1], dtype=np.int32)
        if (codes < 0).all():
            codes = self.texts(pa.array(["0", "1"]))
        return codes

    def texts(self, texts: pa.Array) -> Coded:
        """Return the code of each text of a string array without nulls."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self._prefix is not None:
            given, whole = texts, pa.array(_among(texts, self._missing or ("",)))
            if self._digits is not None:
                texts = pc.replace_substring_regex(
                    texts, r"^([0-9]+)\.0$", r"\1"
                )  # as pandas writes them beside missing ones
                short = pc.match_substring_regex(texts, "^[0-9]+$")
                texts = pc.if_else(short, pc.utf8_lpad(texts, self._digits, "0"), texts)
            texts = pc.if_else(whole, given, pc.utf8_slice_codeunits(texts, 0, self._prefix))
        positions = pc.fill_null(pc.index_in(texts, value_set=self._texts), -1).to_numpy(zero_copy_only=False)
        # The code after the last text is that of texts that are not among them.
        codes: Coded = np.append(self._text_codes, np.int32(Problem.UNKNOWN))[positions]
        strange = np.flatnonzero(positions < 0)
        if strange.size:
            rest = texts.take(strange)
            codes[strange] = self._by_number(rest)
            codes[strange[_among(rest, ("",))]] = self.null_code
        return codes

    def _by_number(self, texts: pa.Array) -> Coded:
        codes = np.full(len(texts), Problem.UNKNOWN, dtype=np.int32)
        if self._numbers.size:
            numbers, readable = parse_numbers(texts, self._decimal)
            readable &= ~has_leading_zero(texts)
            positions = np.minimum(np.searchsorted(self._numbers, numbers), self._numbers.size - 1)
            same = readable & (self._numbers[positions] == numbers)
            codes[same] = self._number_codes[positions[same]]
            if self._all_numbers and self.null_code >= 0:
                codes[readable & np.isnan(numbers)] = self.null_code
        return codes


def parse_numbers(texts: pa.Array, decimal: str = ".") -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Read texts as decimal numbers, correctly rounded, also "inf" and "NaN"; and which are such; others give NaN.

    `decimal` is as in `TextForm`.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = with_points(texts, decimal)
    readable = pc.match_substring_regex(texts, _NUMBER)
    if not pc.all(readable).as_py():
        readable = pc.or_(readable, pc.match_substring_regex(texts, _NO_FINITE_NUMBER))
        texts = pc.utf8_lower(pc.if_else(readable, texts, pa.scalar("nan", texts.type)))
    numbers = pc.cast(texts, pa.float64())
    return np.array(numbers.to_numpy(zero_copy_only=False), dtype=np.float64), _truth(readable)


def parse_dates(texts: pa.Array, form: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Read texts as dates of a declared form, as seconds since 1970-01-01 (`dpopt.schema.dates`); and which are such.

    A text of another form, or of no such day or time, gives NaN.
    """
    first, *others = forms_of(form)
    numbers, readable = _dates_of_one_form(texts, first)
    for other in others:
        found, fits = _dates_of_one_form(texts, other)
        numbers, readable = np.where(readable, numbers, found), readable | fits
    return (cut_off(numbers, form) if others else numbers), readable


def _dates_of_one_form(texts: pa.Array, form: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    fields = pc.extract_regex(texts, date_pattern(form))
    readable = ~_truth(pc.is_null(fields))
    held = {fields.type.field(place).name for place in range(fields.type.num_fields)}

    def part(name: str, usual: int) -> NDArray[np.int64]:
        if name not in held:
            return np.full(len(texts), usual, dtype=np.int64)
        numbers = pc.if_else(pa.array(readable), pc.struct_field(fields, name), pa.scalar(str(usual)))
        return np.asarray(pc.cast(numbers, pa.int64()).to_numpy(zero_copy_only=False), dtype=np.int64)

    year, month, day = part("Y", 1970), part("m", 1), part("d", 1)
    if "y" in held:
        year = CENTURY + (part("y", 70) - CENTURY) % 100
    for name in held & MONTHS.keys():
        places = pc.index_in(pc.ascii_lower(pc.struct_field(fields, name)), value_set=pa.array(MONTHS[name]))
        month = pc.fill_null(places, 0).to_numpy(zero_copy_only=False).astype(np.int64) + 1
    hour, minute, second = part("H", 0), part("M", 0), part("S", 0)
    if "I" in held:
        half = part("I", 12)
        readable &= (half >= 1) & (half <= 12)
        later = pc.starts_with(pc.ascii_lower(pc.struct_field(fields, "p")), "p")
        hour = half % 12 + 12 * _truth(pc.fill_null(later, fill_value=False))
    readable &= (year >= 1) & (month >= 1) & (month <= 12) & (day >= 1) & (hour < 24) & (minute < 60) & (second < 60)
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (day - 1)
    readable &= days.astype("datetime64[M]") == months
    numbers = days.astype("datetime64[s]").astype(np.float64) + hour * 3600 + minute * 60 + second
    return np.where(readable, numbers, np.nan), readable


def with_points(texts: pa.Array, decimal: str) -> pa.Array:
    """Return texts with a point before the fraction and nothing between thousands. With a comma for `decimal`, "1.5" is none.

    What stands between thousands is left out only where it divides digits into groups of three.
    """
    import pyarrow.compute as pc

    mark, thousands = decimal[0], decimal[1:]
    if thousands:
        grouped = pc.match_substring_regex(
            texts, rf"^[+-]?[0-9]{{1,3}}({re.escape(thousands)}[0-9]{{3}})+({re.escape(mark)}[0-9]*)?$"
        )
        texts = pc.if_else(grouped, pc.replace_substring(texts, thousands, ""), texts)
    if mark == ".":
        return texts
    return pc.replace_substring(pc.replace_substring(texts, ".", "no number"), mark, ".")


def has_leading_zero(texts: pa.Array) -> NDArray[np.bool_]:
    """Return which texts look like "007": digits that are a code, not a number."""
    import pyarrow.compute as pc

    return _truth(pc.match_substring_regex(texts, _LEADING_ZERO))


def _truth(array: pa.Array) -> NDArray[np.bool_]:
    return np.array(array.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _among(texts: pa.Array, some: Sequence[str]) -> NDArray[np.bool_]:
    import pyarrow as pa
    import pyarrow.compute as pc

    return _truth(pc.is_in(texts, value_set=pa.array(some, texts.type)))


def _null_code(attribute: Attribute) -> int:
    return Problem.MISSING if attribute.missing_code is None else attribute.missing_code


def _spellings(attribute: Attribute) -> dict[str, int]:
    """Every text with an exact entry and its code; declared texts take precedence over tolerated ones."""
    spellings = {value_text(value): code for code, value in enumerate(attribute.values)}
    if attribute.missing is not None:
        for text in (*attribute.missing_texts, ""):
            spellings.setdefault(text, attribute.size - 1)
    for code, value in enumerate(attribute.values):
        if isinstance(value, bool):
            for spelling in (str(value), str(value).upper()):
                spellings.setdefault(spelling, code)
    return spellings


def _by_number(attribute: Attribute) -> dict[float, int]:
    codes: dict[float, int] = {}
    for code, value in enumerate(attribute.values):
        truth = isinstance(value, bool)
        if isinstance(value, str) or (truth and attribute.kind is not AttributeKind.BOOLEAN):
            continue
        if isinstance(value, float) or abs(value) <= _EXACT:
            codes.setdefault(float(value), code)
    for text in attribute.missing_texts:
        number = _finite_number(text)
        if number is not None and not re.match(_LEADING_ZERO, text):
            codes.setdefault(number, attribute.size - 1)
    return codes


def _finite_number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
