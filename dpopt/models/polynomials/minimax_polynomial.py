"""The polynomial of a degree nearest to given values on 0..k, as a linear program.

Problem (models/minimax_polynomial): for values f(0), ..., f(k), weights v_s of errors and a degree t, with u = 2 s / k - 1,

    minimize    E                                                                   MP-1
    subject to  v_s sum_j x_j T_j(u) + E >= v_s f(s)     for s = 0, ..., k          MP-2
                v_s sum_j x_j T_j(u) - E <= v_s f(s)     for s = 0, ..., k          MP-3
                sum_j x_j T_j(-1) = f(0)                 if the value at 0 is kept  MP-4

Its dual, in weights y_s = (multiplier of MP-2) - (multiplier of MP-3):

    maximize sum_s y_s f(s)  subject to  sum_s |y_s| / v_s <= 1, sum_s y_s s^j = 0 for j = 0, ..., t    MP-5

At the optimum v_s times the error has its largest size, with alternating signs, on t + 2 points with v_s > 0, or on t + 1
points beside the kept one; there E = |sum_i W_i f(s_i)| / sum_i |W_i| / v_i with W_i = 1 / prod_{j != i} (s_i - s_j) MP-6
(the sum below without the kept point). A solver's answer only says where: `dpopt.polynomials` computes MP-6 exactly, and
goes on.

Source: Thaler, Ullman and Vadhan (2012), section 4, for what is approximated; Chebyshev polynomials for numbers that
stay in [-1, 1].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.errors import ProgramError
from dpopt.models.model import Model
from dpopt.programs.building import Builder, dense


def minimax_polynomial(
    target: str | ArrayLike,
    k: int | None = None,
    *,
    degree: int,
    keeps_zero: bool = False,
    error_weights: ArrayLike = (),
) -> Model:
    """Return MP-1 to MP-4: coefficients x (t + 1,) of Chebyshev polynomials, and the error E.

    Parameters
    ----------
    target
        f(0), ..., f(k), k >= 1; or the predicate "or", "and" or "atleast:r" of k conditions.
    degree
        t, from 0 to k.
    keeps_zero
        Whether MP-4 is demanded; MP-2 and MP-3 are left out at 0 then.
    error_weights : (k + 1,)
        v_0, ..., v_k, >= 0; all 1 if left out.

    Examples
    --------
    >>> model = minimax_polynomial("or", k=8, degree=4)
    >>> round(model.solve("highs").objective, 6)
    0.091837
    """
    values = predicate_values(target, k)
    v = row_scales(error_weights, values.size, keeps_zero=keeps_zero)
    chebyshev, values = v[:, None] * chebyshev_values(values.size - 1, degree), v * values
    first = int(keeps_zero)
    number = values.size - first
    build = Builder()
    x = build.variables("x", degree + 1, lower=-np.inf, start=0)
    error = build.variables("E", objective=1.0)  # MP-1
    each = np.arange(number)
    above, below = (each, error, 1.0), (each, error, -1.0)
    build.rows("MP-2", number, dense(chebyshev[first:], x), above, lower=values[first:], start=first)
    build.rows("MP-3", number, dense(chebyshev[first:], x), below, upper=values[first:], start=first)
    if keeps_zero:
        build.rows("MP-4", 1, dense(chebyshev[:1], x), lower=values[0], upper=values[0], single=True)
    return Model.of("minimax_polynomial", build)


def row_scales(error_weights: ArrayLike, number: int, *, keeps_zero: bool) -> NDArray[np.float64]:
    """Return v_0, ..., v_k, by which the row of each point is multiplied; 1 at 0 where the value there is kept."""
    v = np.array(error_weights, dtype=np.float64) if np.size(error_weights) else np.ones(number)
    if v.shape != (number,) or not (np.isfinite(v).all() and (v >= 0).all()):
        raise ProgramError(f"found error weights of shape {v.shape}; expected {number} numbers, finite and at least 0")
    v[: int(keeps_zero)] = 1.0
    return v


def predicate_values(target: str | ArrayLike, k: int | None = None) -> NDArray[np.float64]:
    """Return f(0), ..., f(k) of a predicate by name, or of given values."""
    if not isinstance(target, str):
        values = np.asarray(target, dtype=np.float64)
        if values.ndim != 1 or k not in {None, values.size - 1}:
            raise ProgramError(
                f"found values of shape {values.shape} and k = {k}; expected f(0), ..., f(k), and no other k"
            )
        return values
    if k is None or k < 1 or k != int(k):
        raise ProgramError(
            f"found k = {k} for the predicate {target!r}; give the number of conditions, a whole number of at least 1"
        )
    name, _, number = target.partition(":")
    least = {"or": "1", "and": str(k), "atleast": number}.get(name, "")
    if not least.isdecimal() or (number and name != "atleast") or not 1 <= int(least) <= k:
        raise ProgramError(f"found the predicate {target!r}; expected or, and, or atleast:r with r from 1 to k = {k}")
    return (np.arange(k + 1) >= int(least)).astype(np.float64)


def chebyshev_values(width: int, degree: int) -> NDArray[np.float64]:
    """Return T_j(2 s / k - 1) for s = 0, ..., k and j = 0, ..., t, (k + 1, t + 1)."""
    if width < 1 or not 0 <= degree <= width or degree != int(degree):
        raise ProgramError(f"found k = {width} and degree {degree}; expected k >= 1 and a whole degree from 0 to k")
    points = 2.0 * np.arange(width + 1) / width - 1.0
    return np.asarray(np.polynomial.chebyshev.chebvander(points, degree))
