"""Cells of a grid, or bins of a histogram, by empirical Bayes in the basis of their halves.

The whole is halved along each side in turn, down to single cells (`dpopt.queries.ranges.grids.halvings`). What is in
the first half of a node of n records lies around an even division, or around none or all of the n, with variances that
grow with n or with n^2. `halves_in_rounds` measures nodes and finds the posterior of each division.

The posterior of the shares of a node's halves are taken as independent. Then a box holds a share of all records whose
first two moments add up over the nodes that it cuts, and with the variance of the total they give the error of the
answer itself.

Everything here takes noisy or public values only: it costs no privacy.

Source: Donoho and Johnstone (1995) for shrinkage of wavelets; Kolaczyk (1999) for mixtures of divisions of counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.shrinkage import ScaleMixture
from dpopt.queries.ranges.grids import check_boxes, grid_heights, halvings

_SEEN = 8.0
"""Divisions that a level is taken to have shown before, evenly over the components: small levels shrink by these."""


@cache
def division_prior() -> ScaleMixture:
    """Return how many of n records lie in the first half: around an even division, and around none and all of them.

    A half that is nearly empty may hold few records however large n is, or a small share of n.
    """
    by_count, by_share = 0.25 * 4.0 ** np.arange(7), 4.0 ** -np.arange(7) / 12
    near = np.concatenate((16.0 ** np.arange(3), 0.25 * 4.0 ** np.arange(3), 4.0 ** -np.arange(1, 6) / 12))
    ends, powers = np.concatenate((np.zeros(1), near)), np.array(4 * [0.0] + 3 * [1.0] + 5 * [2.0])
    scales = np.concatenate((np.zeros(1), by_count, by_share, ends, ends))
    exponents = np.concatenate((np.zeros(1), np.repeat([1.0, 2.0], 7), powers, powers))
    around = np.repeat([0, 1, 2], [15, 12, 12])
    return ScaleMixture(scales, exponents, 1.0, around, np.full(scales.size, _SEEN / scales.size))


@dataclass(frozen=True, slots=True, eq=False)
class ShrunkenHalves:
    """Cells after shrinkage, and how much boxes of them still vary."""

    cells: NDArray[np.float64]
    """Posterior means, of the grid's shape; none negative."""
    total: float
    total_variance: float
    """Of all records."""
    shares: NDArray[np.float64]
    share_variances: NDArray[np.float64]
    """Shape (nodes,). Posterior mean and variance of the share of a node's records in its first half, level by level
    from the whole."""

    def variances(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the posterior variance of each box, (q,); starts and stops are (q, D)."""
        from dpopt.inference.histograms.kernels import box_moments

        check_boxes(starts, stops, self.cells.shape)
        heights = grid_heights(self.cells.shape)
        steps = np.array(halvings(heights), dtype=np.int64).reshape(-1, 2)
        means, apart = np.empty(len(starts)), np.empty(len(starts))
        box_moments(
            np.ascontiguousarray(steps[:, 0]),
            np.ascontiguousarray(steps[:, 1]),
            np.array(heights, dtype=np.int64),
            self.shares,
            self.share_variances,
            starts,
            stops,
            means,
            apart,
        )
        return np.asarray(self.total**2 * apart + self.total_variance * (means**2 + apart))
