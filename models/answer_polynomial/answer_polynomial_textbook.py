"""The polynomial that answers a query, in CVXPY, on one screen. Knows nothing of dpopt; labels AQ-1 ... are the page's."""

from __future__ import annotations

from math import comb, inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cvxpy as cp

Table = list[list[float | None]]


def cvxpy_model(target: Table, deviations: list[list[float]], zeta: float) -> cp.Problem:
    """Return the problem for f(s, u), rows s, columns u; a are the coefficients.

    deviations[i][j] is inf where conjunctions of so many conditions and negations were not counted; deviations[0][0] is not
    used. One number s is a table of one column.
    """
    import cvxpy as cp

    k, columns = len(target) - 1, len(target[0])
    a = cp.Variable((min(k + 1, len(deviations)), columns), name="a")
    gamma = cp.Variable(name="gamma", nonneg=True)
    pairs = [(i, j) for i in range(a.shape[0]) for j in range(columns)]
    counted = [(i, j) for i, j in pairs[1:] if deviations[i][j] < inf]
    rows = [a[pair] == 0 for pair in pairs[1:] if pair not in counted]
    for s, row in enumerate(target):
        for u, value in enumerate(row):
            if value is not None:  # AQ-2, AQ-4
                reached = sum(comb(s, i) * comb(u, j) * a[i, j] for i, j in pairs)
                rows.append(cp.abs(reached - value) <= gamma)
    noise = cp.norm(cp.hstack([0, *(deviations[i][j] * a[i, j] for i, j in counted)]))
    return cp.Problem(cp.Minimize(gamma + zeta * noise), rows)  # AQ-1, AQ-3


def example(pairs: float) -> dict[str, object]:
    """Return the worked example, with this deviation of counts of both conditions."""
    return {"target": [[0], [0], [1]], "deviations": [[inf], [0.1], [pairs]], "zeta": 1.0}


EXAMPLES = [example(0.5), example(inf)]  # the worked example and the exercise
