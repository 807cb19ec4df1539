"""The consistent tree without negative counts that is nearest to noisy counts of its nodes: exact, in about n log n steps.

Problem (models/tree_consistency, TC-1 to TC-3): minimize sum_v (x_v - values_v)^2 / variances_v subject to x_v = the sum of its
children's x, and x >= 0 at every bin.

Method (TC-7, TC-8). F_v(t), the least cost of the subtree of v with total t, is convex; as a function of its slope, t is
piecewise linear with one breakpoint for each bin. Curves of children add up; the cost of the node itself shifts each
breakpoint by (t - value) / variance. Order is kept, so a bin whose breakpoint arrives at the root below the price 0 is
positive, and every other bin is 0. With these bins known to be 0 what is left is least squares without inequalities.

Source: convex min-sum on a tree; for one level it is the projection onto the simplex (Held, Wolfe and Crowder 1974).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import TreeError
from dpopt.inference.histograms.tree_gains import (
    TOLERANCE,
    TreeGains,
    checked_variances,
    interval,
    measured_values,
)
from dpopt.queries.ranges.tree import Tree


def nonnegative_least_squares(
    tree: Tree, values: NDArray[np.float64], variances: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the consistent values of all nodes, none below 0, that are nearest to the given ones, (v,).

    Parameters
    ----------
    values, variances : (v,) float64
        As in `least_squares`: variance inf for a node that was not measured, 0 for one that is known exactly.

    Raises
    ------
    TreeError
        As `least_squares`, and if exact values need a negative bin.
    """
    from dpopt.inference.histograms.nonnegative_kernels import positive_bins

    own = checked_variances(tree, variances)
    if np.ndim(values) != 1:
        raise TreeError(f"expected one value for each of {len(tree):,} nodes, found shape {np.shape(values)}")
    given = measured_values(tree, values, own)
    if np.isinf(own).any():
        TreeGains.of(tree, own)  # refuses what is not determined
    positive = np.zeros(tree.bins, dtype=np.bool_)
    node = positive_bins(tree.children, tree.first_child, tree.start, given, own, TOLERANCE, positive)
    if node >= 0:
        raise TreeError(
            f"{interval(tree, node)} is known to be {given[node]:g}, which bins of at least 0 cannot add up to together "
            "with the nodes below it that are known; give one of them a variance above 0"
        )
    zero = tree.leaf_of_bin[~positive]
    zero = zero[own[zero] > 0]
    left = own.copy()
    left[zero], given[zero] = 0.0, 0.0
    found = TreeGains.of(tree, left).fit(given)
    result = tree.totals(np.maximum(found[tree.leaf_of_bin], 0.0))
    result[own == 0] = given[own == 0]
    return result
