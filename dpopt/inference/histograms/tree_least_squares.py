"""The consistent tree nearest to noisy counts of its nodes, and how much any range of it still varies.

Problem (models/tree_consistency, TC-1 and TC-2): minimize sum_v (x_v - values_v)^2 / variances_v subject to x_v = the sum of
its children's x, for every node v with children. Two passes over the levels solve it; see `tree_gains`.

Among all linear unbiased estimates from these counts, its answer to every range has the least variance.

Source: Hay et al. 2010, Theorems 3 and 4.

`zero_subtrees`: the heuristic of Hay et al. for counts that cannot be negative: nodes at or below 0 become 0 with all that is
below them.

What comes out is near 0 where data are sparse, and not consistent: a parent is not the sum of its children any more. The exact
answer to the same wish is `nonnegative_tree`.

Source: Hay et al. 2010, section 4.2.

`whole_of_total`: whole numbers near real ones, with a sum that is known. Minimize sum_k (s_k - x_k)^2 over whole s with sum_k
s_k = total, where sum_k x_k = total up to rounding errors.

No entry is best below its floor or above its ceiling: with one too far down another is too far up, and a step of both towards
their values is nearer. To raise an entry from its floor costs 1 - 2 (x_k - floor x_k), so those with the largest remainders are
raised; of equal ones the last, so that what does not fall before does not fall afterwards.

Everything here takes noisy or public values only: it costs no privacy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.errors import ProgramError, TreeError
from dpopt.inference.histograms.tree_gains import TreeGains, checked_variances, measured_values
from dpopt.queries.ranges.tree import Tree


def whole_of_total(values: ArrayLike, total: int) -> NDArray[np.int64]:
    """Return the nearest whole numbers with this sum, (n,); nondecreasing if the values are.

    Parameters
    ----------
    values : (n,)
        x, finite; their sum is the total, but for rounding errors.
    total
        What the whole numbers add up to.

    Raises
    ------
    ProgramError
        Values that are not finite numbers in one row, or whose sum is not the total.
    """
    real = np.asarray(values, dtype=np.float64)
    if real.ndim != 1 or real.size == 0 or not np.isfinite(real).all():
        raise ProgramError(f"expected finite numbers in one row, found an array of shape {real.shape}")
    if abs(float(real.sum()) - total) > 0.5 + 1e-12 * float(np.abs(real).sum()):
        raise ProgramError(f"the values add up to {real.sum():g}; expected a sum of {total:,}")
    floors = np.floor(real)
    found = floors.astype(np.int64)
    all_alike, raised = divmod(total - int(found.sum()), real.size)  # the first is 0 but for rounding errors
    found += all_alike
    found[np.argsort(real - floors, kind="stable")[real.size - raised :]] += 1
    return found


def zero_subtrees(tree: Tree, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the values (v,) with 0 at every node that is at most 0, and everywhere below such a node.

    Parameters
    ----------
    values : (v,) float64
        A consistent tree, as `least_squares` returns it.

    Raises
    ------
    TreeError
        If there is not one value for each node.
    """
    if values.shape != (len(tree),):
        raise TreeError(f"expected one value for each of {len(tree):,} nodes, found shape {values.shape}")
    positive = values > 0
    for level in tree.levels[1:]:
        positive[level] &= positive[tree.parent[level]]
    return np.where(positive, values, 0.0)


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
