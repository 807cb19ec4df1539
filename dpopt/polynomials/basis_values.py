"""Values of the three bases at 0..k, and the way back to binomial coefficients; all exact."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb

from dpopt.polynomials.polynomial import Basis, Polynomial


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


def in_binomial_basis(basis: Basis, width: int, coefficients: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Return the binomial coefficients of a polynomial that is given in another basis."""
    if basis is Basis.BINOMIAL:
        return tuple(coefficients)
    degree = len(coefficients) - 1
    values = [
        sum((x * basis_value(basis, width, j, s) for j, x in enumerate(coefficients)), start=Fraction(0))
        for s in range(degree + 1)
    ]
    return Polynomial.through(width, values).coefficients


def chebyshev_value(degree: int, point: Fraction) -> Fraction:
    """Return T_n(u), exactly: T_{n+1} = 2 u T_n - T_{n-1}, in whole numbers over powers of u's denominator."""
    top, bottom = point.numerator, point.denominator
    before, now = 1, top  # bottom^n T_n(u)
    if degree == 0:
        return Fraction(1)
    for _ in range(degree - 1):
        before, now = now, 2 * top * now - bottom * bottom * before
    return Fraction(now, bottom**degree)
