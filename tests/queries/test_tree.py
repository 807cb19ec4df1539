"""Trees over ordered bins, against the definition node by node."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.errors import TreeError
from dpopt.queries.ranges import tree as module
from dpopt.queries.ranges.tree import Tree

hierarchies = st.recursive(
    st.just("bin"), lambda parts: st.lists(parts, min_size=1, max_size=4), max_leaves=20
).filter(lambda found: isinstance(found, list))


def bins_below(node: Any) -> int:
    return sum(map(bins_below, node)) if isinstance(node, list) else 1


def by_hand(hierarchy: list[Any]) -> list[tuple[int, int, int, int]]:
    """Return parent, children, start and size of each node, level by level."""
    found: list[tuple[int, int, int, int]] = []
    queue: list[tuple[Any, int, int]] = [(hierarchy, -1, 0)]
    while queue:
        following = []
        for node, parent, start in queue:
            parts = node if isinstance(node, list) else []
            found.append((parent, len(parts), start, bins_below(node)))
            begin = start
            for part in parts:
                following.append((part, len(found) - 1, begin))
                begin += bins_below(part)
        queue = following
    return found


@given(hierarchy=hierarchies)
def test_nodes_are_those_of_the_hierarchy_level_by_level(hierarchy: list[Any]) -> None:
    tree, expected = Tree.nested(hierarchy), by_hand(hierarchy)
    assert len(tree) == len(expected)
    found = zip(
        tree.parent.tolist(), tree.children.tolist(), tree.start.tolist(), tree.size.tolist(), strict=True
    )
    assert list(found) == expected
    assert tree.bins == bins_below(hierarchy)
    assert tree.start[tree.leaf_of_bin].tolist() == list(range(tree.bins))
    assert not tree.children[tree.leaf_of_bin].any()


@given(hierarchy=hierarchies, seed=st.integers(0, 1000))
def test_totals_are_the_sums_of_the_bins(hierarchy: list[Any], seed: int) -> None:
    tree = Tree.nested(hierarchy)
    bins = np.random.default_rng(seed).integers(-5, 5, tree.bins)
    expected = [bins[start : start + size].sum() for start, size in zip(tree.start, tree.size, strict=True)]
    assert tree.totals(bins).tolist() == expected
    assert tree.totals(bins.astype(np.float64)).tolist() == expected


@given(bins=st.integers(1, 200), branching=st.integers(2, 20))
def test_a_balanced_tree_joins_so_many_nodes_and_the_last_what_is_left(bins: int, branching: int) -> None:
    tree = Tree.balanced(bins, branching)
    widths = [level.stop - level.start for level in tree.levels]
    assert widths[-1] == bins
    assert widths[0] == 1
    assert all(above == -(-below // branching) for above, below in pairwise(widths))
    for height, level in enumerate(reversed(tree.levels)):
        assert tree.start[level].tolist() == list(range(0, bins, branching**height))


def test_the_running_example() -> None:
    tree = Tree.balanced(4, 2)
    assert tree.totals(np.array([2, 0, 10, 2])).tolist() == [14, 2, 12, 2, 0, 10, 2]
    assert [(level.start, level.stop) for level in tree.levels] == [(0, 1), (1, 3), (3, 7)]


@pytest.mark.parametrize(
    ("children", "message"),
    [
        ([], "1 to"),
        ([1], "add up to 0"),
        ([2, 0], "add up to 1"),
        ([0, 1], "after their parents"),
        ([2, -1, 1, 0], "at least 0"),
        ([1, 0, 2, 0, 0], "after their parents|add up"),
    ],
)
def test_numbers_of_children_of_no_tree_are_refused(children: list[int], message: str) -> None:
    with pytest.raises(TreeError, match=message):
        Tree(np.array(children, dtype=np.int64))


def test_hierarchies_that_cannot_be_used_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TreeError, match="without bins"):
        Tree.nested(["a", []])
    deep: Any = "bin"
    for _ in range(module.DEEPEST + 1):
        deep = [deep]
    with pytest.raises(TreeError, match="at most 200 levels"):
        Tree.nested(deep)
    with pytest.raises(TreeError, match="level 1 has 3 nodes; the level above has 2 children"):
        Tree.of_levels([[2], [0, 0, 0]])
    with pytest.raises(TreeError, match="without children"):
        Tree.of_levels([[2], [1, 1]])
    with pytest.raises(TreeError, match="branching of at least 2, found 4 and 1"):
        Tree.balanced(4, 1)
    with pytest.raises(TreeError, match="branching of at least 2, found 0 and 2"):
        Tree.balanced(0, 2)
    with pytest.raises(TreeError, match="expected 2 bins, found an array of shape"):
        Tree.balanced(2, 2).totals(np.zeros(3))
    monkeypatch.setattr(module, "LARGEST_TREE", 10)
    with pytest.raises(TreeError, match="found 11 bins"):
        Tree.balanced(11, 2)
    with pytest.raises(TreeError, match="1 to 10 nodes, found 15"):
        Tree.balanced(8, 2)
