"""A bound on the best response in PuLP, on one screen. Knows nothing of dpopt; labels PB-1 ... are those of the page."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pulp

Literal = tuple[int, str, int]  # attribute, "=" or "!=", code
Clause = tuple[int, list[Literal]]  # weight, and the two or three literals of a conjunction


def pulp_model(sizes: list[int], clauses: list[Clause]) -> pulp.LpProblem:
    """Return the linear program, whose optimum is an upper bound on the largest weight of true clauses."""
    import pulp

    model = pulp.LpProblem("best_response_pairwise_bound", pulp.LpMaximize)
    x = [[pulp.LpVariable(f"x_{a}_{v}", 0, 1) for v in range(n)] for a, n in enumerate(sizes)]
    c = [pulp.LpVariable(f"c_{j}", 0, 1) for j in range(len(clauses))]
    model += pulp.lpSum(weight * c[j] for j, (weight, _) in enumerate(clauses))  # PB-1
    for row in x:
        model += pulp.lpSum(row) == 1
    used = {pair for _, literals in clauses for pair in combinations(sorted(one[0] for one in literals), 2)}
    y = {
        (a, b): [[pulp.LpVariable(f"y_{a}_{v}_{b}_{w}", 0) for w in range(sizes[b])] for v in range(sizes[a])]
        for a, b in sorted(used)
    }  # PB-2
    for (a, b), table in y.items():  # tables over all codes: PB-5 follows
        for v in range(sizes[a]):
            model += pulp.lpSum(table[v]) == x[a][v]  # PB-3
        for w in range(sizes[b]):
            model += pulp.lpSum(row[w] for row in table) == x[b][w]  # PB-4

    def codes(one: Literal) -> list[int]:
        return [code for code in range(sizes[one[0]]) if (code == one[2]) == (one[1] == "=")]

    def both(one: Literal, other: Literal) -> pulp.LpAffineExpression:
        one, other = sorted((one, other))
        return pulp.lpSum(y[one[0], other[0]][v][w] for v in codes(one) for w in codes(other))

    for j, (_, literals) in enumerate(clauses):
        lit = [pulp.lpSum(x[one[0]][v] for v in codes(one)) for one in literals]
        pairs = {(i, k): both(literals[i], literals[k]) for i, k in combinations(range(len(literals)), 2)}
        for share in pairs.values():
            model += (c[j] == share) if len(literals) == 2 else (c[j] <= share)  # PB-6, PB-9
        for i in range(3) if len(literals) == 3 else ():  # here all_j = c_j: PB-7
            model += c[j] >= pulp.lpSum(share for pair, share in pairs.items() if i in pair) - lit[i]  # PB-8
            model += c[j] <= 1 - pulp.lpSum(lit) + pulp.lpSum(pairs.values())  # PB-9
    return model


CIRCLE: list[Clause] = [
    (2, [(0, "=", 1), (1, "=", 0)]),
    (2, [(1, "=", 1), (2, "=", 0)]),
    (2, [(2, "=", 1), (0, "=", 0)]),
]
EXAMPLES: list[dict[str, object]] = [  # the worked example and the exercise
    {"sizes": [2, 2, 2], "clauses": [*CIRCLE, (-1, [(0, "=", 1), (1, "=", 1), (2, "=", 1)])]},
    {"sizes": [2, 2, 2], "clauses": CIRCLE},
]
