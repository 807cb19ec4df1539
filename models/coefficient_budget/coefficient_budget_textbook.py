"""The least coefficients in PuLP and in CVXPY. Knows nothing of dpopt; labels CB-1 ... as on the page."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cvxpy as cp
    import pulp


def pulp_model(
    values: list[float], weights: list[float], error: float, *, keeps_zero: bool, v: list[float] | None = None
) -> pulp.LpProblem:
    """Return the linear program: a_j are the binomial coefficients."""
    import pulp

    model = pulp.LpProblem("coefficient_budget", pulp.LpMinimize)
    a = [pulp.LpVariable(f"a_{j}") for j in range(len(weights))]
    size = [pulp.LpVariable(f"size_{j}", 0) for j in range(len(weights))]
    model += pulp.lpSum(w * one for w, one in zip(weights, size, strict=True))  # CB-1
    for one, other in zip(a, size, strict=True):
        model += other >= one
        model += other >= -one
    for s, f in enumerate(values):
        p = pulp.lpSum(comb(s, j) * one for j, one in enumerate(a))
        weight = 1 if v is None else v[s]
        model += weight * p <= weight * f + error  # CB-2
        model += weight * p >= weight * f - error
    if keeps_zero:
        model += a[0] == values[0]  # CB-3
    return model


def cvxpy_model(
    values: list[float], weights: list[float], error: float, *, keeps_zero: bool, v: list[float] | None = None
) -> cp.Problem:
    """Return the same as one formula."""
    import cvxpy as cp
    import numpy as np

    a = cp.Variable(len(weights), name="a")
    basis = np.array([[comb(s, j) for j in range(len(weights))] for s in range(len(values))])
    off = cp.multiply(np.array([1] * len(values) if v is None else v), basis @ a - values)
    rows = [cp.abs(off) <= error, *([a[0] == values[0]] if keeps_zero else [])]  # CB-2, CB-3
    return cp.Problem(cp.Minimize(np.array(weights) @ cp.abs(a)), rows)  # CB-1


def limited_pulp_model(values: list[float], degree: int, limit: float, *, keeps_zero: bool) -> pulp.LpProblem:
    """Return the linear program of the least error with monomial coefficients c_j of at most a size."""
    import pulp

    model = pulp.LpProblem("limited_coefficients", pulp.LpMinimize)
    c = [pulp.LpVariable(f"c_{j}", -limit, limit) for j in range(degree + 1)]  # CB-4
    error = pulp.LpVariable("E", 0)
    model += error
    for s, f in enumerate(values):
        p = pulp.lpSum(s**j * one for j, one in enumerate(c))
        model += p <= f + (0 if keeps_zero and s == 0 else error)
        model += p >= f - (0 if keeps_zero and s == 0 else error)
    return model


EXAMPLES = [  # the worked example and the exercise
    {"values": [0, 1, 1], "weights": [0, 4, 6], "error": error, "keeps_zero": True} for error in (0.25, 0.1)
]
