"""The nearest polynomial to a predicate in PuLP and in CVXPY. Knows nothing of dpopt; labels MP-1 ... as on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cvxpy as cp
    import pulp


def chebyshev(degree: int, u: float) -> float:
    """Return T_n(u)."""
    before, now = 1.0, u
    for _ in range(degree):
        before, now = now, 2 * u * now - before
    return before


def basis(k: int, degree: int) -> list[list[float]]:
    """Return T_j(2 s / k - 1), a row for each s."""
    return [[chebyshev(j, 2 * s / k - 1) for j in range(degree + 1)] for s in range(k + 1)]


def pulp_model(values: list[float], degree: int, *, keeps_zero: bool, v: list[float] | None = None) -> pulp.LpProblem:
    """Return the linear program: p_s is the value at s of the polynomial, x_j its coefficients."""
    import pulp

    model = pulp.LpProblem("minimax_polynomial", pulp.LpMinimize)
    x = [pulp.LpVariable(f"x_{j}") for j in range(degree + 1)]
    p = [pulp.LpVariable(f"p_{s}") for s in range(len(values))]
    error = pulp.LpVariable("E", 0)
    model += error  # MP-1
    for s, (f, row) in enumerate(zip(values, basis(len(values) - 1, degree), strict=True)):
        model += p[s] == pulp.lpSum(t * one for t, one in zip(row, x, strict=True))
        if keeps_zero and s == 0:
            model += p[s] == f  # MP-4
            continue
        weight = 1 if v is None else v[s]
        model += weight * p[s] + error >= weight * f  # MP-2
        model += weight * p[s] - error <= weight * f  # MP-3
    return model


def cvxpy_model(values: list[float], degree: int, *, keeps_zero: bool, v: list[float] | None = None) -> cp.Problem:
    """Return the same as one formula."""
    import cvxpy as cp
    import numpy as np

    x = cp.Variable(degree + 1, name="x")
    off = np.array(basis(len(values) - 1, degree)) @ x - values
    rows = [off[0] == 0] if keeps_zero else []  # MP-4
    v = [1] * len(values) if v is None else v
    return cp.Problem(cp.Minimize(cp.norm_inf(cp.multiply(np.array(v), off))), rows)  # MP-1 to MP-3


EXAMPLES: list[dict[str, object]] = [  # the worked example, with the value at 0 kept and free, and the exercise
    {"values": [0, 1, 1, 1], "degree": 2, "keeps_zero": True},
    {"values": [0, 1, 1, 1], "degree": 2, "keeps_zero": False},
    {"values": [0, 1, 1, 1], "degree": 1, "keeps_zero": True},
]
