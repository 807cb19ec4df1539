"""How released numbers of a projection become signed sums of sides, as a linear map: for its noise as for its values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class SideSums:
    """The same linear map for each projection, from its r released numbers to its h signed sums of sides.

    The signed sum of a direction is the number of records on its positive side less that on the other one.

    Attributes
    ----------
    matrix : (h, r) float64
    scales : (r,) float64
        Scale of the noise on each released number.
    gaussian : bool
    """

    matrix: NDArray[np.float64]
    scales: NDArray[np.float64]
    gaussian: bool

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Of the noise of the signed sums, (h, h)."""
        variances = self.scales**2 * (1.0 if self.gaussian else 2.0)
        return np.asarray((self.matrix * variances) @ self.matrix.T)

    def coefficients(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what each released number is multiplied with, (m, r), where signed sums have weights (m, h)."""
        return np.asarray(weights @ self.matrix)

    @classmethod
    def of_sides(cls, directions: int, scale: float, *, gaussian: bool, doubled: bool) -> SideSums:
        """Return the map of sides that were released themselves; as counts of one side (`doubled`) or as differences."""
        factor = 2.0 if doubled else 1.0
        return cls(factor * np.eye(directions), np.full(directions, scale), gaussian)

    @classmethod
    def of_arcs(
        cls, directions: int, heights: tuple[int, ...], scales: tuple[float, ...], *, gaussian: bool
    ) -> SideSums:
        """Return the map of noisy arcs: the least-squares bins, added up over half circles.

        Bins are estimated as in Hay et al. 2010, Theorem 3: the unbiased linear estimate of least variance. Side j is positive
        for the bins j, ..., j + h - 1 of 2 h. A known total would change nothing: it moves all bins alike.
        """
        bins = 2 * directions
        design = np.concatenate([arc_rows(bins, height) for height in heights])
        spread = np.concatenate(
            [np.full(bins >> height, scale) for height, scale in zip(heights, scales, strict=True)]
        )
        weighted = design / spread[:, None] ** 2
        estimate = np.linalg.solve(design.T @ weighted, weighted.T)
        return cls(half_circles(directions) @ estimate, spread, gaussian)


def arc_rows(bins: int, height: int) -> NDArray[np.float64]:
    """Return which bins each arc of 2^height bins has, (arcs, bins), as 0 and 1."""
    return np.asarray(np.repeat(np.eye(bins >> height), 1 << height, axis=1))


def half_circles(directions: int) -> NDArray[np.float64]:
    """Return 1 for the bins of the positive side of each direction and -1 for the others, (h, 2 h)."""
    place = (np.arange(2 * directions) - np.arange(directions)[:, None]) % (2 * directions)
    return np.where(place < directions, 1.0, -1.0)
