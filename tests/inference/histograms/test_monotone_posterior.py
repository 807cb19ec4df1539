"""The posterior of sorted counts: exact on small cases, better than sorting and than isotonic regression on large ones."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import nbinom

from dpopt.errors import ProgramError
from dpopt.inference.histograms.sorted.isotonic import isotonic_integers
from dpopt.inference.histograms.sorted.monotone_posterior import (
    NoiseLaw,
    _band,
    _levels,
    _Smoothing,
    _Turn,
    monotone_posterior,
)

LAWS: tuple[NoiseLaw, ...] = ("discrete Laplace", "discrete Gaussian")


def noise(generator: np.random.Generator, law: NoiseLaw, scale: float, size: int) -> NDArray[np.int64]:
    """Return noise of the law; a rounded normal is near enough to a discrete one."""
    if law == "discrete Laplace":
        drawn: NDArray[np.int64] = np.diff(generator.geometric(1 - math.exp(-1 / scale), (2, size)), axis=0)[
            0
        ]
        return drawn
    return np.rint(generator.normal(0, scale, size)).astype(np.int64)


def squared_error(estimate: NDArray[np.float64] | NDArray[np.int64], truth: NDArray[np.int64]) -> float:
    return float(((estimate - truth) ** 2).sum())


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("stages", [1, 4])
def test_forward_and_backward_sums_are_those_over_all_sequences(law: NoiseLaw, stages: int) -> None:
    """Four entries on five levels. The last level that is met may go on: it counts with "at least"."""
    values, means = np.array([0.0, 3.0, 1.0, 2.0]), np.array([0.4, 2.0, 3.6, 0.7, 1.0])
    shapes = np.maximum(1, np.rint(np.minimum(stages, means)))
    chances = 1 / (1 + means / shapes)
    low, high = np.array([0, 0, 1, 1]), np.array([3, 3, 3, 4])
    total, first, second, numbers = 0.0, np.zeros(4), np.zeros(4), np.zeros(5)
    for one in itertools.combinations_with_replacement(range(5), 4):
        sequence = np.array(one)
        if (sequence < low).any() or (sequence > high).any():
            continue
        count, top = np.bincount(sequence, minlength=5), sequence[-1]
        likely = np.prod(nbinom.pmf(count[:top], shapes[:top], chances[:top]))
        likely *= nbinom.sf(count[top] - 1, shapes[top], chances[top])
        away = np.abs(sequence - values)
        likely *= math.exp(-(away.sum() if law == "discrete Laplace" else 0.5 * (away**2).sum()) / 1.5)
        total += likely
        first += likely * sequence
        second += likely * sequence**2
        numbers += likely * count
    scale = 1.5 if law == "discrete Laplace" else math.sqrt(1.5)
    turn = _Turn(values, law == "discrete Gaussian", scale, np.arange(5.0), low, high)
    sums = turn.run(means, stages)
    np.testing.assert_allclose(sums.mean, first / total, rtol=1e-6)
    np.testing.assert_allclose(sums.variance, second / total - (first / total) ** 2, rtol=1e-5)
    np.testing.assert_allclose(sums.numbers, numbers / total, rtol=1e-6, atol=1e-9)
    assert sums.likelihood == pytest.approx(math.log(total), rel=1e-6)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", [0.5, 5.0, 80.0])
def test_the_truth_is_in_the_band(law: NoiseLaw, scale: float) -> None:
    generator = np.random.default_rng(0)
    truth = np.sort((generator.pareto(1.0, 5000) * 4).astype(np.int64))
    for _ in range(20):
        least, most = _band(truth + noise(generator, law, scale, 5000) * 1.0, law, scale, (0.0, np.inf))
        assert (least <= truth).all()
        assert (truth <= most).all()
        assert (np.diff(least) >= 0).all()
        assert (np.diff(most) >= 0).all()


def test_levels_cover_the_band_and_are_single_where_it_is_narrow() -> None:
    least = np.array([0, 0, 5, 5_000, 5_000, 90_000])
    most = np.array([3, 10, 12, 9_000, 9_000, 90_040])
    edges = _levels(least, most).edges
    assert (edges[0], edges[-1]) == (0, 90_041)
    assert (np.diff(edges) >= 1).all()
    assert set(range(13)) <= set(edges.tolist())
    assert set(range(90_000, 90_041)) <= set(edges.tolist())
    assert set(least.tolist()) <= set(edges.tolist())
    inside = (edges >= 5_000) & (edges < 9_000)
    assert 90 <= inside.sum() <= 110


def test_smoothing_keeps_a_power_law_and_counts_parameters() -> None:
    levels = _levels(np.array([0, 0]), np.array([99, 99]))
    numbers = 1000 * np.arange(1.0, 101.0) ** -1.5
    smoothing = _Smoothing.over(levels, 0.1)
    np.testing.assert_allclose(smoothing.means(numbers)[:80], numbers[:80], rtol=0.06)
    assert smoothing.freedom(np.zeros(100)) == 0
    assert smoothing.freedom(numbers) < 30 < _Smoothing.over(levels, 0.003).freedom(numbers)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("scale", [1.0, 10.0, 100.0])
def test_the_error_is_less_than_that_of_sorting_and_of_isotonic_regression(
    law: NoiseLaw, scale: float
) -> None:
    """A power law and a hump, means of three draws. Noise of 100 hides either, and then neither of the two is always better."""
    generator = np.random.default_rng(1)
    truths = [
        np.sort((generator.pareto(1.5, 2000) * 6).astype(np.int64)),
        np.sort(generator.poisson(60, 1500)),
    ]
    for truth in truths:
        errors = np.zeros(3)
        for _ in range(3):
            noisy = truth + noise(generator, law, scale, truth.size)
            found = monotone_posterior(noisy, law, scale)
            rounded = np.maximum(np.sort(noisy), 0)
            isotone = isotonic_integers(noisy, lower=0)
            errors += [squared_error(one, truth) for one in (found.integers, isotone, rounded)]
            assert (np.diff(found.mean) >= 0).all()
            assert (found.least <= found.integers).all()
            assert (found.integers <= found.most).all()
        assert errors[0] < (0.95 if scale < 100 else 1.5) * errors[1]
        assert errors[0] < 0.9 * errors[2]


@pytest.mark.parametrize(
    "truth",
    [
        np.array([3]),
        np.zeros(500, dtype=np.int64),
        np.full(500, 7),
        np.repeat([0, 1000], 100),
        np.array([0, 0, 3, 3, 1_000_000]),
        np.arange(0, 20_000, 100),
    ],
    ids=["one", "zeros", "equal", "two values", "far", "even steps"],
)
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_sequences_that_are_unlike_power_laws(truth: NDArray[np.int64], scale: float) -> None:
    """Not much worse than sorting and rounding in sequences of five entries, and no worse in long ones."""
    generator, errors = np.random.default_rng(2), np.zeros(2)
    for _ in range(5):
        noisy = truth + noise(generator, "discrete Laplace", scale, truth.size)
        found = monotone_posterior(noisy, "discrete Laplace", scale)
        assert np.isfinite(found.mean).all()
        assert np.isfinite(found.deviation).all()
        errors += [squared_error(one, truth) for one in (found.integers, np.maximum(np.sort(noisy), 0))]
    assert errors[0] <= errors[1] + 20 * scale**2


def test_bounds_are_kept_and_unsorted_values_do_no_harm() -> None:
    generator = np.random.default_rng(3)
    found = monotone_posterior(generator.integers(-50, 50, 40), "discrete Laplace", 30.0, lower=2, upper=9)
    assert 2 <= found.mean.min() <= found.mean.max() <= 9
    crossed = monotone_posterior(np.arange(300.0)[::-1], "discrete Gaussian", 1.0)
    assert np.isfinite(crossed.mean).all()
    assert (np.diff(crossed.mean) >= 0).all()


def test_the_degrees_of_a_social_network(data_folder: Path) -> None:
    """The facebook graph at epsilon 1, where isotonic regression loses to sorting: .96 times its error, here 1.9."""
    truth = np.sort(np.load(data_folder / "hist" / "snap-graphs.npz")["facebook_degrees"]).astype(np.int64)
    generator, errors = np.random.default_rng(4), np.zeros(2)
    for _ in range(5):
        noisy = truth + noise(generator, "discrete Laplace", 1.0, truth.size)
        found = monotone_posterior(noisy, "discrete Laplace", 1.0, upper=truth.size - 1)
        errors += [squared_error(one, truth) for one in (found.integers, np.maximum(np.sort(noisy), 0))]
    assert errors[1] > 1.5 * errors[0]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ProgramError, match="finite numbers in one row"):
        monotone_posterior([], "discrete Laplace", 1.0)
    with pytest.raises(ProgramError, match="the noise is"):
        monotone_posterior([1.0], "uniform", 1.0)  # type: ignore[arg-type]
    for scale in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ProgramError, match="scale of the noise"):
            monotone_posterior([1.0], "discrete Laplace", scale)
    with pytest.raises(ProgramError, match="no number lies"):
        monotone_posterior([1.0], "discrete Laplace", 1.0, lower=3, upper=2)


def test_too_many_states_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "dpopt.inference.histograms.sorted.monotone_posterior.MOST_STATES"
    values = np.repeat(np.arange(10.0), 30)
    full = monotone_posterior(values, "discrete Laplace", 10.0)
    monkeypatch.setattr(module, full.states - 1)
    assert monotone_posterior(values, "discrete Laplace", 10.0).states < full.states
    monkeypatch.setattr(module, 100)
    with pytest.raises(ProgramError, match="use isotonic"):
        monotone_posterior(values, "discrete Laplace", 10.0)
