"""The polynomial that answers a query, in plain PuLP, on one screen. Knows nothing of dpopt; labels AQ-1 ... are the page's.

A norm is the largest of its tangents: a linear program over some of them gives a bound; tangents are added until the two meet.
"""

from __future__ import annotations

from math import comb, hypot, inf

import pulp

Table = list[list[float | None]]


def solve(
    target: list[float | None], deviations: list[float], zeta: float
) -> tuple[float, float, list[float]]:
    """Return the least bound, its part gamma, and a_0, ..., a_t; a deviation is inf where a size was not counted."""
    table: Table = [[value] for value in target]
    bound, gamma, found = solve_mixed(table, [[inf], *([u] for u in deviations)], zeta)
    return bound, gamma, [row[0] for row in found]


def solve_mixed(
    target: Table, deviations: list[list[float]], zeta: float
) -> tuple[float, float, list[list[float]]]:
    """Return the same for f(s, u): rows s, columns u; deviations[0][0] is not used."""
    k, l = len(target) - 1, len(target[0]) - 1  # noqa: E741  the page's letter
    used = [
        (i, j)
        for i in range(min(k + 1, len(deviations)))
        for j in range(l + 1)
        if i + j == 0 or deviations[i][j] < inf
    ]
    model = pulp.LpProblem("answer_polynomial", pulp.LpMinimize)
    a = {(i, j): pulp.LpVariable(f"a_{i}_{j}") for i, j in used}
    gamma, noise = pulp.LpVariable("gamma", 0), pulp.LpVariable("noise", 0)
    model += gamma + zeta * noise  # AQ-1, AQ-3
    for s, row in enumerate(target):
        for u, value in enumerate(row):
            if value is not None:  # AQ-2, AQ-4
                difference = pulp.lpSum(comb(s, i) * comb(u, j) * a[i, j] for i, j in used) - value
                model += difference <= gamma
                model += -difference <= gamma
    parts = {(i, j): deviations[i][j] * a[i, j] for i, j in used[1:]}
    for part in parts.values():
        model += noise >= part
        model += noise >= -part
    while True:
        model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False))
        if model.sol_status != pulp.LpSolutionOptimal:
            raise RuntimeError(f"CBC ended with {pulp.LpSolution[model.sol_status]!r}")
        found = {pair: float(part.value()) for pair, part in parts.items()}
        length = hypot(*found.values())
        reached = float(gamma.value()) + zeta * length
        if reached <= float(model.objective.value()) * (1 + 1e-6) + 1e-9:
            most = max(i for i, _ in used)
            table = [
                [float(a[i, j].value()) if (i, j) in a else 0.0 for j in range(l + 1)]
                for i in range(most + 1)
            ]
            return reached, float(gamma.value()), table
        model += noise >= pulp.lpSum(found[pair] / length * parts[pair] for pair in parts)


WORKED_EXAMPLE: tuple[list[float | None], list[float], float] = ([0, 0, 1], [0.1, 0.5], 1.0)

if __name__ == "__main__":
    bound, _, best = solve(*WORKED_EXAMPLE)
    print(bound, best)
