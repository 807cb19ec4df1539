"""Re-weighting by likelihood in plain CVXPY, on one screen. Knows nothing of dpopt; labels RW-1 ... are those of the page."""

from __future__ import annotations

import cvxpy as cp


def model(
    net: list[list[int]], answers: list[list[int]], eta: float, draws: int
) -> tuple[cp.Problem, cp.Variable]:
    """Return the problem and the weights of the records.

    net[t][j] says how often query j was drawn in a round less how often its negation was; answers[j][r] is 1 if it is true of
    record r. Record t is the answer to round t.
    """
    w = cp.Variable(len(net), name="w", nonneg=True)
    likelihood = 0
    for t, drawn in enumerate(net):
        v = [eta * (t * (w @ row) - sum(row[:t])) for row in answers]  # RW-2
        both = cp.hstack([*v, *(-one for one in v)])
        likelihood += sum(n * one for n, one in zip(drawn, v, strict=True)) - draws * cp.log_sum_exp(
            both
        )  # RW-3
    return cp.Problem(cp.Maximize(likelihood), [cp.sum(w) == 1]), w  # RW-1


def solve(
    net: list[list[int]], answers: list[list[int]], eta: float, draws: int
) -> tuple[float, list[float]]:
    """Return the largest log-likelihood and the weights that have it."""
    problem, w = model(net, answers, eta, draws)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value), w.value.tolist()


WORKED_EXAMPLE: tuple[list[list[int]], list[list[int]], float, int] = ([[1], [-1], [1]], [[1, 0, 0]], 1.0, 1)

if __name__ == "__main__":
    print(*solve(*WORKED_EXAMPLE))
