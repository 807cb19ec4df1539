"""The mean variance of ranges of a consistent tree by the precision of each level, with its slopes.

With V_v the variance of the best estimate of node v from the measurements in its subtree and V_C their sum over its
children, 1 / V_v = p + 1 / V_C at the precision p of v's level (`TreeGains`), and what varies in a range depends on V
and the shares V_u / V_C alone (`tree_kernels`). So slopes are had by going back: from the ranges to V and the shares,
and from the root down

    dF/dV_C = - sum_u dF/dshare_u share_u / V_C + dF/dV_v (V_v / V_C)^2,  dF/dV_u += dF/dshare_u / V_C + dF/dV_C,
    dF/dp_v = - dF/dV_v V_v^2.

Costs about twice what the variances cost, however many levels there are. No records: variances depend on the noise
alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import TreeError
from dpopt.inference.histograms.tree_least_squares import TreeGains
from dpopt.queries.ranges.tree import Tree
from dpopt.queries.ranges.weighted_ranges import WeightedRanges


@dataclass(frozen=True, slots=True, eq=False)
class MeanVariance:
    """The weighted mean variance of ranges over a tree whose levels are measured with one noise each."""

    tree: Tree
    """All leaves on its lowest level."""
    ranges: WeightedRanges
    """Of its bins."""
    known_total: bool
    """Whether the root is known exactly."""

    def __post_init__(self) -> None:
        lowest = self.tree.levels[-1]
        if lowest.stop - lowest.start != self.tree.bins or self.ranges.bins != self.tree.bins:
            raise TreeError(
                f"expected {self.tree.bins:,} bins on the lowest level and ranges of them, found "
                f"{lowest.stop - lowest.start:,} and ranges of {self.ranges.bins:,}"
            )

    def __call__(self, precisions: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the mean variance and its derivative by the precision of each level, (d,).

        `precisions` (d,), from the root's down, are one over the variance of a count: 0 for a level that is not
        measured, above 0 for the lowest.
        """
        from dpopt.inference.histograms.tree_kernels import climb_and_return, return_from_siblings, sibling_sums

        tree, ranges = self.tree, self.ranges
        gains = TreeGains.of(tree, self._variances(precisions))
        variances, shares = gains.subtree_variances, gains.shares
        sums, by_sum = np.empty((4, len(tree))), np.zeros((4, len(tree)))
        by_variance, by_share = np.zeros(len(tree)), np.zeros(len(tree))
        sibling_sums(tree.children, tree.first_child, variances, shares, sums)
        value = climb_and_return(
            tree.parent,
            tree.leaf_of_bin,
            variances,
            shares,
            sums,
            ranges.starts,
            ranges.stops,
            ranges.shares,
            by_variance,
            by_share,
            by_sum,
            len(tree.levels),
        )
        return_from_siblings(tree.children, tree.first_child, by_variance, by_share, by_sum)
        return float(value), self._slopes(variances, shares, by_variance, by_share)

    def _variances(self, precisions: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore"):
            of_levels = 1.0 / precisions
        sizes = [level.stop - level.start for level in self.tree.levels]
        variances = np.repeat(of_levels, sizes)
        if self.known_total:
            variances[0] = 0.0
        return variances

    def _slopes(
        self,
        variances: NDArray[np.float64],
        shares: NDArray[np.float64],
        by_variance: NDArray[np.float64],
        by_share: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        tree = self.tree
        slopes = np.zeros(len(tree.levels))
        for depth, level in enumerate(tree.levels):
            slopes[depth] = -float((by_variance[level] * variances[level] ** 2).sum())
            if depth == len(tree.levels) - 1:
                break
            below, counts = tree.levels[depth + 1], tree.children[level]
            offsets = np.cumsum(counts) - counts
            sums = np.add.reduceat(variances[below], offsets)  # V_C
            lost = np.add.reduceat(by_share[below] * shares[below], offsets)
            by_sum = by_variance[level] * (variances[level] / sums) ** 2 - lost / sums
            by_variance[below] += by_share[below] / np.repeat(sums, counts) + np.repeat(by_sum, counts)
        return slopes
