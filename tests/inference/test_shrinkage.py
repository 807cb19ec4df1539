"""Empirical Bayes of noisy cells: weights of largest likelihood, posterior moments, refusals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import integrate, stats

from dpopt.errors import ProgramError
from dpopt.inference import shrinkage
from dpopt.inference.shrinkage import ScaleMixture, fit_weights, shrink

GRID = ScaleMixture.grid(np.geomspace(1e-3, 10, 5), (1.0, 2.0))


def sparse(cells: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return predicted counts, the truth (most are as predicted) and noisy cells of variance 100."""
    generator = np.random.default_rng(seed)
    sizes = generator.exponential(40, cells)
    truth = np.where(generator.random(cells) < 0.7, 0.0, 0.5 * sizes * generator.normal(size=cells))
    return sizes, truth, truth + 10 * generator.normal(size=cells)


@pytest.mark.parametrize("counts", [0.0, 2.0])
def test_em_never_makes_the_cells_less_likely_and_its_gap_holds(counts: float, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(1)
    likelihoods = generator.exponential(size=(200, 6)) ** 2
    monkeypatch.setattr(shrinkage, "CLOSE", 1e-7)
    monkeypatch.setattr(shrinkage, "MOST_STEPS", 5)
    short = fit_weights(likelihoods, counts)
    monkeypatch.setattr(shrinkage, "MOST_STEPS", 20_000)
    long = fit_weights(likelihoods, counts)
    assert np.diff(long.objectives).min() >= -1e-9
    assert long.weights.sum() == pytest.approx(1)
    assert short.objectives[-1] < long.objectives[-1] <= short.objectives[-1] + short.gap
    assert long.gap < 1e-3


def test_moments_are_those_of_the_posterior_by_numerical_integration() -> None:
    """Two components, of which one varies by share; so many counted before that the weights are theirs."""
    prior = ScaleMixture(
        scales=np.array([0.25, 2.0]),
        exponents=np.array([2.0, 1.0]),
        floor=4.0,
        centers=np.zeros(2, np.int64),
        counts=np.array([0.3e9, 0.7e9]),
    )
    for value, size in ((5.0, 1.0), (-20.0, 9.0)):
        found = shrink([value], 9.0, [size], prior)
        used = max(size, 4.0)
        parts = [(0.3, 0.0, 0.25 * used**2, 9.0), (0.7, 0.0, 2.0 * used, 9.0)]

        def density(
            theta: float, value: float = value, parts: list[tuple[float, float, float, float]] = parts
        ) -> float:
            return float(
                sum(
                    w * stats.norm.pdf(theta, center, np.sqrt(v)) * stats.norm.pdf(value, theta, np.sqrt(noise))
                    for w, center, v, noise in parts
                )
            )

        powers = [
            integrate.quad(lambda t, k=k: t**k * density(t), -90, 90, epsabs=1e-13, limit=400)[0] for k in range(3)
        ]
        mean = powers[1] / powers[0]
        assert found.means[0] == pytest.approx(mean, abs=1e-6)
        assert found.variances[0] == pytest.approx(powers[2] / powers[0] - mean**2, rel=1e-5)


def test_shrunken_cells_are_nearer_and_their_errors_are_stated() -> None:
    """20,000 cells: coverage of 95 % has a standard error of .0016; half of the squared error would be left by far less."""
    sizes, truth, noisy = sparse(20_000, 2)
    found = shrink(noisy, 100.0, sizes, GRID)
    squared = (found.means - truth) ** 2
    assert squared.mean() < 0.4 * ((noisy - truth) ** 2).mean()
    assert found.variances.mean() == pytest.approx(squared.mean(), rel=0.15)
    assert found.fitted.gap <= 1e-3 * 20_000


def test_many_cells_are_fitted_by_some() -> None:
    sizes, truth, noisy = sparse(40_000, 3)
    found = shrink(noisy, 100.0, sizes, GRID)
    part = shrink(noisy[:10_000], 100.0, sizes[:10_000], GRID)
    squared = (found.means - truth)[:10_000] ** 2
    assert ((part.means - truth[:10_000]) ** 2).mean() == pytest.approx(squared.mean(), rel=0.05)


def test_cells_without_noise_keep_their_values() -> None:
    found = shrink([0.0, 3.0, 500.0, 1.0], [0.0, 0.0, 0.0, 1e6], 10.0, GRID)
    np.testing.assert_allclose(found.means[:3], [0.0, 3.0, 500.0], atol=1e-6)
    assert found.variances[:3].max() < 1e-6


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: shrink(np.zeros((2, 2)), 1, 1, GRID), "in one row"),
        (lambda: shrink([1.0, np.nan], 1, 1, GRID), "finite"),
        (lambda: shrink([1.0, 2.0], [1.0, -1.0], 1, GRID), "at least 0"),
        (lambda: shrink([1.0, 2.0], 1, [1.0, 2.0, 3.0], GRID), "shape"),
        (lambda: ScaleMixture.grid([-1.0]), "at least 0"),
        (lambda: ScaleMixture.grid([1.0], floor=0.0), "floor must be a finite number above 0"),
        (lambda: ScaleMixture(np.ones(2), np.ones(1), 1.0, np.zeros(2, np.int64), np.ones(2)), "each component"),
        (lambda: fit_weights(np.array([[1.0, -1.0]])), "at least 0"),
        (lambda: fit_weights(np.zeros((1, 2))), "no likelihood"),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[], object], says: str) -> None:
    with pytest.raises(ProgramError, match=says):
        call()
