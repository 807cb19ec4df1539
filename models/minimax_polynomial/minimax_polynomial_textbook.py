"""The nearest polynomial to a predicate in PuLP, on one screen. Knows nothing of dpopt; labels MP-1 ... as on the page."""

from __future__ import annotations

import pulp


def chebyshev(degree: int, u: float) -> float:
    """Return T_n(u)."""
    before, now = 1.0, u
    for _ in range(degree):
        before, now = now, 2 * u * now - before
    return before


def solve(values: list[float], degree: int, keeps_zero: bool) -> tuple[float, list[float]]:  # noqa: FBT001
    """Return the least largest error, and the values at 0, ..., k of the polynomial that has it."""
    k = len(values) - 1
    model = pulp.LpProblem("minimax_polynomial", pulp.LpMinimize)
    x = [pulp.LpVariable(f"x_{j}") for j in range(degree + 1)]
    error = pulp.LpVariable("E", 0)
    model += error  # MP-1
    p = [pulp.lpSum(x[j] * chebyshev(j, 2 * s / k - 1) for j in range(degree + 1)) for s in range(k + 1)]
    for s, f in enumerate(values):
        if keeps_zero and s == 0:
            model += p[s] == f  # MP-4
            continue
        model += p[s] + error >= f  # MP-2
        model += p[s] - error <= f  # MP-3
    model.solve(pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path, msg=False))
    if model.sol_status != pulp.LpSolutionOptimal:
        raise RuntimeError(f"CBC ended with {pulp.LpSolution[model.sol_status]!r}")
    return float(error.value()), [float(one.value()) for one in p]


WORKED_EXAMPLE: tuple[list[float], int, bool] = ([0, 1, 1, 1], 2, True)

if __name__ == "__main__":
    print(*solve(*WORKED_EXAMPLE))
    print(*solve(*WORKED_EXAMPLE[:2], keeps_zero=False))
