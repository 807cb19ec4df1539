from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dpopt.private.mechanisms.noise import OpendpNoise
from tests.scripted import ScriptedNoise


@pytest.mark.parametrize("distribution", ["discrete_gaussian", "discrete_laplace"])
def test_noise_is_whole_and_independent_for_every_count(distribution: str) -> None:
    """64 counts with scale 1000: two runs agree in every count with probability below 1e-60."""
    counts = np.arange(64, dtype=np.int64) * 1_000_000
    add_noise: Callable[[np.ndarray, float], np.ndarray] = getattr(OpendpNoise(), distribution)
    one, two = add_noise(counts, 1000.0), add_noise(counts, 1000.0)
    assert one.dtype == np.int64
    assert one.shape == counts.shape
    assert len(np.unique(one - counts)) > 32
    assert not np.array_equal(one, two)
    assert np.all(np.abs(one - counts) < 100_000)  # 100 scales


@pytest.mark.parametrize("distribution", ["discrete_gaussian", "discrete_laplace"])
def test_no_counts_get_no_noise(distribution: str) -> None:
    assert len(getattr(OpendpNoise(), distribution)(np.zeros(0, dtype=np.int64), 1.0)) == 0


@pytest.mark.parametrize("distribution", ["discrete_gaussian", "discrete_laplace"])
def test_scripted_noise_does_not_depend_on_the_counts(distribution: str) -> None:
    noise = ScriptedNoise([4, -1])
    for counts in (np.zeros(3, dtype=np.int64), np.array([9, 9, 9])):
        assert getattr(noise, distribution)(counts, 2.0).tolist() == [4, -1, 4]
