"""Bins of angles that are not below 0 and nearest to the noisy arcs of each projection."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.histograms.nonnegative_tree import nonnegative_least_squares
from dpopt.queries.ranges.tree import Tree
from dpopt.synopses.halfspaces.halfspace_plan import HalfspacePlan


def nonnegative_bins(
    plan: HalfspacePlan, measured: tuple[NDArray[np.int64], ...], records: float
) -> NDArray[np.float64]:
    """Return the bins, (m, 2 h).

    Problem (models/tree_consistency, TC-1 to TC-3) for the tree of each projection, levels that were not measured left out, the
    root with the (public or noisy) number of records: minimize the sum over measured nodes of (x_v - noisy_v)^2 / variance_v
    over consistent x that are not below 0 at the bins. Post-processing.

    Parameters
    ----------
    measured : tuple of (m 2 h / 2^height,) int64
        The noisy arcs of each measured level.
    records : float
    """
    bins = 2 * plan.directions
    tree = Tree.balanced(bins, 2)
    variances = np.full(len(tree), np.inf)
    depths = {height: tree.levels[len(tree.levels) - 1 - height] for height in range(len(tree.levels))}
    scales = plan.scales[len(plan.scales) - len(plan.heights) :]
    factor = 1.0 if plan.gaussian else 2.0
    variances[0] = factor * plan.records_scale**2
    for height, scale in zip(plan.heights, scales, strict=True):
        variances[depths[height]] = factor * scale**2
    found = np.empty((plan.number, bins))
    for i in range(plan.number):
        values = np.zeros(len(tree))
        values[0] = max(records, 0.0)
        for height, noisy in zip(plan.heights, measured, strict=True):
            values[depths[height]] = noisy.reshape(plan.number, -1)[i]
        found[i] = nonnegative_least_squares(tree, values, variances)[tree.leaf_of_bin]
    return found
