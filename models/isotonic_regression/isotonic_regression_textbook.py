"""Isotonic regression in plain CVXPY, on one screen. Knows nothing of dpopt; labels IR-1 ... are those of the page."""

from __future__ import annotations

import cvxpy as cp

Bounds = tuple[float | None, float | None]


def model(
    values: list[float],
    weights: list[float],
    bounds: Bounds = (None, None),
    total: float | None = None,
    *,
    absolute: bool = False,
) -> tuple[cp.Problem, cp.Variable]:
    """Return the problem and its nondecreasing sequence."""
    s = cp.Variable(len(values), name="s")
    rows = [cp.diff(s) >= 0] if len(values) > 1 else []  # IR-3
    lower, upper = bounds
    if lower is not None:
        rows.append(s >= lower)  # IR-4
    if upper is not None:
        rows.append(s <= upper)
    if total is not None:
        rows.append(cp.sum(s) == total)  # IR-5
    squares = cp.sum(cp.multiply(weights, cp.square(s - values))) / 2  # IR-1
    differences = cp.sum(cp.multiply(weights, cp.abs(s - values)))  # IR-2
    return cp.Problem(cp.Minimize(differences if absolute else squares), rows), s


def solve(
    values: list[float], weights: list[float], bounds: Bounds = (None, None), total: float | None = None
) -> tuple[float, list[float]]:
    """Return half of the least weighted squared distance, and the sequence that has it."""
    problem, s = model(values, weights, bounds, total)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value), s.value.tolist()


def solve_absolute(values: list[float], weights: list[float], bounds: Bounds = (None, None)) -> list[float]:
    """Return a sequence of least weighted sum of absolute differences."""
    problem, s = model(values, weights, bounds, absolute=True)
    problem.solve(solver=cp.SCIPY)
    return s.value.tolist()


WORKED_EXAMPLE: tuple[list[float], list[float]] = ([14, 9, 10, 15], [1.0] * 4)

if __name__ == "__main__":
    print(*solve(*WORKED_EXAMPLE))
    print(*solve(*WORKED_EXAMPLE, total=52))
    print(solve_absolute(*WORKED_EXAMPLE))
