"""HDMM's strategies: identity and a few dense queries, optimized for a workload (McKenna, Miklau, Hay, Machanavajjhala 2018).

Strategy A = [I; T] diag(1 / s), s = 1 + column sums of T, T >= 0 with p rows: each record changes answers by 1 in all. With
X = (I + T' T)^-1 the least-squares estimate has the covariance 2 / epsilon^2 diag(s) X diag(s), and the workload the total
variance tr(diag(s) X diag(s) G), G its Gram matrix. Products of vectors with the Gram matrices of ranges and prefixes are sums.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

Numbers = NDArray[np.float64]
Gram = Callable[[Numbers], Numbers]
_STEPS = 250


def prefixes(values: Numbers) -> Numbers:
    """Return the product of rows with the Gram matrix of all prefixes: n - max(i, j)."""
    after = values.shape[1] - np.arange(values.shape[1])
    low = np.cumsum(values, axis=1)  # i <= j
    high = np.cumsum((values * after)[:, ::-1], axis=1)[:, ::-1] - values * after  # i > j
    return np.asarray(low * after + high)


def ranges(values: Numbers) -> Numbers:
    """Return the product of rows with the Gram matrix of all ranges: (min(i, j) + 1) (n - max(i, j))."""
    number = values.shape[1]
    before, after = np.arange(1, number + 1), number - np.arange(number)
    low = np.cumsum(values * before, axis=1)  # i <= j
    high = np.cumsum((values * after)[:, ::-1], axis=1)[:, ::-1] - values * after  # i > j
    return np.asarray(low * after + high * before)


@cache
def strategy(bins: int, rows: int, workload: str) -> Numbers:
    """Return T, (p, n), for all ranges or all prefixes of so many bins."""
    gram = ranges if workload == "ranges" else prefixes
    places = np.arange(bins)
    diagonal = (places + 1.0) * (bins - places) if workload == "ranges" else bins - places + 0.0

    def objective(flat: Numbers) -> tuple[float, Numbers]:
        dense = flat.reshape(rows, bins)
        scale = 1.0 + dense.sum(axis=0)
        inverse = np.linalg.inv(np.eye(rows) + dense @ dense.T)
        spread = gram(dense * scale)
        inner = (spread * scale) @ dense.T
        mixed = inverse @ spread
        value = float((scale**2 * diagonal).sum() - (inverse * inner.T).sum())
        slope = -2.0 * mixed * scale + 2.0 * inverse @ inner @ inverse @ dense
        by_scale = 2.0 * (scale * diagonal - (dense * mixed).sum(axis=0))
        return value / bins**2, (slope + by_scale).reshape(-1) / bins**2

    start = np.random.default_rng(0).random((rows, bins)) * 0.3
    row, width = np.arange(rows)[:, None], 1
    while width < rows:  # blocks of a tree: half of the rows on its lowest level, a quarter above, ...
        start += (row == width + places[None, :] * width // bins) * 1.0
        width *= 2
    found = minimize(
        objective,
        start.reshape(-1),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * start.size,
        options={"maxiter": _STEPS, "maxcor": 5},
    )
    return np.asarray(found.x.reshape(rows, bins))


def hdmm(cells: Numbers, epsilon: float, workload: str, generator: np.random.Generator) -> Numbers:
    """Return least squares from noisy answers of the strategy; of a grid, of the product of its axes' strategies."""
    bins = cells.shape[0]
    dense = strategy(bins, max(bins // 64, 8), workload)
    rows = len(dense)
    noise = generator.laplace(scale=1 / epsilon, size=[bins + rows] * cells.ndim)
    scale = 1.0 + dense.sum(axis=0)
    inverse = np.linalg.inv(np.eye(rows) + dense @ dense.T)
    for axis in range(cells.ndim):
        moved = np.moveaxis(noise, axis, 0)
        right = moved[:bins] + np.tensordot(dense.T, moved[bins:], axes=1)
        solved = right - np.tensordot(dense.T, inverse @ np.tensordot(dense, right, axes=1), axes=1)
        noise = np.moveaxis(scale.reshape(-1, *[1] * (cells.ndim - 1)) * solved, 0, axis)
    return cells + noise
