"""The best intervals of bins in PuLP, in MathOpt, and by recursion. Knows nothing of dpopt; labels IV-1 ... are the page's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pulp
    from ortools.math_opt.python import mathopt


def cost(x: list[float], i: int, j: int, by: str) -> float:
    """Return w(i, j)."""
    part = x[i:j]
    if by == "depth":
        return sum(part) ** 2  # IV-4
    mean = sum(part) / len(part)
    return sum((value - mean) ** 2 for value in part)  # IV-3


def arcs(n: int, intervals: int) -> list[tuple[int, int, int]]:
    """Return all (i, j, k): interval k may hold the bins i + 1, ..., j."""
    return [(i, j, k) for k in range(1, intervals + 1) for i in range(n) for j in range(i + 1, n + 1)]


def pulp_model(x: list[float], intervals: int, by: str) -> pulp.LpProblem:
    """Return the linear program: y_i_j_k is 1 if interval k holds the bins i + 1, ..., j."""
    import pulp

    n = len(x)
    model = pulp.LpProblem("interval_partition", pulp.LpMinimize)
    y = {(i, j, k): pulp.LpVariable(f"y_{i}_{j}_{k}", 0) for i, j, k in arcs(n, intervals)}
    model += pulp.lpSum(cost(x, i, j, by) * one for (i, j, _), one in y.items())  # IV-1
    for k in range(intervals + 1):  # IV-2
        for place in range(n + 1):
            reaches = pulp.lpSum(y[i, place, k] for i in range(place)) if k else 0
            leaves = pulp.lpSum(y[place, j, k + 1] for j in range(place + 1, n + 1)) if k < intervals else 0
            model += reaches - leaves == ((k, place) == (intervals, n)) - ((k, place) == (0, 0))
    return model


def mathopt_model(x: list[float], intervals: int, by: str) -> mathopt.Model:
    """Return it as a choice: one interval for each k, and each begins where the one before it ends."""
    from ortools.math_opt.python import mathopt

    n = len(x)
    model = mathopt.Model(name="interval_partition")
    y = {(i, j, k): model.add_binary_variable(name=f"y_{i}_{j}_{k}") for i, j, k in arcs(n, intervals)}
    model.minimize(sum(cost(x, i, j, by) * one for (i, j, _), one in y.items()))  # IV-1
    for k in range(1, intervals + 1):
        model.add_linear_constraint(sum(one for (_, _, level), one in y.items() if level == k) == 1)
    for k in range(1, intervals):  # IV-2
        for place in range(1, n):
            reaches = sum(y[i, place, k] for i in range(place))
            model.add_linear_constraint(reaches == sum(y[place, j, k + 1] for j in range(place + 1, n + 1)))
    model.add_linear_constraint(sum(y[0, j, 1] for j in range(1, n + 1)) == 1)
    model.add_linear_constraint(sum(y[i, n, intervals] for i in range(n)) == 1)
    return model


def recursion(x: list[float], intervals: int, by: str) -> tuple[float, list[int]]:
    """Return the least cost and the ends of intervals by IV-6; one is made longer until it alone costs too much (IV-5)."""
    best: dict[int, tuple[float, list[int]]] = {0: (0.0, [])}
    for _ in range(intervals):
        longer: dict[int, tuple[float, list[int]]] = {}
        for j in range(1, len(x) + 1):
            for i in sorted(range(j), reverse=True):
                alone = cost(x, i, j, by)
                if j in longer and alone > longer[j][0]:
                    break
                if i in best and (j not in longer or best[i][0] + alone < longer[j][0]):
                    longer[j] = (best[i][0] + alone, [*best[i][1], j])
        best = longer
    return best[len(x)]


COUNTS = [1, 2, 9, 8, 7, 0]
EXAMPLES: list[dict[str, object]] = [  # the worked example by error and by depth, and the exercise
    {"x": COUNTS, "intervals": 3, "by": "error"},
    {"x": COUNTS, "intervals": 3, "by": "depth"},
    {"x": COUNTS, "intervals": 2, "by": "error"},
]
