"""Isotonic regression in CVXPY; by absolute differences also in PuLP. Knows nothing of dpopt; labels of the page."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cvxpy as cp
    import pulp

Bounds = tuple[float | None, float | None]


def cvxpy_model(
    values: list[float],
    weights: list[float],
    bounds: Bounds = (None, None),
    total: float | None = None,
    *,
    absolute: bool = False,
) -> cp.Problem:
    """Return the problem: s is the nondecreasing sequence."""
    import cvxpy as cp

    s = cp.Variable(len(values), name="s")
    rows = [cp.diff(s) >= 0] if len(values) > 1 else []  # IR-3
    lower, upper = bounds
    if lower is not None:
        rows.append(s >= lower)  # IR-4
    if upper is not None:
        rows.append(s <= upper)
    if total is not None:
        rows.append(cp.sum(s) == total)  # IR-5
    squares = cp.sum(cp.multiply(weights, cp.square(s - values))) / 2  # IR-1
    differences = cp.sum(cp.multiply(weights, cp.abs(s - values)))  # IR-2
    return cp.Problem(cp.Minimize(differences if absolute else squares), rows)


def pulp_model(
    values: list[float], weights: list[float], bounds: Bounds = (None, None), *, absolute: bool
) -> pulp.LpProblem:
    """Return the linear program of absolute differences; PuLP holds no squares."""
    import pulp

    if not absolute:
        raise ValueError("squares are no linear program: use cvxpy_model")
    model = pulp.LpProblem("isotonic_median_regression", pulp.LpMinimize)
    s = [pulp.LpVariable(f"s_{k}", *bounds) for k in range(len(values))]  # IR-4
    t = [pulp.LpVariable(f"t_{k}", 0) for k in range(len(values))]
    model += pulp.lpSum(w * one for w, one in zip(weights, t, strict=True))  # IR-2
    for one, off, y in zip(s, t, values, strict=True):
        model += off >= one - y
        model += off >= y - one
    for one, following in itertools.pairwise(s):
        model += one <= following  # IR-3
    return model


NOISY: dict[str, object] = {"values": [14, 9, 10, 15], "weights": [1.0] * 4}
EXAMPLES: list[dict[str, object]] = [  # the worked example in three forms, and the exercise
    NOISY,
    {**NOISY, "total": 52},
    {**NOISY, "absolute": True},
    {**NOISY, "bounds": (None, 12)},
]
