"""The polynomial near given values with the least weighted sum of coefficients; or the nearest one with small coefficients.

Problem (models/coefficient_budget): for values f(0), ..., f(k), a degree t, weights w_j >= 0 and an error e,

    minimize    sum_j w_j |a_j|                                                CB-1
    subject to  |sum_j a_j C(s, j) - f(s)| <= e      for s = 0, ..., k         CB-2
                a_0 = f(0)                           if the value at 0 is kept CB-3

or, for coefficients c_j in a basis phi (monomials or Chebyshev polynomials) and a size T,

    minimize E  subject to  |sum_j c_j phi_j(s) - f(s)| <= E,  |c_j| <= T      CB-4

As linear programs: a_j = (x_j^+ - x_j^-) / C(k, j) with x^+, x^- >= 0, so that entries C(s, j) / C(k, j) lie in [0, 1]
CB-5 and c_j = x_j / max_s |phi_j(s)| with |x_j| <= T max_s |phi_j(s)|.

The dual of CB-1 to CB-3, in weights y_s on the points, with z_j = sum_s y_s C(s, j):

    maximize sum_s y_s f(s) - e sum_s |y_s|  subject to  |z_j| <= w_j          CB-6

where a kept point 0 counts in the first sum only, and then z_0 = w_0 sign(f(0)) is free of loss.

Source: our own; why sums of coefficients are what noise is proportional to: docs/polynomials.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.models.polynomials.minimax_polynomial import linear_program
from dpopt.programs.mixed_integer import MixedIntegerProgram


def coefficient_program(
    values: NDArray[np.float64], weights: NDArray[np.float64], error: float, *, keeps_zero: bool
) -> MixedIntegerProgram:
    """Return the linear program of CB-1 to CB-3 whose variables are x_0^+, ..., x_t^+, x_0^-, ..., x_t^-.

    Parameters
    ----------
    values : (k + 1,) float64
        f(0), ..., f(k).
    weights : (t + 1,) float64
        w_0, ..., w_t, >= 0. The objective is scaled so that the largest w_j / C(k, j) is 1.
    error
        e, >= 0.
    keeps_zero
        Whether CB-3 is demanded.

    Raises
    ------
    ProgramError
        Shapes or numbers out of range.
    """
    shares = binomial_shares(values.size - 1, weights.size - 1)
    costs = scaled_weights(weights, values.size - 1)  # CB-5
    split = np.hstack((shares, -shares))
    low, high = values - error, values + error  # CB-2
    if keeps_zero:
        low[0] = high[0] = values[0]  # CB-3
    return linear_program(np.tile(costs, 2), split, low, high, np.zeros(2 * weights.size))


def limited_program(
    values: NDArray[np.float64], degree: int, limit: float, basis: NDArray[np.float64], *, keeps_zero: bool
) -> MixedIntegerProgram:
    """Return the linear program of CB-4 whose variables are x_0, ..., x_t and E.

    Parameters
    ----------
    values : (k + 1,) float64
        f(0), ..., f(k).
    degree, limit
        t, and T >= 0.
    basis : (k + 1, t + 1) float64
        phi_j(s).
    keeps_zero
        Whether p(0) = f(0) is demanded.

    Raises
    ------
    ProgramError
        Shapes or numbers out of range.
    """
    if basis.shape != (values.size, degree + 1) or not limit >= 0:
        raise ProgramError(
            f"found a basis of shape {basis.shape} and the limit {limit!r}; expected ({values.size}, {degree + 1}) "
            "and 0 or more"
        )
    largest = np.abs(basis).max(axis=0)
    shares, first = basis / largest, int(keeps_zero)
    ones = np.ones((values.size - first, 1))
    rows = np.vstack((np.hstack((shares[first:], ones)), np.hstack((shares[first:], -ones))))
    unbounded = np.full(values.size - first, np.inf)
    low, high = np.append(values[first:], -unbounded), np.append(unbounded, values[first:])
    if keeps_zero:
        rows = np.vstack((rows, np.append(shares[0], 0.0)))
        low, high = np.append(low, values[0]), np.append(high, values[0])
    bounds = limit * largest
    return linear_program(
        np.append(np.zeros(degree + 1), 1.0),
        rows,
        low,
        high,
        np.append(-bounds, 0.0),
        np.append(bounds, np.inf),
    )


def read_split(point: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Return a_0, ..., a_t of x^+ and x^- (the first 2 t + 2 entries of a point), (t + 1,)."""
    number = point.size // 2
    return np.asarray((point[:number] - point[number : 2 * number]) / largest_binomials(width, number - 1))


def read_limited(point: NDArray[np.float64], basis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return c_0, ..., c_t of a point of `limited_program`, (t + 1,)."""
    return np.asarray(point[:-1] / np.abs(basis).max(axis=0))


def monomial_values(width: int, degree: int) -> NDArray[np.float64]:
    """Return s^j for s = 0, ..., k and j = 0, ..., t, (k + 1, t + 1)."""
    points: NDArray[np.float64] = np.power.outer(np.arange(width + 1.0), np.arange(degree + 1.0))
    return points


def binomial_shares(width: int, degree: int) -> NDArray[np.float64]:
    """Return C(s, j) / C(k, j) for s = 0, ..., k and j = 0, ..., t, (k + 1, t + 1); all in [0, 1].

    Raises
    ------
    ProgramError
        k below 1, or t outside 0..k.
    """
    if width < 1 or not 0 <= degree <= width:
        raise ProgramError(f"found k = {width} and degree {degree}; expected k >= 1 and a degree from 0 to k")
    points, orders = np.arange(width + 1.0)[:, None], np.arange(degree)[None, :]
    steps = np.maximum(points - orders, 0.0) / (width - orders)  # C(s, j + 1) / C(s, j), over that of k
    return np.asarray(np.cumprod(np.hstack((np.ones((width + 1, 1)), steps)), axis=1), np.float64)


def largest_binomials(width: int, degree: int) -> NDArray[np.float64]:
    """Return C(k, 0), ..., C(k, t)."""
    orders = np.arange(degree)
    return np.asarray(np.cumprod(np.append(1.0, (width - orders) / (orders + 1.0))), np.float64)


def scaled_weights(weights: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Return w_j / C(k, j), the largest of them 1.

    Raises
    ------
    ProgramError
        A weight below 0 or not finite.
    """
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ProgramError("weights of coefficients must be finite and at least 0")
    costs = weights / largest_binomials(width, weights.size - 1)
    return np.asarray(costs / max(float(costs.max(initial=0.0)), 1e-300))
