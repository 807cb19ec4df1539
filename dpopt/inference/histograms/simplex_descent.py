"""A consistent tree without negative counts whose totals stay unbiased: from the root down, each node is divided anew.

Problem at each node, from the root down: minimize sum_u (x_u - z_u)^2 / V_u over the children u of a node, subject to
x_u >= l_u and sum_u x_u = the node's own value; z_u is the best estimate of u from its own subtree, V_u its variance
(`tree_gains`). The root keeps its least-squares estimate, or l_root if that is smaller. l_u is 0 for most nodes: it adds up
what bins hold beyond any noise that is to be expected, so that a total that came out far too small cannot wipe out bins that
are surely there.

Nearest in the sense of `nonnegative_tree` it is not, and that is the point: there, the many bins that are raised to 0 raise
every node above them that was measured less well than they were. Here a node is what least squares says unless it would be
negative, so that what is gained at single bins costs nothing at wide ranges. With 86 % of the budget on 4,096 sparse bins and
the rest on blocks of 256 the mean squared error of ranges of 1,024 bins was 30 to 250 times smaller; with equal noise
at all levels the two differ little.

Source: projection onto the simplex (Held, Wolfe and Crowder 1974), node by node.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import TreeError
from dpopt.inference.histograms.tree_gains import TreeGains, checked_variances, measured_values
from dpopt.queries.ranges.tree import Tree


def divide_from_the_root(
    tree: Tree, values: NDArray[np.float64], variances: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return consistent values of all nodes, none below 0, (v,).

    Parameters
    ----------
    values, variances : (v,) float64
        As in `least_squares`: variance inf for a node that was not measured, 0 for one that is known exactly.

    Raises
    ------
    TreeError
        As `least_squares`.
    """
    from dpopt.inference.histograms.simplex_kernels import divide

    own = checked_variances(tree, variances)
    if np.ndim(values) != 1:
        raise TreeError(f"expected one value for each of {len(tree):,} nodes, found shape {np.shape(values)}")
    gains = TreeGains.of(tree, own)
    best = measured_values(tree, values, own)
    gains.fit(best)  # refuses exact values that contradict each other
    for level in tree.levels[-2::-1]:
        inner = tree.children[level] > 0
        sums = tree.sum_of_children(best, level)
        best[level] = np.where(inner, best[level] + gains.pulls[level] * (sums - best[level]), best[level])
    leaves = tree.leaf_of_bin
    least = tree.totals(surely_there(best[leaves], own[leaves]))
    result = divide(tree.children, tree.first_child, best, gains.subtree_variances, least)
    return tree.totals(result[leaves])


def surely_there(counts: NDArray[np.float64], variances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each bin holds at least, (n,): what is left of its noisy count beyond any noise that is to be expected.

    Laplace noise of this variance exceeds the margin at any of the n bins with probability below 1 in 1,000; Gaussian noise,
    with less. 0 for bins that were not measured, or are known exactly.
    """
    margins = np.sqrt(variances / 2.0) * np.log(500.0 * counts.size)
    measured = np.isfinite(variances) & (variances > 0)
    return np.where(measured, np.maximum(counts - np.where(measured, margins, 0.0), 0.0), 0.0)
