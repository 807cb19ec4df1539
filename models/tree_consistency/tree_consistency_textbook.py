"""Consistent counts of a tree in CVXPY; whole ones in PuLP and in CP-SAT. Knows nothing of dpopt; labels of the page."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cvxpy as cp
    import pulp
    from ortools.sat.python import cp_model

Tree = list[list[int]]  # the children of each node, the root first; bins have none


def cvxpy_model(tree: Tree, values: list[float], variances: list[float], least: float = -inf) -> cp.Problem:
    """Return the quadratic program: x holds the counts of nodes, bins from `least` on."""
    import cvxpy as cp

    x = cp.Variable(len(tree), name="x")
    rows = [x[v] == cp.sum(x[children]) for v, children in enumerate(tree) if children]  # TC-2
    if least > -inf:
        rows += [x[v] >= least for v, children in enumerate(tree) if not children]  # TC-3
    rows += [x[v] == values[v] for v, s in enumerate(variances) if s == 0]  # TC-4
    cost = [cp.square(x[v] - values[v]) / s for v, s in enumerate(variances) if 0 < s < inf]
    return cp.Problem(cp.Minimize(sum(cost)), rows)  # TC-1


def pulp_model(tree: Tree, values: list[float], variances: list[float], *, largest: int) -> pulp.LpProblem:
    """Return the linear program of whole counts from 0 to `largest`: secants in place of squares."""
    import pulp

    model = pulp.LpProblem("whole_tree_consistency", pulp.LpMinimize)
    x = [pulp.LpVariable(f"x_{v}", 0, largest) for v in range(len(tree))]  # TC-3, TC-5 without asking for it
    measured = [(v, values[v], s) for v, s in enumerate(variances) if 0 < s < inf]
    c = {v: pulp.LpVariable(f"c_{v}", 0) for v, _, _ in measured}
    model += pulp.lpSum(c.values())
    for v, children in enumerate(tree):
        if children:
            model += x[v] == pulp.lpSum(x[child] for child in children)  # TC-2
        if variances[v] == 0:
            model += x[v] == values[v]  # TC-4
    for v, y, s in measured:
        for t in range(largest):
            model += s * c[v] >= (t - y) ** 2 + (2 * t + 1 - 2 * y) * (x[v] - t)  # TC-6
    return model


def cp_sat_model(tree: Tree, values: list[float], variances: list[float], *, largest: int) -> cp_model.CpModel:
    """Return the same with squares of whole numbers."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    x = [model.new_int_var(0, largest, f"x_{v}") for v in range(len(tree))]  # TC-3, TC-5
    cost = 0
    for v, (children, y, s) in enumerate(zip(tree, values, variances, strict=True)):
        if children:
            model.add(x[v] == sum(x[child] for child in children))  # TC-2
        if s == 0:
            model.add(x[v] == round(y))  # TC-4
        elif s < inf:
            square = model.new_int_var(0, largest**2, f"square_{v}")
            model.add_multiplication_equality(square, [x[v], x[v]])
            cost += square * (1 / s) - x[v] * (2 * y / s) + y * y / s
    model.minimize(cost)  # TC-1
    return model


TREE: Tree = [[1, 2], [3, 4], [5, 6], [], [], [], []]
NOISY = {"tree": TREE, "values": [15, 3, 11, 4, -2, 12, 1], "variances": [1.0] * 7}
HAY = {"tree": TREE, "values": [13, 3, 11, 4, 1, 12, 1], "variances": [1.0] * 7}
GRADES = {
    "tree": [[1, 2], [3, 4, 5, 6], [], [], [], [], []],
    "values": [100, 103, 14, 18, 31, 27, 12],
    "variances": [1.0] * 7,
}
EXAMPLES: list[dict[str, object]] = [  # the worked examples, the grades after whole numbers, and the exercise
    HAY,
    NOISY,
    {**NOISY, "least": 0.0},
    {**NOISY, "largest": 20},
    GRADES,
    {**HAY, "variances": [0.0, *[1.0] * 6]},
]
