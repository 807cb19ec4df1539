"""Linear comparisons as whole numbers: what each code of a column adds, exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dpopt.errors import SchemaError
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.rules.code_sets import Columns, whole_numbers
from dpopt.schema.rules.formula import Comparison, Count, Formula

EVERY_VALUE = "every value"


@dataclass(frozen=True, slots=True)
class Inequality:
    """Numbers of codes plus coefficients of true formulas are at least the bound; columns are given, not missing.

    Attributes
    ----------
    bound : int
        Right-hand side.
    terms : dict of position to list of int
        A number for each code but missing.
    counts : tuple of (int, Formula)
        Coefficients, of either sign.
    """

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
    """Return left minus right of a comparison, with the positions of its columns.

    Raises
    ------
    SchemaError
        If a column does not exist or is not numeric.
    """
    found: dict[int, Fraction] = {}
    counts: list[tuple[Fraction, Formula]] = []
    rest = Fraction(0)
    for coefficient, term in comparison.terms():
        number = exact(coefficient)
        if isinstance(term, str):
            position, attribute = columns.find(term)
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
    return LinearForm(found, tuple(counts), rest)


def inequalities(
    relation: str, form: LinearForm, attributes: dict[int, Attribute], by: str | None
) -> tuple[bool, list[Inequality]]:
    """Return inequalities which say that "form relation 0", and whether all of them must be true or one.

    With `by` "every value" each of them says it for whatever values of their bins the columns have.

    Raises
    ------
    SchemaError
        If "!=" is asked for every value of columns whose differences may jump over 0.
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


def _inequality(
    form: LinearForm, attributes: dict[int, Attribute], by: str | None, *, strict: bool
) -> Inequality:
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
