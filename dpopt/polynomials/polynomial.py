"""Polynomials on 0..k with exact coefficients in three bases, their values, and conversions without rounding.

In the binomial basis p(s) = sum_j a_j C(s, j). There a_j is the j-th forward difference of p at 0, and C(s, j) is the
number of j-subsets of the s attributes that are true: a polynomial of degree t in s is a sum of conjunctions of at most
t attributes. Monomials c_i s^i and Chebyshev polynomials b_i T_i(2 s / k - 1) are conversions of it, and lead back to
it.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import comb, prod

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PolynomialError
from dpopt.polynomials.targets import WIDEST, Target, exact_numbers, floats


class Basis(enum.Enum):
    """The basis of the coefficients of a polynomial."""

    BINOMIAL = "binomial"
    """C(s, j)."""
    MONOMIAL = "monomial"
    """s^j."""
    CHEBYSHEV = "chebyshev"
    """T_j(2 s / k - 1)."""


@dataclass(frozen=True, slots=True)
class LargestError:
    """The largest distance of a polynomial from a target on 0..k, and where it is reached."""

    value: Fraction
    points: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Polynomial:
    """A polynomial p(s) = sum_j a_j C(s, j) for s in [0, k]."""

    width: int
    """k, from 1 to 256."""
    coefficients: tuple[Fraction, ...]
    """a_0, ..., a_t, exact; zeros at the end are dropped, all but a_0."""

    def __post_init__(self) -> None:
        if not 1 <= self.width <= WIDEST:
            raise PolynomialError(f"found k = {self.width}; expected a whole number from 1 to {WIDEST}")
        if not self.coefficients or not all(type(one) is Fraction for one in self.coefficients):
            raise PolynomialError("a polynomial has at least one coefficient, and all of them are Fractions")
        kept = len(self.coefficients)
        while kept > 1 and not self.coefficients[kept - 1]:
            kept -= 1
        object.__setattr__(self, "coefficients", self.coefficients[:kept])
        if self.degree > self.width:
            raise PolynomialError(f"found degree {self.degree}; on 0..{self.width} it is at most {self.width}")

    @classmethod
    def from_basis(
        cls, width: int, coefficients: Sequence[Fraction | int | float | str], basis: Basis = Basis.MONOMIAL
    ) -> Polynomial:
        """Return the polynomial on 0..k with these coefficients of degrees 0, ..., t in a basis.

        Numbers are taken as they are written: texts such as "1/3" and "0.25", and floats.
        """
        exact = exact_numbers(coefficients, "coefficient")
        if basis is Basis.BINOMIAL:
            return cls(width, exact)
        values = [
            sum((x * basis_value(basis, width, j, s) for j, x in enumerate(exact)), start=Fraction(0))
            for s in range(len(exact))
        ]
        return cls.through(width, values)

    @classmethod
    def through(cls, width: int, values: Sequence[Fraction], points: Sequence[int] | None = None) -> Polynomial:
        """Return the polynomial of degree below len(values) with these values at points; at 0, 1, ... if left out."""
        if points is not None and list(points) != list(range(len(values))):  # Lagrange's form, at 0, 1, ...
            others = [[one for one in points if one != s] for s in points]
            shares = [Fraction(f, prod(s - o for o in rest)) for s, f, rest in zip(points, values, others, strict=True)]
            values = [
                sum((c * prod(x - o for o in rest) for c, rest in zip(shares, others, strict=True)), Fraction(0))
                for x in range(len(values))
            ]
        differences, left = [], list(values)
        while left:
            differences.append(Fraction(left[0]))
            left = [after - before for before, after in pairwise(left)]
        return cls(width, tuple(differences))

    @property
    def degree(self) -> int:
        """The largest j with a_j != 0; 0 for a constant."""
        return len(self.coefficients) - 1

    def at(self, point: int) -> Fraction:
        """Return p(s), exactly, at any whole s."""
        value, binomial = Fraction(0), 1
        for j, coefficient in enumerate(self.coefficients):
            value += coefficient * binomial
            binomial = binomial * (point - j) // (j + 1)
        return value

    def evaluate(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return p at any points, in floating-point arithmetic (from Chebyshev coefficients, stable on [0, k])."""
        coefficients = floats(self.in_basis(Basis.CHEBYSHEV))
        return np.asarray(np.polynomial.chebyshev.chebval(2.0 * np.asarray(points) / self.width - 1.0, coefficients))

    def in_basis(self, basis: Basis) -> tuple[Fraction, ...]:
        """Return the coefficients of degrees 0..t in a basis, exactly."""
        if basis is Basis.BINOMIAL:
            return self.coefficients
        times_s = _times_s if basis is Basis.MONOMIAL else self._chebyshev_times_s
        found = [self.coefficients[-1]]
        for j in range(self.degree - 1, -1, -1):  # p_j = a_j + (s - j) / (j + 1) p_{j+1}
            raised = times_s(found)
            for place, one in enumerate(found):
                raised[place] -= j * one
            found = [one / (j + 1) for one in raised]
            found[0] += self.coefficients[j]
        return tuple(found)

    def _chebyshev_times_s(self, coefficients: list[Fraction]) -> list[Fraction]:
        """Return s p in Chebyshev polynomials: s = k (u + 1) / 2, u T_0 = T_1, u T_n = (T_{n+1} + T_{n-1}) / 2."""
        half = Fraction(self.width, 2)
        raised = [half * one for one in coefficients] + [Fraction(0)]
        raised[1] += half * coefficients[0]
        for n in range(1, len(coefficients)):
            raised[n + 1] += half / 2 * coefficients[n]
            raised[n - 1] += half / 2 * coefficients[n]
        return raised

    def errors(self, target: Target) -> tuple[Fraction, ...]:
        """Return f(s) - p(s) for s = 0, ..., k."""
        if target.width != self.width:
            raise PolynomialError(
                f"the target has k = {target.width} and the polynomial k = {self.width}; give them the same k"
            )
        return tuple(value - self.at(point) for point, value in enumerate(target.values))

    def error(self, target: Target) -> LargestError:
        """Return the largest v_s |f(s) - p(s)| over s = 0, ..., k, exactly, and all points where it is reached."""
        sizes = [weight * abs(one) for weight, one in zip(target.weights, self.errors(target), strict=True)]
        largest = max(sizes)
        return LargestError(largest, tuple(point for point, size in enumerate(sizes) if size == largest))


def _times_s(coefficients: list[Fraction]) -> list[Fraction]:
    return [Fraction(0), *coefficients]


def basis_table(basis: Basis, width: int, degree: int) -> list[list[Fraction]]:
    """Return phi_j(s) for s = 0..k and j = 0..t, row by row."""
    return [[basis_value(basis, width, j, s) for j in range(degree + 1)] for s in range(width + 1)]


def basis_value(basis: Basis, width: int, degree: int, point: int) -> Fraction:
    """Return phi_j(s)."""
    if basis is Basis.BINOMIAL:
        return Fraction(comb(point, degree))
    if basis is Basis.MONOMIAL:
        return Fraction(point**degree)
    return chebyshev_value(degree, Fraction(2 * point, width) - 1)


def chebyshev_value(degree: int, point: Fraction) -> Fraction:
    """Return T_n(u), exactly: T_{n+1} = 2 u T_n - T_{n-1}, in whole numbers over powers of u's denominator."""
    top, bottom = point.numerator, point.denominator
    before, now = 1, top  # bottom^n T_n(u)
    if degree == 0:
        return Fraction(1)
    for _ in range(degree - 1):
        before, now = now, 2 * top * now - bottom * bottom * before
    return Fraction(now, bottom**degree)
