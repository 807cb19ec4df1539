"""Isotonic regression in plain PuLP, on one screen. Knows nothing of dpopt; labels IR-1 ... are those of the page.

A square lies above its tangents: a linear program over them gives a sequence and a bound; more are added until the two meet.
"""

from __future__ import annotations

from itertools import pairwise

import pulp

Bounds = tuple[float | None, float | None]


def sequence_model(
    size: int, bounds: Bounds, total: float | None
) -> tuple[pulp.LpProblem, list[pulp.LpVariable], list[pulp.LpVariable]]:
    """Return a model without costs, its nondecreasing sequence, and a variable for the cost of each entry."""
    model = pulp.LpProblem("isotonic_regression", pulp.LpMinimize)
    s = [pulp.LpVariable(f"s_{k}", *bounds) for k in range(size)]  # IR-4
    t = [pulp.LpVariable(f"t_{k}", 0) for k in range(size)]
    for one, after in pairwise(s):
        model += one <= after  # IR-3
    if total is not None:
        model += pulp.lpSum(s) == total  # IR-5
    return model, s, t


def sequence_of(model: pulp.LpProblem, s: list[pulp.LpVariable]) -> list[float]:
    """Return what CBC finds."""
    model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False))
    if model.sol_status != pulp.LpSolutionOptimal:
        raise RuntimeError(f"CBC ended with {pulp.LpSolution[model.sol_status]!r}")
    return [float(one.value()) for one in s]


def solve(
    values: list[float], weights: list[float], bounds: Bounds = (None, None), total: float | None = None
) -> tuple[float, list[float]]:
    """Return half of the least weighted squared distance, and the sequence that has it."""
    model, s, t = sequence_model(len(values), bounds, total)
    model += pulp.lpSum(w * cost / 2 for w, cost in zip(weights, t, strict=True))  # IR-1
    found = values
    while True:
        for k, (y, p) in enumerate(zip(values, found, strict=True)):
            model += t[k] >= (p - y) ** 2 + 2 * (p - y) * (s[k] - p)
        found = sequence_of(model, s)
        reached = sum(w * (x - y) ** 2 / 2 for w, x, y in zip(weights, found, values, strict=True))
        if reached <= float(pulp.value(model.objective)) + 1e-6 * (1 + reached):
            return reached, found


def solve_absolute(values: list[float], weights: list[float], bounds: Bounds = (None, None)) -> list[float]:
    """Return a sequence of least weighted sum of absolute differences."""
    model, s, t = sequence_model(len(values), bounds, None)
    model += pulp.lpSum(w * cost for w, cost in zip(weights, t, strict=True))  # IR-2
    for k, y in enumerate(values):
        model += t[k] >= s[k] - y
        model += t[k] >= y - s[k]
    return sequence_of(model, s)


WORKED_EXAMPLE: tuple[list[float], list[float]] = ([14, 9, 10, 15], [1.0] * 4)

if __name__ == "__main__":
    print(*solve(*WORKED_EXAMPLE))
    print(*solve(*WORKED_EXAMPLE, total=52))
    print(solve_absolute(*WORKED_EXAMPLE))
