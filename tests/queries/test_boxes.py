"""Grids in Morton order, and boxes as nodes of their trees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpopt.errors import TreeError
from dpopt.queries.boxes import box_nodes, grid_from_bins, grid_tree, morton_cells, morton_codes


def test_the_order_of_a_grid_of_four_by_four() -> None:
    grid = grid_from_bins(np.arange(16.0), 2, 2)
    assert grid.tolist() == [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]


@given(dimensions=st.integers(1, 4), doublings=st.integers(0, 4), seed=st.integers(0, 10**6))
def test_codes_and_cells_are_inverse(dimensions: int, doublings: int, seed: int) -> None:
    codes = np.random.default_rng(seed).integers(0, 2 ** (dimensions * doublings), 20)
    cells = morton_cells(codes, dimensions, doublings)
    assert cells.shape == (20, dimensions)
    np.testing.assert_array_equal(morton_codes(cells, doublings), codes)


@settings(max_examples=60)
@given(shape=st.sampled_from([(1, 0), (1, 5), (2, 1), (2, 4), (3, 2), (4, 1)]), seed=st.integers(0, 10**6))
def test_a_box_is_the_disjoint_union_of_maximal_nodes(shape: tuple[int, int], seed: int) -> None:
    dimensions, doublings = shape
    generator = np.random.default_rng(seed)
    tree, side = grid_tree(dimensions, doublings), 2**doublings
    ends = np.sort(generator.integers(0, side + 1, (6, dimensions, 2)), axis=2)
    starts, stops = ends[..., 0], ends[..., 1]
    boxes, nodes = box_nodes(starts, stops, doublings)
    cells = morton_cells(np.arange(tree.bins), dimensions, doublings)
    for box in range(6):
        mine = nodes[boxes == box]
        assert (np.diff(mine) > 0).all()
        covered = np.zeros(tree.bins, dtype=int)
        for node in mine:
            covered[tree.start[node] : tree.start[node] + tree.size[node]] += 1
        inside = ((cells >= starts[box]) & (cells < stops[box])).all(axis=1)
        np.testing.assert_array_equal(covered, inside)
        for node in mine[mine > 0]:  # its parent does not fit
            above = tree.parent[node]
            assert not inside[tree.start[above] : tree.start[above] + tree.size[above]].all()


def test_no_box_at_all() -> None:
    boxes, nodes = box_nodes(np.zeros((0, 2), dtype=np.int64), np.zeros((0, 2), dtype=np.int64), 3)
    assert (boxes.size, nodes.size) == (0, 0)
    assert box_nodes(np.array([[1, 2]]), np.array([[1, 5]]), 3)[0].size == 0  # empty along an axis


def test_refusals() -> None:
    with pytest.raises(TreeError, match="at least 1 dimension and 0 doublings, found 0 and 3"):
        grid_tree(0, 3)
    with pytest.raises(TreeError, match=r"3 dimensions of 2\^9 have more cells"):
        grid_tree(3, 9)
    with pytest.raises(TreeError, match="between 0 and 7"):
        morton_codes(np.array([[3, 8]]), 3)
    with pytest.raises(TreeError, match=r"shape \(q, dimensions\)"):
        morton_codes(np.array([3, 4]), 3)
    with pytest.raises(TreeError, match="positions lie between 0 and 63"):
        morton_cells(np.array([64]), 2, 3)
    with pytest.raises(TreeError, match="expected 16 bins"):
        grid_from_bins(np.ones(15), 2, 2)
    with pytest.raises(TreeError, match="0 <= start <= stop <= 8"):
        box_nodes(np.array([[0, 3]]), np.array([[9, 4]]), 3)
    with pytest.raises(TreeError, match="of shape"):
        box_nodes(np.array([0, 3]), np.array([4, 4]), 3)


def test_too_many_nodes_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpopt.queries.boxes.LARGEST_DECOMPOSITION", 400)
    with pytest.raises(TreeError, match="more than 100 nodes together"):
        box_nodes(np.ones((10, 2), dtype=np.int64), np.full((10, 2), 15), 4)
