"""The best response to parities in PuLP and in CP-SAT. Knows nothing of dpopt; labels PA-1 ... are those of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pulp
    from ortools.sat.python import cp_model

Literal = tuple[int, str, int]  # attribute, "=" or "!=", code
Parity = tuple[int, list[Literal], bool]  # weight, literals, True for an odd number of them, False for an even one


def pulp_model(sizes: list[int], parities: list[Parity]) -> pulp.LpProblem:
    """Return the mixed-integer program: x_a_v is 1 if the record has code v in attribute a."""
    import pulp

    model = pulp.LpProblem("best_response_parities", pulp.LpMaximize)
    x = [[pulp.LpVariable(f"x_{a}_{v}", cat="Binary") for v in range(n)] for a, n in enumerate(sizes)]  # BR-7
    c = [pulp.LpVariable(f"c_{j}", cat="Binary") for j in range(len(parities))]
    model += pulp.lpSum(weight * c[j] for j, (weight, _, _) in enumerate(parities))  # BR-1
    for row in x:
        model += pulp.lpSum(row) == 1  # BR-2
    for j, (_, literals, odd) in enumerate(parities):
        total = pulp.lpSum(x[a][v] if sign == "=" else 1 - x[a][v] for a, sign, v in literals)
        z = pulp.LpVariable(f"z_{j}", 0, len(literals) // 2, cat="Integer")
        if odd:
            model += total == 2 * z + c[j]  # PA-1
        else:
            model += total == 2 * z + 1 - c[j]  # PA-2
    return model


def cp_sat_model(sizes: list[int], parities: list[Parity]) -> cp_model.CpModel:
    """Return the same with exclusive ors, which are true if an odd number of their literals is."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    x = [[model.new_bool_var(f"x_{a}_{v}") for v in range(n)] for a, n in enumerate(sizes)]  # BR-7
    c = [model.new_bool_var(f"c_{j}") for j in range(len(parities))]
    for row in x:
        model.add_exactly_one(row)  # BR-2
    for j, (_, literals, odd) in enumerate(parities):
        lit = [x[a][v] if sign == "=" else ~x[a][v] for a, sign, v in literals]
        model.add_bool_xor([*lit, ~c[j] if odd else c[j]])  # PA-1, PA-2
    model.maximize(sum(weight * one for (weight, _, _), one in zip(parities, c, strict=True)))  # BR-1
    return model


def example(*, odd: bool) -> dict[str, object]:
    """Return the worked example, whose pairs ask for odd numbers, or with pairs that ask for even ones."""
    a, b, c = (0, "=", 1), (1, "=", 1), (2, "=", 2)
    pairs = [(2, [a, b], odd), (2, [b, c], odd), (2, [a, c], odd)]
    return {"sizes": [2, 2, 3], "parities": [*pairs, (-1, [a, b, (2, "!=", 0)], False)]}


EXAMPLES = [example(odd=True), example(odd=False)]  # the worked example and the exercise
