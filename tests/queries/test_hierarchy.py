"""Hierarchies of bins: read from files, checked against the bins, deepened, and written as nested lists again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpopt.errors import TreeError
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.hierarchy import deepened, hierarchy_of, nested_positions, read_hierarchy
from dpopt.queries.ranges.tree import Tree
from tests.inference.histograms.small_trees import coverage, random_tree

BINS = Bins("fruit", 5, ("apple", "pear", "plum", "cherry", "fig"))


def test_labels_and_positions_name_the_same_bins(tmp_path: Path) -> None:
    by_label = [["apple", "pear"], [["plum"], "cherry"], "fig"]
    by_position = [[0, 1], [[2], 3], 4]
    tree = hierarchy_of(by_label, BINS)
    assert tree.children.tolist() == hierarchy_of(by_position, BINS).children.tolist()
    assert tree.children.tolist() == hierarchy_of(by_position, Bins("fruit", 5)).children.tolist()
    assert [level.stop - level.start for level in tree.levels] == [1, 3, 4, 1]
    assert nested_positions(tree) == by_position
    path = tmp_path / "fruit.json"
    path.write_text(json.dumps(by_label))
    assert read_hierarchy(path, BINS).children.tolist() == tree.children.tolist()


@pytest.mark.parametrize("seed", range(20))
def test_a_deepened_tree_has_the_same_groups_and_every_level_divides_the_bins(seed: int) -> None:
    generator = np.random.default_rng(seed)
    trees = (random_tree(generator, most=12, deepest=4) for _ in range(100))
    tree = next(tree for tree in trees if len(tree) > 1)
    deep = deepened(tree)
    assert len(deep.levels) == len(tree.levels)
    groups, covered = coverage(tree), coverage(deep)
    lowest = len(tree.levels) - 1
    for depth, (level, own) in enumerate(zip(deep.levels, tree.levels, strict=True)):
        assert covered[level].sum(axis=0).tolist() == [1.0] * tree.bins
        kept = {tuple(row) for row in groups[own]}
        above = {tuple(groups[leaf]) for leaf in tree.leaf_of_bin if leaf < own.start}
        assert {tuple(row) for row in covered[level]} == kept | above
        assert (deep.children[level] == 0).all() == (depth == lowest)
    assert (
        hierarchy_of(nested_positions(tree), Bins("bins", tree.bins)).children.tolist()
        == tree.children.tolist()
    )


def test_a_tree_whose_leaves_are_on_one_level_stays_as_it_is() -> None:
    tree = Tree.balanced(10, 3)
    assert deepened(tree).children.tolist() == tree.children.tolist()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"a": 1}, "expected a list of groups and bins"),
        ([], "'apple', and 4 more is missing"),
        ([["apple", "pear"], ["plum", "fig"]], "the bin 'cherry' is missing"),
        (["apple", ["pear", "apple"], "plum", "cherry", "fig"], "the bin 'apple' stands in it 2 times"),
        (["apple", ["plum", "pear"], "cherry", "fig"], "found the bin 'plum' where 'pear' is expected"),
        (["apple", ["pear", "plumm"], "cherry", "fig"], "found 'plumm', which is no bin of fruit; did you mean 'plum'"),
        (["apple", "xyzzy"], "they begin with 'apple'"),
        ([0, 1, 2, 3, 5], "found the position 5; bins are numbered 0 to 4"),
        ([0, 1, 2, 3, -1], "found the position -1"),
        ([0, 1, 2, 3, 4.0], "found 4.0; expected lists, labels"),
        ([0, 1, 2, 3, True], "found true; expected lists, labels"),
        ([{"name": [0, 1]}, 2, 3, 4], "expected lists, labels"),
        ([0, 1, [], 2, 3, 4], "a group without bins"),
    ],
)  # fmt: skip
def test_what_is_no_hierarchy_is_refused_with_what_is_wrong(given: Any, message: str) -> None:
    with pytest.raises(TreeError, match=message):
        hierarchy_of(given, BINS)


def test_bins_without_labels_are_named_by_positions() -> None:
    with pytest.raises(TreeError, match="the bins have no labels; name them by positions"):
        hierarchy_of(["a", "b"], Bins("x", 2))


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    with pytest.raises(TreeError, match="cannot be read: No such file"):
        read_hierarchy(path, BINS)
    path.write_text("[0, 1]")
    with pytest.raises(TreeError, match="999,999,999,998 more is missing"):
        read_hierarchy(path, Bins("x", 10**12 + 1))
    path.write_text("[1,")
    with pytest.raises(TreeError, match="is no JSON: line 1, column 4"):
        read_hierarchy(path, BINS)
    path.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(TreeError, match="not UTF-8"):
        read_hierarchy(path, BINS)
    for depth, message in ((240, "at most 200 levels"), (100_000, "nested too deeply")):
        path.write_text("[" * depth + "0" + "]" * depth)
        with pytest.raises(TreeError, match=message):
            read_hierarchy(path, Bins("x", 1))
