"""The best intervals of bins in PuLP, and by recursion. Knows nothing of dpopt; labels IV-1 ... are the page's."""

from __future__ import annotations

import pulp


def cost(x: list[float], i: int, j: int, by: str) -> float:
    """Return w(i, j)."""
    part = x[i:j]
    if by == "depth":
        return sum(part) ** 2  # IV-4
    mean = sum(part) / len(part)
    return sum((value - mean) ** 2 for value in part)  # IV-3


def solve(x: list[float], intervals: int, by: str) -> tuple[float, list[int]]:
    """Return the least cost and the places where intervals end, by the linear program."""
    n = len(x)
    model = pulp.LpProblem("interval_partition", pulp.LpMinimize)
    arcs = [(i, j, k) for k in range(1, intervals + 1) for i in range(n) for j in range(i + 1, n + 1)]
    y = {arc: pulp.LpVariable(f"y_{arc[0]}_{arc[1]}_{arc[2]}", 0) for arc in arcs}
    model += pulp.lpSum(cost(x, i, j, by) * y[i, j, k] for i, j, k in arcs)  # IV-1
    for k in range(intervals + 1):  # IV-2
        for place in range(n + 1):
            reaches = pulp.lpSum(y[i, place, k] for i in range(place)) if k else 0
            leaves = pulp.lpSum(y[place, j, k + 1] for j in range(place + 1, n + 1)) if k < intervals else 0
            model += reaches - leaves == ((k, place) == (intervals, n)) - ((k, place) == (0, 0))
    model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False))
    if model.sol_status != pulp.LpSolutionOptimal:
        raise RuntimeError(f"CBC ended with {pulp.LpSolution[model.sol_status]!r}")
    chosen = sorted((k, j) for (i, j, k), one in y.items() if one.value() > 0.5)
    return float(pulp.value(model.objective)), [j for _, j in chosen]


def recursion(x: list[float], intervals: int, by: str) -> tuple[float, list[int]]:
    """Return the same by IV-6; an interval is made longer until it alone costs too much (IV-5)."""
    best: dict[int, tuple[float, list[int]]] = {0: (0.0, [])}
    for _ in range(intervals):
        longer: dict[int, tuple[float, list[int]]] = {}
        for j in range(1, len(x) + 1):
            for i in sorted(range(j), reverse=True):
                alone = cost(x, i, j, by)
                if j in longer and alone > longer[j][0]:
                    break
                if i in best and (j not in longer or best[i][0] + alone < longer[j][0]):
                    longer[j] = (best[i][0] + alone, [*best[i][1], j])
        best = longer
    return best[len(x)]


WORKED_EXAMPLE: tuple[list[float], int] = ([1, 2, 9, 8, 7, 0], 3)

if __name__ == "__main__":
    for criterion in ("error", "depth"):
        print(*solve(*WORKED_EXAMPLE, criterion))
