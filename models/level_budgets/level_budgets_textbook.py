"""Budgets of levels, Gaussian noise, in plain PuLP, on one screen. Knows nothing of dpopt; labels LB-1 ... are the page's.

1 / lambda is convex: a linear program over its tangents gives budgets and a bound; their tangents are added until the two meet.
"""

from __future__ import annotations

from operator import mul

import pulp

Range = tuple[int, int]  # the bins start, ..., stop - 1


def norm(start: int, stop: int, size: int) -> float:
    """Return a_h of LB-5 for blocks of so many bins."""
    blocks = range(start // size, (stop - 1) // size + 1)
    return sum((min(stop, (b + 1) * size) - max(start, b * size)) ** 2 for b in blocks) / size


def loads(ranges: list[Range], levels: int) -> list[float]:
    """Return c_h, averaged over the ranges (LB-5)."""
    norms = [sum(norm(*one, 2**h) for one in ranges) / len(ranges) for h in range(levels)]
    return [a - b for a, b in zip(norms, [*norms[1:], 0.0], strict=True)]


def solve(
    bins: int, groups: list[list[Range]], references: list[float], amount: float, sensitivity: int
) -> tuple[float, list[float]]:
    """Return the least of the largest ratio of a group's mean variance to its reference, and the budget of each level."""
    levels = (bins - 1).bit_length() + 1
    rows = [[load / r for load in loads(group, levels)] for group, r in zip(groups, references, strict=True)]

    def gathered(b: list[float]) -> list[float]:
        return [sum(2**j * 2 * b[j] / sensitivity for j in range(h + 1)) for h in range(levels)]  # LB-3, LB-4

    model = pulp.LpProblem("level_budgets", pulp.LpMinimize)
    b = [pulp.LpVariable(f"b_{h}", 0) for h in range(levels)]
    inverse = [pulp.LpVariable(f"inverse_{h}", 0) for h in range(levels)]
    worst = pulp.LpVariable("worst", 0)
    model += worst  # LB-1
    model += pulp.lpSum(b) == amount  # LB-2
    for row in rows:
        model += worst >= pulp.lpDot(row, inverse)
    information, points = gathered(b), gathered([amount / levels] * levels)
    while True:
        for one, precision, point in zip(inverse, information, points, strict=True):
            model += one >= 2 / point - precision / point**2
        model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False))
        if model.sol_status != pulp.LpSolutionOptimal:
            raise RuntimeError(f"CBC ended with {pulp.LpSolution[model.sol_status]!r}")
        found = [max(0.0, float(one.value())) for one in b]
        points = [max(now, before / 4) for now, before in zip(gathered(found), points, strict=True)]
        reached = max(sum(map(mul, row, [1 / point for point in points])) for row in rows)
        if reached <= (1 + 1e-6) * float(worst.value()):
            return reached, found


ALL_RANGES = [(0, 1), (1, 2), (0, 2)]
WORKED_EXAMPLE: tuple[int, list[list[Range]], list[float], float, int] = (2, [ALL_RANGES], [1.0], 0.5, 1)

if __name__ == "__main__":
    print(*solve(*WORKED_EXAMPLE))
