"""Noise allocation in plain CVXPY, on one screen. Knows nothing of dpopt; labels NA-1 ... are those of the page."""

from __future__ import annotations

from itertools import combinations
from math import prod

import cvxpy as cp

Marginal = tuple[int, ...]


def subsets(marginal: Marginal) -> list[Marginal]:
    """Return all non-empty subsets of a marginal's attributes."""
    return [chosen for k in range(1, len(marginal) + 1) for chosen in combinations(marginal, k)]


def model(
    sizes: list[int], workload: list[Marginal], rho: float, sensitivity: int, n: int, theta: float
) -> tuple[cp.Problem, cp.Variable, list[Marginal]]:
    """Return the problem, the shares of rho, and the marginals that they belong to."""
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

    s = cp.Variable(len(candidates), name="s", nonneg=True)
    tau = [
        prior[b] + sum(gain[a, b] * share for a, share in zip(candidates, s, strict=True) if (a, b) in gain)
        for b in candidates
    ]  # NA-3
    error = sum(cost[b] * cp.inv_pos(one) for b, one in zip(candidates, tau, strict=True))  # NA-1
    return cp.Problem(cp.Minimize(error), [cp.sum(s) == 1]), s, candidates  # NA-2


def solve(
    sizes: list[int], workload: list[Marginal], rho: float, sensitivity: int, n: int, theta: float
) -> tuple[float, dict[Marginal, float]]:
    """Return the least weighted squared error, and the share of rho of every marginal."""
    problem, s, candidates = model(sizes, workload, rho, sensitivity, n, theta)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value), dict(zip(candidates, s.value.tolist(), strict=True))


WORKED_EXAMPLE: tuple[list[int], list[Marginal], float, int, int, float] = ([3, 3], [(0, 1)], 0.5, 1, 4, 0.25)

if __name__ == "__main__":
    print(solve(*WORKED_EXAMPLE))
