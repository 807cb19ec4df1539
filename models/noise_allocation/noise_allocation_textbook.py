"""Noise allocation in CVXPY, on one screen. Knows nothing of dpopt; labels NA-1 ... are those of the page."""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cvxpy as cp

Marginal = tuple[int, ...]


def measured(workload: list[Marginal]) -> list[Marginal]:
    """Return the candidates: all non-empty sets of attributes of a marginal, small ones first."""
    found = {b for w in workload for k in range(1, len(w) + 1) for b in combinations(w, k)}
    return sorted(found, key=lambda b: (len(b), b))


def cvxpy_model(
    sizes: list[int], workload: list[Marginal], rho: float, sensitivity: int, n: int, theta: float
) -> cp.Problem:
    """Return the problem: s are the shares of rho of the candidates."""
    import cvxpy as cp

    candidates = measured(workload)

    def cells(attributes: Marginal) -> int:
        return prod(sizes[a] for a in attributes)

    dimension = {b: prod(sizes[a] - 1 for a in b) for b in candidates}
    cost = {
        b: dimension[b] * sum(cells(b) / cells(w) ** 1.5 for w in workload if set(b) <= set(w)) for b in candidates
    }  # NA-4
    prior = {b: dimension[b] / (theta ** len(b) * n**2) for b in candidates}  # NA-5
    gain = {
        (a, b): 2 * rho / sensitivity * cells(b) / cells(a) for a in candidates for b in candidates if set(b) <= set(a)
    }
    s = cp.Variable(len(candidates), name="s", nonneg=True)
    tau = [
        prior[b] + sum(gain[a, b] * share for a, share in zip(candidates, s, strict=True) if (a, b) in gain)
        for b in candidates
    ]  # NA-3
    error = sum(cost[b] * cp.inv_pos(one) for b, one in zip(candidates, tau, strict=True))  # NA-1
    return cp.Problem(cp.Minimize(error), [cp.sum(s) == 1])  # NA-2


def example(n: int) -> dict[str, object]:
    """Return two attributes of three codes and their joint marginal, for so many records."""
    return {"sizes": [3, 3], "workload": [(0, 1)], "rho": 0.5, "sensitivity": 1, "n": n, "theta": 0.25}


EXAMPLES = [example(4), example(8)]  # the worked example and the exercise
