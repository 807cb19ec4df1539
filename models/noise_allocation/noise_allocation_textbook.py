"""Noise allocation in plain PuLP, on one screen. Knows nothing of dpopt; labels NA-1 ... are those of the page.

c / tau is convex: a linear program over its tangents gives shares and a bound; their tangents are added until the two meet.
"""

from __future__ import annotations

from itertools import combinations
from math import prod

import pulp

Marginal = tuple[int, ...]


def subsets(marginal: Marginal) -> list[Marginal]:
    """Return all non-empty subsets of a marginal's attributes."""
    return [chosen for k in range(1, len(marginal) + 1) for chosen in combinations(marginal, k)]


def solve(
    sizes: list[int], workload: list[Marginal], rho: float, sensitivity: int, n: int, theta: float
) -> tuple[float, dict[Marginal, float]]:
    """Return the least weighted squared error, and the share of rho of every marginal."""
    candidates = sorted({b for w in workload for b in subsets(w)}, key=lambda b: (len(b), b))

    def cells(attributes: Marginal) -> int:
        return prod(sizes[a] for a in attributes)

    dimension = {b: prod(sizes[a] - 1 for a in b) for b in candidates}
    cost = {
        b: dimension[b] * sum(cells(b) / cells(w) ** 1.5 for w in workload if set(b) <= set(w))
        for b in candidates
    }  # NA-4
    prior = {b: dimension[b] / (theta ** len(b) * n**2) for b in candidates}  # NA-5
    gain = {
        (a, b): 2 * rho / sensitivity * cells(b) / cells(a)
        for a in candidates
        for b in candidates
        if set(b) <= set(a)
    }

    def precisions(share: dict[Marginal, float]) -> dict[Marginal, float]:
        return {
            b: prior[b] + sum(gain[a, b] * share[a] for a in candidates if (a, b) in gain) for b in candidates
        }

    model = pulp.LpProblem("noise_allocation", pulp.LpMinimize)
    s = {a: pulp.LpVariable("s_" + "_".join(map(str, a)), 0) for a in candidates}
    error = {b: pulp.LpVariable("error_" + "_".join(map(str, b)), 0) for b in candidates}
    model += pulp.lpSum(error.values())  # NA-1
    model += pulp.lpSum(s.values()) == 1  # NA-2
    tau = precisions(s)  # NA-3
    share = {a: 1 / len(candidates) for a in candidates}
    while True:
        for b, point in precisions(share).items():
            model += error[b] >= cost[b] * (2 / point - tau[b] / point**2)
        model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False))
        if model.sol_status != pulp.LpSolutionOptimal:
            raise RuntimeError(f"CBC ended with {pulp.LpSolution[model.sol_status]!r}")
        share = {a: max(0.0, float(s[a].value())) for a in candidates}
        predicted = sum(cost[b] / point for b, point in precisions(share).items())
        if predicted <= (1 + 1e-7) * float(pulp.value(model.objective)):
            return predicted, share


WORKED_EXAMPLE: tuple[list[int], list[Marginal], float, int, int, float] = ([3, 3], [(0, 1)], 0.5, 1, 4, 0.25)

if __name__ == "__main__":
    print(solve(*WORKED_EXAMPLE))
