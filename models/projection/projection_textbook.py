"""The projection of noisy answers over all records, in CVXPY. Knows nothing of dpopt; labels PJ-1 ... are the page's."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cvxpy as cp

Query = list[tuple[int, str, int]]  # a conjunction of literals: attribute, "=" or "!=", code


def answer(query: Query, record: tuple[int, ...]) -> int:
    """Return 1 if every literal is true of the record, else 0."""
    return int(all((record[a] == v) == (sign == "=") for a, sign, v in query))


def cvxpy_model(sizes: list[int], queries: list[Query], values: list[float]) -> cp.Problem:
    """Return the problem: w are the weights of all records, the last attribute changing fastest."""
    import cvxpy as cp
    import numpy as np

    records = list(product(*map(range, sizes)))
    answers = np.array([[answer(query, record) for record in records] for query in queries])
    w = cp.Variable(len(records), name="w", nonneg=True)  # PJ-3
    squares = cp.sum_squares(answers @ w - values) / 2  # PJ-1
    return cp.Problem(cp.Minimize(squares), [cp.sum(w) == 1])  # PJ-2


def example(both: float) -> dict[str, object]:
    """Return the worked example with this noisy share of records with A = 1 and B = 1."""
    queries = [[(0, "=", 1)], [(1, "=", 1)], [(0, "=", 1), (1, "=", 1)]]
    return {"sizes": [2, 2], "queries": queries, "values": [0.8, 0.6, both]}


EXAMPLES = [example(0.2), example(0.7)]  # the worked example and the exercise
