"""The noise that is added to one-way marginals, against its exact distribution, by a chi-square test of stated power."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.private.mechanisms.noise import OpendpNoise
from tests.statistics.power import miss_probability, statistic, threshold

pytestmark = pytest.mark.statistics

SAMPLE = 50_000
FALSE_ALARM = 1e-6
MISSED = 1e-6
SCALE = 2.5
REACH = 7  # cells -7 .. 7, and everything beyond on either side in one cell each


def shares(distribution: str, scale: float) -> NDArray[np.float64]:
    values = np.arange(-400, 401)
    weights = (
        np.exp(-(values**2) / (2 * scale**2))
        if distribution == "discrete_gaussian"
        else np.exp(-np.abs(values) / scale)
    )
    weights /= weights.sum()
    cells = np.clip(values, -REACH - 1, REACH + 1) + REACH + 1
    collected: NDArray[np.float64] = np.bincount(cells, weights=weights).astype(np.float64)
    return collected


def frequencies(distribution: str, scale: float) -> NDArray[np.int64]:
    noise = getattr(OpendpNoise(), distribution)(np.full(SAMPLE, 7, dtype=np.int64), scale) - 7
    return np.bincount(np.clip(noise, -REACH - 1, REACH + 1) + REACH + 1, minlength=2 * REACH + 3)


LIMIT = threshold(2 * REACH + 3, FALSE_ALARM)


@pytest.mark.parametrize("distribution", ["discrete_gaussian", "discrete_laplace"])
def test_noise_follows_its_distribution(distribution: str) -> None:
    """50,000 values in 17 cells; false alarm with probability 1e-6."""
    assert SAMPLE * shares(distribution, SCALE).min() > 50
    assert statistic(frequencies(distribution, SCALE), shares(distribution, SCALE)) < LIMIT


@pytest.mark.parametrize("factor", [1.1, 0.9, 2.0])
@pytest.mark.parametrize("distribution", ["discrete_gaussian", "discrete_laplace"])
def test_noise_of_a_wrong_scale_is_rejected(distribution: str, factor: float) -> None:
    """A scale wrong by the factor is missed with probability below 1e-6."""
    right, wrong = shares(distribution, SCALE), shares(distribution, SCALE * factor)
    assert miss_probability(right, wrong, SAMPLE, LIMIT) < MISSED
    assert statistic(frequencies(distribution, SCALE * factor), right) > LIMIT
