"""Likelihoods and posterior moments of a mixture of normal priors, cell by cell. Compiled; importing this imports numba."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel

_LEAST = -700.0  # beyond this the exponential is 0


class Cells(NamedTuple):
    """Noisy cells, the components of their prior, and the parts of their noise."""

    values: NDArray[np.float64]  # (n,)
    noise: NDArray[np.float64]  # (n,) variances
    sizes: NDArray[np.float64]  # (n,) predicted counts, at least the floor
    centers: NDArray[np.float64]  # (c, n)
    spreads: NDArray[
        np.float64
    ]  # (c, n) variances that noise has besides under components around each center
    scales: NDArray[np.float64]  # (k,)
    exponents: NDArray[np.float64]  # (k,)
    center_of: NDArray[np.int64]  # (k,)
    factors: NDArray[np.float64]  # (j,) of the variance of noise
    shares: NDArray[np.float64]  # (j,) how often noise has each


@kernel
def likelihoods(cells: Cells, chosen: NDArray[np.int64], found: NDArray[np.float64]) -> None:
    """Write the density of each chosen cell under each component, (m, k), over the largest of the cell's."""
    number, parts = cells.scales.size, cells.factors.size
    logs = np.empty((number, parts))
    for row in range(chosen.size):
        cell = chosen[row]
        log_size, largest = np.log(cells.sizes[cell]), -np.inf
        for k in range(number):
            c = cells.center_of[k]
            prior = cells.scales[k] * np.exp(cells.exponents[k] * log_size)
            off = cells.values[cell] - cells.centers[c, cell]
            for j in range(parts):
                variance = prior + cells.factors[j] * cells.noise[cell] + cells.spreads[c, cell]
                logs[k, j] = np.log(cells.shares[j]) - 0.5 * (np.log(variance) + off * off / variance)
                largest = max(largest, logs[k, j])
        for k in range(number):
            density = 0.0
            for j in range(parts):
                if logs[k, j] - largest > _LEAST:
                    density += np.exp(logs[k, j] - largest)
            found[row, k] = density


@kernel
def moments(
    cells: Cells, log_weights: NDArray[np.float64], means: NDArray[np.float64], variances: NDArray[np.float64]
) -> None:
    """Write the posterior mean and variance of each cell, (n,)."""
    number, parts = cells.scales.size, cells.factors.size
    logs, gains = np.empty((number, parts)), np.empty((number, parts))
    for cell in range(cells.values.size):
        log_size, largest = np.log(cells.sizes[cell]), -np.inf
        for k in range(number):
            if log_weights[k] == -np.inf:
                continue
            c = cells.center_of[k]
            prior = cells.scales[k] * np.exp(cells.exponents[k] * log_size)
            off = cells.values[cell] - cells.centers[c, cell]
            for j in range(parts):
                variance = prior + cells.factors[j] * cells.noise[cell] + cells.spreads[c, cell]
                gains[k, j] = prior / variance
                logs[k, j] = np.log(cells.shares[j]) - 0.5 * (np.log(variance) + off * off / variance)
                logs[k, j] += log_weights[k]
                largest = max(largest, logs[k, j])
        whole, first, second = 0.0, 0.0, 0.0
        for k in range(number):
            if log_weights[k] == -np.inf:
                continue
            c = cells.center_of[k]
            # Around the value, so that a small variance beside large counts keeps its digits.
            off = cells.centers[c, cell] - cells.values[cell]
            for j in range(parts):
                if logs[k, j] - largest > _LEAST:
                    density = np.exp(logs[k, j] - largest)
                    moved = (1.0 - gains[k, j]) * off
                    left = gains[k, j] * (cells.factors[j] * cells.noise[cell] + cells.spreads[c, cell])
                    whole += density
                    first += density * moved
                    second += density * (moved * moved + left)
        first /= whole
        means[cell] = cells.values[cell] + first
        variances[cell] = max(second / whole - first * first, 0.0)
