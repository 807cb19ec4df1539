"""What noise exceeds with a stated probability: against the exact distributions, and against sums that are drawn."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest

from dpopt.synopses.intervals.noise_reach import one_sided_reach, reach_of_sums, reach_of_variance


def tails(scale: float, *, gaussian: bool) -> np.ndarray:
    """Return P(X > t) for t = 0, 1, ..."""
    values = np.arange(-int(80 * scale) - 50, int(80 * scale) + 51, dtype=np.float64)
    weights = np.exp(-(values**2) / (2 * scale**2)) if gaussian else np.exp(-np.abs(values) / scale)
    above = np.cumsum(weights[::-1])[::-1] / weights.sum()
    return np.asarray(above[values > 0])


@pytest.mark.parametrize("scale", [0.05, 0.4, 1.0, 7.3, 400.0])
@pytest.mark.parametrize("tail", [0.3, 0.01, 1e-6])
@pytest.mark.parametrize("gaussian", [False, True])
def test_noise_exceeds_the_reach_as_rarely_as_stated(scale: float, tail: float, gaussian: bool) -> None:
    exact, reach = tails(scale, gaussian=gaussian), one_sided_reach(scale, tail, gaussian=gaussian)
    assert exact[reach] <= tail * (1 + 1e-9)
    if not gaussian:  # the least such number
        assert reach == 0 or exact[reach - 1] > tail * (1 - 1e-9)
    else:
        assert reach <= 1 + scale * np.sqrt(2 * np.log(1 / tail))


def test_a_single_count_has_the_tail_of_its_distribution() -> None:
    """Discrete Laplace noise: P(|X| > s ln(2 / beta)) is below beta, as it is for continuous noise."""
    (reach,) = reach_of_sums(np.ones((1, 1)), np.array([20.0]), 0.05, gaussian=False)
    assert reach == pytest.approx(20.0 * np.log(2 / 0.05))
    assert exp(-reach / 20.0) <= 0.05


@pytest.mark.parametrize("gaussian", [False, True])
def test_weighted_sums_stay_below_their_reach(gaussian: bool) -> None:
    """20,000 draws of each sum; false alarms below 1e-6 for a bound that is exceeded with probability 0.05 or less."""
    generator = np.random.default_rng(8)
    weights = generator.uniform(-1, 1, (12, 3))
    weights[:, 0], weights[1:, 1] = 1.0, 0.01  # equal ones; one that stands out; any
    scales = generator.uniform(1, 30, 12)
    shape = (20_000, 12)
    noise = (generator.normal(size=shape) if gaussian else generator.laplace(size=shape)) * scales
    reach = reach_of_sums(weights, scales, 0.05, gaussian=gaussian)
    exceeded = (np.abs(noise @ weights) > reach).mean(axis=0)
    assert (exceeded < 0.05 + 5 * np.sqrt(0.05 * 0.95 / 20_000)).all()
    deviations = np.sqrt((weights**2 * (scales**2)[:, None]).sum(axis=0) * (1 if gaussian else 2))
    assert (reach < 4.5 * deviations).all()


def test_more_parts_reach_farther_and_nothing_reaches_nowhere() -> None:
    found = [reach_of_variance(3.0, parts, 0.05, gaussian=False) for parts in (1.0, 2.0, 50.0)]
    assert found == sorted(found)
    assert reach_of_sums(np.zeros((2, 1)), np.ones(2), 0.05, gaussian=False).tolist() == [0.0]
