"""Weighted sums of the sides on which public points lie of known halfspaces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel


@kernel
def weighted_sides(
    points: NDArray[np.float64], normals: NDArray[np.float64], weights: NDArray[np.float64], sums: NDArray[np.float64]
) -> None:
    """Write sum_k w_jk s_k(x) for each point x and each j into sums: s_k(x) is 1 where <x, v_k> > 0, else -1.

    Points (p, d), normals (d, k), one in each column, and weights (j, k) float64; `sums` (p, j) is written.
    """
    number = weights.shape[1]
    products = np.empty(number)
    for p in range(points.shape[0]):
        products[:] = 0.0
        for j in range(points.shape[1]):
            coordinate = points[p, j]
            for k in range(number):
                products[k] += coordinate * normals[j, k]
        for row in range(weights.shape[0]):
            found = 0.0
            for k in range(number):
                found += weights[row, k] if products[k] > 0.0 else -weights[row, k]
            sums[p, row] = found
