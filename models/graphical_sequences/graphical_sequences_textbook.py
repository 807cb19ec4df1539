"""Nearest degrees of a graph in plain PuLP, on one screen. Knows nothing of dpopt; labels GS-1 ... are those of the page."""

from __future__ import annotations

import pulp


def solve(values: list[float]) -> tuple[float, list[int]]:
    """Return the least squared distance of the degrees of a graph from falling values, and the degrees."""
    n = len(values)
    nodes = range(1, n + 1)
    model = pulp.LpProblem("graphical_sequences", pulp.LpMinimize)
    x = {
        i: {v: pulp.LpVariable(f"x_{i}_{v}", cat="Binary") for v in range(1, n)} for i in nodes
    }  # x_iv = 1 if d_i >= v
    m = {(i, r): pulp.LpVariable(f"m_{i}_{r}", 0, r) for r in nodes for i in range(r + 1, n + 1)}  # GS-4
    edges = pulp.LpVariable("edges", 0, cat="Integer")
    # GS-1: (d - y)^2 grows by 2 v - 1 - 2 y from d = v - 1 to d = v
    steps = [(2 * v - 1 - 2 * values[i - 1]) / 2 * x[i][v] for i in nodes for v in range(1, n)]
    model += pulp.lpSum(steps) + sum(y * y for y in values) / 2
    d = {i: pulp.lpSum(x[i].values()) for i in nodes}  # GS-5
    for i in nodes:
        for v in range(1, n - 1):
            model += x[i][v + 1] <= x[i][v]
    for i in range(1, n):
        model += d[i] >= d[i + 1]  # GS-2
    for r in nodes:
        model += pulp.lpSum(d[i] for i in range(1, r + 1)) <= r * (r - 1) + pulp.lpSum(
            m[i, r] for i in range(r + 1, n + 1)
        )  # GS-3
        for i in range(r + 1, n + 1):
            model += m[i, r] <= d[i]
    model += pulp.lpSum(d.values()) == 2 * edges
    model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False))
    if model.sol_status != pulp.LpSolutionOptimal:
        raise RuntimeError(f"CBC ended with {pulp.LpSolution[model.sol_status]!r}")
    degrees = [sum(round(one.value()) for one in x[i].values()) for i in nodes]
    return float(sum((a - y) ** 2 for a, y in zip(degrees, values, strict=True))), degrees


WORKED_EXAMPLE: tuple[list[float]] = ([4, 4, 1, 1, 0],)

if __name__ == "__main__":
    print(*solve(*WORKED_EXAMPLE))
