"""Decision lists in PuLP, on one screen, every row and point written out; knows nothing of dpopt. Labels of the page."""

from __future__ import annotations

from itertools import product
from math import comb
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pulp


def pulp_model(k: int, r: int, weights: list[float]) -> pulp.LpProblem:
    """Return the linear program of error plus weighted L1 sensitivity, rows added or removed; weights of sizes 0 to t."""
    import pulp

    t = len(weights) - 1
    model = pulp.LpProblem("decision_lists", pulp.LpMinimize)
    c = {
        (i, a, j - a): pulp.LpVariable(f"c_{i}_{a}_{j - a}")
        for i in range(1, k + 1)
        for j in range(min(i, t) + 1)
        for a in range(j + 1)
    }
    error = pulp.LpVariable("E", 0)
    size = [pulp.LpVariable(f"S_{j}", 0) for j in range(t + 1)]
    model += error + pulp.lpSum(w * one for w, one in zip(weights, size, strict=True))  # DL-1
    outputs = [b for b in product((0, 1), repeat=k + 1) if sum(x != y for x, y in zip(b, b[1:])) <= r]  # noqa: B905, RUF007
    for b, truths in product(outputs, product((0, 1), repeat=k)):
        off = 0  # DL-2 and DL-3: every way of the graph
        for i in range(1, k + 1):
            s = sum(truths[:i])
            q = pulp.lpSum(comb(s, a) * comb(i - s, n) * one for (place, a, n), one in c.items() if place == i)
            off += (b[i] - b[i - 1]) * (q - (s == 0))
        model += off <= error
    for b in outputs:
        empty = b[0] + pulp.lpSum((b[i] - b[i - 1]) * c[i, 0, 0] for i in range(1, k + 1))
        model += empty <= size[0]  # DL-7
        model += -empty <= size[0]
    largest = {}  # DL-4: M_p(a, n)
    for (p, a, n), j in [(place, place[1] + place[2]) for place in c]:
        if j:
            largest[p, a, n] = pulp.LpVariable(f"M_{p}_{a}_{n}", 0)
            for b in outputs:
                model += largest[p, a, n] >= pulp.lpSum((b[i] - b[i - 1]) * c[i, a, n] for i in range(p, k + 1))
    for j in range(1, t + 1):
        if r > 1:  # DL-5
            model += size[j] >= pulp.lpSum(
                comb(j, a) * comb(p - 1, j - 1) * largest[p, a, j - a] for p in range(j, k + 1) for a in range(j + 1)
            )
        for i in range(j, k + 1) if r == 1 else ():  # DL-6
            absolute = [pulp.LpVariable(f"abs_{i}_{j}_{a}", 0) for a in range(j + 1)]
            for a, one in enumerate(absolute):
                model += one >= c[i, a, j - a]
                model += one >= -c[i, a, j - a]
            model += size[j] >= comb(i, j) * pulp.lpSum(comb(j, a) * one for a, one in enumerate(absolute))
    return model


EXAMPLES = [{"k": 1, "r": 1, "weights": [0.0, weight]} for weight in (0.25, 1.0)]  # the worked example and the exercise
