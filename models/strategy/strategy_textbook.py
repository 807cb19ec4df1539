"""The strategy of least variance in CVXPY, on one screen. Knows nothing of dpopt; labels ST-1 ... are those of the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import cvxpy as cp


def cvxpy_model(workload: list[list[float]], weights: list[float]) -> cp.Problem:
    """Return the problem: X = A'A for the strategy A, V the covariance of the answers times the roots of their weights."""
    import cvxpy as cp
    import numpy as np

    root = np.sqrt(np.array(weights, float))[:, None] * np.array(workload, float)
    queries, bins = root.shape
    both = cp.Variable((bins + queries, bins + queries), name="both", PSD=True)  # ST-3
    x, v = both[:bins, :bins], both[bins:, bins:]
    return cp.Problem(cp.Minimize(cp.trace(v)), [cp.diag(x) <= 1, both[bins:, :bins] == root])  # ST-1, ST-2


PREFIXES = {"workload": [[1, 0], [1, 1]], "weights": [1 / 2, 1 / 2]}
RANGES = {"workload": [[1, 0], [0, 1], [1, 1]], "weights": [1 / 3, 1 / 3, 1 / 3]}
EXAMPLES: list[dict[str, object]] = [PREFIXES, RANGES]  # the worked example and the exercise
