"""The least worst bias in PuLP and in CVXPY. Knows nothing of dpopt; labels HD-1 ... as on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cvxpy as cp
    import pulp


def pulp_model(responses: list[list[float]], noise: list[float]) -> pulp.LpProblem:
    """Return the linear program: the factor of estimate j is up_j - down_j."""
    import pulp

    model = pulp.LpProblem("halfspace_debiasing", pulp.LpMinimize)
    up = [pulp.LpVariable(f"up_{j}", 0) for j in range(len(noise))]
    down = [pulp.LpVariable(f"down_{j}", 0) for j in range(len(noise))]
    error = pulp.LpVariable("E", 0)
    sizes = [v * (one + other) for v, one, other in zip(noise, up, down, strict=True)]
    model += error + pulp.lpSum(sizes)  # HD-1
    for row in responses:
        found = pulp.lpSum(r * (one - other) for r, one, other in zip(row, up, down, strict=True))  # HD-3
        model += found - 1 <= error  # HD-2
        model += 1 - found <= error
    return model


def cvxpy_model(responses: list[list[float]], noise: list[float]) -> cp.Problem:
    """Return the same as one formula: a are the factors."""
    import cvxpy as cp
    import numpy as np

    a = cp.Variable(len(noise), name="a")
    error = cp.norm_inf(np.array(responses) @ a - 1)  # HD-2
    return cp.Problem(cp.Minimize(error + np.array(noise) @ cp.abs(a)))  # HD-1


EXAMPLES = [{"responses": [[0.5], [1.0]], "noise": [v]} for v in (0.0, 0.25, 0.1)]  # worked twice, and the exercise
