"""The constant of the GDP accountant, on a grid.

s independent draws of range e from one distribution are dominated by s uses of generalised randomised response: the loss
of one use is e - b with probability p = (1 - exp(-b))/(1 - exp(-e)) and -b otherwise, for some offset 0 < b < e. The claim is
that the privacy curve of these s uses lies below the Gaussian curve with mu^2 = (s + pi/2 - 1) e^2/4 for every offset. Swapping
the two tables turns b into e - b and the curve at -x into the curve at x, so epsilon >= 0 and all offsets are enough.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import erfcx, logsumexp, ndtr
from scipy.stats import binom

Floats = NDArray[np.float64]
RANGES = [1e-3, 0.1, 1.0, 4.0]


def log_gaussian_delta(mu: float, epsilon: Floats) -> Floats:
    low, high = epsilon / mu - mu / 2.0, epsilon / mu + mu / 2.0
    scale, log_density = math.sqrt(math.pi / 2.0), -low * low / 2.0 - math.log(2.0 * math.pi) / 2.0
    tail = scale * erfcx(high / math.sqrt(2.0))
    positive = log_density + np.log(scale * erfcx(np.maximum(low, 0.0) / math.sqrt(2.0)) - tail)
    negative = np.log(ndtr(-low) - np.exp(log_density) * tail)
    return np.where(low > 0.0, positive, negative)


def log_delta_of_draws(draws: int, loss_range: float, offset: float, epsilon: Floats) -> Floats:
    chance = math.expm1(-offset) / math.expm1(-loss_range)
    ups = np.arange(draws + 1)
    excess = np.minimum(epsilon[:, None] - (ups * loss_range - draws * offset)[None, :], 0.0)
    with np.errstate(divide="ignore"):
        gain = np.log(-np.expm1(excess))
    return logsumexp(binom.logpmf(ups, draws, chance)[None, :] + gain, axis=1)


def largest_excess(draws: int, loss_range: float, constant: float) -> float:
    """The largest log ratio of the two curves, over offsets and epsilons up to 12 deviations."""
    mu = math.sqrt(draws + constant) * loss_range / 2.0
    worst = -math.inf
    for part in [*np.linspace(0.05, 0.95, 19), 0.5 - 0.5 / (draws + 1), 0.5 + 0.5 / (draws + 1)]:
        losses = (np.arange(draws + 1) - draws * part) * loss_range
        steps = np.concatenate([losses + f * loss_range for f in (0.0, 0.3, 0.6)])
        epsilon = np.unique(np.concatenate([np.linspace(0.0, mu * mu / 2.0 + 12.0 * mu, 40), steps]))
        epsilon = epsilon[
            (epsilon >= 0.0) & (epsilon < losses[-1] * (1.0 - 1e-9)) & (epsilon < mu * mu / 2.0 + 12.0 * mu)
        ]
        if len(epsilon):
            curve = log_delta_of_draws(draws, loss_range, part * loss_range, epsilon)
            worst = max(worst, float((curve - log_gaussian_delta(mu, epsilon)).max()))
    return worst


@pytest.mark.parametrize("draws", [1, 2, 3, 5, 10, 35, 200])
@pytest.mark.parametrize("loss_range", RANGES)
def test_the_gaussian_curve_lies_above_the_curve_of_the_draws(draws: int, loss_range: float) -> None:
    assert largest_excess(draws, loss_range, math.pi / 2.0 - 1.0) <= 1e-9


@pytest.mark.parametrize("draws", [1, 3, 5])
def test_a_smaller_constant_would_be_wrong(draws: int) -> None:
    assert largest_excess(draws, 1e-3, 0.9 * (math.pi / 2.0 - 1.0) if draws == 1 else 0.0) > 1e-3
