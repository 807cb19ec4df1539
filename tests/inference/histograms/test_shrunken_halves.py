"""Boxes of cells that were halved at random: stated variances are those of the halves; boxes that there are not are refused."""

from __future__ import annotations

import numpy as np
import pytest

from dpopt.errors import WorkloadError
from dpopt.inference.histograms.halves_in_rounds import Round, first_nodes, halves_in_rounds
from dpopt.inference.histograms.shrunken_halves import ShrunkenHalves
from dpopt.queries.ranges.grids import grid_heights, halving_order


def measured(shape: tuple[int, ...], seed: int = 5) -> ShrunkenHalves:
    """Return the halves of one round that measures every cell."""
    nodes = first_nodes(shape, sum(grid_heights(shape)))
    counts = np.random.default_rng(seed).exponential(50, nodes.size).round().astype(np.int64)
    return halves_in_rounds(shape, [Round(nodes, counts, 90.0)])


@pytest.mark.parametrize("shape", [(512,), (13,), (6, 5), (8, 4, 3)])
def test_cells_add_up_and_none_is_negative(shape: tuple[int, ...]) -> None:
    found = measured(shape)
    assert found.cells.shape == shape
    assert found.cells.min() >= 0
    assert found.cells.sum() == pytest.approx(found.total)
    starts, stops = np.zeros((1, len(shape)), np.int64), np.array([shape], dtype=np.int64)
    assert found.variances(starts, stops)[0] == pytest.approx(found.total_variance)


def test_stated_variances_are_those_of_random_divisions() -> None:
    """Shares drawn from two points with the stated moments, 40,000 times: variances of boxes within 5 %."""
    generator = np.random.default_rng(5)
    found = measured((4, 8))
    draws = 40_000
    signs = generator.choice([-1.0, 1.0], (draws, found.shares.size))
    shares = found.shares + signs * np.sqrt(found.share_variances)
    counts = found.total + generator.normal(size=(draws, 1)) * np.sqrt(found.total_variance)
    for level in range(5):
        first = shares[:, (1 << level) - 1 : (2 << level) - 1]
        counts = np.stack((counts * first, counts * (1 - first)), axis=2).reshape(draws, -1)

    flat = np.empty((draws, 32))
    flat[:, halving_order((2, 3))] = counts
    cells = flat.reshape(draws, 4, 8)
    for box in (((0, 4), (0, 8)), ((1, 3), (2, 7)), ((0, 1), (0, 1)), ((2, 4), (1, 2))):
        (top, bottom), (left, right) = box
        drawn = cells[:, top:bottom, left:right].sum(axis=(1, 2))
        starts, stops = np.array([[top, left]]), np.array([[bottom, right]])
        assert found.variances(starts, stops)[0] == pytest.approx(drawn.var(), rel=0.05)
        assert found.cells[top:bottom, left:right].sum() == pytest.approx(drawn.mean(), rel=0.02)


def test_a_box_that_there_is_not_is_refused() -> None:
    with pytest.raises(WorkloadError, match="box"):
        measured((4,)).variances(np.array([[0]]), np.array([[5]]))
