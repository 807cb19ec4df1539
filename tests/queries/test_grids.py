"""Blocks, boxes and the order of cells, against what they are by definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpopt.errors import WorkloadError
from dpopt.queries.ranges.grids import (
    block_of_cells,
    blocks_shape,
    box_variances,
    grid_heights,
    grid_levels,
    halving_order,
    levels_that_tell,
    loads_of_boxes,
)
from dpopt.queries.ranges.tree import Tree

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
    told = levels_that_tell([(0, 0), (1, 0), (1, 1)], [(0, 0), (0, 1), (1, 0), (1, 1)])
    assert told.tolist() == [[1, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]]


@settings(max_examples=40)
@given(heights=st.lists(st.integers(0, 2), min_size=1, max_size=3).map(tuple), seed=st.integers(0, 10**6))
def test_loads_are_squared_norms_of_the_parts_of_a_box(heights: tuple[int, ...], seed: int) -> None:
    """Each part is a product of differences of projections onto functions that are constant on blocks."""
    shape = tuple(2**height for height in heights)
    generator = np.random.default_rng(seed)
    starts = np.array([[generator.integers(0, bins) for bins in shape]])
    stops = np.array(
        [[generator.integers(start + 1, bins + 1) for start, bins in zip(starts[0], shape, strict=True)]]
    )
    box = np.zeros(shape)
    box[tuple(slice(*side) for side in zip(starts[0], stops[0], strict=True))] = 1.0
    found = loads_of_boxes(starts, stops, shape)[0]
    for load, level in zip(found, grid_levels(shape), strict=True):
        part = box
        for axis, height in enumerate(level):
            rest = np.moveaxis(part, axis, 0)
            here = _means(rest, 2**height)
            above = _means(rest, 2 ** (height + 1)) if height < heights[axis] else np.zeros_like(rest)
            part = np.moveaxis(here - above, 0, axis)
        assert load == pytest.approx(float((part**2).sum()), abs=1e-9)
    inverse = generator.uniform(0.5, 2.0, [height + 1 for height in heights])
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
        with pytest.raises(WorkloadError, match="expected 0 <= start < stop <="):
            loads_of_boxes(np.array([start]), np.array([stop]), (4, 2))
    with pytest.raises(WorkloadError, match="of shape"):
        loads_of_boxes(np.array([[0]]), np.array([[1]]), (4, 2))
