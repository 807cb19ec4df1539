"""The best response to parities in plain PuLP, on one screen. Knows nothing of dpopt; labels PA-1 ... are those of the page."""

from __future__ import annotations

import pulp

Literal = tuple[int, str, int]  # attribute, "=" or "!=", code
Parity = tuple[
    int, list[Literal], bool
]  # weight, literals, True for an odd number of them, False for an even one


def solve(sizes: list[int], parities: list[Parity]) -> tuple[int, list[int]]:
    """Return the largest weight of true parities and a record that reaches it."""
    model = pulp.LpProblem("best_response_parities", pulp.LpMaximize)
    x = [
        [pulp.LpVariable(f"x_{a}_{v}", cat="Binary") for v in range(size)] for a, size in enumerate(sizes)
    ]  # BR-7
    c = [pulp.LpVariable(f"c_{j}", cat="Binary") for j in range(len(parities))]
    model += pulp.lpSum(weight * c[j] for j, (weight, _, _) in enumerate(parities))  # BR-1
    for row in x:
        model += pulp.lpSum(row) == 1  # BR-2
    for j, (_, literals, odd) in enumerate(parities):
        total = pulp.lpSum(x[a][v] if relation == "=" else 1 - x[a][v] for a, relation, v in literals)
        z = pulp.LpVariable(f"z_{j}", 0, len(literals) // 2, cat="Integer")
        if odd:
            model += total == 2 * z + c[j]  # PA-1
        else:
            model += total == 2 * z + 1 - c[j]  # PA-2
    model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False))
    if model.sol_status != pulp.LpSolutionOptimal:
        raise RuntimeError(f"CBC ended with {pulp.LpSolution[model.sol_status]!r}")
    record = [max(range(len(row)), key=lambda v, row=row: row[v].value()) for row in x]  # type: ignore[misc]
    return round(pulp.value(model.objective)), record


WORKED_EXAMPLE: tuple[list[int], list[Parity]] = (
    [2, 2, 3],
    [
        (2, [(0, "=", 1), (1, "=", 1)], True),
        (2, [(1, "=", 1), (2, "=", 2)], True),
        (2, [(0, "=", 1), (2, "=", 2)], True),
        (-1, [(0, "=", 1), (1, "=", 1), (2, "!=", 0)], False),
    ],
)

if __name__ == "__main__":
    print(*solve(*WORKED_EXAMPLE))
