"""The heuristic of Hay et al. for counts that cannot be negative: nodes at or below 0 become 0 with all that is below them.

What comes out is near 0 where data are sparse, and not consistent: a parent is not the sum of its children any more. The exact
answer to the same wish is `nonnegative_tree`.

Source: Hay et al. 2010, section 4.2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import TreeError
from dpopt.queries.ranges.tree import Tree


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
