"""Consistent counts of a tree in plain PuLP, on one screen. Knows nothing of dpopt; labels TC-1 ... are those of the page.

A square lies above its tangents: a linear program over them gives counts and a bound; their tangents are added until the two
meet. In whole numbers the secants of TC-6 stand for the squares from the start.
"""

from __future__ import annotations

from math import inf

import pulp

Tree = list[list[int]]  # the children of each node, the root first; bins have none


def counts_of(model: pulp.LpProblem, x: list[pulp.LpVariable]) -> list[float]:
    """Return what CBC finds for the nodes."""
    model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False))
    if model.sol_status != pulp.LpSolutionOptimal:
        raise RuntimeError(f"CBC ended with {pulp.LpSolution[model.sol_status]!r}")
    return [float(one.value() or 0.0) for one in x]


def solve(
    tree: Tree, values: list[float], variances: list[float], least: float = -inf, largest: int | None = None
) -> tuple[float, list[float]]:
    """Return the least distance and the counts of nodes: bins from `least` on, or whole ones up to `largest`."""
    model = pulp.LpProblem("tree_consistency", pulp.LpMinimize)
    x = [pulp.LpVariable(f"x_{v}") for v in range(len(tree))]
    measured = [v for v, s in enumerate(variances) if 0 < s < inf]
    cost = {v: pulp.LpVariable(f"c_{v}", 0) for v in measured}
    model += pulp.lpSum(cost.values())
    for v, children in enumerate(tree):
        if children:
            model += x[v] == pulp.lpSum(x[u] for u in children)  # TC-2
        elif least > -inf:
            model += x[v] >= least  # TC-3
        if variances[v] == 0:
            model += x[v] == values[v]  # TC-4
    if largest is not None:
        for v in measured:
            y, s = values[v], variances[v]
            for t in range(largest):
                model += cost[v] >= ((t - y) ** 2 + (2 * t + 1 - 2 * y) * (x[v] - t)) / s  # TC-6
        found = counts_of(model, x)  # whole without asking for it: TC-2 is totally unimodular (TC-5)
        return distance(found, values, variances, measured), found
    found = values
    while True:
        for v in measured:
            y, p = values[v], found[v]
            model += cost[v] >= ((p - y) ** 2 + 2 * (p - y) * (x[v] - p)) / variances[v]
        found = counts_of(model, x)
        reached = distance(found, values, variances, measured)
        if reached <= float(pulp.value(model.objective)) + 1e-6 * (1 + reached):
            return reached, found


def distance(x: list[float], values: list[float], variances: list[float], measured: list[int]) -> float:
    """Return the objective of TC-1."""
    return sum((x[v] - values[v]) ** 2 / variances[v] for v in measured)


WORKED_EXAMPLE: tuple[Tree, list[float], list[float]] = (
    [[1, 2], [3, 4], [5, 6], [], [], [], []], [15, 3, 11, 4, -2, 12, 1], [1.0] * 7
)  # fmt: skip

if __name__ == "__main__":
    for options in ((), (0.0,), (0.0, 20)):
        print(*solve(*WORKED_EXAMPLE, *options))
