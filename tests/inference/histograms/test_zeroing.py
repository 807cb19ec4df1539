"""The heuristic of Hay et al., by hand and against its definition node by node."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.errors import TreeError
from dpopt.inference.histograms.tree_least_squares import zero_subtrees
from dpopt.queries.ranges.tree import Tree
from tests.inference.histograms.small_trees import random_tree


def test_nodes_at_most_zero_take_what_is_below_them() -> None:
    tree = Tree.balanced(4, 2)
    values = np.array([3.0, -1, 4, 2, -3, 4, 0])
    assert zero_subtrees(tree, values).tolist() == [3, 0, 4, 0, 0, 4, 0]


@given(seed=st.integers(0, 10**6))
def test_a_node_stays_if_all_above_it_are_positive(seed: int) -> None:
    generator = np.random.default_rng(seed)
    tree = random_tree(generator, most=20, deepest=4)
    values = generator.integers(-1, 4, len(tree)).astype(np.float64)
    found = zero_subtrees(tree, values)
    for node in range(len(tree)):
        path = [node]
        while path[-1] > 0:
            path.append(int(tree.parent[path[-1]]))
        assert found[node] == (values[node] if (values[path] > 0).all() else 0)


def test_a_tree_of_another_size_is_refused() -> None:
    with pytest.raises(TreeError, match="one value for each of 7 nodes"):
        zero_subtrees(Tree.balanced(4, 2), np.ones(4))
