"""The polynomial that answers a query, in plain CVXPY. Knows nothing of dpopt; labels AQ-1 ... are the page's."""

from __future__ import annotations

from math import comb, inf

import cvxpy as cp

Table = list[list[float | None]]


def model(
    target: Table, deviations: list[list[float]], zeta: float
) -> tuple[cp.Problem, cp.Variable, cp.Variable]:
    """Return the problem for f(s, u), rows s, columns u, its gamma, and the coefficients a; deviations[0][0] is not used."""
    k, columns = len(target) - 1, len(target[0])
    a = cp.Variable((min(k + 1, len(deviations)), columns), name="a")
    gamma = cp.Variable(name="gamma", nonneg=True)
    pairs = [(i, j) for i in range(a.shape[0]) for j in range(columns)]
    counted = [(i, j) for i, j in pairs[1:] if deviations[i][j] < inf]
    rows = [a[pair] == 0 for pair in pairs[1:] if pair not in counted]
    for s, row in enumerate(target):
        for u, value in enumerate(row):
            if value is not None:  # AQ-2, AQ-4
                reached = sum(comb(s, i) * comb(u, j) * a[i, j] for i, j in pairs)
                rows.append(cp.abs(reached - value) <= gamma)
    noise = cp.norm(cp.hstack([0, *(deviations[i][j] * a[i, j] for i, j in counted)]))
    return cp.Problem(cp.Minimize(gamma + zeta * noise), rows), gamma, a  # AQ-1, AQ-3


def solve_mixed(
    target: Table, deviations: list[list[float]], zeta: float
) -> tuple[float, float, list[list[float]]]:
    """Return the least bound, its part gamma, and the coefficients."""
    problem, gamma, a = model(target, deviations, zeta)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value), float(gamma.value), a.value.tolist()


def solve(
    target: list[float | None], deviations: list[float], zeta: float
) -> tuple[float, float, list[float]]:
    """Return the same for one number s; a deviation is inf where a size was not counted."""
    bound, gamma, table = solve_mixed([[one] for one in target], [[inf], *([u] for u in deviations)], zeta)
    return bound, gamma, [row[0] for row in table]


WORKED_EXAMPLE: tuple[list[float | None], list[float], float] = ([0, 0, 1], [0.1, 0.5], 1.0)

if __name__ == "__main__":
    bound, _, best = solve(*WORKED_EXAMPLE)
    print(bound, best)
