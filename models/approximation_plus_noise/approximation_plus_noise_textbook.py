"""Approximation and noise together in plain PuLP, on one screen. Knows nothing of dpopt; labels AN-1 ... as on the page."""

from __future__ import annotations

from math import comb

import pulp


def solve(values: list[float], weights: list[float]) -> tuple[float, list[float]]:
    """Return the least error plus weighted sum of coefficients, and the coefficients; the weights hold zeta."""
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
        model += p <= f + error  # AN-2
        model += p >= f - error
    model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False))
    if model.sol_status != pulp.LpSolutionOptimal:
        raise RuntimeError(f"CBC ended with {pulp.LpSolution[model.sol_status]!r}")
    return float(pulp.value(model.objective)), [float(one.value()) for one in a]


WORKED_EXAMPLE: tuple[list[float], list[float]] = ([0, 1], [0, 0.25])

if __name__ == "__main__":
    print(*solve(*WORKED_EXAMPLE))
