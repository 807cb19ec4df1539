"""The least worst bias in plain PuLP, on one screen. Knows nothing of dpopt; labels HD-1 ... as on the page."""

from __future__ import annotations

import pulp


def solve(responses: list[list[float]], noise: list[float]) -> tuple[float, list[float]]:
    """Return the least worst error of a sign plus weighted sum of factors, and the factors."""
    model = pulp.LpProblem("halfspace_debiasing", pulp.LpMinimize)
    up = [pulp.LpVariable(f"up_{j}", 0) for j in range(len(noise))]
    down = [pulp.LpVariable(f"down_{j}", 0) for j in range(len(noise))]
    error = pulp.LpVariable("E", 0)
    model += error + pulp.lpSum(
        v * (one + other) for v, one, other in zip(noise, up, down, strict=True)
    )  # HD-1
    for row in responses:
        found = pulp.lpSum(r * (one - other) for r, one, other in zip(row, up, down, strict=True))  # HD-3
        model += found - 1 <= error  # HD-2
        model += 1 - found <= error
    model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False))
    if model.sol_status != pulp.LpSolutionOptimal:
        raise RuntimeError(f"CBC ended with {pulp.LpSolution[model.sol_status]!r}")
    factors = [float(one.value() - other.value()) for one, other in zip(up, down, strict=True)]
    return float(pulp.value(model.objective)), factors


WORKED_EXAMPLE: tuple[list[list[float]], list[float]] = ([[0.5], [1.0]], [0.25])

if __name__ == "__main__":
    print(*solve(*WORKED_EXAMPLE))
