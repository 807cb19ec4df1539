"""Cells by empirical Bayes in the basis of their halves: consistent, nearer to sparse and smooth counts, errors as stated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dpopt.errors import TreeError, WorkloadError
from dpopt.inference.histograms.grid_least_squares import grid_least_squares, grid_precisions
from dpopt.inference.histograms.shrunken_halves import ShrunkenHalves, shrunken_halves
from dpopt.inference.histograms.tree_least_squares import range_variances
from dpopt.inference.shrinkage import ScaleMixture
from dpopt.queries.ranges.grids import Level, blocks_shape, halving_order, sums_before, sums_of_boxes
from dpopt.queries.ranges.tree import Tree

LEVELS: list[Level] = [(0,), (3,), (6,), (9,)]


def noisy_line(
    counts: np.ndarray, deviation: float, seed: int, total: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least-squares estimate from `LEVELS` with normal noise, and the variances of its parts."""
    generator = np.random.default_rng(seed)
    noisy = {
        level: np.add.reduceat(counts, np.arange(0, counts.size, 1 << level[0]))
        + deviation * generator.normal(size=blocks_shape(counts.shape, level))
        for level in LEVELS
    }
    precisions = dict.fromkeys(LEVELS, deviation**-2)
    parts = 1 / grid_precisions(counts.shape, precisions)
    if total is not None:
        parts[-1] = 0.0
    return grid_least_squares(counts.shape, noisy, precisions, total=total), parts


def random_ranges(bins: int, number: int = 400) -> tuple[np.ndarray, np.ndarray]:
    ends = np.random.default_rng(7).integers(0, bins, (2, number, 1))
    return ends.min(axis=0), ends.max(axis=0) + 1


def sums(cells: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    return sums_of_boxes(sums_before(np.ascontiguousarray(cells)), starts, stops)


def made_up(kind: str) -> np.ndarray:
    """Return 512 counts: few large ones, or smooth ones."""
    generator = np.random.default_rng(11)
    if kind == "sparse":
        return np.where(generator.random(512) < 0.03, generator.exponential(600, 512), 0.0).round()
    return generator.poisson(60 + 50 * np.sin(np.arange(512) / 80)).astype(np.float64)


@pytest.mark.parametrize("kind", ["sparse", "smooth"])
def test_answers_are_nearer_than_by_least_squares_and_their_errors_are_stated(kind: str) -> None:
    """20 releases, 400 ranges: what is covered has a standard error of about .02, as ranges of one release hang together."""
    counts, (starts, stops) = made_up(kind), random_ranges(512)
    truth = sums(counts, starts, stops)
    squares, covered = [], []
    for seed in range(20):
        estimate, parts = noisy_line(counts, 30.0, seed)
        found = shrunken_halves(estimate, parts)
        off = sums(found.cells, starts, stops) - truth
        squares.append([(off**2).mean(), ((sums(estimate, starts, stops) - truth) ** 2).mean()])
        covered.append(np.abs(off) <= 1.96 * np.sqrt(found.variances(starts, stops)))
    shrunken, plain = np.mean(squares, axis=0)
    assert shrunken < 0.9 * plain
    assert 0.88 < np.mean(covered) < 0.995


@pytest.mark.parametrize("shape", [(512,), (13,), (1,), (6, 5), (8, 4, 3)])
def test_cells_add_up_and_none_is_negative(shape: tuple[int, ...]) -> None:
    generator = np.random.default_rng(3)
    estimate = generator.normal(4, 9, shape)
    parts = np.full([len(bin(bins - 1)) - 1 if bins > 1 else 1 for bins in shape], 25.0)
    found = shrunken_halves(estimate, parts)
    assert found.cells.shape == shape
    assert found.cells.min() >= 0
    assert found.cells.sum() == pytest.approx(max(estimate.sum(), 0.0))
    starts, stops = np.zeros((1, len(shape)), np.int64), np.array([shape], dtype=np.int64)
    assert found.variances(starts, stops)[0] == pytest.approx(found.total_variance)


def test_stated_variances_are_those_of_random_divisions() -> None:
    """Shares drawn from two points with the stated moments, 40,000 times: variances of boxes within 5 %."""
    generator = np.random.default_rng(5)
    estimate = generator.exponential(50, (4, 8))
    found = shrunken_halves(estimate, np.full((3, 4), 90.0))
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


def test_without_shrinkage_it_is_least_squares() -> None:
    """One component of a very large variance: halves keep their estimates, ranges have the variances of least squares."""
    counts = np.full(64, 1e6) + np.arange(64.0)
    generator = np.random.default_rng(2)
    levels: list[Level] = [(0,), (2,), (4,)]
    noisy = {
        level: counts.reshape(-1, 1 << level[0]).sum(axis=1) + generator.normal(size=64 >> level[0])
        for level in levels
    }
    precisions = dict.fromkeys(levels, 1.0)
    estimate = grid_least_squares((64,), noisy, precisions)
    wide = ScaleMixture(np.array([1e3]), np.array([2.0]), 1.0, np.zeros(1, np.int64), np.zeros(1))
    found = shrunken_halves(estimate, 1 / grid_precisions((64,), precisions), prior=wide)
    np.testing.assert_allclose(found.cells, estimate, rtol=1e-9)
    tree = Tree.of_levels([[4], [4] * 4, [4] * 16, [0] * 64])
    variances = np.concatenate(([np.inf], np.ones(4 + 16 + 64)))
    starts, stops = random_ranges(64, 50)
    expected = range_variances(tree, variances, starts[:, 0], stops[:, 0])
    np.testing.assert_allclose(found.variances(starts, stops), expected, rtol=1e-3)


def test_a_known_total_is_kept_and_does_not_vary() -> None:
    counts = made_up("sparse")
    estimate, parts = noisy_line(counts, 30.0, 1, total=float(counts.sum()))
    found = shrunken_halves(estimate, parts)
    assert found.cells.sum() == pytest.approx(counts.sum())
    assert found.variances(np.array([[0]]), np.array([[512]]))[0] == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda _: shrunken_halves(np.ones(4), np.ones(4)), TreeError, "parts"),
        (lambda _: shrunken_halves(np.array([1.0, np.nan]), np.ones(2)), TreeError, "finite"),
        (lambda _: shrunken_halves(np.ones(2), -np.ones(2)), TreeError, "finite"),
        (lambda one: one.variances(np.array([[0]]), np.array([[5]])), WorkloadError, "box"),
    ],
)
def test_what_does_not_fit_is_refused(
    call: Callable[[ShrunkenHalves], object], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        call(shrunken_halves(np.ones(4), np.ones(3)))
