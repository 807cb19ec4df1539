"""Approximation and noise together in PuLP and in CVXPY. Knows nothing of dpopt; labels AN-1 ... as on the page."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cvxpy as cp
    import pulp


def pulp_model(values: list[float], weights: list[float], v: list[float] | None = None) -> pulp.LpProblem:
    """Return the linear program: a_j are the coefficients; the weights hold zeta."""
    import pulp

    model = pulp.LpProblem("approximation_plus_noise", pulp.LpMinimize)
    a = [pulp.LpVariable(f"a_{j}") for j in range(len(weights))]
    size = [pulp.LpVariable(f"size_{j}", 0) for j in range(len(weights))]
    error = pulp.LpVariable("E", 0)
    model += error + pulp.lpSum(w * one for w, one in zip(weights, size, strict=True))  # AN-1
    for one, other in zip(a, size, strict=True):
        model += other >= one
        model += other >= -one
    for s, f in enumerate(values):
        p = pulp.lpSum(comb(s, j) * one for j, one in enumerate(a))
        weight = 1 if v is None else v[s]
        model += weight * p <= weight * f + error  # AN-2
        model += weight * p >= weight * f - error
    return model


def cvxpy_model(values: list[float], weights: list[float], v: list[float] | None = None) -> cp.Problem:
    """Return the same as one formula."""
    import cvxpy as cp
    import numpy as np

    a = cp.Variable(len(weights), name="a")
    basis = np.array([[comb(s, j) for j in range(len(weights))] for s in range(len(values))])
    v = [1] * len(values) if v is None else v
    error = cp.norm_inf(cp.multiply(np.array(v), basis @ a - values))  # AN-2
    return cp.Problem(cp.Minimize(error + np.array(weights) @ cp.abs(a)))  # AN-1


EXAMPLES = [{"values": [0, 1], "weights": [0, w]} for w in (0.25, 0.75)]  # the worked example and the exercise
