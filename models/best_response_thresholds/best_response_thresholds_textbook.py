"""The best response to counts of literals in PuLP and in CP-SAT. Knows nothing of dpopt; labels as on the page."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pulp
    from ortools.sat.python import cp_model

Literal = tuple[int, str, int]  # attribute, "=" or "!=", code
Clause = tuple[int, list[Literal], list[int]]  # weight, literals, accepted numbers of true literals


def pulp_model(sizes: list[int], clauses: list[Clause]) -> pulp.LpProblem:
    """Return the mixed-integer program: x_a_v is 1 if the record has code v in attribute a."""
    import pulp

    model = pulp.LpProblem("best_response_thresholds", pulp.LpMaximize)
    x = [[pulp.LpVariable(f"x_{a}_{v}", cat="Binary") for v in range(n)] for a, n in enumerate(sizes)]  # BR-7
    c = [pulp.LpVariable(f"c_{j}", 0, 1) for j in range(len(clauses))]  # BR-7
    model += pulp.lpSum(weight * c[j] for j, (weight, _, _) in enumerate(clauses))  # BR-1
    for row in x:
        model += pulp.lpSum(row) == 1  # BR-2
    for j, (weight, literals, accepted) in enumerate(clauses):
        lit = [x[a][v] if sign == "=" else 1 - x[a][v] for a, sign, v in literals]
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
    return model


def cp_sat_model(sizes: list[int], clauses: list[Clause]) -> cp_model.CpModel:
    """Return the same with counts that lie in the accepted numbers, or outside of them."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    x = [[model.new_bool_var(f"x_{a}_{v}") for v in range(n)] for a, n in enumerate(sizes)]  # BR-7
    c = [model.new_bool_var(f"c_{j}") for j in range(len(clauses))]
    for row in x:
        model.add_exactly_one(row)  # BR-2
    for j, (_, literals, accepted) in enumerate(clauses):
        lit = [x[a][v] if sign == "=" else ~x[a][v] for a, sign, v in literals]
        others = sorted({*range(len(lit) + 1)} - {*accepted})
        for numbers, truth in ((accepted, c[j]), (others, ~c[j])):  # TH-6, TH-7
            among = cp_model.Domain.from_values(numbers)
            model.add_linear_expression_in_domain(sum(lit), among).only_enforce_if(truth)
    model.maximize(sum(weight * one for (weight, _, _), one in zip(clauses, c, strict=True)))  # BR-1
    return model


def example(least: int) -> dict[str, object]:
    """Return the worked example, whose first clause asks for at least so many of three literals."""
    clauses = [
        (3, [(0, "=", 1), (1, "=", 1), (2, "=", 1)], list(range(least, 4))),
        (-2, [(0, "=", 1), (1, "=", 1), (3, "!=", 2)], [2, 3]),
        (1, [(1, "=", 0), (2, "=", 0), (3, "=", 0)], [1]),
    ]
    return {"sizes": [2, 2, 2, 3], "clauses": clauses}


EXAMPLES = [example(2), example(3)]  # the worked example and the exercise
