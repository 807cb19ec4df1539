"""The polynomial near given values with the least weighted coefficients, or the nearest one with small coefficients.

Problem (models/coefficient_budget): for values f(0), ..., f(k) with weights v_s, a degree t, weights w_j >= 0 and an error e,

    minimize    sum_j w_j |a_j|                                                CB-1
    subject to  v_s |sum_j a_j C(s, j) - f(s)| <= e  for s = 0, ..., k         CB-2
                a_0 = f(0)                           if the value at 0 is kept CB-3

or, for coefficients c_j in a basis phi (monomials or Chebyshev polynomials) and a size T,

    minimize E  subject to  v_s |sum_j c_j phi_j(s) - f(s)| <= E,  |c_j| <= T      CB-4

As linear programs: a_j = (x_j^+ - x_j^-) / C(k, j) with x^+, x^- >= 0, so that entries C(s, j) / C(k, j) lie in [0, 1]
CB-5 and c_j = x_j / max_s |phi_j(s)| with |x_j| <= T max_s |phi_j(s)|.

The dual of CB-1 to CB-3, in weights y_s on the points, with z_j = sum_s y_s C(s, j):

    maximize sum_s y_s f(s) - e sum_s |y_s| / v_s  subject to  |z_j| <= w_j          CB-6

where a kept point 0 counts in the first sum only, and then z_0 = w_0 sign(f(0)) is free of loss.

Source: our own; why sums of coefficients are what noise is proportional to: docs/research/polynomials.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.errors import ProgramError
from dpopt.models.model import Model
from dpopt.models.polynomials.minimax_polynomial import row_scales
from dpopt.programs.building import Builder, dense

Numbers = NDArray[np.float64]


def coefficient_budget(
    values: Numbers, weights: Numbers, error: float, *, keeps_zero: bool = False, error_weights: ArrayLike = ()
) -> Model:
    """Return CB-1 to CB-3 in x_plus and x_minus (t + 1,); `read_split` makes coefficients of their solution.

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
    error_weights : (k + 1,) float64
        v_0, ..., v_k, >= 0; all 1 if left out.
    """
    v = row_scales(error_weights, values.size, keeps_zero=keeps_zero)
    shares, values = v[:, None] * binomial_shares(values.size - 1, weights.size - 1), v * values
    costs = scaled_weights(weights, values.size - 1)  # CB-5
    first = int(keeps_zero)
    build = Builder()
    plus, minus = (build.variables(name, weights.size, objective=costs, start=0) for name in ("x_plus", "x_minus"))
    if keeps_zero:
        zero = dense(shares[:1], plus), dense(-shares[:1], minus)
        build.rows("CB-3", 1, *zero, lower=values[0], upper=values[0], single=True)
    build.rows(
        "CB-2",
        values.size - first,
        dense(shares[first:], plus),
        dense(-shares[first:], minus),
        lower=values[first:] - error,
        upper=values[first:] + error,
        start=first,
    )
    return Model.of("coefficient_budget", build)


def limited_coefficients(
    values: Numbers, degree: int, limit: float, basis: Numbers, *, keeps_zero: bool, error_weights: ArrayLike = ()
) -> Model:
    """Return CB-4 in x (t + 1,), and E; `read_limited` makes coefficients of their solution.

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
    error_weights : (k + 1,) float64
        v_0, ..., v_k, >= 0; all 1 if left out.
    """
    if basis.shape != (values.size, degree + 1) or not limit >= 0:
        raise ProgramError(
            f"found a basis of shape {basis.shape} and the limit {limit!r}; expected ({values.size}, {degree + 1}) "
            "and 0 or more"
        )
    largest = np.abs(basis).max(axis=0)
    v, first = row_scales(error_weights, values.size, keeps_zero=keeps_zero), int(keeps_zero)
    shares, values = v[:, None] * basis / largest, v * values
    number = values.size - first
    each = np.arange(number)
    build = Builder()
    x = build.variables("x", degree + 1, lower=-limit * largest, upper=limit * largest, start=0)
    error = build.variables("E", objective=1.0)
    near = dense(shares[first:], x)
    build.rows("CB-4.above", number, near, (each, error, 1.0), lower=values[first:], start=first)
    build.rows("CB-4.below", number, near, (each, error, -1.0), upper=values[first:], start=first)
    if keeps_zero:
        build.rows("CB-3", 1, dense(shares[:1], x), lower=values[0], upper=values[0], single=True)
    return Model.of("coefficient_budget", build)


def read_split(point: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Return a_0, ..., a_t of x^+ and x^- (the first 2 t + 2 entries of a point), (t + 1,)."""
    number = point.size // 2
    return np.asarray((point[:number] - point[number : 2 * number]) / largest_binomials(width, number - 1))


def read_limited(point: NDArray[np.float64], basis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return c_0, ..., c_t of a point of `limited_coefficients`, (t + 1,)."""
    return np.asarray(point[:-1] / np.abs(basis).max(axis=0))


def monomial_values(width: int, degree: int) -> NDArray[np.float64]:
    """Return s^j for s = 0, ..., k and j = 0, ..., t, (k + 1, t + 1)."""
    points: NDArray[np.float64] = np.power.outer(np.arange(width + 1.0), np.arange(degree + 1.0))
    return points


def binomial_shares(width: int, degree: int) -> NDArray[np.float64]:
    """Return C(s, j) / C(k, j) for s = 0, ..., k and j = 0, ..., t, (k + 1, t + 1); all in [0, 1]."""
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
    """Return w_j / C(k, j), the largest of them 1."""
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ProgramError("weights of coefficients must be finite and at least 0")
    costs = weights / largest_binomials(width, weights.size - 1)
    return np.asarray(costs / max(float(costs.max(initial=0.0)), 1e-300))
