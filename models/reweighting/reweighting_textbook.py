"""Re-weighting by likelihood in CVXPY, on one screen. Knows nothing of dpopt; labels RW-1 ... are those of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cvxpy as cp


def cvxpy_model(net: list[list[int]], answers: list[list[int]], eta: float, draws: int) -> cp.Problem:
    """Return the problem: w are the weights of the records.

    net[t][j] says how often query j was drawn in a round less how often its negation was; answers[j][r] is 1 if it is true of
    record r. Record t is the answer to round t.
    """
    import cvxpy as cp

    w = cp.Variable(len(net), name="w", nonneg=True)
    likelihood = 0
    for t, drawn in enumerate(net):
        v = [eta * (t * (w @ row) - sum(row[:t])) for row in answers]  # RW-2
        both = cp.hstack([*v, *(-one for one in v)])
        reached = sum(n * one for n, one in zip(drawn, v, strict=True))
        likelihood += reached - draws * cp.log_sum_exp(both)  # RW-3
    return cp.Problem(cp.Maximize(likelihood), [cp.sum(w) == 1])  # RW-1


def example(last: int) -> dict[str, object]:
    """Return three rounds of one query, of which the last draws the query (1) or its negation (-1)."""
    return {"net": [[1], [-1], [last]], "answers": [[1, 0, 0]], "eta": 1.0, "draws": 1}


EXAMPLES = [example(1), example(-1)]  # the worked example and the exercise
