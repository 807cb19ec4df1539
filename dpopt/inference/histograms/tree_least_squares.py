"""Consistent values of a tree's nodes from noisy counts: least squares, variances of ranges, nonnegative values.

Problem (models/tree_consistency, TC-1 and TC-2): minimize sum_v (x_v - values_v)^2 / variances_v subject to x_v = the
sum of its children's x, for every node v with children (`least_squares`). Ways to values that are not negative:
`divide_from_the_root`, whose totals stay unbiased, and the heuristic `zero_subtrees`. `whole_of_total` makes real
numbers whole.

Everything here takes noisy or public values only: it costs no privacy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.arrays import freeze
from dpopt.errors import ProgramError, TreeError
from dpopt.queries.ranges.tree import Tree

TOLERANCE = 1e-9
"""Relative difference up to which two exact values agree."""

_FEW = 32  # children are added one by one up to so many


def checked_variances(tree: Tree, variances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the variances as float64."""
    given = np.asarray(variances, dtype=np.float64)
    if given.shape != (len(tree),):
        raise TreeError(f"expected one variance for each of {len(tree):,} nodes, found shape {given.shape}")
    if not (given >= 0).all():
        node = int(np.argmin(given >= 0))
        raise TreeError(
            f"node {node} has variance {given[node]}; give a number of at least 0, inf if it is not measured"
        )
    return given


def checked_counts(
    tree: Tree, values: NDArray[np.float64], variances: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return copies of values and variances, (v,) each, with the value 0 where nothing was measured."""
    own, given = checked_variances(tree, variances), np.array(values, dtype=np.float64)
    if given.shape != (len(tree),):
        raise TreeError(f"expected one value for each of {len(tree):,} nodes, found shape {given.shape}")
    given[np.isinf(own)] = 0.0
    if not np.isfinite(given).all():
        node = int(np.argmin(np.isfinite(given)))
        raise TreeError(f"node {node} has a value that is not finite; give its variance as inf if it is not measured")
    return given, own


def interval(tree: Tree, node: int) -> str:
    """Return a node in words, with its bins."""
    first, last = int(tree.start[node]), int(tree.start[node] + tree.size[node]) - 1
    return f"node {node} (bin {first})" if first == last else f"node {node} (bins {first} to {last})"


@dataclass(frozen=True, slots=True, eq=False)
class Families:
    """The nodes of a level that have children, and these children side by side."""

    parents: slice[int, int, int] | NDArray[np.int64]
    """Shape (p,). The nodes with children; a slice where no node of the level is a leaf."""
    below: slice[int, int, int]
    """Their children."""
    counts: int | NDArray[np.int64]
    """Shape (p,). How many each has; one number where all have as many."""
    offsets: NDArray[np.int64]
    """Shape (p,). Where the children of each begin within `below`."""

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum over the children of each node, (p, ...)."""
        part = values[self.below]
        if isinstance(self.counts, int) and self.counts <= _FEW:
            total = part[:: self.counts].copy()
            for place in range(1, self.counts):
                total += part[place :: self.counts]
            return total
        return np.asarray(np.add.reduceat(part, self.offsets, axis=0), dtype=np.float64)


def families(tree: Tree) -> Iterator[Families]:
    """Yield the nodes with children level by level, from the lowest up."""
    for level in tree.levels[-2::-1]:
        each = tree.children[level]
        least, most = int(each.min()), int(each.max())
        parents: slice[int, int, int] | NDArray[np.int64] = level
        counts: int | NDArray[np.int64] = most if least == most else each
        if least == 0:
            parents = np.flatnonzero(each) + level.start
            counts = tree.children[parents]
        first = tree.first_child[parents]
        below = slice(int(first[0]), int(tree.first_child[level.stop - 1] + tree.children[level.stop - 1]))
        yield Families(parents, below, counts, first - first[0])


@dataclass(frozen=True, slots=True, eq=False)
class TreeGains:
    """The coefficients of both passes of least squares: they depend on the variances alone, and fit any values.

    With V_v the variance of the best estimate of node v from the measurements below it, and V_C the sum over its
    children,

        up     z_v = z_C + V_C / (V_C + variance_v) (value_v - z_C),    1 / V_v = 1 / variance_v + 1 / V_C,
        down   x_u = z_u + V_u / V_C (x_parent - z_C),                  x_root = z_root.

    Source: Hay et al. 2010, Theorem 3, for equal variances and full trees; here for any variances (Gauss-Markov).
    """

    tree: Tree
    pulls: NDArray[np.float64]
    """Shape (v,). variance / (V_C + variance): how far a node's value is drawn to the sum of its children's z; 0 for
    leaves."""
    shares: NDArray[np.float64]
    """Shape (v,). V_u / V_C: which part of its parent's correction a node gets; 0 for the root."""
    subtree_variances: NDArray[np.float64]
    """Shape (v,). V; inf where the subtree does not determine the node, 0 where it does exactly."""
    twice_exact: NDArray[np.bool_]
    """Shape (v,). Nodes known exactly whose children are known exactly, too: their values must agree."""

    @classmethod
    def of(cls, tree: Tree, variances: NDArray[np.float64]) -> TreeGains:
        """Return the coefficients for these variances (v,): inf for "not measured", 0 for "known exactly"."""
        own = checked_variances(tree, variances)
        total = own.copy()  # becomes V level by level
        pulls, shares = np.zeros(len(tree)), np.zeros(len(tree))
        twice, undetermined = np.zeros(len(tree), dtype=np.bool_), -1
        for one in families(tree):
            sums = one.sums(total)  # V_C
            shares[one.below], several = _shares(one, total[one.below], sums)
            if several.any():  # found in a level above, it has a smaller number
                undetermined = int(one.below.start + np.argmax(several))
            given = own[one.parents]
            with np.errstate(invalid="ignore"):
                drawn = np.where(np.isinf(given) | (sums == 0), 1.0, given / (sums + given))
                total[one.parents] = np.where(np.isinf(sums), given, drawn * sums)
            pulls[one.parents] = drawn
            twice[one.parents] = (given == 0) & (sums == 0)
        if np.isinf(total[0]):
            undetermined = 0
        if undetermined >= 0:
            raise TreeError(
                f"{interval(tree, undetermined)} is not determined: too few of the nodes above, beside and below it "
                f"are measured; measure it, or all its children, or a level of which every bin has a node"
            )
        return cls(tree, freeze(pulls), freeze(shares), freeze(total), freeze(twice))

    def fit(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the least-squares estimates (v, ...) for values (v, ...), finite, 0 where nothing was measured."""
        result, wide = values.copy(), (slice(None),) + (None,) * (values.ndim - 1)
        climbed: list[tuple[Families, NDArray[np.float64]]] = []
        for one in families(self.tree):
            sums = one.sums(result)
            if self.twice_exact[one.parents].any():
                self._compare(values, sums, one)
            result[one.parents] += self.pulls[one.parents][wide] * (sums - result[one.parents])
            climbed.append((one, sums))
        for one, sums in climbed[::-1]:
            corrections = np.repeat(result[one.parents] - sums, one.counts, axis=0)
            corrections *= self.shares[one.below][wide]
            result[one.below] += corrections
        return result

    def _compare(self, values: NDArray[np.float64], sums: NDArray[np.float64], one: Families) -> None:
        """Raise TreeError unless values known exactly agree with the sums of those below."""
        chosen = self.twice_exact[one.parents]
        nodes, below = np.arange(len(self.tree))[one.parents][chosen], sums[chosen]
        given = values[nodes]
        wrong = np.abs(given - below) > TOLERANCE * (1.0 + np.abs(given) + np.abs(below))
        if wrong.any():
            place = int(np.argmax(wrong.reshape(len(nodes), -1).any(axis=1)))
            node = int(nodes[place])
            raise TreeError(
                f"{interval(self.tree, node)} is known to be {given[place]:g}, and the nodes below it, known as well, "
                f"add up to {below[place]:g}; give one of them a variance above 0"
            )


def _shares(
    one: Families, variances: NDArray[np.float64], sums: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return V_u / V_C for the children of a level, and where it has no limit: with two or more infinite V_u.

    If one is inf it gets the whole correction; if V_C is 0 nobody gets any.
    """
    around = np.repeat(sums, one.counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(around > 0, variances / around, 0.0)
    several = np.zeros(variances.size, dtype=np.bool_)
    if np.isinf(sums).any():
        unknown = np.isinf(variances)
        number = np.add.reduceat(unknown.astype(np.int64), one.offsets)
        several = unknown & (np.repeat(number, one.counts) > 1)
        shares = np.where(np.isinf(around), unknown.astype(np.float64), shares)
    return shares, several


def whole_of_total(values: ArrayLike, total: int) -> NDArray[np.int64]:
    """Return the nearest whole numbers with this sum, (n,); nondecreasing if the values are.

    Minimize sum_k (s_k - x_k)^2 over whole s with sum_k s_k = total, where sum_k x_k = total up to rounding errors.

    No entry is best below its floor or above its ceiling: with one too far down another is too far up, and a step of
    both towards their values is nearer. To raise an entry from its floor costs 1 - 2 (x_k - floor x_k), so those with
    the largest remainders are raised; of equal ones the last, so that what does not fall before does not fall
    afterwards.
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
    """Return a consistent tree (v,) with 0 at every node that is at most 0, and everywhere below such a node.

    What comes out is near 0 where data are sparse, and not consistent: a parent is not the sum of its children any
    more.

    Source: Hay et al. 2010, section 4.2.
    """
    if values.shape != (len(tree),):
        raise TreeError(f"expected one value for each of {len(tree):,} nodes, found shape {values.shape}")
    positive = values > 0
    for level in tree.levels[1:]:
        positive[level] &= positive[tree.parent[level]]
    return np.where(positive, values, 0.0)


def least_squares(tree: Tree, values: NDArray[np.float64], variances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the consistent values of all nodes that are nearest to the given ones, (v,).

    Two passes over the levels find them (`TreeGains`). Among all linear unbiased estimates from these counts, the
    answer to every range has the least variance. Of the variances only ratios matter: inf for a node that was not
    measured, whose value is not looked at, and 0 for one that is known exactly (a public total).

    Source: Hay et al. 2010, Theorems 3 and 4.
    """
    given, own = checked_counts(tree, values, variances)
    return TreeGains.of(tree, own).fit(given)


def range_variances(
    tree: Tree, variances: NDArray[np.float64], starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the variance of the least-squares estimate of each range of bins start, ..., stop - 1; (q,).

    Given the value of a node, its children vary with covariance diag(V) - V V' / V_C, and what lies below one child is
    independent of the others. So a range's part below a node is b x_node plus something independent of variance c; (b,
    c) climbs from the two ends of the range to the root. Its cost is one step for each level. An empty range has
    variance 0; the variances of nodes are as in `least_squares`.
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


def divide_from_the_root(
    tree: Tree, values: NDArray[np.float64], variances: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return consistent values of all nodes, none below 0, (v,).

    Problem at each node, from the root down: minimize sum_u (x_u - z_u)^2 / V_u over the children u of a node, subject
    to x_u >= l_u and sum_u x_u = the node's own value; z_u is the best estimate of u from its own subtree, V_u its
    variance (`TreeGains`). The root keeps its least-squares estimate, or l_root if that is smaller. l_u is 0 for most
    nodes: it adds up what bins hold beyond any noise that is to be expected (`surely_there`), so that a total that came
    out far too small cannot wipe out bins that are surely there.

    The result is not the nearest (models/tree_consistency, TC-3). There, the many bins that are raised to 0 raise every
    node above them that was measured less well than they were. Here a node is what least squares says unless it would
    be negative, so that what is gained at single bins costs nothing at wide ranges. With 86 % of the budget on 4,096
    sparse bins and the rest on blocks of 256 the mean squared error of ranges of 1,024 bins was 30 to 250 times
    smaller; with equal noise at all levels the two differ little.

    Source: projection onto the simplex (Held, Wolfe and Crowder 1974), node by node.

    Parameters
    ----------
    values, variances : (v,) float64
        As in `least_squares`: variance inf for a node that was not measured, 0 for one that is known exactly.
    """
    from dpopt.inference.histograms.tree_kernels import divide

    best, own = checked_counts(tree, values, variances)
    gains = TreeGains.of(tree, own)
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
    """Return a lower bound on each bin, (n,): its noisy count less the largest expected noise.

    Laplace noise of this variance exceeds the margin at any of the n bins with probability below 1 in 1,000; Gaussian
    noise, with less. 0 for bins that were not measured, or are known exactly.
    """
    margins = np.sqrt(variances / 2.0) * np.log(500.0 * counts.size)
    measured = np.isfinite(variances) & (variances > 0)
    return np.where(measured, np.maximum(counts - np.where(measured, margins, 0.0), 0.0), 0.0)
