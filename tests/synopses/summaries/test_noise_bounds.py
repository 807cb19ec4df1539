"""What is said of noise and of its sums holds of their exact distributions and of drawn ones, and not by far too much."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpopt.synopses.summaries.noise_bounds import (
    deviations_for,
    noise_bound,
    one_sided_reach,
    reach_of_sums,
    reach_of_variance,
)

BETAS = [0.5, 0.1, 0.01, 1e-4, 1e-6]
REACH = 6000


def distribution(scale: float, factor: int, *, gaussian: bool) -> NDArray[np.float64]:
    """Return the probabilities of -REACH, ..., REACH for a whole number times discrete noise."""
    values = np.arange(-REACH, REACH + 1)
    exponents = -(values**2) / (2 * scale**2) if gaussian else -np.abs(values) / scale
    weights = np.exp(exponents)
    spread = np.zeros(2 * REACH + 1)
    kept = np.abs(values) <= REACH // factor
    spread[values[kept] * factor + REACH] = weights[kept]
    return np.asarray(spread / spread.sum())


def beyond(parts: list[NDArray[np.float64]], bound: float) -> float:
    """Return the probability that a sum of independent parts is further from 0 than the bound."""
    transformed = np.prod([np.fft.rfft(np.fft.ifftshift(part)) for part in parts], axis=0)
    whole = np.fft.fftshift(np.fft.irfft(transformed, n=2 * REACH + 1))
    return float(whole[np.abs(np.arange(-REACH, REACH + 1)) > bound].sum())


CASES: dict[str, list[tuple[float, int, int]]] = {  # scale, factor, how many
    "one count": [(7.3, 1, 1)],
    "three counts": [(7.3, 1, 3)],
    "thirty counts": [(4.0, 1, 30)],
    "one loud count among others": [(20.0, 1, 1), (2.0, 1, 10)],
    "weighed counts": [(5.0, 3, 2), (9.0, 2, 3), (3.0, 1, 8)],
    "hardly any noise": [(0.4, 1, 5)],
}


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("case", CASES)
def test_noise_goes_beyond_its_bound_less_often_than_stated(case: str, beta: float, gaussian: bool) -> None:
    parts = CASES[case]
    scales = np.array([scale * factor for scale, factor, _ in parts])
    numbers = np.array([number for *_, number in parts], dtype=np.float64)
    bound = noise_bound(scales, numbers, beta, gaussian=gaussian)
    distributions = [
        distribution(scale, factor, gaussian=gaussian) for scale, factor, number in parts for _ in range(number)
    ]
    assert beyond(distributions, bound) <= beta
    if case != "hardly any noise":
        assert beyond(distributions, 0.7 * bound) > beta / 10


@pytest.mark.parametrize("queries", [1, 1000])
@pytest.mark.parametrize("beta", BETAS)
def test_of_one_count_with_laplace_and_of_gaussian_noise_it_is_the_known_figure(beta: float, queries: int) -> None:
    tail = log(2 * queries / beta)
    assert deviations_for(beta, queries) == pytest.approx(sqrt(2 * tail))
    one, two = np.array([5.0]), np.array([5.0, 2.0])
    assert noise_bound(one, np.ones(1), beta, gaussian=False, queries=queries) == pytest.approx(5 * tail)
    numbers = np.array([3.0, 4.0])
    assert noise_bound(two, numbers, beta, gaussian=True, queries=queries) == pytest.approx(
        sqrt(2 * tail) * sqrt(3 * 25 + 4 * 4)
    )


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("case", CASES)
def test_sums_of_laplace_noise_are_bounded_no_worse_than_by_chan_shi_and_song(case: str, beta: float) -> None:
    """b max(c^(1/2), ln(2 / beta)^(1/2)) (8 ln(2 / beta))^(1/2) for c counts of scale b, and its form for several scales."""
    scales = np.array([scale * factor for scale, factor, _ in CASES[case]])
    numbers = np.array([number for *_, number in CASES[case]], dtype=np.float64)
    tail = log(2 / beta)
    known = max(sqrt(8 * tail * float(numbers @ scales**2)), sqrt(8) * scales.max() * tail)
    assert noise_bound(scales, numbers, beta, gaussian=False) <= known


def test_many_small_parts_are_bounded_as_gaussian_noise() -> None:
    found = noise_bound(np.array([1.0]), np.array([1e6]), 0.05, gaussian=False)
    assert found == pytest.approx(deviations_for(0.05) * sqrt(2e6), rel=1e-2)
    assert found > float(stats.norm.isf(0.025)) * sqrt(2e6)


@pytest.mark.parametrize("gaussian", [False, True])
def test_no_noise_has_no_bound(gaussian: bool) -> None:
    assert noise_bound(np.zeros(2), np.ones(2), 0.1, gaussian=gaussian) == 0
    assert noise_bound(np.zeros(0), np.zeros(0), 0.1, gaussian=gaussian) == 0
    some = noise_bound(np.array([0.0, 2.0]), np.array([9.0, 1.0]), 0.1, gaussian=gaussian)
    assert some == noise_bound(np.array([2.0]), np.ones(1), 0.1, gaussian=gaussian)


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
