"""The polynomial of a degree nearest to given values on 0..k, as a linear program.

Problem (models/minimax_polynomial): for values f(0), ..., f(k) and a degree t, with u = 2 s / k - 1,

    minimize    E                                                              MP-1
    subject to  sum_j x_j T_j(u) + E >= f(s)     for s = 0, ..., k             MP-2
                sum_j x_j T_j(u) - E <= f(s)     for s = 0, ..., k             MP-3
                sum_j x_j T_j(-1) = f(0)         if the value at 0 is kept     MP-4

Its dual, in weights y_s = (multiplier of MP-2) - (multiplier of MP-3):

    maximize sum_s y_s f(s)  subject to  sum_s |y_s| <= 1, sum_s y_s s^j = 0 for j = 0, ..., t        MP-5

At the optimum the error has its largest size, with alternating signs, on t + 2 points, or on t + 1 points beside the kept
one; there E = |sum_i W_i f(s_i)| / sum_i |W_i| with W_i = 1 / prod_{j != i} (s_i - s_j)                   MP-6 (the sum
below without the kept point). A solver's answer only says where: `dpopt.polynomials` computes MP-6 exactly, and goes on.

Source: Thaler, Ullman and Vadhan (2012), section 4, for what is approximated; Chebyshev polynomials for numbers that stay
in [-1, 1].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.programs.mixed_integer import MixedIntegerProgram

SMALLEST = 1e-15
"""Entries below are rounding errors of zeros."""


def minimax_program(values: NDArray[np.float64], degree: int, *, keeps_zero: bool) -> MixedIntegerProgram:
    """Return the linear program whose variables are x_0, ..., x_t and E.

    Parameters
    ----------
    values : (k + 1,) float64
        f(0), ..., f(k), k >= 1.
    degree
        t, from 0 to k.
    keeps_zero
        Whether MP-4 is demanded; MP-2 and MP-3 are left out at 0 then.

    Raises
    ------
    ProgramError
        Fewer than two values, or a degree out of range.
    """
    chebyshev = chebyshev_values(values.size - 1, degree)
    first = int(keeps_zero)
    counted = chebyshev[first:]
    ones = np.ones((len(counted), 1))
    rows = [np.hstack((counted, ones)), np.hstack((counted, -ones))]  # MP-2, MP-3
    low = [values[first:], np.full(len(counted), -np.inf)]
    high = [np.full(len(counted), np.inf), values[first:]]
    if keeps_zero:
        rows.append(np.append(chebyshev[0], 0.0)[None, :])  # MP-4
        low.append(values[:1])
        high.append(values[:1])
    objective = np.append(np.zeros(degree + 1), 1.0)  # MP-1
    lower = np.append(np.full(degree + 1, -np.inf), 0.0)
    return linear_program(objective, np.vstack(rows), np.concatenate(low), np.concatenate(high), lower)


def minimax_values(point: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Return p(0), ..., p(k) of a point of `minimax_program`, (k + 1,)."""
    return np.asarray(chebyshev_values(width, point.size - 2) @ point[:-1])


def chebyshev_values(width: int, degree: int) -> NDArray[np.float64]:
    """Return T_j(2 s / k - 1) for s = 0, ..., k and j = 0, ..., t, (k + 1, t + 1).

    Raises
    ------
    ProgramError
        k below 1, or t outside 0..k.
    """
    if width < 1 or not 0 <= degree <= width:
        raise ProgramError(f"found k = {width} and degree {degree}; expected k >= 1 and a degree from 0 to k")
    points = 2.0 * np.arange(width + 1) / width - 1.0
    return np.asarray(np.polynomial.chebyshev.chebvander(points, degree))


def linear_program(
    objective: NDArray[np.float64],
    matrix: NDArray[np.float64],
    row_lower: NDArray[np.float64],
    row_upper: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64] | None = None,
) -> MixedIntegerProgram:
    """Return a minimization over a dense matrix (r, n), entries that are zero up to rounding left out."""
    kept = np.abs(matrix) >= SMALLEST
    return MixedIntegerProgram(
        objective=objective,
        maximize=False,
        row_starts=np.append(0, np.cumsum(kept.sum(axis=1))),
        columns=np.nonzero(kept)[1].astype(np.int32),
        coefficients=matrix[kept],
        row_lower=row_lower,
        row_upper=row_upper,
        lower=lower,
        upper=np.full(objective.size, np.inf) if upper is None else upper,
        integrality=np.zeros(objective.size, dtype=np.bool_),
    )
