"""Which coefficients have the least error and noise together: the search that the programs for answers share.

    minimize   gamma + (sum_c w_c^2 x_c^2)^(1/2)   subject to   |sum_c P_mc x_c - v_m| <= gamma  for each point m

A convex program, by Newton's method along the central path. Nothing that is found is believed: who calls evaluates what it
takes in exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log

import numpy as np
from numpy.typing import NDArray

_GAP, _LARGEST_GROWTH, _FASTER = (
    1e-9,
    1e16,
    10.0,
)  # where the search ends, and how much faster it gets each time
_STEPS, _SMALLEST_STEP, _CLOSE = (
    60,
    1e-12,
    1e-3,
)  # Newton's method: at most so many steps, none smaller, so close


def candidates(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    prefixes: Sequence[int] | None = None,
) -> list[NDArray[np.float64]]:
    """Return coefficients to choose from: the best constant, least squares in the first columns, and what the search ends with.

    Parameters
    ----------
    points : (m, c) float64
        P, whose first column is 1.
    values : (m,) float64
        v.
    weights : (c,) float64
        w >= 0.
    prefixes : sequence of int, optional
        Numbers of columns for which least squares are solved; all if left out.
    """
    found = []
    for degree in prefixes or range(1, points.shape[1] + 1):
        start = np.zeros(points.shape[1])
        start[:degree] = np.linalg.lstsq(points[:, :degree], values, rcond=None)[0]
        found.append(start)
    middle = np.zeros(points.shape[1])
    middle[0] = (values.max() + values.min()) / 2.0
    # In a basis in which all directions matter as much, to the points and the noise together.
    basis, change = np.linalg.qr(np.vstack((points, np.diag(weights))))
    ended = _central_path(basis[: len(points)], values, basis[len(points) :], change @ middle)
    return [middle, *found, np.linalg.solve(change, ended)]


def _central_path(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    start: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return x with the least gamma + length, gamma >= abs(points x - values), length >= abs(weights x), by Newton's method.

    On (gamma + length) growth - sum log of the slacks - log of length^2 - abs(weights x)^2, with growth ever larger: the gap is
    at most (2 m + 2) / growth for m points (Boyd and Vandenberghe 2004, Section 11.6).
    """
    ones = np.ones((len(points), 1))
    rows = np.block([[-points, ones, 0 * ones], [points, ones, 0 * ones]])
    right = np.concatenate((-values, values))
    cone = -np.pad(weights.T @ weights, (0, 2))  # the quadratic form of length^2 - abs(weights x)^2
    cone[-1, -1] = 1.0
    costs = np.zeros(rows.shape[1])
    costs[-2:] = 1.0
    slack = float(np.abs(points @ start - values).max())
    at = np.append(start, (slack + 1.0, float(np.linalg.norm(weights @ start)) + 1.0))

    def height(x: NDArray[np.float64], growth: float) -> float:
        slacks, inside = rows @ x - right, float(x @ cone @ x)
        if x[-1] <= 0 or inside <= 0 or slacks.min() <= 0:
            return inf
        return growth * float(costs @ x) - float(np.log(slacks).sum()) - log(inside)

    growth = 1.0
    while len(rows) + 2 > _GAP * growth * (costs @ at) and growth < _LARGEST_GROWTH:
        growth *= _FASTER
        for _ in range(_STEPS):
            slacks, inside, normal = rows @ at - right, float(at @ cone @ at), 2 * (cone @ at)
            downhill = rows.T @ (1 / slacks) + normal / inside - growth * costs
            curvature = (rows.T / slacks**2) @ rows + np.outer(normal / inside, normal / inside)
            step = np.linalg.lstsq(curvature - 2 * cone / inside, downhill, rcond=None)[0]
            gain, size, here = float(downhill @ step), 1.0, height(at, growth)
            while size > _SMALLEST_STEP and not height(at + size * step, growth) < here - 0.1 * size * gain:
                size /= 2
            if size <= _SMALLEST_STEP:
                break
            at = at + size * step
            if gain < _CLOSE:
                break
    return at[:-2]
