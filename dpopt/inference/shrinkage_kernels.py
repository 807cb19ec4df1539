"""Likelihoods and posterior moments of a mixture of normal priors, cell by cell. Imports numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel

_LEAST = -700.0  # beyond this the exponential is 0


class Cells(NamedTuple):
    """Noisy cells, their noise, and the components of their prior."""

    values: NDArray[np.float64]  # (n,)
    noise: NDArray[np.float64]  # (n,) variances
    sizes: NDArray[np.float64]  # (n,) predicted counts, at least the floor
    scales: NDArray[np.float64]  # (k,)
    exponents: NDArray[np.float64]  # (k,)


@kernel
def likelihoods(cells: Cells, chosen: NDArray[np.int64], found: NDArray[np.float64]) -> None:
    """Write the density of each chosen cell under each component, (m, k), over the largest of the cell's."""
    number = cells.scales.size
    logs = np.empty(number)
    for row in range(chosen.size):
        cell = chosen[row]
        log_size, largest = np.log(cells.sizes[cell]), -np.inf
        for k in range(number):
            variance = cells.scales[k] * np.exp(cells.exponents[k] * log_size) + cells.noise[cell]
            logs[k] = -0.5 * (np.log(variance) + cells.values[cell] * cells.values[cell] / variance)
            largest = max(largest, logs[k])
        for k in range(number):
            found[row, k] = np.exp(logs[k] - largest) if logs[k] - largest > _LEAST else 0.0


@kernel
def moments(
    cells: Cells, log_weights: NDArray[np.float64], means: NDArray[np.float64], variances: NDArray[np.float64]
) -> None:
    """Write the posterior mean and variance of each cell, (n,)."""
    number = cells.scales.size
    logs, gains = np.empty(number), np.empty(number)
    for cell in range(cells.values.size):
        log_size, largest = np.log(cells.sizes[cell]), -np.inf
        for k in range(number):
            if log_weights[k] == -np.inf:
                continue
            prior = cells.scales[k] * np.exp(cells.exponents[k] * log_size)
            variance = prior + cells.noise[cell]
            gains[k] = prior / variance
            off = cells.values[cell]
            logs[k] = -0.5 * (np.log(variance) + off * off / variance) + log_weights[k]
            largest = max(largest, logs[k])
        whole, first, second = 0.0, 0.0, 0.0
        for k in range(number):
            if log_weights[k] == -np.inf or logs[k] - largest <= _LEAST:
                continue
            # Around the value, so that a small variance beside large counts keeps its digits.
            density = np.exp(logs[k] - largest)
            moved = (gains[k] - 1.0) * cells.values[cell]
            whole += density
            first += density * moved
            second += density * (moved * moved + gains[k] * cells.noise[cell])
        first /= whole
        means[cell] = cells.values[cell] + first
        variances[cell] = max(second / whole - first * first, 0.0)
