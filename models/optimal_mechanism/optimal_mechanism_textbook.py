"""The mechanism of least expected loss in PuLP and CVXPY. Knows nothing of dpopt; labels OM-1 ... are the page's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cvxpy as cp
    import pulp


def pulp_model(
    losses: list[list[float]], ratio: float, delta: float = 0.0, prior: list[float] | None = None
) -> pulp.LpProblem:
    """Return the linear program: x_i_r is the probability of output r where the value is i."""
    import pulp

    values, outputs = range(len(losses)), range(len(losses[0]))
    model = pulp.LpProblem("optimal_mechanism", pulp.LpMinimize)
    x = [[pulp.LpVariable(f"x_{i}_{r}", 0) for r in outputs] for i in values]
    expected = [pulp.lpSum(losses[i][r] * x[i][r] for r in outputs) for i in values]
    worst = pulp.LpVariable("v", 0)
    model += worst if prior is None else pulp.lpSum(p * one for p, one in zip(prior, expected, strict=True))  # OM-1
    for i in values:
        model += expected[i] <= worst  # OM-2; idle with a prior
        model += pulp.lpSum(x[i]) == 1  # OM-3
    for i, j in [(a, b) for a in values for b in values if abs(a - b) == 1]:
        slack = [pulp.LpVariable(f"s_{i}_{j}_{r}", 0) for r in outputs]
        for r in outputs:
            model += x[i][r] - ratio * x[j][r] <= slack[r]  # OM-4
        model += pulp.lpSum(slack) <= delta  # OM-5
    return model


def cvxpy_model(
    losses: list[list[float]], ratio: float, delta: float = 0.0, prior: list[float] | None = None
) -> cp.Problem:
    """Return the same program with matrices."""
    import cvxpy as cp
    import numpy as np

    given = np.array(losses)
    x = cp.Variable(given.shape, name="x", nonneg=True)
    expected = cp.sum(cp.multiply(given, x), axis=1)
    rows = [cp.sum(x, axis=1) == 1]  # OM-3
    for one, two in ((x[1:], x[:-1]), (x[:-1], x[1:])):
        rows.append(cp.sum(cp.pos(one - ratio * two), axis=1) <= delta)  # OM-4, OM-5
    return cp.Problem(
        cp.Minimize(cp.max(expected) if prior is None else expected @ np.array(prior)), rows
    )  # OM-1, OM-2


EXAMPLES = [  # the worked example and the exercise
    {"losses": [[0, 1], [1, 0]], "ratio": 3},
    {"losses": [[0, 1], [1, 0]], "ratio": 3, "delta": 0.1},
]
