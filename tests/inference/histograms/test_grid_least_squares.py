"""The estimate of a grid is that of dense least squares, and its variances are those of the dense inverse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.errors import TreeError
from dpopt.inference.histograms.grid_least_squares import grid_least_squares, grid_precisions, haar
from dpopt.queries.ranges.grids import Level, block_of_cells, blocks_shape, box_variances, grid_levels

Shape = tuple[int, ...]
SHAPES = st.one_of(
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
@given(shape=SHAPES, seed=st.integers(0, 10**6))
def test_the_estimate_is_that_of_dense_least_squares(shape: Shape, seed: int) -> None:
    noisy, precisions = measured(shape, seed)
    rows, right = dense(shape, noisy, precisions)
    expected = np.linalg.lstsq(rows, right, rcond=None)[0].reshape(shape)
    assert grid_least_squares(shape, noisy, precisions) == pytest.approx(expected, abs=1e-7)


@settings(max_examples=60, deadline=None)
@given(shape=SHAPES, seed=st.integers(0, 10**6))
def test_stated_variances_are_those_of_the_dense_inverse_or_above(shape: Shape, seed: int) -> None:
    """They are equal where all numbers of bins are powers of 2."""
    noisy, precisions = measured(shape, seed)
    rows, _ = dense(shape, noisy, precisions)
    covariance = np.linalg.inv(rows.T @ rows)
    inverse = 1.0 / grid_precisions(shape, precisions)
    generator = np.random.default_rng(seed + 1)
    starts = np.array([[generator.integers(0, bins) for bins in shape] for _ in range(10)])
    stops = np.array(
        [
            [generator.integers(at + 1, bins + 1) for at, bins in zip(row, shape, strict=True)]
            for row in starts
        ]
    )
    powers = all(bins & (bins - 1) == 0 for bins in shape)
    for start, stop, variance in zip(
        starts, stops, box_variances(starts, stops, shape, inverse), strict=True
    ):
        box = np.zeros(shape)
        box[tuple(slice(*side) for side in zip(start, stop, strict=True))] = 1.0
        exact = float(box.reshape(-1) @ covariance @ box.reshape(-1))
        assert exact <= variance * (1 + 1e-9)
        if powers:
            assert variance == pytest.approx(exact)


@settings(max_examples=20, deadline=None)
@given(heights=st.lists(st.integers(0, 2), min_size=1, max_size=2), seed=st.integers(0, 10**6))
def test_a_known_total_is_kept_and_is_that_of_constrained_least_squares(
    heights: list[int], seed: int
) -> None:
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


def test_input_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(TreeError, match="single cells were not measured"):
        grid_precisions((4, 4), {(1, 1): 1.0})
    with pytest.raises(TreeError, match=r"level \(1, 0\): expected counts of shape \(2, 4\)"):
        grid_least_squares((4, 4), {(1, 0): np.zeros((4, 4))}, {(0, 0): 1.0, (1, 0): 1.0})
