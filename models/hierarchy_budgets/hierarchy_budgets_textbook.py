"""Budgets of a declared hierarchy, Gaussian noise, in plain CVXPY. Knows nothing of dpopt; labels HB-1 ... are the page's."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

Levels = list[list[list[int]]]  # for each level, the whole first and single bins last, the bins of its groups


def model(
    levels: Levels, amount: float, sensitivity: int = 1, least: float = 0.02
) -> tuple[cp.Problem, cp.Variable]:
    """Return the problem and the budget of each level; every group of the hierarchy is a range that matters."""
    bins = len(levels[-1])
    groups = [np.array([[one in group for one in range(bins)] for group in level], float) for level in levels]
    b = cp.Variable(len(levels), name="b", nonneg=True)
    information = sum(2 / sensitivity * b[d] * (one.T @ one) for d, one in enumerate(groups))  # HB-3
    variance = sum(
        cp.matrix_frac(q, information) / (len(levels) * len(level)) for level in groups for q in level
    )  # HB-1, HB-4, HB-5
    return cp.Problem(cp.Minimize(variance), [cp.sum(b) == amount, b[-1] >= least * amount]), b  # HB-2


def solve(
    levels: Levels, amount: float, sensitivity: int = 1, least: float = 0.02
) -> tuple[float, list[float]]:
    """Return the least mean variance and the budget of each level."""
    problem, b = model(levels, amount, sensitivity, least)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value), b.value.tolist()


WORKED_EXAMPLE: tuple[Levels, float] = ([[[0, 1]], [[0], [1]]], 0.5)

if __name__ == "__main__":
    print(*solve(*WORKED_EXAMPLE))
