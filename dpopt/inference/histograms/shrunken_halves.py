"""Cells of a grid, or bins of a histogram, by empirical Bayes in the basis of their halves.

The whole is halved along each side in turn, down to single cells (`dpopt.queries.ranges.grids.halvings`). At a node that holds
n records, least squares says how many are in its first half, with a known variance: the two halves' difference is a coefficient
of Haar, and for one column these are not correlated. What is in the first half lies around an even division, or around none
or all of the n, with variances that grow with n or with n^2; how often which is the case is found for each level of halves by
EM (`dpopt.inference.shrinkage`). From the whole down, a half is the posterior mean, where its node has been shrunk before: so
cells are consistent, and none is negative.

The posterior of the shares of a node's halves are taken as independent. Then a box holds a share of all records whose first two
moments add up over the nodes that it cuts, and with the variance of the total they give the error of the answer itself.

Everything here takes noisy or public values only: it costs no privacy.

Source: Donoho and Johnstone (1995) for shrinkage of wavelets; Kolaczyk (1999) for mixtures of divisions of counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import TreeError
from dpopt.inference.shrinkage import ScaleMixture, shrink
from dpopt.queries.ranges.grids import (
    Level,
    check_boxes,
    grid_heights,
    halving_order,
    halvings,
    padded_cells,
)

_SEEN = 8.0
"""Divisions that a level is taken to have shown before, evenly over the components: levels with few nodes shrink by these."""
_NOTHING = (
    1e-3  # standard deviations of noise: with so few records in a node nothing is learned of its halves
)


def division_prior() -> ScaleMixture:
    """Return how many of n records lie in the first half: around an even division, and around none and all of them."""
    by_count, by_share = 0.25 * 4.0 ** np.arange(7), 4.0 ** -np.arange(7) / 12
    near = np.concatenate((0.25 * 4.0 ** np.arange(3), 4.0 ** -np.arange(1, 6) / 12))
    ends, powers = np.concatenate((np.zeros(1), near)), np.array([0.0] + 3 * [1.0] + 5 * [2.0])
    scales = np.concatenate((np.zeros(1), by_count, by_share, ends, ends))
    exponents = np.concatenate((np.zeros(1), np.repeat([1.0, 2.0], 7), powers, powers))
    around = np.repeat([0, 1, 2], [15, 9, 9])
    return ScaleMixture(scales, exponents, 1.0, around, np.full(scales.size, _SEEN / scales.size))


@dataclass(frozen=True, slots=True, eq=False)
class ShrunkenHalves:
    """Cells after shrinkage, and how much boxes of them still vary.

    Attributes
    ----------
    cells : array of the grid's shape
        Posterior means; none negative.
    total, total_variance : float
        Of all records.
    shares, share_variances : (nodes,) float64
        Posterior mean and variance of the share of a node's records in its first half, level by level from the whole.
    """

    cells: NDArray[np.float64]
    total: float
    total_variance: float
    shares: NDArray[np.float64]
    share_variances: NDArray[np.float64]

    def variances(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the posterior variance of each box, (q,); starts and stops are (q, D).

        Raises
        ------
        WorkloadError
            If a box is none of the grid.
        """
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


def shrunken_halves(
    estimate: NDArray[np.float64], part_variances: NDArray[np.float64], *, prior: ScaleMixture | None = None
) -> ShrunkenHalves:
    """Return the shrunken cells of a grid.

    Parameters
    ----------
    estimate : array of the grid's shape
        Of each cell: by least squares, or what was made of that without negative cells (`divide_from_the_root`,
        `halve_from_the_whole`): nearer to the truth where cells are empty, so that the variances of its parts are upper bounds.
        On sets of DPBench errors were 3 % smaller with the latter, and stated errors right more often.
    part_variances : (L_1 + 1, ..., L_D + 1) float64
        Those of the least-squares estimate: one over the precision of each part (`grid_precisions`); 0 for a known total.
    prior : ScaleMixture, optional
        In place of `division_prior`: components around an even division (0), none (1) and all (2).

    Raises
    ------
    TreeError
        If variances do not belong to the grid, or something is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> noisy = np.array([52.0, 47, 50, 49, 1, -2, 2, -1])
    >>> found = shrunken_halves(noisy, np.full(4, 4.0))
    >>> bool(found.cells[:4].std() < noisy[:4].std()), bool(found.cells.min() >= 0)
    (True, True)
    """
    shape, heights = estimate.shape, grid_heights(estimate.shape)
    if part_variances.shape != tuple(height + 1 for height in heights) or not (
        np.isfinite(estimate).all() and np.isfinite(part_variances).all() and part_variances.min() >= 0
    ):
        raise TreeError(
            f"expected finite cells and variances of {tuple(height + 1 for height in heights)} parts, found shapes "
            f"{shape} and {part_variances.shape}"
        )
    order = halving_order(heights)
    sums, inside = (padded_cells(values, heights).reshape(-1)[order] for values in (estimate, np.ones(shape)))
    mixture, steps = prior or division_prior(), halvings(heights)
    total_variance = _variance(list(heights), None, part_variances, heights)
    counts, spread = np.array([max(float(estimate.sum()), 0.0)]), np.array([total_variance])
    shares, share_variances, block = [], [], list(heights)
    for step, (axis, half) in enumerate(steps):
        halves = sums.reshape(2 << step, -1).sum(axis=1).reshape(-1, 2)
        room = inside.reshape(2 << step, -1).sum(axis=1).reshape(-1, 2)
        noise = 0.25 * _variance(block, axis, part_variances, heights)
        first, apart = _divided(counts, spread, halves[:, 0] - halves[:, 1], room, noise, mixture)
        shares.append(first)
        share_variances.append(apart)
        both = np.stack((first, 1.0 - first), axis=1)
        squares = both**2 + apart[:, None]
        spread = ((counts**2 * apart)[:, None] + spread[:, None] * squares).reshape(-1)
        counts = (counts[:, None] * both).reshape(-1)
        block[axis] = half
    flat = np.empty(order.size)
    flat[order] = counts
    cells = flat.reshape([1 << height for height in heights])[tuple(slice(bins) for bins in shape)]
    none = np.zeros(0)
    return ShrunkenHalves(
        freeze(np.ascontiguousarray(cells)),
        float(max(estimate.sum(), 0.0)),
        total_variance,
        freeze(np.concatenate([none, *shares])),
        freeze(np.concatenate([none, *share_variances])),
    )


def _divided(
    counts: NDArray[np.float64],
    spread: NDArray[np.float64],
    differences: NDArray[np.float64],
    room: NDArray[np.float64],
    noise: float,
    prior: ScaleMixture,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return posterior mean and variance of the share in the first half of each node of a level, (p,) each."""
    even = room[:, 0] / np.maximum(room.sum(axis=1), 1.0)
    share, variance = even.copy(), even * (1.0 - even) / 3.0
    open_ = (room.min(axis=1) > 0) & (
        counts > _NOTHING * np.sqrt(noise)
    )  # the others are beyond the last bins, or empty
    share[room[:, 0] == 0], variance[room.min(axis=1) == 0] = 0.0, 0.0
    if open_.any():
        n, apart = (
            counts[open_],
            0.25 * spread[open_],
        )  # the total of both halves is uncertain, their difference is not
        centers = np.stack((even[open_] * n, np.zeros(n.size), n))
        spreads = np.stack((np.zeros(n.size), apart, apart))
        found = shrink(0.5 * (differences[open_] + n), noise, n, prior, centers=centers, spreads=spreads)
        share[open_] = np.clip(found.means / n, 0.0, 1.0)
        most = share[open_] * (1.0 - share[open_])
        variance[open_] = np.minimum(found.variances / n**2, most)
    return share, variance


def _variance(
    block: Sequence[int], axis: int | None, part_variances: NDArray[np.float64], heights: Level
) -> float:
    """Return the variance of a block's count, or of the difference of its two halves along an axis."""
    found = part_variances
    for side, (height, top) in enumerate(zip(block, heights, strict=True)):
        loads = np.zeros(top + 1)
        if side == axis:
            loads[height - 1] = 2.0**height
        else:
            loads[height:top] = 4.0**height * 2.0 ** -np.arange(height + 1, top + 1)
            loads[top] = 4.0**height * 2.0**-top
        found = np.tensordot(loads, found, axes=(0, 0))
    return float(found)
