"""Grids of counts: least squares and variances are those of dense ones; cells are not negative."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import TreeError
from dpopt.inference.histograms.grid_least_squares import (
    grid_least_squares,
    grid_precisions,
    haar,
    halve_from_the_whole,
)
from dpopt.queries.ranges.grids import Level, block_of_cells, blocks_shape, box_variances, grid_levels

Shape = tuple[int, ...]
SMALL_SHAPES = st.one_of(
    st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple),
    st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=3).map(tuple),
).filter(lambda some: np.prod(some) <= 64)


def rows_of(shape: Shape, level: Level) -> NDArray[np.float64]:
    blocks = int(np.prod(blocks_shape(shape, level)))
    inside = np.arange(blocks)[:, None] == block_of_cells(shape, level)[None, :]
    return np.asarray(inside, dtype=np.float64)


def measured(shape: Shape, seed: int) -> tuple[dict[Level, NDArray[np.float64]], dict[Level, float]]:
    """Return noisy counts of single cells and some of the other levels, and precisions."""
    generator = np.random.default_rng(seed)
    cells = generator.integers(0, 10, int(np.prod(shape))).astype(np.float64)
    noisy, precisions = {}, {}
    for level in grid_levels(shape):
        if not any(level) or generator.random() < 0.6:
            precisions[level] = float(generator.uniform(0.2, 2.0))
            exact = rows_of(shape, level) @ cells
            noise = generator.normal(size=exact.size) / precisions[level] ** 0.5
            noisy[level] = (exact + noise).reshape(blocks_shape(shape, level))
    return noisy, precisions


def dense(
    shape: Shape, noisy: dict[Level, NDArray[np.float64]], precisions: dict[Level, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the rows and the right-hand side of least squares, each divided by the standard deviation of its noise."""
    rows = np.vstack([rows_of(shape, level) * precisions[level] ** 0.5 for level in noisy])
    return rows, np.concatenate([noisy[level].reshape(-1) * precisions[level] ** 0.5 for level in noisy])


@settings(max_examples=60, deadline=None)
@given(shape=SMALL_SHAPES, seed=st.integers(0, 10**6))
def test_the_estimate_is_that_of_dense_least_squares(shape: Shape, seed: int) -> None:
    noisy, precisions = measured(shape, seed)
    rows, right = dense(shape, noisy, precisions)
    expected = np.linalg.lstsq(rows, right, rcond=None)[0].reshape(shape)
    assert grid_least_squares(shape, noisy, precisions) == pytest.approx(expected, abs=1e-7)


@settings(max_examples=60, deadline=None)
@given(shape=SMALL_SHAPES, seed=st.integers(0, 10**6))
def test_stated_variances_are_those_of_the_dense_inverse_or_above(shape: Shape, seed: int) -> None:
    """They are equal where all numbers of bins are powers of 2."""
    noisy, precisions = measured(shape, seed)
    rows, _ = dense(shape, noisy, precisions)
    covariance = np.linalg.inv(rows.T @ rows)
    inverse = 1.0 / grid_precisions(shape, precisions)
    generator = np.random.default_rng(seed + 1)
    starts = np.array([[generator.integers(0, bins) for bins in shape] for _ in range(10)])
    stops = np.array(
        [[generator.integers(at + 1, bins + 1) for at, bins in zip(row, shape, strict=True)] for row in starts]
    )
    powers = all(bins & (bins - 1) == 0 for bins in shape)
    for start, stop, variance in zip(starts, stops, box_variances(starts, stops, shape, inverse), strict=True):
        box = np.zeros(shape)
        box[tuple(slice(*side) for side in zip(start, stop, strict=True))] = 1.0
        exact = float(box.reshape(-1) @ covariance @ box.reshape(-1))
        assert exact <= variance * (1 + 1e-9)
        if powers:
            assert variance == pytest.approx(exact)


@settings(max_examples=20, deadline=None)
@given(heights=st.lists(st.integers(0, 2), min_size=1, max_size=2), seed=st.integers(0, 10**6))
def test_a_known_total_is_kept_and_is_that_of_constrained_least_squares(heights: list[int], seed: int) -> None:
    shape = tuple(2**height for height in heights)
    noisy, precisions = measured(shape, seed)
    noisy.pop(tuple(heights), None) if any(heights) else None
    precisions = {level: precisions[level] for level in noisy}
    found = grid_least_squares(shape, noisy, precisions, total=17.0)
    assert found.sum() == pytest.approx(17.0)
    rows = np.vstack([rows_of(shape, level) * precisions[level] ** 0.5 for level in noisy])
    right = np.concatenate([noisy[level].reshape(-1) * precisions[level] ** 0.5 for level in noisy])
    number = found.size
    system = np.block([[rows.T @ rows, np.ones((number, 1))], [np.ones((1, number)), np.zeros((1, 1))]])
    expected = np.linalg.solve(system, np.append(rows.T @ right, 17.0))[:-1]
    assert found.reshape(-1) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("height", range(5))
def test_the_transform_is_orthonormal_and_its_own_inverse_goes_back(height: int) -> None:
    width = 2**height
    matrix = haar(np.eye(width), 0)
    assert matrix @ matrix.T == pytest.approx(np.eye(width))
    assert haar(matrix, 0, back=True) == pytest.approx(np.eye(width))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: grid_precisions((4, 4), {(1, 1): 1.0}), "single cells"),
        (
            lambda: grid_least_squares((4, 4), {(1, 0): np.zeros((4, 4))}, {(0, 0): 1.0, (1, 0): 1.0}),
            r"level \(1, 0\): expected counts of shape \(2, 4\)",
        ),
        (lambda: halve_from_the_whole(np.zeros((2, 2)), np.zeros((2, 3)), 1.0), "one shape"),
        (lambda: halve_from_the_whole(np.full((2, 2), np.nan), np.zeros((2, 2)), 1.0), "finite"),
    ],
)
def test_input_that_makes_no_sense_is_refused(call: Callable[[], object], says: str) -> None:
    with pytest.raises(TreeError, match=says):
        call()


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
    assert halve_from_the_whole(estimate.T, estimate.T, 1e9) == pytest.approx(np.array([[5.0, 0.0], [1.0, 0.0]]))


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
