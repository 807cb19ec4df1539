"""Noise of zero, and noise of a public seed, for tests of everything around the noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.private.mechanisms.noise import OpendpNoise
from dpopt.private.mechanisms.randomness import SeededWords, SystemWords


@dataclass
class NoNoise:
    """Keeps the counts and the scale that it was given; it calls itself private, and no curator takes its word."""

    events: list[str] = field(default_factory=list)
    counts: list[NDArray[np.int64]] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)
    is_private: bool = True

    def discrete_gaussian(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return self._take("gaussian", counts, scale)

    def discrete_laplace(self, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        return self._take("laplace", counts, scale)

    def _take(self, name: str, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        self.events.append(name)
        self.counts.append(counts.copy())
        self.scales.append(scale)
        return counts.copy()


def fix_draws(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Let every draw follow from a public seed: what a test says of a release with rounded noise then never fails by chance."""
    words, generator = SeededWords(seed), np.random.default_rng(seed)
    for name, draw in (("discrete_gaussian", generator.normal), ("discrete_laplace", generator.laplace)):

        def noisy(
            _: OpendpNoise, counts: NDArray[np.int64], scale: float, draw: Callable[..., NDArray[np.float64]] = draw
        ) -> NDArray[np.int64]:
            return counts + np.rint(draw(0.0, scale, counts.shape)).astype(np.int64)

        monkeypatch.setattr(OpendpNoise, name, noisy)
    monkeypatch.setattr(SystemWords, "words", lambda _, count: words.words(count))
