"""Budgets of a declared hierarchy, Gaussian noise, in CVXPY. Knows nothing of dpopt; labels HB-1 ... are the page's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cvxpy as cp

Levels = list[list[list[int]]]  # for each level, the whole first and single bins last, the bins of its groups


def cvxpy_model(levels: Levels, amount: float, sensitivity: int = 1, least: float = 0.02) -> cp.Problem:
    """Return the problem: b is the budget of each level; every group of the hierarchy is a range that matters."""
    import cvxpy as cp
    import numpy as np

    bins = len(levels[-1])
    groups = [np.array([[one in group for one in range(bins)] for group in level], float) for level in levels]
    b = cp.Variable(len(levels), name="b", nonneg=True)
    information = sum(2 / sensitivity * b[d] * (one.T @ one) for d, one in enumerate(groups))  # HB-3
    variance = sum(
        cp.matrix_frac(q, information) / (len(levels) * len(level)) for level in groups for q in level
    )  # HB-1, HB-4, HB-5
    return cp.Problem(cp.Minimize(variance), [cp.sum(b) == amount, b[-1] >= least * amount])  # HB-2


PAIR = {"levels": [[[0, 1]], [[0], [1]]], "amount": 0.5}
EXAMPLES: list[dict[str, object]] = [PAIR, {**PAIR, "sensitivity": 2}]  # the worked example and the exercise
