"""Discrete Laplace noise from a public seed: the same draws each time, distributed as dpopt's own noise. Never private."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SEED = 2010


def generator(*names: object) -> np.random.Generator:
    """Return the generator of what these names say; different names give independent ones."""
    return np.random.default_rng([SEED, *" ".join(map(str, names)).encode()])


def discrete_laplace(randomness: np.random.Generator, shape: int | tuple[int, ...], scale: float) -> NDArray[np.int64]:
    """Return noise k with probability proportional to exp(-abs(k) / scale): the difference of two geometric numbers."""
    stop = -np.expm1(-1.0 / scale)
    return randomness.geometric(stop, shape) - randomness.geometric(stop, shape)


def variance(scale: float) -> float:
    """Return the variance of this noise, 2 a / (1 - a)^2 with a = exp(-1 / scale)."""
    return float(1.0 / (np.cosh(1.0 / scale) - 1.0))


class SeededNoise:
    """Noise for a curator, from a generator: what it releases is marked as not private."""

    def __init__(self, randomness: np.random.Generator) -> None:
        self._randomness = randomness

    def discrete_laplace(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Return counts plus independent noise."""
        return counts + discrete_laplace(self._randomness, counts.shape, scale)

    def discrete_gaussian(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Return counts plus independent rounded Gaussian noise: at scales of 1 and above within 1e-8 of the discrete one."""
        return counts + np.rint(self._randomness.normal(0.0, scale, counts.shape)).astype(np.int64)
