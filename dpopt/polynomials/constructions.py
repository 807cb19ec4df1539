"""The closed form for OR: a Chebyshev polynomial stretched over 1..k.

    g(s) = 1 - T_t((k + 1 - 2 s) / (k - 1)) / T_t((k + 1) / (k - 1))

has g(0) = 0 and |g(s) - 1| <= 1 / T_t((k + 1) / (k - 1)) for 1 <= s <= k, with equality at s = 1 for t >= 1. The degree
for an error e is the least t with T_t((k + 1) / (k - 1)) >= 1 / e, which is ceil(arccosh(1 / e) / arccosh((k + 1) / (k
- 1))), about (sqrt(k) / 2) ln(2 / e). From t = k on inclusion and exclusion, a_j = (-1)^(j + 1), have no error at all.

Source: Thaler, Ullman and Vadhan (2012), Fact 4.2 (after Nisan and Szegedy); this form meets its bounds.
"""

from __future__ import annotations

from fractions import Fraction

from dpopt.errors import PolynomialError
from dpopt.polynomials.polynomial import Polynomial, chebyshev_value
from dpopt.polynomials.targets import Target


def chebyshev_polynomial(width: int, degree: int) -> Polynomial:
    """Return the closed form of a degree for OR of k = `width`, exactly; from t = k on inclusion and exclusion."""
    target = Target.disjunction(width)
    if degree < 0:
        raise PolynomialError(f"found degree {degree}; expected 0 or more")
    if degree >= width:
        return Polynomial.through(width, target.values)
    if degree == 0:
        return Polynomial(width, (Fraction(0),))
    at_zero = chebyshev_value(degree, Fraction(width + 1, width - 1))
    values = [1 - chebyshev_value(degree, Fraction(width + 1 - 2 * s, width - 1)) / at_zero for s in range(degree + 1)]
    return Polynomial.through(width, values)


def chebyshev_error(width: int, degree: int) -> Fraction:
    """Return the largest error of the closed form on 0..k: 1 / T_t((k + 1) / (k - 1)); 0 from t = k on."""
    if degree >= width:
        return Fraction(0)
    if degree == 0:
        return Fraction(1)
    return 1 / chebyshev_value(degree, Fraction(width + 1, width - 1))


def chebyshev_degree(width: int, error_limit: Fraction) -> int:
    """Return the least degree at which the closed form has at most an error; k if only inclusion and exclusion do."""
    Target.disjunction(width)
    if error_limit < 0:
        raise PolynomialError(f"found the error {float(error_limit):g}; expected 0 or more")
    return next(degree for degree in range(width + 1) if chebyshev_error(width, degree) <= error_limit)
