"""Cells of a grid from noisy counts of its blocks: by least squares, and then without negative cells.

Problem of `grid_least_squares`, for levels l of blocks, each measured with a precision p_l of its own: minimize sum
over l of p_l sum over blocks b of l of (y_b - sum of x over b)^2, over all x (cells).

In the Haar basis of the grid (products of those of its axes) the normal equations are diagonal: level l adds p_l B_l,
B_l the cells of a block, to each part that is nowhere below l (LB-3, LB-7 of models/level_budgets), and its right-hand
side there is p_l B_l^(1/2) times the Haar transform of its counts. So the estimate is one transform for each level, a
division, and one transform back; its errors in different parts are not correlated.

Axes whose number of bins is no power of 2 are continued, and the cells beyond the last bins are 0 for sure. Then the
equations are no longer diagonal, but nearly: conjugate gradients, preconditioned by the division above, take 4 to 10
steps. Knowing more makes the variance smaller than the sum over the parts, which is stated.

Source: Li et al. 2015 (the matrix mechanism) for least squares; Xiao, Wang and Gehrke 2011 (Privelet) for wavelets.

Problem of `halve_from_the_whole`, at each block from the whole grid down: minimize sum_u (x_u - z_u)^2 / V_u over its
two halves u, subject to x_u >= l_u and x_1 + x_2 = the block's own value, so that totals stay unbiased; z_u is the
least-squares estimate of the half, and l_u what its cells hold beyond any noise that is to be expected. Blocks are
halved along each side in turn (`halving_order`). The two halves of a block have the same variance, and so V_u is how
much of the half lies in the grid: 0 beyond the last bins.

Source: as `divide_from_the_root`. Halves rather than the measured levels, because boxes cut through blocks: on grids
with few occupied cells the mean squared error of random boxes was up to ten times smaller than with all measured parts
at once. A short side must not be left to the end: divided among two values within single cells alone, nearly empty ones
go half and half, and the sums over one value were off by some twenty standard errors (75 ages by 100 hours by two
sexes).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import TreeError
from dpopt.inference.histograms.tree_least_squares import surely_there
from dpopt.queries.ranges.grids import (
    Level,
    blocks_shape,
    grid_heights,
    grid_levels,
    halving_order,
    informative_levels,
    padded_cells,
)
from dpopt.queries.ranges.tree import Tree

_NEAR, _MOST_STEPS = 1e-12, 200


def grid_precisions(shape: Sequence[int], precisions: Mapping[Level, float]) -> NDArray[np.float64]:
    """Return the precision of each part, (L_1 + 1, ..., L_D + 1): lambda of LB-3.

    `precisions` are one over the variance of the noise of a block's count, of the measured levels.
    """
    heights = grid_heights(shape)
    if not precisions.get((0,) * len(heights), 0.0) > 0.0:
        raise TreeError("single cells were not measured, and nothing else determines them")
    measured = list(precisions)
    informative = informative_levels(measured, grid_levels(shape))
    weights = np.array([precisions[level] * 2.0 ** sum(level) for level in measured])
    return np.asarray(informative @ weights).reshape([height + 1 for height in heights])


def grid_least_squares(
    shape: Sequence[int],
    noisy: Mapping[Level, NDArray[np.float64]],
    precisions: Mapping[Level, float],
    *,
    total: float | None = None,
) -> NDArray[np.float64]:
    """Return the estimate of each cell of least variance, of the grid's shape: to 12 digits of the largest correction.

    `noisy` are the counts of the measured levels, of `blocks_shape`; `total` the sum of all cells, where it is known
    without noise.
    """
    heights = grid_heights(shape)
    gathered = grid_precisions(shape, precisions)
    gathered = gathered[np.ix_(*(_part_of_coefficients(height) for height in heights))]
    right = np.zeros([1 << height for height in heights])
    for level, counts in noisy.items():
        if counts.shape != blocks_shape(shape, level):
            raise TreeError(
                f"level {level}: expected counts of shape {blocks_shape(shape, level)}, found {counts.shape}"
            )
        width = [1 << (height - own) for height, own in zip(heights, level, strict=True)]
        coarse = np.zeros(width)
        coarse[tuple(slice(number) for number in counts.shape)] = counts
        for axis in range(len(width)):
            coarse = haar(coarse, axis)
        right[tuple(slice(number) for number in width)] += precisions[level] * 2.0 ** (sum(level) / 2.0) * coarse
    if all(bins == 1 << height for bins, height in zip(shape, heights, strict=True)):
        right /= gathered
        if total is not None:
            right[(0,) * len(heights)] = total / 2.0 ** (sum(heights) / 2.0)
        return np.ascontiguousarray(_all_axes(right, back=True))
    return _conjugate_gradients(tuple(shape), gathered, _all_axes(right, back=True), total)


def _conjugate_gradients(
    shape: tuple[int, ...], gathered: NDArray[np.float64], right: NDArray[np.float64], total: float | None
) -> NDArray[np.float64]:
    """Return the cells inside of the grid that solve the normal equations there, with a given total fixed."""
    inside = tuple(slice(bins) for bins in shape)

    def apply(cells: NDArray[np.float64], factors: NDArray[np.float64]) -> NDArray[np.float64]:
        whole = np.zeros_like(gathered)
        whole[inside] = cells
        found = _all_axes(factors * _all_axes(whole), back=True)[inside]
        return found if total is None else found - found.mean()

    cells = np.full(right[inside].shape, 0.0 if total is None else total / right[inside].size)
    rest = right[inside] - apply(cells, gathered)
    if total is not None:
        rest -= rest.mean()
    step = better = apply(rest, 1.0 / gathered)
    length = start = float((rest * better).sum())
    for _ in range(_MOST_STEPS):
        if length <= _NEAR**2 * start:
            break
        moved = apply(step, gathered)
        ratio = length / float((step * moved).sum())
        cells += ratio * step
        rest -= ratio * moved
        better = apply(rest, 1.0 / gathered)
        before, length = length, float((rest * better).sum())
        step = better + length / before * step
    return cells


def _all_axes(values: NDArray[np.float64], *, back: bool = False) -> NDArray[np.float64]:
    for axis in range(values.ndim):
        values = haar(values, axis, back=back)
    return values


def haar(values: NDArray[np.float64], axis: int, *, back: bool = False) -> NDArray[np.float64]:
    """Return the orthonormal Haar transform along an axis of 2^m entries: the mean first, then details from coarse to fine."""
    result = np.moveaxis(np.array(values, dtype=np.float64), axis, 0)
    width, root = result.shape[0], 2.0**-0.5
    halves = [1 << height for height in range(width.bit_length() - 1)]
    for half in halves if back else reversed(halves):
        if back:
            low, high = result[:half] * root, result[half : 2 * half] * root
            result[0 : 2 * half : 2], result[1 : 2 * half : 2] = low + high, low - high
        else:
            left, right = result[0 : 2 * half : 2] * root, result[1 : 2 * half : 2] * root
            result[:half], result[half : 2 * half] = left + right, left - right
    return np.moveaxis(result, 0, axis)


def _part_of_coefficients(height: int) -> NDArray[np.int64]:
    """Return in which part each Haar coefficient lies, (2^height,): `height` for the mean, 0 for the finest details."""
    first = np.array([height], dtype=np.int64)
    finer = np.repeat(np.arange(height - 1, -1, -1), 1 << np.arange(height))
    return np.concatenate((first, finer))


def halve_from_the_whole(
    estimate: NDArray[np.float64], counts: NDArray[np.float64], variance: float
) -> NDArray[np.float64]:
    """Return the cells, none below 0, of the grid's shape, from their least-squares estimates and noisy counts.

    `variance` is that of the noise of the counts; 0 if they are exact.
    """
    from dpopt.inference.histograms.tree_kernels import divide

    if estimate.shape != counts.shape or not (np.isfinite(estimate).all() and np.isfinite(counts).all()):
        raise TreeError(
            f"expected finite estimates and counts of one shape, found shapes {estimate.shape} and {counts.shape}"
        )
    shape, heights = estimate.shape, grid_heights(estimate.shape)
    order = halving_order(heights)
    tree = Tree.balanced(order.size, 2)

    def totals(cells: NDArray[np.float64]) -> NDArray[np.float64]:
        return tree.totals(padded_cells(cells, heights).reshape(-1)[order])

    least = surely_there(counts.reshape(-1), np.full(counts.size, variance)).reshape(shape)
    shares = totals(np.ones(shape)) / tree.size
    halves = divide(tree.children, tree.first_child, totals(estimate), shares, totals(least))
    cells = np.empty(order.size)
    cells[order] = halves[tree.leaf_of_bin]
    whole = cells.reshape([1 << height for height in heights])
    return np.ascontiguousarray(whole[tuple(slice(bins) for bins in shape)])
