"""Other mechanisms for a count from 0 to n, as matrices of probabilities, to compare the optimal one with."""

from __future__ import annotations

from math import comb, exp

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


def away(n: int) -> Numbers:
    """Return |i - r| for counts and outputs 0 to n."""
    found: Numbers = np.abs(np.arange(n + 1.0)[:, None] - np.arange(n + 1.0))
    return found


def geometric(n: int, epsilon: float) -> Numbers:
    """Return the count with two-sided geometric noise, cut to 0 to n."""
    a, i = exp(-epsilon), np.arange(n + 1)
    matrix = (1 - a) / (1 + a) * a ** away(n)
    matrix[:, 0], matrix[:, n] = a**i / (1 + a), a ** (n - i) / (1 + a)
    return matrix


def laplace(n: int, epsilon: float) -> Numbers:
    """Return the count with Laplace noise of scale 1 / epsilon, rounded to the nearest of 0 to n."""

    def below(x: Numbers) -> Numbers:
        return np.where(x < 0, 0.5 * np.exp(-epsilon * np.abs(x)), 1 - 0.5 * np.exp(-epsilon * np.abs(x)))

    cuts = np.subtract.outer(np.arange(n) + 0.5, np.arange(n + 1.0)).T
    ends = np.concatenate([np.zeros((n + 1, 1)), below(cuts), np.ones((n + 1, 1))], axis=1)
    return np.diff(ends, axis=1)


def exponential(n: int, epsilon: float) -> Numbers:
    """Return the exponential mechanism with the score -|i - r|."""
    weights: Numbers = np.exp(-epsilon / 2 * away(n))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def net(n: int, epsilon: float, records: int) -> Numbers:
    """Return the net mechanism: databases of so many records, whose share stands for the count; outputs rounded."""
    candidates = np.arange(records + 1) * n / records
    weights = np.exp(-epsilon / 2 * np.abs(np.subtract.outer(np.arange(n + 1.0), candidates)))
    matrix = np.zeros((n + 1, n + 1))
    for column, output in zip((weights / weights.sum(axis=1, keepdims=True)).T, np.rint(candidates), strict=True):
        matrix[:, int(output)] += column
    return matrix


def remapped(matrix: Numbers, losses: Numbers, prior: Numbers) -> Numbers:
    """Return the mechanism whose outputs are replaced by those of least expected loss given the prior."""
    best = (losses.T @ (prior[:, None] * matrix)).argmin(axis=0)
    found = np.zeros(losses.shape)
    np.add.at(found.T, best, matrix.T)
    return found


def binomial_prior(n: int, share: float) -> Numbers:
    """Return the distribution of a count of n records that each satisfy a condition with this probability."""
    return np.array([comb(n, i) * share**i * (1 - share) ** (n - i) for i in range(n + 1)])
