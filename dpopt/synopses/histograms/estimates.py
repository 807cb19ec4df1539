"""Which consistent counts stand for the noisy ones of a tree: the estimates that a user may choose from, by name.

All are functions of noisy counts that are public: to choose another one costs no privacy.
"""

from __future__ import annotations

import enum
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.histograms.tree_least_squares import divide_from_the_root, least_squares, zero_subtrees
from dpopt.models.histograms.tree_consistency import tree_consistency
from dpopt.queries.ranges.tree import Tree
from dpopt.synopses.histograms.tree_plan import tree_model_sizes
from dpopt.synopses.solved import Inference


class Estimate(enum.Enum):
    """An estimate of the bins.

    `DIVIDED`: from the top down each node is divided anew among its parts, so that none is negative: wide ranges as
    good as by least squares, empty bins nearly exact. The default.

    `LEAST_SQUARES`: unbiased, and of least variance among unbiased ones; bins may be negative.

    `NONNEGATIVE`: the nearest consistent counts of which none is negative, by a solver; what raises bins to 0 raises
    wide ranges, too.

    `ZEROING`: the paper's own way for its trees, which are declared hierarchies: least squares with every node at or
    below 0 set to 0, and all below it (Hay et al. 2010, section 4.2); sums over bins do not agree with the nodes above
    them any more.

    `SHRUNKEN`: the estimate of rounds, and theirs alone: blocks halved again and again, each division drawn by
    empirical Bayes towards an even one or an empty half; its stated errors are those of the answer itself.
    """

    DIVIDED = "divided"
    LEAST_SQUARES = "least-squares"
    NONNEGATIVE = "nonnegative"
    ZEROING = "zeroing"
    SHRUNKEN = "shrunken"


def tree_inferences(tree: Tree, values: NDArray[np.float64], variances: NDArray[np.float64]) -> dict[str, Inference]:
    """Return the estimates that are models, each as the counts of the bins; parameters as of `estimated_nodes`."""
    return {
        name: Inference(
            size,
            partial(tree_consistency, tree, values, variances, nonnegative=Estimate(name) is Estimate.NONNEGATIVE),
            lambda found: found["x"][tree.leaf_of_bin],
        )
        for name, size in tree_model_sizes(len(tree)).items()
    }


def estimated_nodes(
    estimate: Estimate, tree: Tree, values: NDArray[np.float64], variances: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the estimate of each node, (v,), without a solver: where one fails `DIVIDED` stands in.

    Variances of the noisy counts are inf where nothing was measured, 0 for what is known.
    """
    if estimate is Estimate.LEAST_SQUARES:
        return least_squares(tree, values, variances)
    if estimate is Estimate.ZEROING:
        return zero_subtrees(tree, least_squares(tree, values, variances))
    return divide_from_the_root(tree, values, variances)
