"""A construction for "at least r of k": interpolation on 0..R, a Chebyshev polynomial that damps the rest.

    g = 1 - sum_{j < r} h_j,   h_j(s) = prod_{i = 0..R, i != j} (s - i) / (j - i) * T_m(u(s)) / T_m(u(j)),
    u(s) = (k + R + 1 - 2 s) / (k - R - 1),   r - 1 <= R <= k - 2

has the degree R + m (at most), the right values at 0..R, and decays in m on R + 1..k, where |u| <= 1. R and m are
searched: of all splits of the least degree for which one has at most an error, that with the least error. For R = k the
interpolation alone is exact.

Source: Sherstov (2009) as Lemma 4.5 of Thaler, Ullman and Vadhan (2012), with R and m searched instead of R = 2 r.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PolynomialError
from dpopt.polynomials.polynomial import Polynomial, chebyshev_value
from dpopt.polynomials.targets import Target

_SLACK = 1e-6  # floating-point errors are evaluated again exactly before anything is said of them


@dataclass(frozen=True, slots=True)
class Construction:
    """The construction with the least degree."""

    polynomial: Polynomial
    """g, exact."""
    interpolated: int
    """R; k where the target itself is interpolated."""
    damping: int
    """m."""
    error: Fraction
    """The largest error on 0..k, evaluated exactly."""


def sherstov_polynomial(needed: int, width: int, interpolated: int, damping: int) -> Polynomial:
    """Return g, exact: r = `needed` in 1..k, k = `width`, R = `interpolated` in r - 1..k - 2, m = `damping` in 0..k - R."""
    Target.at_least(needed, width)
    if not needed - 1 <= interpolated <= width - 2 or damping < 0 or interpolated + damping > width:
        raise PolynomialError(
            f"found R = {interpolated} and m = {damping}; expected R from r - 1 = {needed - 1} to k - 2 = {width - 2}, "
            f"m from 0, and R + m at most k = {width}"
        )

    def damped(s: int) -> Fraction:
        return chebyshev_value(damping, Fraction(width + interpolated + 1 - 2 * s, width - interpolated - 1))

    shares = []
    for j in range(needed):
        below = Fraction(1)
        for i in range(interpolated + 1):
            below *= (j - i) if i != j else 1
        shares.append(1 / (below * damped(j)))
    values = []
    for s in range(interpolated + damping + 1):
        total = Fraction(0)
        for j, share in enumerate(shares):
            product = 1
            for i in range(interpolated + 1):
                product *= (s - i) if i != j else 1
            total += share * product
        values.append(1 - total * damped(s))
    return Polynomial.through(width, values)


def sherstov_construction(needed: int, width: int, error_limit: Fraction) -> Construction:
    """Return the construction of the least degree R + m with at most an error, over all R and m.

    Parameters
    ----------
    needed, width
        r and k, 1 <= r <= k.
    error_limit
        >= 0.
    """
    target = Target.at_least(needed, width)
    if error_limit < 0:
        raise PolynomialError(f"found the error {float(error_limit):g}; expected 0 or more")
    errors = _float_errors(needed, width)
    for degree in range(needed - 1, width):
        splits = [(float(errors[r, degree - r]), r) for r in range(needed - 1, min(degree, width - 2) + 1)]
        for error, interpolated in sorted(splits):
            if error > float(error_limit) * (1 + _SLACK) + 1e-12:
                break
            polynomial = sherstov_polynomial(needed, width, interpolated, degree - interpolated)
            exact = polynomial.error(target).value
            if exact <= error_limit:
                return Construction(polynomial, interpolated, degree - interpolated, exact)
    return Construction(Polynomial.through(width, target.values), width, 0, Fraction(0))


def _float_errors(needed: int, width: int) -> NDArray[np.float64]:
    """Return about the largest error for each R and m, (k + 1, k + 1); infinite where there is none."""
    found = np.full((width + 1, width + 1), np.inf)
    points = np.arange(width + 1.0)
    for interpolated in range(needed - 1, width - 1):
        nodes = np.arange(interpolated + 1.0)
        inside = (width + interpolated + 1 - 2 * points) / (width - interpolated - 1)
        lagrange = np.stack(
            [
                np.prod((points[:, None] - np.delete(nodes, j)) / (j - np.delete(nodes, j)), axis=1)
                for j in range(needed)
            ]
        )  # (r, k + 1)
        chebyshev = np.polynomial.chebyshev.chebvander(inside, width)  # (k + 1, k + 1)
        ratios = chebyshev.T[:, None, :] / chebyshev.T[:, :needed, None]  # m, j, s
        sums = (lagrange[None] * ratios).sum(axis=1)[:, interpolated + 1 :]
        found[interpolated] = np.abs(sums).max(axis=1)
    return found
