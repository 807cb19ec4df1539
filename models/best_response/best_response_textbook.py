"""The best response in PuLP and in CP-SAT. Knows nothing of dpopt; labels BR-1 ... are those of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pulp
    from ortools.sat.python import cp_model

Literal = tuple[int, str, int]  # attribute, "=" or "!=", code
Clause = tuple[int, list[Literal], bool]  # weight, literals, True for the negation of the conjunction


def pulp_model(sizes: list[int], clauses: list[Clause]) -> pulp.LpProblem:
    """Return the mixed-integer program: x_a_v is 1 if the record has code v in attribute a."""
    import pulp

    model = pulp.LpProblem("best_response", pulp.LpMaximize)
    x = [[pulp.LpVariable(f"x_{a}_{v}", cat="Binary") for v in range(n)] for a, n in enumerate(sizes)]  # BR-7
    c = [pulp.LpVariable(f"c_{j}", 0, 1) for j in range(len(clauses))]  # BR-7
    model += pulp.lpSum(weight * c[j] for j, (weight, _, _) in enumerate(clauses))  # BR-1
    for row in x:
        model += pulp.lpSum(row) == 1  # BR-2
    for j, (weight, literals, negated) in enumerate(clauses):
        lit = [x[a][v] if sign == "=" else 1 - x[a][v] for a, sign, v in literals]
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
    return model


def cp_sat_model(sizes: list[int], clauses: list[Clause]) -> cp_model.CpModel:
    """Return the same in logic."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    x = [[model.new_bool_var(f"x_{a}_{v}") for v in range(n)] for a, n in enumerate(sizes)]  # BR-7
    c = [model.new_bool_var(f"c_{j}") for j in range(len(clauses))]
    for row in x:
        model.add_exactly_one(row)  # BR-2
    for j, (weight, literals, negated) in enumerate(clauses):
        lit = [x[a][v] if sign == "=" else ~x[a][v] for a, sign, v in literals]
        all_true = ~c[j] if negated else c[j]
        if (weight > 0) != negated:
            model.add_bool_and(lit).only_enforce_if(all_true)  # BR-3, BR-5
        else:
            model.add_bool_or([all_true, *(~one for one in lit)])  # BR-4, BR-6
    model.maximize(sum(weight * one for (weight, _, _), one in zip(clauses, c, strict=True)))  # BR-1
    return model


def example(third: int, fourth: int) -> dict[str, object]:
    """Return the worked example with these weights of its last two clauses."""
    clauses = [
        (2, [(0, "=", 1), (1, "=", 2)], False),
        (1, [(1, "=", 0), (2, "!=", 0)], False),
        (third, [(0, "=", 1), (2, "=", 0)], False),
        (fourth, [(1, "!=", 1), (2, "=", 1)], True),
    ]
    return {"sizes": [2, 3, 2], "clauses": clauses}


EXAMPLES = [example(-3, 1), example(-1, 2)]  # the worked example and the exercise
