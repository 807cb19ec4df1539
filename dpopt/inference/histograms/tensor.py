"""Several ordered attributes: noisy counts of all products of their trees' nodes made consistent.

Problem: minimize sum (x_{u,w,...} - value_{u,w,...})^2 / (s_u s'_w ...) over arrays that are consistent along every axis, where
the variances of each axis are those of its tree's nodes.

The least-squares operator of measurements A_1 x A_2 x ... (Kronecker products) with weights of the same form is the product of
the operators of the axes, since (A x B)^+ = A^+ x B^+: the recurrence of one tree, along every axis in turn. The covariance is
a product likewise, so the variance of a box is the product of the variances of its sides.

Source: Hay et al. 2010 for one axis; the product is our own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import TreeError
from dpopt.inference.histograms.tree_gains import TreeGains, checked_variances, interval
from dpopt.inference.histograms.tree_least_squares import range_variances
from dpopt.queries.tree import Tree

Variances = Sequence[NDArray[np.float64]]


def tensor_least_squares(
    trees: Sequence[Tree], values: NDArray[np.float64], variances: Variances
) -> NDArray[np.float64]:
    """Return the array (v_1, ..., v_D), consistent along every axis, that is nearest to the given one.

    Parameters
    ----------
    trees : D trees, one for each axis.
    values : (v_1, ..., v_D) float64
        Noisy count of each box, a product of nodes; not looked at where the variance is inf.
    variances : D arrays (v_d,) float64
        The variance of a box is the product of those of its nodes; above 0, inf for nodes that were not measured.

    Raises
    ------
    TreeError
        Shapes that do not fit, a variance of 0, values that are not finite, trees whose measured nodes do not determine all.
    """
    checked = _checked(trees, variances)
    shape = tuple(len(tree) for tree in trees)
    if values.shape != shape:
        raise TreeError(f"expected values of shape {shape}, found {values.shape}")
    result = np.array(values, dtype=np.float64)
    for axis, own in enumerate(checked):
        result[(slice(None),) * axis + (np.isinf(own),)] = 0.0
    if not np.isfinite(result).all():
        place = tuple(int(one) for one in np.argwhere(~np.isfinite(result))[0])
        raise TreeError(
            f"box {place} has a value that is not finite; give a node's variance as inf if it is not measured"
        )
    for axis, (tree, own) in enumerate(zip(trees, checked, strict=True)):
        first = np.ascontiguousarray(np.moveaxis(result, axis, 0))
        result = np.moveaxis(TreeGains.of(tree, own).fit(first), 0, axis)
    return np.ascontiguousarray(result)


def box_variances(
    trees: Sequence[Tree], variances: Variances, starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the variance of the estimate of each box, (q,): the product of those of its sides.

    Parameters
    ----------
    variances : D arrays (v_d,) float64
        As in `tensor_least_squares`.
    starts, stops : (q, D) int64
        A box has the bins start, ..., stop - 1 of each axis.

    Raises
    ------
    TreeError
        Shapes that do not fit, ranges outside the bins, a variance of 0.
    """
    checked = _checked(trees, variances)
    if starts.ndim != 2 or starts.shape != stops.shape or starts.shape[1] != len(trees):
        raise TreeError(
            f"expected starts and stops of shape (q, {len(trees)}), found {starts.shape} and {stops.shape}"
        )
    product = np.ones(len(starts))
    for axis, (tree, own) in enumerate(zip(trees, checked, strict=True)):
        product *= range_variances(tree, own, starts[:, axis], stops[:, axis])
    return product


def _checked(trees: Sequence[Tree], variances: Variances) -> list[NDArray[np.float64]]:
    if not trees or len(trees) != len(variances):
        raise TreeError(
            f"expected at least one tree and variances for each, found {len(trees)} and {len(variances)}"
        )
    checked = [checked_variances(tree, own) for tree, own in zip(trees, variances, strict=True)]
    for axis, (tree, own) in enumerate(zip(trees, checked, strict=True)):
        if not own.all():
            node = int(np.argmin(own))
            raise TreeError(
                f"axis {axis}: {interval(tree, node)} has variance 0; products with nodes known exactly are not supported, "
                "give it a variance above 0"
            )
    return checked
