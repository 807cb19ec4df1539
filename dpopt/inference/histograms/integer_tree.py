"""The consistent tree of whole counts of at least 0 that is nearest to noisy counts of its nodes: exact, with a certificate.

Problem (models/tree_consistency, TC-1 to TC-5): minimize sum_v (x_v - values_v)^2 / variances_v subject to x_v = the sum of its
children's x, x >= 0 and whole at every bin.

Method (TC-9). As a function of the bins the objective is a sum of convex functions of nested sums, hence M-natural-convex: a
point is optimal if and only if no bin can gain one, lose one, or pass one to another bin at a profit. The exact real
solution is rounded by largest remainders from the root down, then the best of all these moves is made until none improves. Each
node keeps the best moves below it, so that a move costs two paths.

Source: Murota 2003, Discrete Convex Analysis, Theorem 6.26; laminar convexity, the same, section 6.3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import TreeError
from dpopt.inference.histograms.tree_least_squares import (
    TreeGains,
    checked_counts,
    interval,
    nonnegative_least_squares,
)
from dpopt.queries.ranges.tree import Tree

LARGEST_COUNT = 2**52
"""Beyond, neighbouring whole numbers have the same float."""

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class IntegerTree:
    """Whole counts, and how it is known that none are nearer.

    Attributes
    ----------
    values : (v,) int64
        The count of each node, >= 0, consistent.
    objective : float
        sum (values - given)^2 / variances over the nodes that were measured.
    moves : int
        How many moves were made from the rounded real solution.
    best_move : float
        What the best of all moves would change, computed anew from `values`; inf if there is none.
    certified : bool
        Whether no move improves: `best_move` is not below 0 by more than rounding.
    """

    values: NDArray[np.int64]
    objective: float
    moves: int
    best_move: float
    certified: bool


def best_integer_tree(
    tree: Tree,
    values: NDArray[np.float64],
    variances: NDArray[np.float64],
    *,
    most_moves: int | None = None,
) -> IntegerTree:
    """Return the consistent whole values of all nodes, none below 0, that are nearest to the given ones.

    Parameters
    ----------
    values, variances : (v,) float64
        As in `least_squares`: variance inf for a node that was not measured, 0 for one that is known exactly, for example the
        root if the total is public.
    most_moves : int, optional
        Stop after so many moves, perhaps short of the optimum (`certified` says so).

    Raises
    ------
    TreeError
        As `nonnegative_least_squares`, and if an exact value is not whole or counts exceed 2^52.
    """
    from dpopt.inference.histograms.kernels import Counts, improve, pair_children, summarize_all

    given, own = checked_counts(tree, values, variances)
    real = nonnegative_least_squares(tree, values, own)
    whole = _rounded(tree, real, given, own)
    between = int(np.maximum(tree.children - 2, 0).sum())
    sides = np.empty((2, len(tree) + between), dtype=np.int32)
    above, best = np.empty(len(tree) + between, dtype=np.int32), np.empty((len(tree) + between, 3))
    pair_children(tree.children, tree.first_child, sides, above)
    counts = Counts(tree.children, given, own, whole, sides, above, best)
    summarize_all(counts)
    margin = _margin(tree, given, own, whole)
    limit = np.iinfo(np.int64).max if most_moves is None else most_moves
    moves = improve(counts, margin, limit)
    summarize_all(counts)
    gain = float(best[0].min())
    measured = np.flatnonzero((own > 0) & np.isfinite(own))
    objective = float(((whole[measured] - given[measured]) ** 2 / own[measured]).sum())
    return IntegerTree(freeze(whole), objective, int(moves), gain, not gain < -margin)


def _rounded(
    tree: Tree, real: NDArray[np.float64], given: NDArray[np.float64], variances: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return whole consistent values near real ones, with the exact ones kept."""
    from dpopt.inference.histograms.kernels import round_down_the_tree

    exact = variances == 0
    broken = exact & (given != np.rint(given))
    if broken.any():
        node = int(np.argmax(broken))
        raise TreeError(
            f"{interval(tree, node)} is known to be {given[node]:g}, which is no whole number; whole counts need whole "
            "exact values"
        )
    if real[0] > LARGEST_COUNT:
        raise TreeError(f"counts add up to {real[0]:g}; whole counts are found up to 2^52")
    least = np.where(exact, given, 0.0).astype(np.int64)
    for level in tree.levels[-2::-1]:
        sums = tree.sum_of_children(least, level)
        least[level] = np.where(exact[level], least[level], sums)
    fixed = TreeGains.of(tree, variances).subtree_variances == 0
    whole = np.zeros(len(tree), dtype=np.int64)
    whole[0] = least[0] if fixed[0] else max(int(least[0]), int(np.rint(real[0])))
    if not round_down_the_tree(tree.children, tree.first_child, real, least, fixed, whole):
        raise TreeError(
            "exact values leave no whole counts of at least 0; give one of them a variance above 0"
        )
    return whole


def _margin(
    tree: Tree, given: NDArray[np.float64], variances: NDArray[np.float64], whole: NDArray[np.int64]
) -> float:
    """Return by how much a move has to improve: well above the rounding of sums along a path, far below what matters."""
    measured = (variances > 0) & np.isfinite(variances)
    sizes = np.zeros(len(tree))
    sizes[measured] = (1.0 + 2.0 * np.abs(whole[measured] - given[measured])) / variances[measured]
    return _ROUNDING * sum(float(sizes[level].max()) for level in tree.levels)
