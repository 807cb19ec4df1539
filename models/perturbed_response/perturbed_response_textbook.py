"""A perturbed best response in PuLP and in CP-SAT. Knows nothing of dpopt; labels PR-1 ... are those of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pulp
    from ortools.sat.python import cp_model

Query = tuple[int, list[tuple[int, int]]]  # weight, and a conjunction of "attribute = code"


def pulp_model(sizes: list[int], queries: list[Query], rewards: list[list[float]]) -> pulp.LpProblem:
    """Return the mixed-integer program: x_a_v is 1 if attribute a has code v."""
    import pulp

    model = pulp.LpProblem("perturbed_response", pulp.LpMaximize)
    x = [[pulp.LpVariable(f"x_{a}_{v}", cat="Binary") for v in range(n)] for a, n in enumerate(sizes)]
    c = [pulp.LpVariable(f"c_{j}", 0, 1) for j in range(len(queries))]
    rewarded = [r * one for own, row in zip(rewards, x, strict=True) for r, one in zip(own, row, strict=True)]
    model += pulp.lpSum([*rewarded, *(query[0] * one for query, one in zip(queries, c, strict=True))])  # PR-1
    for row in x:
        model += pulp.lpSum(row) == 1
    for one, (_, literals) in zip(c, queries, strict=True):
        for a, v in literals:
            model += one <= x[a][v]
        model += one >= 1 - pulp.lpSum(1 - x[a][v] for a, v in literals)
    return model


def cp_sat_model(sizes: list[int], queries: list[Query], rewards: list[list[float]]) -> cp_model.CpModel:
    """Return the same in logic; rewards are rounded to 1/1024, which CP-SAT keeps exactly (PR-2)."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    x = [[model.new_bool_var(f"x_{a}_{v}") for v in range(n)] for a, n in enumerate(sizes)]
    c = [model.new_bool_var(f"c_{j}") for j in range(len(queries))]
    for row in x:
        model.add_exactly_one(row)
    for one, (_, literals) in zip(c, queries, strict=True):
        true = [x[a][v] for a, v in literals]
        model.add_bool_and(true).only_enforce_if(one)
        model.add_bool_or([one, *(~literal for literal in true)])
    rewarded = [
        round(1024 * r) / 1024 * one
        for own, row in zip(rewards, x, strict=True)
        for r, one in zip(own, row, strict=True)
    ]
    model.maximize(sum([*rewarded, *(query[0] * one for query, one in zip(queries, c, strict=True))]))  # PR-1
    return model


def example(weight: int) -> dict[str, object]:
    """Return the worked example, with a query that was selected so often."""
    rewards = [[-2.0, -1.5, -0.5], [-0.25, -0.125]]
    return {"sizes": [3, 2], "queries": [(weight, [(0, 1), (1, 0)])], "rewards": rewards}


EXAMPLES = [example(2), example(1)]  # the worked example and the exercise
