"""The best response under hard rules in plain PuLP, on one screen. Knows nothing of dpopt; labels as on the page."""

from __future__ import annotations

import pulp

Literal = tuple[int, str, int]  # attribute, "=" or "!=", code
Clause = tuple[int, list[Literal]]  # weight and literals of a conjunction
Gate = tuple[
    int, bool, dict[int, list[int]], dict[int, int]
]  # bound, required, values by attribute and code, children


def solve(sizes: list[int], clauses: list[Clause], gates: list[Gate]) -> tuple[int, list[int]] | None:
    """Return the largest weight of true clauses and a record that reaches it, or None if no record obeys the rules."""
    model = pulp.LpProblem("best_response_with_rules", pulp.LpMaximize)
    x = [
        [pulp.LpVariable(f"x_{a}_{v}", cat="Binary") for v in range(size)] for a, size in enumerate(sizes)
    ]  # BR-7
    c = [pulp.LpVariable(f"c_{j}", 0, 1) for j in range(len(clauses))]  # BR-7
    z = [pulp.LpVariable(f"z_{g}", int(gate[1]), 1, cat="Integer") for g, gate in enumerate(gates)]  # RU-3
    model += pulp.lpSum(weight * c[j] for j, (weight, _) in enumerate(clauses))  # BR-1
    for row in x:
        model += pulp.lpSum(row) == 1  # BR-2
    for j, (weight, literals) in enumerate(clauses):
        lit = [x[a][v] if relation == "=" else 1 - x[a][v] for a, relation, v in literals]
        for one in lit if weight > 0 else []:
            model += c[j] <= one  # BR-3
        if weight < 0:
            model += c[j] >= 1 - pulp.lpSum(1 - one for one in lit)  # BR-4
    for g, (bound, _, values, children) in enumerate(gates):
        least = sum(min(numbers) for numbers in values.values())
        total = pulp.lpSum(n * x[a][v] for a, numbers in values.items() for v, n in enumerate(numbers))
        total += pulp.lpSum(coefficient * z[child] for child, coefficient in children.items())
        model += total >= least + (bound - least) * z[g]  # RU-1 where z = 1 is required, else RU-2
    model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False))
    if model.status == pulp.LpStatusInfeasible:
        return None
    if model.sol_status != pulp.LpSolutionOptimal:
        raise RuntimeError(f"CBC ended with {pulp.LpSolution[model.sol_status]!r}")
    record = [max(range(len(row)), key=lambda v, row=row: row[v].value()) for row in x]  # type: ignore[misc]
    return round(pulp.value(model.objective)), record


WORKED_EXAMPLE: tuple[list[int], list[Clause], list[Gate]] = (
    [3, 2, 4],
    [(3, [(0, "=", 2), (1, "=", 1)]), (2, [(2, "=", 3)]), (-1, [(0, "=", 0)])],
    [
        (2, False, {0: [0, 0, 1], 2: [1, 0, 0, 0]}, {}),
        (1, True, {1: [1, 0]}, {0: 1}),
        (-3, True, {0: [0, -1, -2], 2: [0, -1, -2, -3]}, {}),
    ],
)

if __name__ == "__main__":
    print(*(solve(*WORKED_EXAMPLE) or ("no record obeys the rules",)))
