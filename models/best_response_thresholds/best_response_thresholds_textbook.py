"""The best response to counts of literals in plain PuLP, on one screen. Knows nothing of dpopt; labels as on the page."""

from __future__ import annotations

from itertools import combinations

import pulp

Literal = tuple[int, str, int]  # attribute, "=" or "!=", code
Clause = tuple[int, list[Literal], list[int]]  # weight, literals, accepted numbers of true literals


def solve(sizes: list[int], clauses: list[Clause]) -> tuple[int, list[int]]:
    """Return the largest weight of true clauses and a record that reaches it."""
    model = pulp.LpProblem("best_response_thresholds", pulp.LpMaximize)
    x = [
        [pulp.LpVariable(f"x_{a}_{v}", cat="Binary") for v in range(size)] for a, size in enumerate(sizes)
    ]  # BR-7
    c = [pulp.LpVariable(f"c_{j}", 0, 1) for j in range(len(clauses))]  # BR-7
    model += pulp.lpSum(weight * c[j] for j, (weight, _, _) in enumerate(clauses))  # BR-1
    for row in x:
        model += pulp.lpSum(row) == 1  # BR-2
    for j, (weight, literals, accepted) in enumerate(clauses):
        lit = [x[a][v] if relation == "=" else 1 - x[a][v] for a, relation, v in literals]
        w, least = len(lit), min(accepted, default=0)
        if accepted and sorted(accepted) == list(range(least, w + 1)) and least > 0:  # at least `least` of w
            for chosen in combinations(lit, w - least + 1 if weight > 0 else least):
                if weight > 0:
                    model += c[j] <= pulp.lpSum(chosen)  # TH-1
                else:
                    model += 1 - c[j] <= pulp.lpSum(1 - one for one in chosen)  # TH-1
            continue
        y = [pulp.LpVariable(f"y_{j}_{t}", cat="Binary") for t in range(w + 1)]  # TH-8
        model += pulp.lpSum(y) == 1  # TH-5
        model += pulp.lpSum(lit) == pulp.lpSum(t * y[t] for t in range(w + 1))  # TH-6
        model += c[j] == pulp.lpSum(y[t] for t in accepted)  # TH-7
    model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False))
    if model.sol_status != pulp.LpSolutionOptimal:
        raise RuntimeError(f"CBC ended with {pulp.LpSolution[model.sol_status]!r}")
    record = [max(range(len(row)), key=lambda v, row=row: row[v].value()) for row in x]  # type: ignore[misc]
    return round(pulp.value(model.objective)), record


WORKED_EXAMPLE: tuple[list[int], list[Clause]] = (
    [2, 2, 2, 3],
    [
        (3, [(0, "=", 1), (1, "=", 1), (2, "=", 1)], [2, 3]),
        (-2, [(0, "=", 1), (1, "=", 1), (3, "!=", 2)], [2, 3]),
        (1, [(1, "=", 0), (2, "=", 0), (3, "=", 0)], [1]),
    ],
)

if __name__ == "__main__":
    print(*solve(*WORKED_EXAMPLE))
