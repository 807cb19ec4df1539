"""From the values in a rule to codes: values as sets of codes, comparisons as exact whole numbers for each code.

A set of codes is a whole number with one bit per code.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpopt.errors import SchemaError
from dpopt.schema.attribute import Attribute, AttributeKind, value_text
from dpopt.schema.binary_attributes import BinaryAttributes
from dpopt.schema.dates import cut_off
from dpopt.schema.rules.formula import MEMBERSHIPS, ORDERS, Comparison, Count, Formula, Literal
from dpopt.schema.rules.values import Bin, Named, as_json, values_text

_LISTED = 6  # labels that a message lists


class Columns:
    """The attributes of a schema, as rules look them up; `index` gives the position of a name, or refuses it."""

    def __init__(self, attributes: Sequence[Attribute], index: Callable[[str], int]) -> None:
        self._attributes = attributes
        self._index = index
        self._codes: dict[int, dict[object, int]] = {}

    def find(self, name: str) -> tuple[int, Attribute]:
        """Return position and attribute of a name."""
        position = self._index(name)
        return position, self._attributes[position]

    def at(self, position: int) -> Attribute:
        """Return the attribute at a position."""
        return self._attributes[position]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of codes of each attribute."""
        if isinstance(self._attributes, BinaryAttributes):
            return (2,) * len(self._attributes)
        return tuple(attribute.size for attribute in self._attributes)

    def set_of(self, name: str, values: Iterable[Named]) -> int:
        """Return the set of codes of these values of an attribute."""
        position, attribute = self.find(name)
        known = self._codes.setdefault(position, {}) or self._known(position)
        codes = 0
        for value in values:
            found = known.get(_key(value))
            if found is None:
                found = code_of_number(attribute, value)
            codes |= 1 << found
        return codes

    def literal(self, condition: Literal) -> tuple[int, int]:
        """Return the position of a literal's attribute and the set of codes for which it is true."""
        position, attribute = self.find(condition.attribute)
        every = (1 << attribute.size) - 1
        if condition.relation == "is":
            missing = missing_set(attribute)
            if not missing:
                raise SchemaError(
                    f"{attribute.name!r} is never missing: its declaration has no 'missing'; leave the condition out"
                )
            return position, missing if condition.value == "missing" else every ^ missing
        if condition.relation in ORDERS:
            one = attribute.kind is AttributeKind.CATEGORICAL and attribute.ordered
            at = self.set_of(condition.attribute, (condition.value,)) if one else None  # type: ignore[arg-type]
            return position, _codes_in_order(attribute, condition) if at is None else _values_in_order(
                attribute, condition, at
            )
        listed = condition.value if condition.relation in MEMBERSHIPS else (condition.value,)
        codes = self.set_of(condition.attribute, listed)  # type: ignore[arg-type]  # a tuple, checked by Literal
        return position, every ^ codes if condition.relation in ("!=", "not in") else codes

    def _known(self, position: int) -> dict[object, int]:
        """Return the code of each value that can be named directly, by its type and text."""
        attribute, known = self._attributes[position], self._codes[position]
        if attribute.kind is AttributeKind.NUMERIC:
            for code in range(len(attribute.edges) - 1):
                known[_key(Bin(code))] = known[_key(attribute.label(code))] = code
        else:
            for code, value in enumerate(attribute.values):
                known[_key(value)] = code
        if attribute.kind is AttributeKind.BOOLEAN:  # however the two are written in the table
            for code, value in enumerate((False, True)):
                known.setdefault(_key(value), code)
        if attribute.missing_code is not None:
            known |= {_key(text): attribute.missing_code for text in (None, *attribute.missing_texts)}
        return known


def missing_set(attribute: Attribute) -> int:
    """Return the set that holds the code of a missing value; empty where no missing value is declared."""
    return 0 if attribute.missing_code is None else 1 << attribute.missing_code


def whole_numbers(attribute: Attribute, code: int) -> tuple[int, int]:
    """Return the least and the greatest whole number, or date in its form, in a bin of such an attribute."""
    low, high = attribute.edges[code], attribute.edges[code + 1]
    closed = code == len(attribute.edges) - 2
    first, last = math.ceil(low), math.floor(high) if closed else math.ceil(high) - 1
    if attribute.date_format is not None:
        last = max(first, int(cut_off(np.array([float(last)]), attribute.date_format)[0]))
    return first, last


def _key(value: Named) -> object:
    return (type(value), value)


def code_of_number(attribute: Attribute, value: Named) -> int:
    """Return the code of a number that is alone in its bin, a date in its column's form; else raise SchemaError."""
    dated = attribute.date_format is not None
    if attribute.kind is not AttributeKind.NUMERIC or isinstance(
        value, (bool if dated and value != "missing" else str) | bool | Bin | None
    ):
        raise SchemaError(_no_such_value(attribute, value))
    number: Any = attribute.number(value) if dated else value
    sides = [_side(attribute, code, "=", number) for code in range(len(attribute.edges) - 1)]
    inside = [code for code, side in enumerate(sides) if side != "none"]
    if not inside:
        low, high = map(attribute.number_text, (attribute.edges[0], attribute.edges[-1]))
        raise SchemaError(f"{attribute.name!r} cannot be {values_text(value)}; its values lie in [{low}, {high}]")
    if sides[inside[0]] != "all":
        label = attribute.label(inside[0])
        raise SchemaError(
            f"{attribute.name!r} = {values_text(value)} is undecided: the bin {label} holds other values too; name the "
            f"bin "
            f'by its label or by {{"bin": {inside[0]}}} (in Python Bin({inside[0]})), or give the number a bin of its '
            f"own"
        )
    return inside[0]


def _no_such_value(attribute: Attribute, value: Named) -> str:
    if value is None:
        return (
            f"{attribute.name!r} has no missing values, and null (a missing value) is not one of its values; leave the "
            f"condition out, or declare 'missing' for this column"
        )
    labels = [attribute.label(code) for code in range(attribute.size)]
    text = values_text(value)
    same = [one for one in attribute.values if value_text(one) == text]
    if same:
        kind = "as text, in quotes" if isinstance(same[0], str) else "without quotes"
        hint = f"write it {kind}"
    elif text == "missing" and attribute.missing is not None:
        hint = f"name a missing value by null or its text {attribute.missing!r}"
    else:
        near = difflib.get_close_matches(text, labels, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "name a declared value"
        if attribute.kind is AttributeKind.NUMERIC:
            hint += f' {"Or name" if near else "or"} a bin by {{"bin": number}}, in Python Bin(number)'
    more = f", ... ({attribute.size} in all)" if attribute.size > _LISTED else ""
    return f"{attribute.name!r} has no value {text!r}; {hint} (there are {', '.join(labels[:_LISTED])}{more})"


def _values_in_order(attribute: Attribute, condition: Literal, at: int) -> int:
    """Return which values of a scale are in a relation to one of them, the set `at`."""
    every, upto = (1 << len(attribute.values)) - 1, 2 * at - 1
    if at > every:
        raise SchemaError(f"'{condition.describe()}': a missing value has no place in the order; name another value")
    return {"<": upto ^ at, "<=": upto, ">": every ^ upto, ">=": every ^ upto ^ at}[condition.relation]


def _codes_in_order(attribute: Attribute, condition: Literal) -> int:
    if attribute.kind is not AttributeKind.NUMERIC:
        raise SchemaError(
            f"{attribute.name!r} is {attribute.kind.value}; {condition.relation!r} is for numbers and for values in order: "
            f"use 'in', or declare \"ordered\": true if its values are listed in their order"
        )
    limit = _limit(attribute, condition)
    codes = 0
    for code in range(len(attribute.edges) - 1):
        side = _side(attribute, code, condition.relation, limit)
        if side == "some":
            comparison = as_json([attribute.name, condition.relation, condition.value])
            raise SchemaError(
                f"'{condition.describe()}' is true of some values of the bin {attribute.label(code)} and false of "
                f"others; move an edge of {attribute.name!r}, or compare representatives: "
                f'{{"compare": {comparison}, "by": "representative"}}'
            )
        codes |= (side == "all") << code
    return codes


def _limit(attribute: Attribute, condition: Literal) -> float:
    """Return the number that a condition compares with; of dates their seconds."""
    name, relation, limit = condition.attribute, condition.relation, condition.value
    if attribute.date_format is not None:
        return attribute.number(limit)
    if isinstance(limit, str):
        pair = [name, limit] if "<" in relation else [limit, name]
        hint = (
            f'; to compare two columns use {{"ordered": {as_json(pair)}, "by": "representative"}}, or within a '
            f'condition {{"compare": {as_json([name, relation, limit])}, "missing": "fails"}}'
        )
        raise SchemaError(
            f"{attribute.measured!r} {relation}: expected a finite number, found {as_json(limit)}"
            f"{'' if limit[:1].isdigit() else hint}"
        )
    return limit  # type: ignore[return-value]  # a number, checked by Literal


def _side(attribute: Attribute, code: int, relation: str, limit: float) -> str:
    """Return of how many values of a bin a relation to a number is true: "all", "some" or "none"."""
    low, high = attribute.edges[code], attribute.edges[code + 1]
    has_high = code == len(attribute.edges) - 2
    if attribute.integer:
        low, high = whole_numbers(attribute, code)
        has_high = True
    below_all, above_all = low > limit, high < limit or (high == limit and not has_high)
    match relation:
        case "<":
            every, none = above_all, low >= limit
        case "<=":
            every, none = high <= limit, below_all
        case ">":
            every, none = below_all, high <= limit
        case ">=":
            every, none = low >= limit, above_all
        case _:
            every, none = low == high == limit, below_all or above_all
    if relation == "=" and attribute.integer and limit != math.floor(limit):
        none = True
    return "all" if every else "none" if none else "some"


EVERY_VALUE = "every value"


@dataclass(frozen=True, slots=True)
class Inequality:
    """Numbers of codes, by position but for missing, plus coefficients of true formulas are at least a bound."""

    bound: int
    terms: dict[int, list[int]]
    counts: tuple[tuple[int, Formula], ...]

    def negated(self) -> Inequality:
        """Return the inequality that is true exactly where this one is not."""
        terms = {position: [-value for value in values] for position, values in self.terms.items()}
        return Inequality(1 - self.bound, terms, tuple((-number, formula) for number, formula in self.counts))


@dataclass(frozen=True, slots=True)
class LinearForm:
    """Left minus right of a comparison: coefficients of columns (0 where they cancel) and of formulas, and the rest."""

    columns: dict[int, Fraction]
    counts: tuple[tuple[Fraction, Formula], ...]
    rest: Fraction

    def negated(self) -> LinearForm:
        """Return right minus left."""
        return LinearForm(
            {position: -number for position, number in self.columns.items()},
            tuple((-number, formula) for number, formula in self.counts),
            -self.rest,
        )


def linear_form(comparison: Comparison, columns: Columns) -> LinearForm:
    """Return left minus right of a comparison, with the positions of its columns."""
    found: dict[int, Fraction] = {}
    counts: list[tuple[Fraction, Formula]] = []
    dates: list[tuple[Fraction, str, SchemaError]] = []  # or names that are none of a column
    rest = Fraction(0)
    for coefficient, term in comparison.terms():
        number = exact(coefficient)
        if isinstance(term, str):
            try:
                position, attribute = columns.find(term)
            except SchemaError as problem:
                dates.append((number, term, problem))
                continue
            if attribute.kind is not AttributeKind.NUMERIC:
                raise SchemaError(
                    f"{term!r} is {attribute.kind.value}; comparisons take numeric attributes, "
                    f'or counts of conditions: {{"count": [["{term}", "=", ...]]}}'
                )
            found[position] = found.get(position, Fraction(0)) + number
        elif isinstance(term, Count):
            counts += [(number, part) for part in term.parts]
        else:
            rest += number * exact(term)
    compared = [columns.at(position) for position in found]
    _refuse_other_kinds(compared)
    dated = next((one for one in compared if one.date_format is not None), None)
    if dated is None:
        for _, _, unknown in dates:
            raise unknown
        return LinearForm(found, tuple(counts), rest)
    moved = sum(found.values()) + sum(number for number, _, _ in dates)  # by counting from another second
    if rest or counts or moved or any(one.date_format is None for one in compared):
        raise SchemaError(
            f"{dated.name!r} holds dates in the form {dated.date_format!r}: they are compared with dates, such as "
            f"{dated.number_text(dated.edges[0])!r}, and not with numbers; for the time between two dates declare one "
            f"of them as a length after the other ('after', 'unit')"
        )
    for number, text, unknown in dates:
        try:
            rest += number * exact(dated.number(text))
        except SchemaError as problem:
            raise SchemaError(f"{unknown}; {problem}") from None
    return LinearForm(found, (), rest)


def _refuse_other_kinds(compared: Sequence[Attribute]) -> None:
    """Refuse, by SchemaError, to compare columns of two kinds, or lengths with dates, other units or other starts."""
    plain = [one for one in compared if one.after is None]
    other = next((one for one in plain if one.quantity != plain[0].quantity), None)
    if other is not None:
        first = plain[0]
        raise SchemaError(
            f"{first.name!r} holds {first.quantity} and {other.name!r} holds {other.quantity}: a rule compares columns "
            f"of one kind, which are dates, times of day, durations of one unit, or numbers. For the time between two "
            f"dates declare one of them as a length after the other ('after', 'unit')"
        )
    units = {one.unit for one in compared} - {None}
    of_one = len(units) == 1 and len({one.after for one in compared} - {None}) < 2
    of_one = of_one and not any(one.date_format or (one.after and not one.unit) for one in compared)
    if len({(one.after, one.unit) for one in compared}) > 1 and not of_one:
        one = next(one for one in compared if one.after is not None)
        raise SchemaError(
            f"{one.name!r} is declared as a length after {one.after!r}: a rule sees the length, and compares it with "
            f"numbers, also of columns (of its unit), or with lengths after {one.after!r}. That the two are in order "
            f"holds by that declaration: no rule "
            "needs to say it"
        )


def inequalities(
    relation: str, form: LinearForm, attributes: dict[int, Attribute], by: str | None
) -> tuple[bool, list[Inequality]]:
    """Return inequalities which say that "form relation 0", and whether all of them must be true or one.

    With `by` "every value" each of them says it for whatever values of their bins the columns have.
    """
    other = form.negated()
    match relation:
        case ">=" | ">":
            return True, [_inequality(form, attributes, by, strict=relation == ">")]
        case "<=" | "<":
            return True, [_inequality(other, attributes, by, strict=relation == "<")]
        case "=":
            return True, [_inequality(side, attributes, by, strict=False) for side in (form, other)]
        case _:
            if by == EVERY_VALUE:
                _require_no_jumps(form, attributes)
            return False, [_inequality(side, attributes, by, strict=True) for side in (form, other)]


def exact(number: float) -> Fraction:
    """Return a number as a fraction: a decimal as it is written, not as it is stored."""
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def _inequality(form: LinearForm, attributes: dict[int, Attribute], by: str | None, *, strict: bool) -> Inequality:
    """Return "form >= 0", or "form > 0" if strict.

    The least value of coefficient * column over a half-open bin need not be attained. So that "> 0" is decided rightly
    there, all numbers are multiplied by (number of columns + 1), and each least value that is not attained adds 1.
    """
    least = {
        position: [_least(number, attributes[position], code, by) for code in _bins(attributes[position])]
        for position, number in form.columns.items()
    }
    numbers = [value for values in least.values() for value, _ in values]
    numbers += [number for number, _ in form.counts] + [form.rest]
    scale = math.lcm(*(number.denominator for number in numbers))
    open_ends = strict and any(not attained for values in least.values() for _, attained in values)
    scale *= len(least) + 1 if open_ends else 1
    terms = {
        position: [int(value * scale) + (strict and not attained) for value, attained in values]
        for position, values in least.items()
    }
    counts = tuple((int(number * scale), formula) for number, formula in form.counts)
    return Inequality(int(strict) - int(form.rest * scale), terms, counts)


def _bins(attribute: Attribute) -> range:
    return range(len(attribute.edges) - 1)


def _least(number: Fraction, attribute: Attribute, code: int, by: str | None) -> tuple[Fraction, bool]:
    """Return the infimum of number * column over a bin, and whether a value of the bin attains it."""
    if by != EVERY_VALUE:
        return number * exact(attribute.representatives[code]), True
    if attribute.integer:
        low, high = map(Fraction, whole_numbers(attribute, code))
        return min(number * low, number * high), True
    if number >= 0:
        return number * exact(attribute.edges[code]), True
    last = code == len(attribute.edges) - 2
    return number * exact(attribute.edges[code + 1]), last


def _require_no_jumps(form: LinearForm, attributes: dict[int, Attribute]) -> None:
    """Refuse "different for every value" unless the values of the form leave no gaps in which 0 could lie."""
    used = {position: abs(number) for position, number in form.columns.items() if number}
    if not any(attributes[position].integer for position in used):
        return
    sizes = set(used.values())
    size = max(sizes)
    others = [form.rest, *(number for number, _ in form.counts)]
    every_integer = all(attributes[position].integer for position in used)
    if not every_integer or len(sizes) > 1 or any((number / size).denominator != 1 for number in others):
        raise SchemaError(
            "'!=' for every value is possible between columns of whole numbers with coefficients 1 and -1, or between "
            "columns of other numbers; write '<' or '>' instead, or compare representatives"
        )
