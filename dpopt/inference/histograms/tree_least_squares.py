"""The consistent tree nearest to noisy counts of its nodes, and how much any range of it still varies.

Problem (models/tree_consistency, TC-1 and TC-2): minimize sum_v (x_v - values_v)^2 / variances_v subject to x_v = the sum of
its children's x, for every node v with children. Two passes over the levels solve it; see `tree_gains`.

Among all linear unbiased estimates from these counts, its answer to every range has the least variance.

Source: Hay et al. 2010, Theorems 3 and 4.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import TreeError
from dpopt.inference.histograms.tree_gains import TreeGains, checked_variances, measured_values
from dpopt.queries.ranges.tree import Tree


def least_squares(
    tree: Tree, values: NDArray[np.float64], variances: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the consistent values of all nodes that are nearest to the given ones, (v,).

    Parameters
    ----------
    values : (v,) float64
        Noisy count of each node; not looked at where the variance is inf.
    variances : (v,) float64
        Variance of each, >= 0: inf for a node that was not measured, 0 for one that is known exactly (a public total).
        Only their ratios matter.

    Raises
    ------
    TreeError
        Shapes that do not fit, values that are not finite, nodes that the measurements do not determine, exact values that
        contradict each other.
    """
    own = checked_variances(tree, variances)
    if np.ndim(values) != 1:
        raise TreeError(f"expected one value for each of {len(tree):,} nodes, found shape {np.shape(values)}")
    return TreeGains.of(tree, own).fit(measured_values(tree, values, own))


def range_variances(
    tree: Tree, variances: NDArray[np.float64], starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the variance of the least-squares estimate of each range of bins start, ..., stop - 1; (q,).

    Given the value of a node, its children vary with covariance diag(V) - V V' / V_C, and what lies below one child is
    independent of the others. So a range's part below a node is b x_node plus something independent of variance c; (b, c)
    climbs from the two ends of the range to the root. Its cost is one step for each level.

    Parameters
    ----------
    variances : (v,) float64
        As in `least_squares`.
    starts, stops : (q,) int64
        0 <= start <= stop <= bins; an empty range has variance 0.

    Raises
    ------
    TreeError
        Ranges outside the bins, variances that do not determine every node.
    """
    from dpopt.inference.histograms.tree_kernels import climb_ranges, sibling_sums

    first, last = np.asarray(starts, dtype=np.int64), np.asarray(stops, dtype=np.int64)
    if first.ndim != 1 or first.shape != last.shape:
        raise TreeError(f"expected as many starts as stops, found shapes {first.shape} and {last.shape}")
    wrong = (first < 0) | (first > last) | (last > tree.bins)
    if wrong.any():
        place = int(np.argmax(wrong))
        raise TreeError(
            f"range {place} is [{first[place]}, {last[place]}); expected 0 <= start <= stop <= {tree.bins:,}"
        )
    gains = TreeGains.of(tree, variances)
    total = gains.subtree_variances
    # A child that its subtree does not determine takes the whole correction (share 1), and varies with the others only.
    finite = np.where(np.isinf(total), 0.0, total)
    sums = np.empty((4, len(tree)))
    sibling_sums(tree.children, tree.first_child, finite, gains.shares, sums)
    found = np.zeros(first.size)
    climb_ranges(tree.parent, tree.leaf_of_bin, finite, gains.shares, sums, first, last, found)
    return found
