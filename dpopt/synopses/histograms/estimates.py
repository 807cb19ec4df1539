"""Which consistent counts stand for the noisy ones of a tree: the estimates that a user may choose from, by name.

All are functions of noisy counts that are public: to choose another one costs no privacy.
"""

from __future__ import annotations

import enum
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PlanError
from dpopt.inference.histograms.integer_tree import best_integer_tree
from dpopt.inference.histograms.tree_least_squares import (
    divide_from_the_root,
    least_squares,
    nonnegative_least_squares,
    zero_subtrees,
)
from dpopt.models.histograms.tree_consistency import tree_consistency
from dpopt.queries.ranges.tree import Tree
from dpopt.synopses.histograms.tree_plan import tree_model_sizes
from dpopt.synopses.solved import Inference


class Estimate(enum.Enum):
    """An estimate of the bins.

    `DIVIDED`: from the top down each node is divided anew among its parts, so that none is negative: wide ranges as good
    as by least squares, empty bins nearly exact. The default.

    `LEAST_SQUARES`: unbiased, and of least variance among unbiased ones; bins may be negative.

    `NONNEGATIVE`: the nearest consistent counts of which none is negative; what raises bins to 0 raises wide ranges, too.

    `WHOLE`: the nearest that are whole numbers, besides.

    `ZEROING`: least squares with every node at or below 0 set to 0, and all below it (Hay et al. 2010); sums over bins
    do not agree with the nodes above them any more.

    `SHRUNKEN`: blocks halved again and again, each division drawn by empirical Bayes towards an even one or an empty half as
    far as the noisy counts ask for it; its stated errors are those of the answer itself. Not of a declared hierarchy.
    """

    DIVIDED = "divided"
    LEAST_SQUARES = "least-squares"
    NONNEGATIVE = "nonnegative"
    WHOLE = "whole"
    ZEROING = "zeroing"
    SHRUNKEN = "shrunken"


def tree_inferences(
    tree: Tree, values: NDArray[np.float64], variances: NDArray[np.float64]
) -> dict[str, Inference]:
    """Return the estimates that are models, each as the counts of the bins; parameters as of `estimated_nodes`."""
    return {
        name: Inference(
            size,
            partial(
                tree_consistency, tree, values, variances, nonnegative=Estimate(name) is Estimate.NONNEGATIVE
            ),
            lambda found: found["x"][tree.leaf_of_bin],
        )
        for name, size in tree_model_sizes(len(tree)).items()
    }


def estimated_nodes(
    estimate: Estimate, tree: Tree, values: NDArray[np.float64], variances: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the estimate of each node, (v,).

    Parameters
    ----------
    values, variances : (v,) float64
        Noisy counts and the variances of their noise: inf where nothing was measured, 0 for what is known.

    Raises TreeError if variances do not determine every node, or known values contradict each other; PlanError if the
    estimate is not one of trees: `SHRUNKEN` is of blocks that are halved.
    """
    match estimate:
        case Estimate.DIVIDED:
            return divide_from_the_root(tree, values, variances)
        case Estimate.LEAST_SQUARES:
            return least_squares(tree, values, variances)
        case Estimate.NONNEGATIVE:
            return nonnegative_least_squares(tree, values, variances)
        case Estimate.WHOLE:
            return best_integer_tree(tree, values, variances).values.astype(np.float64)
        case Estimate.ZEROING:
            return zero_subtrees(tree, least_squares(tree, values, variances))
        case Estimate.SHRUNKEN:
            raise PlanError(
                "the estimate 'shrunken' is of blocks of 1, 2, 4, ... bins, and this release measured other groups; "
                "take 'divided'"
            )
