"""The projection of noisy answers over all records, in plain CVXPY. Knows nothing of dpopt; labels PJ-1 ... are the page's."""

from __future__ import annotations

from itertools import product

import cvxpy as cp
import numpy as np

Query = list[tuple[int, str, int]]  # a conjunction of literals: attribute, "=" or "!=", code
Record = tuple[int, ...]


def answer(query: Query, record: Record) -> int:
    """Return 1 if every literal is true of the record, else 0."""
    return int(all((record[a] == v) == (sign == "=") for a, sign, v in query))


def model(
    sizes: list[int], queries: list[Query], values: list[float]
) -> tuple[cp.Problem, cp.Variable, list[Record]]:
    """Return the problem, the weights of all records, and the records."""
    records = list(product(*map(range, sizes)))
    answers = np.array([[answer(query, record) for record in records] for query in queries])
    w = cp.Variable(len(records), name="w", nonneg=True)  # PJ-3
    squares = cp.sum_squares(answers @ w - values) / 2  # PJ-1
    return cp.Problem(cp.Minimize(squares), [cp.sum(w) == 1]), w, records  # PJ-2


def solve(sizes: list[int], queries: list[Query], values: list[float]) -> tuple[float, dict[Record, float]]:
    """Return the least f, and the weights of records that have it."""
    problem, w, records = model(sizes, queries, values)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12)
    found = zip(records, w.value.tolist(), strict=True)
    return float(problem.value), {record: one for record, one in found if one > 1e-9}


WORKED_EXAMPLE = ([2, 2], [[(0, "=", 1)], [(1, "=", 1)], [(0, "=", 1), (1, "=", 1)]], [0.8, 0.6, 0.2])

if __name__ == "__main__":
    print(solve(*WORKED_EXAMPLE))
