"""A perturbed best response in plain CP-SAT, on one screen. Knows nothing of dpopt; labels PR-1 ... are those of the page."""

from __future__ import annotations

from ortools.sat.python import cp_model

Literals = list[tuple[int, int]]  # a conjunction: attribute = code
UNIT = 1024


def model(
    sizes: list[int], queries: list[tuple[int, Literals]], rewards: list[list[float]]
) -> tuple[cp_model.CpModel, list[list[cp_model.IntVar]]]:
    """Return the model in units of 1/1024, and its variables: x[a][v] is true if attribute a has code v."""
    problem = cp_model.CpModel()
    x = [[problem.new_bool_var(f"x[{a},{v}]") for v in range(n)] for a, n in enumerate(sizes)]
    for row in x:
        problem.add_exactly_one(row)
    objective = [
        round(UNIT * r) * one
        for own, row in zip(rewards, x, strict=True)
        for r, one in zip(own, row, strict=True)
    ]
    for j, (weight, literals) in enumerate(queries):
        true = [x[a][v] for a, v in literals]
        c = problem.new_bool_var(f"c[{j}]")
        problem.add_bool_and(true).only_enforce_if(c)
        problem.add_bool_or([c, *(~one for one in true)])
        objective.append(UNIT * weight * c)  # PR-2
    problem.maximize(sum(objective))  # PR-1
    return problem, x


def solve(
    sizes: list[int], queries: list[tuple[int, Literals]], rewards: list[list[float]]
) -> tuple[float, list[int]]:
    """Return the largest reward, and the record that has it."""
    problem, x = model(sizes, queries, rewards)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    if solver.solve(problem) != cp_model.OPTIMAL:
        raise RuntimeError(f"CP-SAT ended with {solver.status_name()}")
    return solver.objective_value / UNIT, [[solver.value(one) for one in row].index(1) for row in x]


WORKED_EXAMPLE: tuple[list[int], list[tuple[int, Literals]], list[list[float]]] = (
    [3, 2], [(2, [(0, 1), (1, 0)])], [[-2.0, -1.5, -0.5], [-0.25, -0.125]]
)  # fmt: skip

if __name__ == "__main__":
    print(*solve(*WORKED_EXAMPLE))
