"""Nearest degrees of a graph in PuLP, CP-SAT and CVXPY. Knows nothing of dpopt; labels GS-1 ... are those of the page."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cvxpy as cp
    import pulp
    from ortools.sat.python import cp_model


def pulp_model(values: list[float]) -> pulp.LpProblem:
    """Return the mixed-integer program for falling values: x_i_v is 1 if the i-th degree is at least v."""
    import pulp

    n = len(values)
    nodes = range(n)
    model = pulp.LpProblem("graphical_sequences", pulp.LpMinimize)
    x = [[pulp.LpVariable(f"x_{i}_{v}", cat="Binary") for v in range(1, n)] for i in nodes]
    m = {(i, r): pulp.LpVariable(f"m_{i}_{r}", 0, r) for r in range(1, n + 1) for i in range(r, n)}  # GS-4
    edges = pulp.LpVariable("edges", 0, cat="Integer")
    # GS-1: (d - y)^2 grows by 2 v - 1 - 2 y from d = v - 1 to d = v
    steps = [(2 * v - 1 - 2 * values[i]) / 2 * x[i][v - 1] for i in nodes for v in range(1, n)]
    model += pulp.lpSum(steps) + sum(y * y for y in values) / 2
    d = [pulp.lpSum(row) for row in x]  # GS-5
    model += pulp.lpSum(d) == 2 * edges
    for row in x:
        for one, following in itertools.pairwise(row):
            model += following <= one
    for i in range(n - 1):
        model += d[i] >= d[i + 1]  # GS-2
    for r in range(1, n + 1):
        model += pulp.lpSum(d[:r]) <= r * (r - 1) + pulp.lpSum(m[i, r] for i in range(r, n))  # GS-3
        for i in range(r, n):
            model += m[i, r] <= d[i]
    return model


def cp_sat_model(values: list[float]) -> cp_model.CpModel:
    """Return the same with squares and minima: d_i is the i-th degree."""
    from ortools.sat.python import cp_model

    n = len(values)
    model = cp_model.CpModel()
    d = [model.new_int_var(0, n - 1, f"d_{i}") for i in range(n)]
    for one, following in itertools.pairwise(d):
        model.add(one >= following)  # GS-2
    for r in range(1, n + 1):
        m = [model.new_int_var(0, r, f"m_{i}_{r}") for i in range(r, n)]
        for one, degree in zip(m, d[r:], strict=True):
            model.add_min_equality(one, [degree, r])  # GS-4
        model.add(sum(d[:r]) <= r * (r - 1) + sum(m))  # GS-3
    model.add(sum(d) == 2 * model.new_int_var(0, n * n, "edges"))  # GS-5
    squares = [model.new_int_var(0, n * n, f"square_{i}") for i in range(n)]
    for one, degree in zip(squares, d, strict=True):
        model.add_multiplication_equality(one, [degree, degree])
    model.minimize(
        sum((one + y * y) * 0.5 - y * degree for one, y, degree in zip(squares, values, d, strict=True))
    )  # GS-1
    return model


def cvxpy_model(values: list[float], *, whole: bool) -> cp.Problem:
    """Return the relaxation; with `whole`, the problem itself, for solvers of quadratic programs in whole numbers."""
    import cvxpy as cp

    n = len(values)
    d = cp.Variable(n, name="d", integer=whole)
    rows = [d[0] <= n - 1, d[-1] >= 0, *(d[i] >= d[i + 1] for i in range(n - 1))]  # GS-2
    rows += [
        cp.sum(d[:r]) <= r * (r - 1) + (cp.sum(cp.minimum(d[r:], r)) if r < n else 0) for r in range(1, n + 1)
    ]  # GS-3, GS-4
    if whole:
        rows.append(cp.sum(d) == 2 * cp.Variable(name="edges", integer=True))  # GS-5
    return cp.Problem(cp.Minimize(cp.sum_squares(d - values) / 2), rows)  # GS-1


EXAMPLES: list[dict[str, object]] = [  # the worked example, its relaxation, and the exercise
    {"values": [4, 4, 1, 1, 0]},
    {"values": [4, 4, 1, 1, 0], "whole": False},
    {"values": [3, 3, 3, 0]},
]
