"""How often each solver comes close to the best known value, by time and by distance.

For a case with best known value b, a value v is within x % if b - v <= x / 100 * max(1, |b|). Two profiles, in the form of
Dolan and More's (2002, "Benchmarking optimization software with performance profiles"): for each solver the share of
all cases

- over time: that it has brought within x % by t seconds;
- over distance: whose final value is within x %.

A solver that fails, or cannot take a case, has not come close. Cases without any known value are left out for all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.comparison.parts import Comparison, Row

WITHIN = 1.0
"""Per cent of the best known value at which times are compared."""


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """A step curve for each solver.

    Attributes
    ----------
    labels : tuple of str
        Solvers, in order.
    points : tuple of (k,) float64 arrays
        For each solver, in rising order: the seconds, or the per cent, at which one more case is reached.
    cases : int
        Number of cases; each point is a step of 1 / cases.
    """

    labels: tuple[str, ...]
    points: tuple[NDArray[np.float64], ...]
    cases: int

    def share(self, label: str, at: float) -> float:
        """Return the share of cases that a solver has reached at a time or distance."""
        points = self.points[self.labels.index(label)]
        return float(np.searchsorted(points, at, side="right")) / max(1, self.cases)


def profile_over_time(comparison: Comparison, within: float = WITHIN) -> Profile:
    """Return for each solver when it came within a number of per cent of the best known value."""

    def reached(row: Row, best: int) -> float:
        times = [seconds for seconds, value in row.trajectory if distance(value, best) <= within]
        return min(times, default=np.inf)

    return _profile(comparison, reached)


def profile_over_distance(comparison: Comparison) -> Profile:
    """Return for each solver by how many per cent its final values fall short of the best known ones."""
    return _profile(comparison, lambda row, best: np.inf if row.value is None else distance(row.value, best))


def distance(value: int, best: int) -> float:
    """Return by how many per cent of the best known value another value falls short; never below 0."""
    return max(0.0, 100.0 * (best - value) / max(1, abs(best)))


def _profile(comparison: Comparison, reached: Callable[[Row, int], float]) -> Profile:
    best = {facts.name: facts.best_value for facts in comparison.facts if facts.best_value is not None}
    points = []
    for label in comparison.labels:
        rows = [row for row in comparison.rows if row.solver == label]
        found = np.array([reached(row, best[row.case]) for row in rows if row.case in best])
        points.append(np.sort(found[np.isfinite(found)]))
    return Profile(comparison.labels, tuple(points), len(best))
