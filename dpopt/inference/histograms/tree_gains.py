"""What least squares over a tree does with any values: it depends on the variances alone.

With V_v the variance of the best estimate of node v from the measurements in its subtree, and V_C the sum over its children,

    up     z_v = z_C + V_C / (V_C + variance_v) (value_v - z_C),    1 / V_v = 1 / variance_v + 1 / V_C,
    down   x_u = z_u + V_u / V_C (x_parent - z_C),                  x_root = z_root.

Source: Hay et al. 2010, Theorem 3, for equal variances and full trees; here for any variances (Gauss-Markov).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import TreeError
from dpopt.queries.ranges.tree import Tree

TOLERANCE = 1e-9
"""Relative difference up to which two exact values agree."""

_FEW = 32  # children are added one by one up to so many


def checked_variances(tree: Tree, variances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the variances as float64.

    Raises
    ------
    TreeError
        If there is not one for each node, or one is negative or nan.
    """
    given = np.asarray(variances, dtype=np.float64)
    if given.shape != (len(tree),):
        raise TreeError(f"expected one variance for each of {len(tree):,} nodes, found shape {given.shape}")
    if not (given >= 0).all():
        node = int(np.argmin(given >= 0))
        raise TreeError(
            f"node {node} has variance {given[node]}; give a number of at least 0, inf if it is not measured"
        )
    return given


def measured_values(
    tree: Tree, values: NDArray[np.float64], variances: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a copy of the values (v, ...) with 0 where nothing was measured.

    Raises
    ------
    TreeError
        If there is not one for each node, or a measured one is not finite.
    """
    given = np.array(values, dtype=np.float64)
    if given.shape[:1] != (len(tree),):
        raise TreeError(f"expected one value for each of {len(tree):,} nodes, found shape {given.shape}")
    given[np.isinf(variances)] = 0.0
    if not np.isfinite(given).all():
        node = int(np.argmin(np.isfinite(given.reshape(len(tree), -1)).all(axis=1)))
        raise TreeError(
            f"node {node} has a value that is not finite; give its variance as inf if it is not measured"
        )
    return given


def interval(tree: Tree, node: int) -> str:
    """Return a node in words, with its bins."""
    first, last = int(tree.start[node]), int(tree.start[node] + tree.size[node]) - 1
    return f"node {node} (bin {first})" if first == last else f"node {node} (bins {first} to {last})"


@dataclass(frozen=True, slots=True, eq=False)
class Families:
    """The nodes of a level that have children, and these children side by side.

    Attributes
    ----------
    parents : slice or (p,) int64
        Numbers of the nodes with children; a slice where no node of the level is a leaf.
    below : slice
        Numbers of their children.
    counts : int or (p,) int64
        How many each has; one number where all have as many.
    offsets : (p,) int64
        Where the children of each begin within `below`.
    """

    parents: slice[int, int, int] | NDArray[np.int64]
    below: slice[int, int, int]
    counts: int | NDArray[np.int64]
    offsets: NDArray[np.int64]

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
    """The coefficients of both passes.

    Attributes
    ----------
    tree : Tree
    pulls : (v,) float64
        variance / (V_C + variance): how far a node's value is drawn to the sum of its children's z; 0 for leaves.
    shares : (v,) float64
        V_u / V_C: which part of its parent's correction a node gets; 0 for the root.
    subtree_variances : (v,) float64
        V; inf where the subtree does not determine the node, 0 where it does exactly.
    twice_exact : (v,) bool
        Nodes known exactly whose children are known exactly, too: their values must agree.
    """

    tree: Tree
    pulls: NDArray[np.float64]
    shares: NDArray[np.float64]
    subtree_variances: NDArray[np.float64]
    twice_exact: NDArray[np.bool_]

    @classmethod
    def of(cls, tree: Tree, variances: NDArray[np.float64]) -> TreeGains:
        """Return the coefficients for these variances (v,): inf for "not measured", 0 for "known exactly".

        Raises
        ------
        TreeError
            If variances are none, or do not determine every node.
        """
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
                f"{interval(tree, undetermined)} is not determined: too few of the nodes above, beside and below it are "
                "measured; measure it, or all its children, or a level of which every bin has a node"
            )
        return cls(tree, freeze(pulls), freeze(shares), freeze(total), freeze(twice))

    def fit(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the least-squares estimates (v, ...) for values (v, ...), finite, 0 where nothing was measured.

        Raises
        ------
        TreeError
            If exact values contradict each other.
        """
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
    """Return V_u / V_C for the children of a level, and where it has no limit: at two or more V_u = inf beside each other.

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
