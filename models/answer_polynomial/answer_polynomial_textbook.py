"""The polynomial that answers a query, in plain PuLP, on one screen. Knows nothing of dpopt; labels AQ-1 ... are the page's.

A norm is the largest of its tangents: a linear program over some of them gives a bound; tangents are added until the two meet.
"""

from __future__ import annotations

from math import comb, hypot, inf

import pulp


def solve(
    target: list[float | None], deviations: list[float], zeta: float
) -> tuple[float, float, list[float]]:
    """Return the least bound, its part gamma, and a_0, ..., a_t; a deviation is inf where a size was not counted."""
    k = len(target) - 1
    used = [0, *(j for j, u in enumerate(deviations[:k], start=1) if u < inf)]
    model = pulp.LpProblem("answer_polynomial", pulp.LpMinimize)
    a = {j: pulp.LpVariable(f"a_{j}") for j in used}
    gamma, noise = pulp.LpVariable("gamma", 0), pulp.LpVariable("noise", 0)
    model += gamma + zeta * noise  # AQ-1
    for s, value in enumerate(target):
        if value is not None:  # AQ-2
            difference = pulp.lpSum(comb(s, j) * a[j] for j in used) - value
            model += difference <= gamma
            model += -difference <= gamma
    parts = {j: deviations[j - 1] * a[j] for j in used[1:]}
    for part in parts.values():
        model += noise >= part
        model += noise >= -part
    while True:
        model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False))
        if model.sol_status != pulp.LpSolutionOptimal:
            raise RuntimeError(f"CBC ended with {pulp.LpSolution[model.sol_status]!r}")
        found = {j: float(part.value()) for j, part in parts.items()}
        length = hypot(*found.values())
        reached = float(gamma.value()) + zeta * length
        if reached <= float(model.objective.value()) * (1 + 1e-6) + 1e-9:
            coefficients = [float(a[j].value()) if j in a else 0.0 for j in range(used[-1] + 1)]
            return reached, float(gamma.value()), coefficients
        model += noise >= pulp.lpSum(found[j] / length * parts[j] for j in parts)


WORKED_EXAMPLE: tuple[list[float | None], list[float], float] = ([0, 0, 1], [0.1, 0.5], 1.0)

if __name__ == "__main__":
    bound, _, best = solve(*WORKED_EXAMPLE)
    print(bound, best)
