"""The maximum-entropy program in CVXPY, on one screen. Knows nothing of dpopt; labels ME-1 ... are those of the page."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cvxpy as cp

Measurement = tuple[list[list[int]], list[float], float, float]
"""Parts as lists of cells, their values, slack, weight."""


def cvxpy_model(start: list[float], measurements: list[Measurement]) -> cp.Problem:
    """Return the problem: p is the distribution."""
    import cvxpy as cp

    p = cp.Variable(len(start), name="p", nonneg=True)  # ME-3
    objective = cp.sum(cp.kl_div(p, start))  # p ln(p / p0) - p + p0: the relative entropy where p sums to 1
    for parts, values, slack, weight in measurements:
        for cells, value in zip(parts, values, strict=True):
            share = cp.sum(p[cells])  # ME-2
            objective += weight / 2 * cp.square(cp.pos(cp.abs(share - value) - slack))  # ME-1
    return cp.Problem(cp.Minimize(objective), [cp.sum(p) == 1])


def example(slack: float, weight: float) -> dict[str, object]:
    """Return one bit, measured as (0.1, 0.9)."""
    return {"start": [0.5, 0.5], "measurements": [([[0], [1]], [0.1, 0.9], slack, weight)]}


EXAMPLES = [example(0.1, 10 * log(3)), example(0.0, 5 * log(4))]  # the worked example and the exercise
