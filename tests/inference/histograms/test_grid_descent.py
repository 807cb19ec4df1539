"""Cells are not negative, keep what least squares says wherever it can be kept, and nothing lies beyond the grid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpopt.errors import TreeError
from dpopt.inference.histograms.grid_least_squares import halve_from_the_whole

SHAPES = st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple)


@settings(max_examples=50, deadline=None)
@given(shape=SHAPES, seed=st.integers(0, 10**6))
def test_estimates_without_negative_cells_stay_as_they_are(shape: tuple[int, ...], seed: int) -> None:
    estimate = np.random.default_rng(seed).uniform(0.0, 5.0, shape)
    assert halve_from_the_whole(estimate, estimate, 1.0) == pytest.approx(estimate, abs=1e-9)


@settings(max_examples=50, deadline=None)
@given(shape=SHAPES, seed=st.integers(0, 10**6))
def test_no_cell_is_negative_and_the_total_stays(shape: tuple[int, ...], seed: int) -> None:
    generator = np.random.default_rng(seed)
    estimate = generator.normal(0.5, 3.0, shape)
    found = halve_from_the_whole(estimate, estimate, 1e9)
    assert found.min() >= 0.0
    assert found.sum() == pytest.approx(max(estimate.sum(), 0.0), abs=1e-9)


def test_a_worked_example() -> None:
    """The whole is 6; halved along the columns into (5, 1); 5 into 7 and -2, so 5 and 0; 1 into 3 and -2, so 1 and 0."""
    estimate = np.array([[7.0, 3.0], [-2.0, -2.0]])
    assert halve_from_the_whole(estimate.T, estimate.T, 1e9) == pytest.approx(
        np.array([[5.0, 0.0], [1.0, 0.0]])
    )


def test_cells_that_are_surely_there_survive_a_total_that_is_too_small() -> None:
    counts = np.zeros((8, 8))
    counts[2, 5] = 1000.0
    estimate = counts - 1000.0 / 64
    estimate[0] -= 20.0
    found = halve_from_the_whole(estimate, counts, 2.0)
    assert estimate.sum() < 0
    assert found[2, 5] > 950.0


@pytest.mark.parametrize("seed", range(5))
def test_on_sparse_grids_cells_are_far_nearer_than_by_least_squares(seed: int) -> None:
    """One cell in a hundred is occupied: the squared error of single cells is less than half as large."""
    generator = np.random.default_rng(seed)
    exact = np.where(generator.random((64, 64)) < 0.01, 50.0, 0.0)
    counts = exact + generator.normal(0.0, 2.0, exact.shape)
    estimate = counts + (exact.sum() - counts.sum()) / exact.size
    found = halve_from_the_whole(estimate, counts, 4.0)
    assert ((found - exact) ** 2).mean() < 0.5 * ((estimate - exact) ** 2).mean()


def test_input_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(TreeError, match="of one shape"):
        halve_from_the_whole(np.zeros((2, 2)), np.zeros((2, 3)), 1.0)
    with pytest.raises(TreeError, match="finite"):
        halve_from_the_whole(np.full((2, 2), np.nan), np.zeros((2, 2)), 1.0)
