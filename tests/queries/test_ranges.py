"""Trees, hierarchies, grids and boxes over ordered bins, against their definitions; weighted ranges read from files."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpopt.errors import TreeError, WorkloadError
from dpopt.queries.ranges import tree as module
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.grids import (
    block_of_cells,
    blocks_shape,
    box_of_cells,
    box_variances,
    check_boxes,
    cut_boxes,
    grid_heights,
    grid_levels,
    halving_order,
    informative_levels,
    sides_of,
    sums_before,
    sums_of_boxes,
    whole_box,
)
from dpopt.queries.ranges.tree import Tree, deepened, hierarchy_of, read_hierarchy
from dpopt.queries.ranges.weighted_ranges import WeightedRanges
from tests.inference.histograms.small_trees import coverage, random_tree

hierarchies = st.recursive(st.just("bin"), lambda parts: st.lists(parts, min_size=1, max_size=4), max_leaves=20).filter(
    lambda found: isinstance(found, list)
)


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
    found = zip(tree.parent.tolist(), tree.children.tolist(), tree.start.tolist(), tree.size.tolist(), strict=True)
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
        ([], "1 to"), ([1], "add up to 0"), ([2, 0], "add up to 1"), ([0, 1], "after their parents"),
        ([2, -1, 1, 0], "at least 0"), ([1, 0, 2, 0, 0], "after their parents|add up"),
    ],
)  # fmt: skip
def test_numbers_of_children_of_no_tree_are_refused(children: list[int], message: str) -> None:
    with pytest.raises(TreeError, match=message):
        Tree(np.array(children, dtype=np.int64))


def nested(depth: int) -> Any:
    return [nested(depth - 1)] if depth else "bin"


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Tree.nested(["a", []]), "without bins"),
        (lambda: Tree.nested(nested(module.DEEPEST + 1)), "200 levels"),
        (lambda: Tree.of_levels([[2], [0, 0, 0]]), "level 1 has 3 nodes"),
        (lambda: Tree.of_levels([[2], [1, 1]]), "without children"),
        (lambda: Tree.balanced(4, 1), "found 4 and 1"),
        (lambda: Tree.balanced(0, 2), "found 0 and 2"),
        (lambda: Tree.balanced(2, 2).totals(np.zeros(3)), "2 bins"),
        (lambda: Tree.balanced(11, 2), "found 11 bins"),
        (lambda: Tree.balanced(8, 2), "found 15"),
    ],
)
def test_unusable_hierarchies_are_refused(
    call: Callable[[], object], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGEST_TREE", 10)
    with pytest.raises(TreeError, match=says):
        call()


BINS = Bins("fruit", 5, ("apple", "pear", "plum", "cherry", "fig"))


def test_labels_and_positions_name_the_same_bins(tmp_path: Path) -> None:
    by_label = [["apple", "pear"], [["plum"], "cherry"], "fig"]
    by_position = [[0, 1], [[2], 3], 4]
    tree = hierarchy_of(by_label, BINS)
    assert tree.children.tolist() == hierarchy_of(by_position, BINS).children.tolist()
    assert tree.children.tolist() == hierarchy_of(by_position, Bins("fruit", 5)).children.tolist()
    assert [level.stop - level.start for level in tree.levels] == [1, 3, 4, 1]
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
        (["apple", ["pear", "plumm"], "cherry", "fig"], "found 'plumm', which is not a bin of fruit; did you mean 'plum'"),
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


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "h.json"
    with pytest.raises(TreeError, match="labels"):  # bins without labels are named by positions
        hierarchy_of(["a", "b"], Bins("x", 2))
    with pytest.raises(TreeError, match="cannot"):
        read_hierarchy(path, BINS)
    path.write_text("[0, 1]")
    with pytest.raises(TreeError, match="999,999,999,998 more"):
        read_hierarchy(path, Bins("x", 10**12 + 1))
    path.write_text("[1,")
    with pytest.raises(TreeError, match="line 1, column 4"):
        read_hierarchy(path, BINS)
    path.write_bytes(b"\xff\xfe\xff")
    with pytest.raises(TreeError, match="not UTF-8"):
        read_hierarchy(path, BINS)
    for depth, message in ((240, "at most 200 levels"), (100_000, "nested too deeply")):
        path.write_text("[" * depth + "0" + "]" * depth)
        with pytest.raises(TreeError, match=message):
            read_hierarchy(path, Bins("x", 1))


SHAPES = st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple)


@given(shape=SHAPES, data=st.data())
def test_a_cell_lies_in_the_block_of_its_coordinates(shape: tuple[int, ...], data: st.DataObject) -> None:
    level = data.draw(st.sampled_from(grid_levels(shape)))
    blocks = blocks_shape(shape, level)
    found = block_of_cells(shape, level).reshape(shape)
    for cell in np.ndindex(*shape):
        place = tuple(at // 2**height for at, height in zip(cell, level, strict=True))
        assert found[cell] == np.ravel_multi_index(place, blocks)
    assert found.max() == np.prod(blocks) - 1


def test_levels_begin_with_single_cells_and_end_with_the_whole_grid() -> None:
    levels = grid_levels((5, 2))
    assert grid_heights((5, 2)) == (3, 1)
    assert levels[0] == (0, 0)
    assert levels[-1] == (3, 1)
    assert len(levels) == 8
    assert blocks_shape((5, 2), (1, 0)) == (3, 2)


def test_a_level_tells_of_parts_that_are_nowhere_below_it() -> None:
    reported = informative_levels([(0, 0), (1, 0), (1, 1)], [(0, 0), (0, 1), (1, 0), (1, 1)])
    assert reported.tolist() == [[1, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]]


@settings(max_examples=40)
@given(heights=st.lists(st.integers(0, 2), min_size=1, max_size=3).map(tuple), seed=st.integers(0, 10**6))
def test_loads_are_squared_norms_of_the_parts_of_a_box(heights: tuple[int, ...], seed: int) -> None:
    """Each part is a product of differences of projections onto functions that are constant on blocks."""
    shape = tuple(2**height for height in heights)
    generator = np.random.default_rng(seed)
    starts = np.array([[generator.integers(0, bins) for bins in shape]])
    stops = np.array([[generator.integers(start + 1, bins + 1) for start, bins in zip(starts[0], shape, strict=True)]])
    box = np.zeros(shape)
    box[tuple(slice(*side) for side in zip(starts[0], stops[0], strict=True))] = 1.0
    levels = [height + 1 for height in heights]
    parts = np.eye(int(np.prod(levels))).reshape(-1, *levels)  # the load of a part: all that it alone adds
    found = np.array([box_variances(starts, stops, shape, part)[0] for part in parts])
    for load, level in zip(found, grid_levels(shape), strict=True):
        part = box
        for axis, height in enumerate(level):
            rest = np.moveaxis(part, axis, 0)
            here = _means(rest, 2**height)
            above = _means(rest, 2 ** (height + 1)) if height < heights[axis] else np.zeros_like(rest)
            part = np.moveaxis(here - above, 0, axis)
        assert load == pytest.approx(float((part**2).sum()), abs=1e-9)
    inverse = generator.uniform(0.5, 2.0, levels)
    assert box_variances(starts, stops, shape, inverse)[0] == pytest.approx(found @ inverse.reshape(-1))


def _means(values: np.ndarray, size: int) -> np.ndarray:
    blocks = values.reshape(-1, size, *values.shape[1:]).mean(axis=1)
    return np.repeat(blocks, size, axis=0)


@given(heights=st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple))
def test_halving_keeps_the_cells_of_each_block_together(heights: tuple[int, ...]) -> None:
    """Each node of the tree is an aligned box: a block of some level."""
    order = halving_order(heights)
    shape = tuple(2**height for height in heights)
    assert sorted(order.tolist()) == list(range(int(np.prod(shape))))
    places = np.stack(np.unravel_index(order, shape), axis=1)
    tree = Tree.balanced(order.size, 2)
    for start, size in zip(tree.start.tolist(), tree.size.tolist(), strict=True):
        cells = places[start : start + size]
        sides = cells.max(axis=0) - cells.min(axis=0) + 1
        assert np.prod(sides) == size
        assert not (cells.min(axis=0) % sides).any()


def test_boxes_outside_the_grid_are_refused() -> None:
    for start, stop in (((0, 0), (4, 3)), ((-1, 0), (1, 1)), ((2, 1), (2, 2))):
        with pytest.raises(WorkloadError, match="start < stop"):
            check_boxes(np.array([start]), np.array([stop]), (4, 2))
    with pytest.raises(WorkloadError, match="shape"):
        check_boxes(np.array([[0]]), np.array([[1]]), (4, 2))


@pytest.mark.parametrize("shape", [(7,), (5, 4), (3, 4, 2)])
def test_random_cuts_divide_the_grid_and_keep_the_order(shape: tuple[int, ...]) -> None:
    generator = np.random.default_rng(len(shape))
    starts, stops = whole_box(shape)
    cells = generator.integers(0, 9, shape)
    before = sums_before(cells)
    for step in range(6):
        axis = step % len(shape)
        ends = generator.integers(starts[:, axis], stops[:, axis])
        lower, upper, parts = cut_boxes(starts, stops, axis, ends)
        assert parts.sum() == len(lower)
        owner = np.repeat(np.arange(parts.size), parts)
        assert (lower >= starts[owner]).all()
        assert (upper <= stops[owner]).all()
        starts, stops = lower, upper
        numbers = box_of_cells(shape, starts, stops).reshape(shape)
        sums = sums_of_boxes(before, starts, stops)
        for number, (low, high) in enumerate(zip(starts, stops, strict=True)):
            inside = tuple(slice(a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True))
            assert (numbers[inside] == number).all()
            assert sums[number] == cells[inside].sum()
        assert np.array_equal(sums_of_boxes(sums_before(cells / 8), starts, stops), sums / 8)  # exact in binary


def test_boxes_that_overlap_or_leave_gaps_are_refused() -> None:
    for stops in ([[2], [5]], [[3], [6]], [[2], [6]]):
        starts = np.array([[0], [3]]) if stops[0] == [2] else np.array([[0], [2]])
        with pytest.raises(WorkloadError, match="divide"):
            box_of_cells((6,), starts, np.array(stops))
    with pytest.raises(WorkloadError, match="own bins"):
        cut_boxes(*whole_box((4, 4)), 0, np.array([4]))


def test_a_text_names_a_range_of_each_column() -> None:
    axes = (Bins("a", 10), Bins("b", 3, ("x, y", "z", "w")))
    assert sides_of("2:5,z:w", axes) == [(2, 5), (1, 3)]
    assert sides_of("2:5,x, y:z", axes) == [(2, 5), (0, 2)]
    assert sides_of("2:5", axes[:1]) == [(2, 5)]
    with pytest.raises(WorkloadError, match="ranges"):
        sides_of("2:5", axes)


AGES = Bins("age", 4, ("[0, 18)", "[18, 30)", "[30, 65)", "[65, 100]"), (0.0, 18.0, 30.0, 65.0, 100.0))
FRUIT = Bins("fruit", 3, ("apple", "pear, sweet", "plum"))


def read(folder: Path, text: str, bins: Bins = AGES) -> WeightedRanges:
    path = folder / "ranges.csv"
    path.write_text(text, encoding="utf-8")
    return WeightedRanges.read(path, bins)


def rows(ranges: WeightedRanges) -> list[tuple[int, int, float]]:
    return list(zip(ranges.starts.tolist(), ranges.stops.tolist(), ranges.weights.tolist(), strict=True))


@pytest.mark.parametrize("header", ["", "range\n", "range,weight\n", "\ufeffrange,weight\n"])
def test_lines_are_ranges_with_weights(tmp_path: Path, header: str) -> None:
    found = read(tmp_path, f"{header}18:65,3\n\n65:\n 0:30 , 0.5\n")
    assert rows(found) == [(1, 3, 3.0), (3, 4, 1.0), (0, 2, 0.5)]
    assert found.shares == pytest.approx([3 / 4.5, 1 / 4.5, 0.5 / 4.5])
    assert found.bins == 4


def test_labels_and_positions_are_ranges_too(tmp_path: Path) -> None:
    assert rows(read(tmp_path, '"pear, sweet:plum",2\napple:apple\n', FRUIT)) == [(1, 3, 2.0), (0, 1, 1.0)]
    assert rows(read(tmp_path, "0:64\n:\n", Bins("x", 100))) == [(0, 64, 1.0), (0, 100, 1.0)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no range"),
        ("range,weight\n", "has no range"),
        ("18:65\n\n20:30\n", "line 3: age: 20 is not an edge of a bin"),
        ("18-65\n", "line 1: found the range '18-65'; expected two ends and a colon"),
        ("18:65,1\n65:18\n", "line 2: the range '65:18' holds no bin"),
        ("18:65,1,2\n", "line 1: found 3 cells"),
        ("18:65,much\n", "line 1: found the weight 'much'"),
        ("18:65,-1\n", "line 1: found the weight '-1'; expected a number of at least 0"),
        ("18:65,inf\n", "line 1: found the weight 'inf'"),
        ("18:65,0\n0:18,0\n", "all weights are 0"),
        ("range,weight\nrange,weight\n", "line 2: found the range 'range'"),
    ],
)
def test_a_line_that_is_no_range_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        read(tmp_path, text)


def test_files_of_ranges_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="cannot"):
        WeightedRanges.read(tmp_path / "none.csv", AGES)
    (tmp_path / "other.csv").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(WorkloadError, match="not UTF-8"):
        WeightedRanges.read(tmp_path / "other.csv", AGES)


@pytest.mark.parametrize(
    ("starts", "stops", "weights", "message"),
    [
        ([], [], [], "at least one range"),
        ([0, 1], [2], [1.0], "found 2 starts, 1 stops and 1 weights"),
        ([0, 2], [2, 2], [1.0, 1.0], "range 1 goes from 2 to 2; expected 0 <= start < stop <= 4"),
        ([0], [5], [1.0], "range 0 goes from 0 to 5"),
        ([-1], [2], [1.0], "range 0 goes from -1 to 2"),
        ([0], [2], [-1.0], "finite numbers of at least 0"),
        ([0], [2], [np.nan], "finite numbers of at least 0"),
        ([0], [2], [0.0], "not all of them 0"),
        ([0.5], [2], [1.0], "whole numbers"),
    ],
)
def test_ranges_that_make_no_sense_are_refused(starts: Any, stops: Any, weights: Any, message: str) -> None:
    with pytest.raises(WorkloadError, match=message):
        WeightedRanges(starts, stops, weights, 4)
