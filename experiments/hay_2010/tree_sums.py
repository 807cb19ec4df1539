"""Ranges answered with the fewest nodes of a binary tree, as H~ answers them, for many draws at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpopt.queries.ranges.tree import Tree

Levels = Sequence[NDArray[np.float64]]


def levels_of(tree: Tree, values: NDArray[np.float64]) -> Levels:
    """Return values (m, v) of the nodes of a full binary tree, level by level from the leaves up."""
    return [values[:, level] for level in reversed(tree.levels)]


def sums_of_fewest_nodes(levels: Levels, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sum over the fewest nodes that make up each range start, ..., stop - 1 of each draw, (m, q)."""
    left, right = starts.copy(), stops.copy()
    total = np.zeros(starts.shape)
    for values in levels:
        inside, last = left < right, values.shape[1] - 1
        alone = inside & (left & 1 == 1)
        total += np.where(alone, np.take_along_axis(values, np.minimum(left, last), axis=1), 0.0)
        left += alone
        alone = inside & (right & 1 == 1)
        right -= alone
        total += np.where(alone, np.take_along_axis(values, np.minimum(right, last), axis=1), 0.0)
        left >>= 1
        right >>= 1
    return total


def largest_sums(levels: Levels) -> NDArray[np.float64]:
    """Return the largest sum over the fewest nodes of any range of each draw, (m,), in a few steps for each node.

    Within a node, a range that is not the whole of it lies in one child, or is an end of the left child and a beginning of the
    right one, not both whole. The best ends and beginnings climb with it.
    """
    best = whole_or_end = whole_or_beginning = levels[0]
    end = beginning = np.full_like(best, -np.inf)
    for node, children in zip(levels[1:], levels, strict=False):
        across = np.maximum(whole_or_end[:, ::2] + beginning[:, 1::2], end[:, ::2] + whole_or_beginning[:, 1::2])
        best = np.maximum.reduce([best[:, ::2], best[:, 1::2], across, node])
        end, beginning = (
            np.maximum(whole_or_end[:, 1::2], end[:, ::2] + children[:, 1::2]),
            np.maximum(whole_or_beginning[:, ::2], beginning[:, 1::2] + children[:, ::2]),
        )
        whole_or_end, whole_or_beginning = np.maximum(end, node), np.maximum(beginning, node)
    return best[:, 0]


def largest_errors(levels: Levels) -> NDArray[np.float64]:
    """Return the largest absolute sum over the fewest nodes of any range of each draw, (m,), from errors of nodes."""
    return np.maximum(largest_sums(levels), largest_sums([-values for values in levels]))


def largest_errors_of_bins(errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest absolute sum of any range of each draw, (m,), from errors of bins (m, n)."""
    sums = prefix_sums(errors)
    found: NDArray[np.float64] = sums.max(axis=1) - sums.min(axis=1)
    return found


def prefix_sums(errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sums over the first 0, 1, ..., n bins, (m, n + 1)."""
    return np.concatenate((np.zeros((len(errors), 1)), np.cumsum(errors, axis=1)), axis=1)
