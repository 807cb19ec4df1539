"""Noise of zero, for tests of everything around the noise."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


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
