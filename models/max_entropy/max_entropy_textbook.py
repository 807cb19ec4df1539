"""The maximum-entropy program in plain CVXPY, on one screen. Knows nothing of dpopt; labels ME-1 ... are those of the page."""

from __future__ import annotations

import cvxpy as cp

Measurement = tuple[
    list[list[int]], list[float], float, float
]  # parts as lists of cells; values; slack; weight


def solve(start: list[float], measurements: list[Measurement]) -> tuple[float, list[float]]:
    """Return the least objective and the distribution that has it."""
    p = cp.Variable(len(start), nonneg=True)  # ME-3
    objective = cp.sum(
        cp.kl_div(p, start)
    )  # sum p ln(p / p0) - p + p0: the relative entropy where p sums to 1
    for parts, values, slack, weight in measurements:
        for cells, value in zip(parts, values, strict=True):
            share = cp.sum(p[cells])  # ME-2
            objective += weight / 2 * cp.square(cp.pos(cp.abs(share - value) - slack))  # ME-1
    problem = cp.Problem(cp.Minimize(objective), [cp.sum(p) == 1])
    problem.solve(solver=cp.CLARABEL)
    if problem.status != cp.OPTIMAL:
        raise RuntimeError(f"the solver ended with {problem.status!r}")
    return float(problem.value), [float(mass) for mass in p.value]


WORKED_EXAMPLE: tuple[list[float], list[Measurement]] = (
    [0.5, 0.5],
    [([[0], [1]], [0.1, 0.9], 0.1, 10.986122886681098)],
)

if __name__ == "__main__":
    print(*solve(*WORKED_EXAMPLE))
