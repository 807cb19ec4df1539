"""The least coefficients in plain PuLP, on one screen. Knows nothing of dpopt; labels CB-1 ... as on the page."""

from __future__ import annotations

from math import comb

import pulp


def run(model: pulp.LpProblem, unknown: list[pulp.LpVariable]) -> tuple[float, list[float]]:
    """Return the optimum, and the values of the unknowns."""
    model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False))
    if model.sol_status != pulp.LpSolutionOptimal:
        raise RuntimeError(f"CBC ended with {pulp.LpSolution[model.sol_status]!r}")
    return float(pulp.value(model.objective)), [float(one.value()) for one in unknown]


def solve(
    values: list[float],
    weights: list[float],
    error: float,
    keeps_zero: bool,  # noqa: FBT001
) -> tuple[float, list[float]]:
    """Return the least weighted sum of binomial coefficients, and the coefficients."""
    model = pulp.LpProblem("coefficient_budget", pulp.LpMinimize)
    a = [pulp.LpVariable(f"a_{j}") for j in range(len(weights))]
    size = [pulp.LpVariable(f"size_{j}", 0) for j in range(len(weights))]
    model += pulp.lpSum(w * one for w, one in zip(weights, size, strict=True))  # CB-1
    for one, other in zip(a, size, strict=True):
        model += other >= one
        model += other >= -one
    for s, f in enumerate(values):
        p = pulp.lpSum(comb(s, j) * one for j, one in enumerate(a))
        model += p <= f + error  # CB-2
        model += p >= f - error
    if keeps_zero:
        model += a[0] == values[0]  # CB-3
    return run(model, a)


def solve_limited(
    values: list[float],
    degree: int,
    limit: float,
    keeps_zero: bool,  # noqa: FBT001
) -> tuple[float, list[float]]:
    """Return the least error with monomial coefficients of at most a size, and the coefficients."""
    model = pulp.LpProblem("limited", pulp.LpMinimize)
    c = [pulp.LpVariable(f"c_{j}", -limit, limit) for j in range(degree + 1)]  # CB-4
    error = pulp.LpVariable("E", 0)
    model += error
    for s, f in enumerate(values):
        p = pulp.lpSum(s**j * one for j, one in enumerate(c))
        model += p <= f + (0 if keeps_zero and s == 0 else error)
        model += p >= f - (0 if keeps_zero and s == 0 else error)
    return run(model, c)


WORKED_EXAMPLE: tuple[list[float], list[float], float, bool] = ([0, 1, 1], [0, 4, 6], 0.25, True)

if __name__ == "__main__":
    print(*solve(*WORKED_EXAMPLE))
