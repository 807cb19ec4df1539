"""The best response in plain PuLP, on one screen. Knows nothing of dpopt; labels BR-1 ... are those of the page."""

from __future__ import annotations

import pulp

Literal = tuple[int, str, int]  # attribute, "=" or "!=", code
Clause = tuple[int, list[Literal], bool]  # weight, literals, True for the negation of the conjunction


def solve(sizes: list[int], clauses: list[Clause]) -> tuple[int, list[int]]:
    """Return the largest weight of true clauses and a record that reaches it."""
    model = pulp.LpProblem("best_response", pulp.LpMaximize)
    x = [
        [pulp.LpVariable(f"x_{a}_{v}", cat="Binary") for v in range(size)] for a, size in enumerate(sizes)
    ]  # BR-7
    c = [pulp.LpVariable(f"c_{j}", 0, 1) for j in range(len(clauses))]  # BR-7
    model += pulp.lpSum(weight * c[j] for j, (weight, _, _) in enumerate(clauses))  # BR-1
    for row in x:
        model += pulp.lpSum(row) == 1  # BR-2
    for j, (weight, literals, negated) in enumerate(clauses):
        lit = [x[a][v] if relation == "=" else 1 - x[a][v] for a, relation, v in literals]
        if weight > 0 and not negated:
            for one in lit:
                model += c[j] <= one  # BR-3
        elif weight < 0 and not negated:
            model += c[j] >= 1 - pulp.lpSum(1 - one for one in lit)  # BR-4
        elif weight < 0:
            for one in lit:
                model += c[j] >= 1 - one  # BR-5
        else:
            model += c[j] <= pulp.lpSum(1 - one for one in lit)  # BR-6
    model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False))
    if model.sol_status != pulp.LpSolutionOptimal:
        raise RuntimeError(f"CBC ended with {pulp.LpSolution[model.sol_status]!r}")
    record = [max(range(len(row)), key=lambda v, row=row: row[v].value()) for row in x]  # type: ignore[misc]
    return round(pulp.value(model.objective)), record


WORKED_EXAMPLE: tuple[list[int], list[Clause]] = (
    [2, 3, 2],
    [
        (2, [(0, "=", 1), (1, "=", 2)], False),
        (1, [(1, "=", 0), (2, "!=", 0)], False),
        (-3, [(0, "=", 1), (2, "=", 0)], False),
        (1, [(1, "!=", 1), (2, "=", 1)], True),
    ],
)

if __name__ == "__main__":
    print(*solve(*WORKED_EXAMPLE))
