"""Symmetric predicates: their exact values, to be approximated.

A query over k attributes that only counts how many of its literals are true is a function f of that number s
(`Target`): OR is 1 from s = 1 on, AND is 1 at s = k, "at least r of k" is 1 from s = r on. Any other table of values is
possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PolynomialError

WIDEST = 256
"""Largest k: exact arithmetic takes seconds from here on."""

OR, AND, TABLE = "or", "and", "table"
AT_LEAST = "atleast:"
LONGEST_NUMBER = 400  # digits of a value of a table
_NUMBER = re.compile(r"[+-]?(\d+/0*[1-9]\d*|(\d+\.?\d*|\.\d+)([eE](?P<exponent>[+-]?\d+))?)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Target:
    """The values f(0), ..., f(k) that a polynomial is to come near to."""

    name: str
    """"or", "and", "atleast:R" or "table": for people and files."""
    values: tuple[Fraction, ...]
    """f(0), ..., f(k), exact; 1 <= k <= 256."""
    weights: tuple[Fraction, ...] = ()
    """v_0, ..., v_k, >= 0: an error at s counts v_s times, and not at all where v_s is 0; all 1 if left out."""

    def __post_init__(self) -> None:
        if not 2 <= len(self.values) <= WIDEST + 1:
            raise PolynomialError(
                f"found {len(self.values)} values; a target has k + 1 of them for 0, ..., k, with k from 1 to {WIDEST}"
            )
        if not all(type(value) is Fraction for value in self.values):
            raise PolynomialError("the values of a target are Fractions; use Target.table for other numbers")
        if self.name != TABLE and self.values != _values(self.name, self.width):
            raise PolynomialError(f"the values are not those of {self.name!r} with k = {self.width}")
        if not self.weights:
            object.__setattr__(self, "weights", (Fraction(1),) * len(self.values))
        if not all(type(weight) is Fraction for weight in self.weights):
            raise PolynomialError("the weights of errors are Fractions; use Target.weighted for other numbers")
        if len(self.weights) != len(self.values) or min(self.weights) < 0 or not any(self.weights):
            raise PolynomialError(
                f"expected {len(self.values)} weights of errors, for 0, ..., {self.width}, none below 0 and not all 0; "
                f"found {', '.join(map(str, self.weights))[:80]}"
            )

    @property
    def width(self) -> int:
        """k: the number of attributes of the query."""
        return len(self.values) - 1

    @property
    def keeps_zero(self) -> bool:
        """Whether polynomials keep the value at 0 unless asked otherwise: those of OR do, as in the paper."""
        return self.name == OR and self.weights[0] > 0

    def weighted(self, weights: Iterable[Fraction | int | float | str]) -> Target:
        """Return the target with these weights of errors at 0, 1, ..., k; 0 where any value will do."""
        found = exact_numbers(weights, "weight")
        if not found:
            raise PolynomialError(f"found no weights of errors; expected one for each of 0, ..., {self.width}")
        return replace(self, weights=found)

    @classmethod
    def disjunction(cls, width: int) -> Target:
        """Return OR of `width` literals: 0 at 0, then 1."""
        return cls.named(OR, width)

    @classmethod
    def conjunction(cls, width: int) -> Target:
        """Return AND of `width` literals: 1 at k, 0 before."""
        return cls.named(AND, width)

    @classmethod
    def at_least(cls, needed: int, width: int) -> Target:
        """Return "at least `needed` of `width` literals"."""
        return cls.named(f"{AT_LEAST}{needed}", width)

    @classmethod
    def named(cls, name: str, width: int) -> Target:
        """Return the target of a name "or", "and" or "atleast:R", for k = `width`."""
        if not 1 <= width <= WIDEST:
            raise PolynomialError(f"found k = {width}; expected a whole number from 1 to {WIDEST}")
        return cls(name, _values(name, width))

    @classmethod
    def table(cls, values: Iterable[Fraction | int | float | str]) -> Target:
        """Return the target with these values at 0, 1, ..., k; texts such as "1/3" and "0.25" are exact."""
        return cls(TABLE, exact_numbers(values, "value"))


def exact_numbers(given: Iterable[Fraction | int | float | str], what: str) -> tuple[Fraction, ...]:
    """Return numbers exactly as they are written; `what` is their name in messages."""
    return tuple(exact_number(one, f"{what} {place}") for place, one in enumerate(given))


def exact_number(value: Fraction | float | str, what: str) -> Fraction:
    """Return a number exactly as it is written; a float is the number that its shortest decimal spelling says."""
    if isinstance(value, Fraction):
        return value
    text = repr(value) if isinstance(value, float) else str(value)
    written = _NUMBER.fullmatch(text.strip())
    if written is None:
        raise PolynomialError(f"{what} is {text[:40]!r}; expected a number such as 0.05, 1e-3 or 1/20")
    exponent = written["exponent"] or "0"
    if len(text) > LONGEST_NUMBER or len(exponent) > 9 or abs(int(exponent)) > LONGEST_NUMBER:
        raise PolynomialError(
            f"{what} has more than {LONGEST_NUMBER} digits; round it, or take a fraction of smaller numbers"
        )
    return Fraction(text)


def nearest_float(number: Fraction | int) -> float:
    """Return the float nearest to an exact number: an infinite one beyond the largest."""
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def floats(numbers: Sequence[Fraction]) -> NDArray[np.float64]:
    """Return the numbers as floats, for a solver or a picture; PolynomialError if one is too large."""
    found = np.array([nearest_float(one) for one in numbers])
    if not np.isfinite(found).all():
        raise PolynomialError(
            "a value, weight or limit is beyond 1e308, which solvers and pictures do not take; give a smaller one, or "
            "fewer attributes, or ask for exact arithmetic alone (--solver none)"
        )
    return found


def _values(name: str, width: int) -> tuple[Fraction, ...]:
    needed = _needed(name, width)
    return tuple(Fraction(int(number >= needed)) for number in range(width + 1))


def _needed(name: str, width: int) -> int:
    if name == OR:
        return 1
    if name == AND:
        return width
    digits = name.removeprefix(AT_LEAST)
    if not name.startswith(AT_LEAST) or not digits.isdecimal() or len(digits) > 9:
        raise PolynomialError(f"found the predicate {name!r}; expected 'or', 'and' or 'atleast:R', such as atleast:2")
    needed = int(digits)
    if not 1 <= needed <= width:
        raise PolynomialError(
            f"found 'at least {needed} of {width}'; expected a number from 1 to k = {width} (0 is always true, more "
            f"never)"
        )
    return needed
