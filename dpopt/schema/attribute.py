"""One attribute of the public schema: its name, its declared values or bins, and the codes that stand for them."""

from __future__ import annotations

import math
from bisect import bisect_right
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.arguments import Choice, check_types, plain
from dpopt.errors import SchemaError
from dpopt.schema.arrow_names import refused_type
from dpopt.schema.dates import (
    NANOSECONDS,
    UNITS,
    Seconds,
    cut_off,
    date_number,
    date_pattern,
    date_text,
    forms_of,
    has_years,
)

Value = str | int | float | bool
LARGEST_SIZE, MOST_DECIMALS = 65_535, 15


class AttributeKind(Choice):
    """Kinds of values of an attribute.

    Examples
    --------
    >>> import dpopt
    >>> dpopt.AttributeKind("numeric")
    <AttributeKind.NUMERIC: 'numeric'>
    """

    CATEGORICAL = "categorical"
    BOOLEAN = "boolean"
    NUMERIC = "numeric"


@dataclass(frozen=True, slots=True)
class Attribute:
    """One column of the table, declared in public: a record holds one of the codes 0 .. size - 1 in it.

    Parameters
    ----------
    name
        Name of the column, not empty.
    kind
        Categorical, boolean or numeric.
    values
        Categorical: the declared values in the order of their codes. Boolean: the value for false, then the one for
        true; (False, True) when left out. Numeric: empty. Two values never have the same text.
    edges
        Numeric: b + 1 finite increasing numbers, for b bins. Bin i is [edges[i], edges[i+1]), the last one is closed.
    integer
        Numeric: the values are whole numbers, and are decoded as int. Each bin must hold a whole number.
    representatives
        Numeric: the number that bin i is decoded to, inside bin i. Left out: the midpoint (for integers rounded down
        and kept inside the bin).
    missing
        The text that stands for a missing value; "" is the empty cell and the null, which are missing with any text.
        Missing has the last code. None: a missing value is not allowed. Of a list of texts the first is written, and
        the others are kept in `also_missing`.
    other
        The declared bucket for whatever does not fit: categorical and boolean: one of `values`; numeric: a number
        within the range, which stands for its bin.
    occurring
        The codes that can occur, as far as is publicly known. None: nothing is declared.
    date_format
        Numeric: the values are dates or times, read and written in this form, such as "%Y-%m-%d" or "%d-%m-%Y %H:%M"
        (all parts: `dpopt.schema.dates`); of several forms with | between them, as "%Y|%Y-%m-%d", written in the first.
        Edges, representatives and `other` are given as such texts, never as bare numbers, and kept as seconds since the
        beginning of 1970.
    prefix
        Categorical: only the first so many characters of a cell count, and are what is written: 3 makes "I21.4" and
        "I21.9" the value "I21".
    digits
        Categorical with a prefix: whole numbers of fewer digits begin with zeros that were lost: with 5, 1067 is
        "01067".
    decimals
        Numeric: drawn numbers with fractions have at most so many digits after the point, 1 to 15.
    after
        Numeric: the name of another numeric column. The numbers of this attribute, its edges among them, are lengths:
        what this column of the table says less what the other one says. Files hold the sum: see `dpopt.schema.lengths`.
    unit
        What lengths between dates count: "days", "hours", "minutes" or "seconds"; None between numbers. Without
        `after`: the values are durations, and numbers of this unit, which may be "milliseconds", "microseconds" or
        "nanoseconds" too.
    arrow
        Arrow's name of the type that the column has in tables, and gets in synthetic ones: see
        `dpopt.schema.arrow_names`.
    also_missing
        Further texts that are read as missing.
    ordered
        Whether the codes follow an order, a missing value aside. Left out: those of numbers that increase do, those of
        truth values, and those of an Arrow type "ordered category". Categorical: True for a scale, False for numbers
        that name categories.
    Raises SchemaError if the declaration contradicts itself; the message names the attribute.

    Examples
    --------
    >>> import dpopt
    >>> age = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 18, 65, 120), integer=True)
    >>> age.size, age.label(1), age.ordered, age.usually_ordered
    (3, '[18, 65)', True, True)
    >>> age.midpoints(), age.missing_code, age.other_code
    ((9.0, 41.0, 92.0), None, None)
    >>> dpopt.Attribute("a", dpopt.AttributeKind.BOOLEAN, missing="NA", also_missing=("?",)).missing_texts
    ('NA', '?')
    >>> age.decoded(), age.number_text(18.0), age.measured, age.duration, age.quantity
    ((9, 41, 92), '18', 'age', None, 'numbers')
    """

    name: str
    kind: AttributeKind
    values: tuple[Value, ...] = ()
    edges: tuple[float, ...] = ()
    integer: bool = False
    representatives: tuple[float, ...] = ()
    missing: str | None = None
    other: Value | None = None
    occurring: tuple[int, ...] | None = None
    date_format: str | None = None
    prefix: int | None = None
    decimals: int | None = None
    after: str | None = None
    unit: str | None = None
    digits: int | None = None
    arrow: str | None = None
    also_missing: tuple[str, ...] = ()
    ordered: bool | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError(f"an attribute needs a name that is text and not empty, found {self.name!r}")
        if not isinstance(self.kind, AttributeKind):
            raise self._refusal(f"the kind must be an AttributeKind, found {self.kind!r}")
        for name in ("values", "edges", "representatives", "occurring"):
            if name != "occurring" or self.occurring is not None:
                check_types("Attribute", {name: getattr(self, name)}, {name: tuple[Any, ...]})
                object.__setattr__(self, name, plain(tuple(getattr(self, name))))
        given: object = self.missing
        if isinstance(given, list | tuple) and given:
            object.__setattr__(self, "also_missing", (*given[1:], *self.also_missing))
            object.__setattr__(self, "missing", given[0])
        self._check_form()
        if self.kind is AttributeKind.NUMERIC:
            self._check_edges()
            self._check_representatives()
        else:
            self._check_values()
        self._check_other()
        self._check_missing()
        self._check_texts()
        self._check_arrow()
        self._check_order()
        if not 1 <= self.size <= LARGEST_SIZE:
            raise self._refusal(f"{self.size} codes; between 1 and {LARGEST_SIZE:,} are possible: use coarser values")
        if self.occurring is not None:
            object.__setattr__(self, "occurring", self._checked_occurring(self.occurring))

    @property
    def size(self) -> int:
        """Number of codes, missing included."""
        declared = len(self.edges) - 1 if self.kind is AttributeKind.NUMERIC else len(self.values)
        return declared + (self.missing is not None)

    @property
    def usually_ordered(self) -> bool:
        """Whether its codes follow an order where its declaration says nothing of it."""
        numbers = [value for value in self.values if isinstance(value, (int, float))]
        increase = len(numbers) == len(self.values) and numbers == sorted(numbers)
        return increase or self.kind is AttributeKind.BOOLEAN or self.arrow == "ordered category"

    @property
    def missing_texts(self) -> tuple[str, ...]:
        """The texts that are read as a missing value, the written one first; none if no value can be missing."""
        return () if self.missing is None else (self.missing, *self.also_missing)

    @property
    def missing_code(self) -> int | None:
        """The code of a missing value (the last one), or None if missing values are not allowed."""
        return None if self.missing is None else self.size - 1

    @property
    def other_code(self) -> int | None:
        """The code of values that do not fit: that of `other`, else that of a missing value, or None."""
        if self.other is None:
            return self.missing_code
        if self.kind is AttributeKind.NUMERIC:
            return bisect_right(self.edges[1:-1], self.other)
        return next(
            code for code, value in enumerate(self.values) if (type(value), value) == (type(self.other), self.other)
        )

    def label(self, code: int) -> str:
        """Return the text by which people see a code: the value, the bin such as "[20, 30)", or "missing".

        Labels of different codes differ.
        """
        if not 0 <= code < self.size:
            raise self._refusal(f"code {code} does not exist; the codes are 0 .. {self.size - 1}")
        if code == self.missing_code:
            taken = any(value_text(value) == "missing" for value in self.values)
            return f"missing ({self.missing!r})" if taken else "missing"
        if self.kind is AttributeKind.NUMERIC:
            return self._bin_label(code)
        return value_text(self.values[code])

    def decoded(self) -> tuple[Value | None, ...]:
        """Return the text that is written for each code; for missing the missing text, or None if that text is empty."""
        written: tuple[Value | None, ...]
        if self.kind is not AttributeKind.NUMERIC:
            written = self.values
        elif self.date_format is not None:
            written = tuple(map(self.number_text, self.representatives))
        elif self.integer:
            written = tuple(int(number) for number in self.representatives)
        else:
            written = self.representatives
        return written if self.missing is None else (*written, self.missing or None)

    def midpoints(self) -> tuple[float, ...]:
        """Return the default representative of each bin: its midpoint; for integers rounded down, inside the bin.

        Of dates what their form holds of it, so that rules hold for dates as they are written.
        """
        rule = _whole_midpoint if self.integer else _midpoint
        found = tuple(rule(low, high) for low, high in pairwise(self.edges))
        if self.date_format is None:
            return found
        written = cut_off(np.array(found), self.date_format).tolist()
        return tuple(map(Seconds, map(max, written, map(math.ceil, self.edges))))

    def number(self, given: object, what: str = "value") -> float:
        """Return a number of this attribute as people name it; a date as a text in its form, which becomes `Seconds`.

        Examples
        --------
        >>> import dpopt
        >>> days = {"edges": ("1970-01-01", "1970-02-01"), "date_format": "%Y-%m-%d"}
        >>> dpopt.Attribute("day", dpopt.AttributeKind.NUMERIC, **days).number("1970-01-02")
        86400.0
        """
        if self.date_format is not None:
            try:
                return given if isinstance(given, Seconds) else date_number(given, self.date_format)
            except ValueError as problem:
                raise self._refusal(f"the {what} {problem}") from None
        given = plain(given)
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise self._refusal(f"the {what} {given!r} is not a number")
        try:
            number = float(given) + 0.0  # -0.0 becomes 0.0
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self._refusal(f"the {what} {given!r} is not finite")
        return number

    def number_text(self, number: float) -> str:
        """Return a number of this attribute as people read it: in its shortest form, or as a date."""
        return number_text(number) if self.date_format is None else date_text(number, self.date_format)

    @property
    def duration(self) -> str | None:
        """The unit of durations; None of any other attribute."""
        return self.unit if self.after is None else None

    @property
    def quantity(self) -> str:
        """The unit of its numbers: dates, times of day, durations of a unit, or plain numbers, also for lengths."""
        if self.date_format is not None:
            return "dates" if has_years(self.date_format) else "times of day"
        return "numbers" if self.duration is None else f"durations in {self.duration}"

    @property
    def measured(self) -> str:
        """Return a name for the numbers of this attribute: its own, and for a length also its beginning."""
        counted = "above" if self.unit is None else f"{self.unit} after"
        return self.name if self.after is None else f"{self.name} ({counted} {self.after})"

    def _bin_label(self, code: int) -> str:
        end = "]" if code == len(self.edges) - 2 else ")"
        unit = "" if self.unit is None else f" {self.unit}"
        return f"[{self.number_text(self.edges[code])}, {self.number_text(self.edges[code + 1])}{end}{unit}"

    def _refusal(self, problem: str) -> SchemaError:
        return SchemaError(f"attribute {self.name!r}: {problem}")

    def _check_form(self) -> None:
        if self.date_format is not None:
            if self.kind is not AttributeKind.NUMERIC:
                raise self._refusal(f"a form of dates belongs to numeric, not to {self.kind.value}")
            if not isinstance(self.date_format, str) or None in map(date_pattern, forms_of(self.date_format)):
                raise self._refusal(
                    f"the form of its dates is {self.date_format!r}; expected one such as '%Y-%m-%d' or '%d-%m-%Y "
                    f"%H:%M', with %Y (or %y) and any of %m (or %b, %B), %d, %H (or %I with %p), %M, %S, %f in use, "
                    f"none without those before it; a time of day from %H on; or several such forms, with | between "
                    f"them"
                )
            object.__setattr__(self, "integer", True)  # whole seconds
        if self.decimals is not None and (
            self.kind is not AttributeKind.NUMERIC
            or isinstance(self.decimals, bool)
            or not isinstance(self.decimals, int)
            or not 1 <= self.decimals <= MOST_DECIMALS
        ):
            raise self._refusal(
                f"'decimals' is a number from 1 to {MOST_DECIMALS} and belongs to numeric; found {self.decimals!r} for "
                f"{self.kind.value}; of whole numbers declare 'integer': true instead"
            )
        self._check_length()
        if self.digits is not None and (
            self.prefix is None or type(self.digits) is not int or not self.prefix < self.digits <= MOST_DECIMALS
        ):
            raise self._refusal(
                f"'digits' is a number up to {MOST_DECIMALS}, above the 'prefix' that it needs; found {self.digits!r}"
            )
        if self.prefix is not None:
            if self.kind is not AttributeKind.CATEGORICAL:
                raise self._refusal(f"a prefix belongs to categorical, not to {self.kind.value}")
            if isinstance(self.prefix, bool) or not isinstance(self.prefix, int) or self.prefix < 1:
                raise self._refusal(f"'prefix' is a number of characters, 1 or more; found {self.prefix!r}")
            for value in self.values:
                if not isinstance(value, str) or len(value) > self.prefix:
                    raise self._refusal(
                        f"the value {value!r} is not a text of at most {self.prefix} characters ('prefix'), and would "
                        f"never occur"
                    )

    def _check_length(self) -> None:
        if self.after is None and self.unit is None:
            return
        if self.kind is not AttributeKind.NUMERIC or self.date_format is not None:
            raise self._refusal(
                "a length or duration ('after', 'unit') is numeric: its edges are numbers, of days for example"
            )
        if self.after is None:
            longest = 2**63 * (1 if self.unit == "nanoseconds" else 1000) // NANOSECONDS.get(self.unit or "", 1)
            if self.unit not in NANOSECONDS or any(is_number(edge) and abs(edge) >= longest for edge in self.edges):
                raise self._refusal(
                    f"durations have a unit out of {', '.join(NANOSECONDS)}, and edges below 292,000 years (292 of "
                    f"nanoseconds); found {self.unit!r}"
                )
            return
        if not isinstance(self.after, str) or self.unit not in {None, *UNITS}:
            raise self._refusal(
                f"a length names the column that it counts from ('after'), found {self.after!r}, and between dates its "
                f"'unit' out of {', '.join(UNITS)}, found {self.unit!r}"
            )

    def _check_arrow(self) -> None:
        if self.arrow is None:
            return
        whole = self.integer or all(isinstance(value, int) for value in self.values or (0.5,))
        numbers, listed, form = self.edges or self.values, bool(self.values), self.date_format
        wanted: str | None = "none, as a length has that of the date that it counts from"
        if self.after is None:
            wanted = refused_type(
                str(self.arrow), numbers, listed=listed, whole=whole, date_format=form, duration=self.duration
            )
        if wanted is not None:
            raise self._refusal(f"'arrow' is {self.arrow!r}; expected {wanted}; or leave it out")

    def _check_order(self) -> None:
        if self.ordered is None:
            object.__setattr__(self, "ordered", self.usually_ordered)
            return
        fits = self.kind is AttributeKind.CATEGORICAL or self.ordered is self.usually_ordered
        if not fits or not isinstance(self.ordered, bool):
            raise self._refusal(
                f"'ordered' is true or false and belongs to categorical; found {self.ordered!r} for {self.kind.value}"
            )

    def _check_values(self) -> None:
        if self.edges or self.representatives or self.integer:
            raise self._refusal(f"edges, representatives and integer belong to numeric, not to {self.kind.value}")
        if self.kind is AttributeKind.BOOLEAN:
            if not self.values:
                object.__setattr__(self, "values", (False, True))
            if len(self.values) != 2:
                raise self._refusal(f"a boolean attribute has 2 values, found {len(self.values)}")
        elif not self.values:
            raise self._refusal("no values are declared; list every value that can occur under 'values'")
        # -0.0 and 0.0 are one value, whatever their texts.
        object.__setattr__(self, "values", tuple(0.0 if repr(value) == "-0.0" else value for value in self.values))
        seen: dict[str, Value] = {}
        for value in self.values:
            if not isinstance(value, str | bool) and not is_number(value):
                hint = "; declare the text of missing values under 'missing'" if value is None else ""
                raise self._refusal(
                    f"{value!r} cannot be a value; values are text, finite numbers, true or false{hint}"
                )
            text = value_text(value)
            if text in seen:
                same = "is declared twice" if seen[text] is value else f"has the same text as {seen[text]!r}"
                raise self._refusal(f"the value {value!r} {same}; values must differ in their text")
            seen[text] = value

    def _check_other(self) -> None:
        if self.other is None:
            return
        if self.kind is not AttributeKind.NUMERIC:
            if not any(type(self.other) is type(value) and self.other == value for value in self.values):
                raise self._refusal(f"'other' is {self.other!r}, which is not one of the declared values; declare it")
            return
        (number,) = self._floats((self.other,), "'other'")
        if not self.edges[0] <= number <= self.edges[-1]:
            raise self._refusal(
                f"'other' is {self.number_text(number)}, which lies in no bin; name a number within the range"
            )
        if self.integer and number != math.floor(number):
            raise self._refusal(f"'other' is {self.number_text(number)}, which is not a whole number")
        object.__setattr__(self, "other", number)

    def _check_edges(self) -> None:
        if not isinstance(self.integer, bool):
            raise self._refusal(f"'integer' is true or false, found {self.integer!r}")
        if self.values:
            raise self._refusal("values belong to categorical attributes; a numeric one has edges")
        if len(self.edges) < 2:
            raise self._refusal(f"a numeric attribute needs at least 2 edges (one bin), found {len(self.edges)}")
        object.__setattr__(self, "edges", self._floats(self.edges, "edge"))
        for low, high in pairwise(self.edges):
            if not low < high:
                raise self._refusal(
                    f"the edges must increase, found {self.number_text(low)} before {self.number_text(high)}; "
                    "sort them and remove repeated ones"
                )
        if self.integer:
            for code in np.flatnonzero(~self._inside(np.ceil(self.edges[:-1]))).tolist():
                raise self._refusal(f"the bin {self._bin_label(code)} holds no whole number; move its edges")

    def _check_representatives(self) -> None:
        if not self.representatives:
            object.__setattr__(self, "representatives", self.midpoints())
        object.__setattr__(self, "representatives", self._floats(self.representatives, "representative"))
        if len(self.representatives) != len(self.edges) - 1:
            raise self._refusal(
                f"{len(self.representatives)} representatives for {len(self.edges) - 1} bins; give one for each bin"
            )
        for code in np.flatnonzero(~self._inside(self.representatives)).tolist():
            outside = self.number_text(self.representatives[code])
            raise self._refusal(f"the representative {outside} lies outside its bin {self._bin_label(code)}")
        for number in self.representatives if self.integer else ():
            if number != math.floor(number):
                raise self._refusal(f"the representative {number_text(number)} is not a whole number")

    def _inside(self, numbers: ArrayLike) -> NDArray[np.bool_]:
        """Return whether each bin holds its number."""
        edges, each = np.array(self.edges), np.array(numbers)
        inside = (edges[:-1] <= each) & (each < edges[1:])
        inside[-1] |= each[-1] == edges[-1]
        return inside

    def _floats(self, numbers: tuple[float | str, ...], what: str) -> tuple[float, ...]:
        if self.date_format is None and {*map(type, numbers)} == {float} and np.isfinite(numbers).all():
            return tuple((np.array(numbers) + 0.0).tolist())  # -0.0 becomes 0.0
        return tuple(self.number(given, what) for given in numbers)

    def _check_missing(self) -> None:
        if self.missing is None and not self.also_missing:
            return
        texts, known = (self.missing, *self.also_missing), {value_text(value) for value in self.values}
        if not all(isinstance(text, str) for text in texts) or len({*texts}) < len(texts):
            raise self._refusal(
                "'missing' is the text of a missing value, such as \"?\", or a list of different ones; found "
                f"{[*texts] if self.also_missing else self.missing!r}"
            )
        for text in self.missing_texts:
            if text in known:
                raise self._refusal(f"{text!r} is both the missing text and a value; remove one of the two")
            number = math.nan
            with suppress(ValueError):
                number = float(text) if self.date_format is None else date_number(text, self.date_format)
            if self.edges and self.edges[0] <= number <= self.edges[-1]:
                raise self._refusal(
                    f"the missing text {text!r} is also a number inside the bins; leave it out of the bins or use "
                    f"another text"
                )

    def _check_texts(self) -> None:
        for text in (self.name, *self.missing_texts, *self.values):
            if isinstance(text, str) and any("\ud800" <= letter <= "\udfff" for letter in text):
                raise self._refusal(
                    f"{text!r} is not valid Unicode text (half of a surrogate pair); correct its encoding"
                )

    def _checked_occurring(self, codes: tuple[int, ...]) -> tuple[int, ...]:
        if not codes:
            raise self._refusal("'occurring' is empty; leave it out if nothing is known")
        for code in codes:
            if isinstance(code, bool) or not isinstance(code, int) or not 0 <= code < self.size:
                raise self._refusal(f"'occurring' names the code {code!r}; the codes are 0 .. {self.size - 1}")
        if len(set(codes)) != len(codes):
            raise self._refusal("'occurring' names a code twice")
        return tuple(sorted(codes))


def is_number(found: object) -> bool:
    """Return whether something is a finite number; true and false are none."""
    if isinstance(found, bool) or not isinstance(found, int | float):
        return False
    return isinstance(found, int) or math.isfinite(found)


def value_text(value: Value) -> str:
    """Return the text of a value: text as it is, true and false in lower case, numbers in their shortest form."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def number_text(number: float) -> str:
    """Return a number in its shortest exact form, without ".0" for whole ones."""
    return str(int(number)) if number == math.floor(number) and abs(number) < 2**53 else repr(number)


def _midpoint(low: float, high: float) -> float:
    middle = 0.5 * low + 0.5 * high  # not 0.5 * (low + high), which can overflow
    return middle if low <= middle < high else low


def _whole_midpoint(low: float, high: float) -> float:
    return max(float(math.floor(_midpoint(low, high))), float(math.ceil(low)))
