"""The best response under hard rules in PuLP and in CP-SAT. Knows nothing of dpopt; labels as on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pulp
    from ortools.sat.python import cp_model

Literal = tuple[int, str, int]  # attribute, "=" or "!=", code
Clause = tuple[int, list[Literal]]  # weight and literals of a conjunction
Gate = tuple[int, bool, dict[int, list[int]], dict[int, int]]
"""Bound, whether it is required, the values of an attribute's codes, and the coefficients of other gates."""


def pulp_model(sizes: list[int], clauses: list[Clause], gates: list[Gate]) -> pulp.LpProblem:
    """Return the mixed-integer program: x_a_v is 1 if the record has code v in attribute a."""
    import pulp

    model = pulp.LpProblem("best_response_with_rules", pulp.LpMaximize)
    x = [[pulp.LpVariable(f"x_{a}_{v}", cat="Binary") for v in range(n)] for a, n in enumerate(sizes)]  # BR-7
    c = [pulp.LpVariable(f"c_{j}", 0, 1) for j in range(len(clauses))]  # BR-7
    z = [pulp.LpVariable(f"z_{g}", int(gate[1]), 1, cat="Integer") for g, gate in enumerate(gates)]  # RU-3
    model += pulp.lpSum(weight * c[j] for j, (weight, _) in enumerate(clauses))  # BR-1
    for row in x:
        model += pulp.lpSum(row) == 1  # BR-2
    for j, (weight, literals) in enumerate(clauses):
        lit = [x[a][v] if sign == "=" else 1 - x[a][v] for a, sign, v in literals]
        for one in lit if weight > 0 else []:
            model += c[j] <= one  # BR-3
        if weight < 0:
            model += c[j] >= 1 - pulp.lpSum(1 - one for one in lit)  # BR-4
    for g, (bound, _, values, children) in enumerate(gates):
        least = sum(min(numbers) for numbers in values.values())
        total = pulp.lpSum(n * x[a][v] for a, numbers in values.items() for v, n in enumerate(numbers))
        total += pulp.lpSum(coefficient * z[child] for child, coefficient in children.items())
        model += total >= least + (bound - least) * z[g]  # RU-1 where z = 1 is required, else RU-2
    return model


def cp_sat_model(sizes: list[int], clauses: list[Clause], gates: list[Gate]) -> cp_model.CpModel:
    """Return the same in logic; a gate counts only where it is said to be true."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    x = [[model.new_bool_var(f"x_{a}_{v}") for v in range(n)] for a, n in enumerate(sizes)]  # BR-7
    c = [model.new_bool_var(f"c_{j}") for j in range(len(clauses))]
    z = [model.new_int_var(int(gate[1]), 1, f"z_{g}") for g, gate in enumerate(gates)]  # RU-3
    for row in x:
        model.add_exactly_one(row)  # BR-2
    for j, (weight, literals) in enumerate(clauses):
        lit = [x[a][v] if sign == "=" else ~x[a][v] for a, sign, v in literals]
        if weight > 0:
            model.add_bool_and(lit).only_enforce_if(c[j])  # BR-3
        else:
            model.add_bool_or([c[j], *(~one for one in lit)])  # BR-4
    for g, (bound, _, values, children) in enumerate(gates):
        total = sum(n * x[a][v] for a, numbers in values.items() for v, n in enumerate(numbers))
        total += sum(coefficient * z[child] for child, coefficient in children.items())
        model.add(total >= bound).only_enforce_if(z[g])  # RU-1 where z = 1 is required, else RU-2
    model.maximize(sum(weight * one for (weight, _), one in zip(clauses, c, strict=True)))  # BR-1
    return model


def example(first: int, *, limited: bool) -> dict[str, object]:
    """Return the worked example with this weight of its first clause, with or without the rule on the sum."""
    clauses = [(first, [(0, "=", 2), (1, "=", 1)]), (2, [(2, "=", 3)]), (-1, [(0, "=", 0)])]
    gates: list[Gate] = [(2, False, {0: [0, 0, 1], 2: [1, 0, 0, 0]}, {}), (1, True, {1: [1, 0]}, {0: 1})]
    total: Gate = (-3, True, {0: [0, -1, -2], 2: [0, -1, -2, -3]}, {})
    return {"sizes": [3, 2, 4], "clauses": clauses, "gates": [*gates, total] if limited else gates}


EXAMPLES = [example(3, limited=True), example(1, limited=False)]  # the worked example and the exercise
