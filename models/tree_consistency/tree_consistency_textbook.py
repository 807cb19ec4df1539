"""Consistent counts of a tree in plain CVXPY, on one screen. Knows nothing of dpopt; labels TC-1 ... are those of the page.

In whole numbers the secants of TC-6 stand for the squares, and the program is linear.
"""

from __future__ import annotations

from math import inf

import cvxpy as cp

Tree = list[list[int]]  # the children of each node, the root first; bins have none


def model(
    tree: Tree, values: list[float], variances: list[float], least: float = -inf, largest: int | None = None
) -> tuple[cp.Problem, cp.Variable]:
    """Return the problem and the counts of its nodes: bins from `least` on, or whole ones up to `largest`."""
    x = cp.Variable(len(tree), name="x")
    rows = [x[v] == cp.sum(x[children]) for v, children in enumerate(tree) if children]  # TC-2
    if least > -inf:
        rows += [x[v] >= least for v, children in enumerate(tree) if not children]  # TC-3
    rows += [x[v] == values[v] for v, s in enumerate(variances) if s == 0]  # TC-4
    measured = [(v, values[v], s) for v, s in enumerate(variances) if 0 < s < inf]
    if largest is None:
        cost = [cp.square(x[v] - y) / s for v, y, s in measured]
    else:  # whole without asking for it: TC-2 is totally unimodular (TC-5)
        cost = [
            cp.max(cp.hstack([((t - y) ** 2 + (2 * t + 1 - 2 * y) * (x[v] - t)) / s for t in range(largest)]))
            for v, y, s in measured
        ]  # TC-6
    return cp.Problem(cp.Minimize(sum(cost)), rows), x  # TC-1


def solve(
    tree: Tree, values: list[float], variances: list[float], least: float = -inf, largest: int | None = None
) -> tuple[float, list[float]]:
    """Return the least distance and the counts of nodes."""
    problem, x = model(tree, values, variances, least, largest)
    problem.solve(solver=cp.CLARABEL if largest is None else cp.SCIPY)
    return float(problem.value), x.value.tolist()


WORKED_EXAMPLE: tuple[Tree, list[float], list[float]] = (
    [[1, 2], [3, 4], [5, 6], [], [], [], []], [15, 3, 11, 4, -2, 12, 1], [1.0] * 7
)  # fmt: skip

if __name__ == "__main__":
    for options in ((), (0.0,), (0.0, 20)):
        print(*solve(*WORKED_EXAMPLE, *options))
