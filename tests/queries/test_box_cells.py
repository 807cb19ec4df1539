"""Boxes that divide a grid, and the texts that name a box."""

from __future__ import annotations

import numpy as np
import pytest

from dpopt.errors import WorkloadError
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.grids import (
    box_of_cells,
    cut_boxes,
    sides_of,
    sums_before,
    sums_of_boxes,
    whole_box,
)


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


def test_boxes_that_overlap_or_leave_gaps_are_refused() -> None:
    for stops in ([[2], [5]], [[3], [6]], [[2], [6]]):
        starts = np.array([[0], [3]]) if stops[0] == [2] else np.array([[0], [2]])
        with pytest.raises(WorkloadError, match="do not divide the grid"):
            box_of_cells((6,), starts, np.array(stops))
    with pytest.raises(WorkloadError, match="cut behind one of their own bins"):
        cut_boxes(*whole_box((4, 4)), 0, np.array([4]))


def test_a_text_names_a_range_of_each_column() -> None:
    axes = (Bins("a", 10), Bins("b", 3, ("x, y", "z", "w")))
    assert sides_of("2:5,z:w", axes) == [(2, 5), (1, 3)]
    assert sides_of("2:5,x, y:z", axes) == [(2, 5), (0, 2)]
    assert sides_of("2:5", axes[:1]) == [(2, 5)]
    with pytest.raises(WorkloadError, match="expected 2 ranges"):
        sides_of("2:5", axes)
