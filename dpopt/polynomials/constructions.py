"""Constructions of the papers, exact: Chebyshev's for OR, Sherstov's for "at least r of k".

For OR a Chebyshev polynomial is stretched over 1..k:

    g(s) = 1 - T_t((k + 1 - 2 s) / (k - 1)) / T_t((k + 1) / (k - 1))

has g(0) = 0 and |g(s) - 1| <= 1 / T_t((k + 1) / (k - 1)) for 1 <= s <= k, with equality at s = 1 for t >= 1. The degree
for an error e is the least t with T_t((k + 1) / (k - 1)) >= 1 / e, which is ceil(arccosh(1 / e) / arccosh((k + 1) / (k
- 1))), about (sqrt(k) / 2) ln(2 / e). From t = k on inclusion and exclusion, a_j = (-1)^(j + 1), have no error at all.

For "at least r of k" interpolation on 0..R is joined to a Chebyshev polynomial that damps the rest:

    g = 1 - sum_{j < r} h_j,   h_j(s) = prod_{i = 0..R, i != j} (s - i) / (j - i) * T_m(u(s)) / T_m(u(j)),
    u(s) = (k + R + 1 - 2 s) / (k - R - 1),   r - 1 <= R <= k - 2

has the degree R + m (at most), the right values at 0..R, and errors on R + 1..k, where |u| <= 1, that decay in m. With
r = 1 and R = 0 it is the closed form. For R = k the interpolation alone is exact.

Source: Thaler, Ullman and Vadhan (2012), Fact 4.2 (after Nisan and Szegedy), whose bounds the first form meets; Sherstov
(2009) as their Lemma 4.5, with R and m searched instead of R = 2 r.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np

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


def sherstov_polynomial(needed: int, width: int, degree: int) -> Polynomial:
    """Return g of a degree R + m, r = `needed` of k = `width`, exactly, with the best R; at degree k the target itself."""
    target = Target.at_least(needed, width)
    if degree == width:
        return Polynomial.through(width, target.values)
    return joined(needed, width, degree, best_split(needed, width, degree))


def joined(needed: int, width: int, degree: int, last: int) -> Polynomial:
    """Return g of a degree R + m below k, exactly; R is `last`, from r - 1 to k - 2."""
    nodes = range(last + 1)
    damped = [
        chebyshev_value(degree - last, Fraction(width + last + 1 - 2 * s, width - last - 1)) for s in range(degree + 1)
    ]
    shares = [1 / (damped[j] * prod(j - i for i in nodes if i != j)) for j in range(needed)]
    values = [
        1 - damped[s] * sum(share * prod(s - i for i in nodes if i != j) for j, share in enumerate(shares))
        for s in range(degree + 1)
    ]
    return Polynomial.through(width, values)


def best_split(needed: int, width: int, degree: int) -> int:
    """Return the R with the least error, up to rounding, of those that g of a degree below k can have."""
    splits = range(needed - 1, min(degree, width - 2) + 1)
    if not splits or degree >= width:
        raise PolynomialError(f"found degree {degree}; at least {needed} of {width} has no construction of this degree")
    return min(splits, key=lambda last: _float_error(needed, width, degree, last))


def _float_error(needed: int, width: int, degree: int, last: int) -> float:
    """Return the largest |h_0 + ... + h_{r - 1}| on R + 1..k, about."""
    points, nodes = np.arange(last + 1.0, width + 1.0), np.arange(last + 1.0)
    of_degree = np.polynomial.chebyshev.Chebyshev.basis(degree - last)
    damped = of_degree((width + last + 1 - 2 * np.append(nodes[:needed], points)) / (width - last - 1))
    lagrange = [np.prod((points[:, None] - np.delete(nodes, j)) / (j - np.delete(nodes, j)), 1) for j in range(needed)]
    return float(np.abs(np.array(lagrange).T @ (1 / damped[:needed]) * damped[needed:]).max())
