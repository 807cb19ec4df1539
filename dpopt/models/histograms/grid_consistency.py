"""Noisy counts of a grid's blocks made consistent, as a quadratic program.

Problem (models/tree_consistency): given the counts y_b of the blocks b of measured levels of a grid, each with a
variance s_b, choose the cells x, and z_b = the sum of b, with

    minimize    sum_b (z_b - y_b)^2 / s_b                                                          TC-7
    subject to  z_b = sum of the parts of b, which are blocks of one finer measured level,         TC-8
                x >= 0, if counts cannot be negative (TC-3),  sum of all x = total, if it is known (TC-4).

A block of one cell is that cell: its square is one of x. Blocks need not lie one in another, as the nodes of a tree do;
each level is a sum of the coarsest level before it that divides it.

The closed form is in `dpopt.inference.histograms.grid_least_squares`; it does not keep cells from being negative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.models.model import Model, computed_by
from dpopt.programs.building import Builder
from dpopt.queries.ranges.grids import Level, block_of_cells, blocks_shape, grid_heights


def grid_consistency(
    shape: Sequence[int],
    noisy: Mapping[Level, NDArray[np.float64]],
    precisions: Mapping[Level, float],
    *,
    total: float | None = None,
    nonnegative: bool = False,
) -> Model:
    """Return TC-7 and TC-8, TC-3 and TC-4 if asked for: cells x (of the shape) and sums z of other levels' blocks.

    Parameters
    ----------
    noisy : Mapping of level to array of `blocks_shape`
        The noisy counts of the measured levels, single cells among them.
    precisions : Mapping of level to float
        One over the variance of the noise of a block's count, above 0.
    total
        The sum of all cells, where it is known without noise.
    nonnegative
        Whether no cell may be below 0.

    Examples
    --------
    >>> import numpy as np
    >>> noisy = {(0, 0): np.array([[1.0, 2.0], [3.0, 4.0]]), (1, 1): np.array([[15.0]])}
    >>> model = grid_consistency((2, 2), noisy, {(0, 0): 1.0, (1, 1): 1.0})
    >>> model.solve().value["x"].round(6).tolist()
    [[2.0, 3.0], [4.0, 5.0]]
    """
    cells, *blocks = ordered_levels(shape, noisy, total)
    if any(cells) or any(
        noisy[level].shape != blocks_shape(shape, level) for level in (cells, *blocks) if level in noisy
    ):
        raise ProgramError(
            f"expected counts of single cells, and of blocks of a grid of {list(shape)} bins; found the levels "
            f"{[*noisy]} of shapes {[one.shape for one in noisy.values()]}"
        )
    sizes = [prod(blocks_shape(shape, level)) for level in blocks]
    known = np.repeat([total is not None and level == grid_heights(shape) for level in blocks], sizes)
    build = Builder()
    alone = total if prod(shape) == 1 else None  # a grid of one cell, which is known
    least = (0.0 if nonnegative else -np.inf) if alone is None else alone
    x = build.variables("x", *shape, lower=least, upper=np.inf if alone is None else alone, start=0)
    z = build.variables(
        "z",
        sum(sizes),
        lower=np.where(known, total or 0.0, -np.inf),
        upper=np.where(known, total or 0.0, np.inf),
        inside=lambda: _names(shape, blocks),
    )
    firsts = np.cumsum([0, *sizes])
    places = {level: np.arange(first, first + size) for level, first, size in zip(blocks, firsts, sizes, strict=False)}
    numbers = {cells: x.reshape(-1), **{level: z[own] for level, own in places.items()}}
    parts = ((level, part_of(level, [cells, *blocks[:place]])) for place, level in enumerate(blocks))
    build.rows(
        "TC-8",
        z.size,
        (np.arange(z.size), z, 1.0),
        *((places[level][blocks_of(shape, below, level)], numbers[below], -1.0) for level, below in parts),
        lower=0.0,
        upper=0.0,
        inside=lambda: _names(shape, blocks),
    )
    measured = [level for level in (cells, *blocks) if level in noisy]
    squared = np.concatenate([numbers[level] for level in measured])
    build.squares(
        "TC-7",
        squared.size,
        (np.arange(squared.size), squared, 1.0),
        targets=np.concatenate([noisy[level].reshape(-1) for level in measured]),
        weights=np.concatenate([np.full(numbers[level].size, 2.0 * precisions[level]) for level in measured]),
        inside=lambda: _names(shape, measured),
    )
    closed_form = computed_by(
        "dpopt.inference.histograms.closed_forms:grid_consistency", shape, noisy, precisions, total=total
    )
    return Model.of("tree_consistency", build, closed_form=None if nonnegative else closed_form)


def grid_coefficients(shape: Sequence[int], levels: Sequence[Level], *, known_total: bool) -> int:
    """Return how many coefficients the program has at most, without making it."""
    blocks = sum(prod(blocks_shape(shape, level)) for level in levels)
    return 2 * blocks + (len(levels) - 1 + known_total) * prod(shape) + known_total


def ordered_levels(
    shape: Sequence[int], noisy: Mapping[Level, NDArray[np.float64]], total: float | None
) -> list[Level]:
    """Return the levels that have sums, from single cells up; the whole grid among them where its total is known."""
    whole = set() if total is None else {grid_heights(shape)} - {(0,) * len(shape)}
    return sorted({*noisy, *whole}, key=lambda level: (sum(level), level))


def part_of(level: Level, finer: Sequence[Level]) -> Level:
    """Return the last of the finer levels whose blocks divide those of a level."""
    return next(one for one in reversed(finer) if all(low <= high for low, high in zip(one, level, strict=True)))


def _names(shape: Sequence[int], levels: Sequence[Level]) -> list[str]:
    """Return the names of the blocks of levels: the heights of the level, then the place of the block."""
    return [
        ",".join(map(str, (*level, *place))) for level in levels for place in np.ndindex(*blocks_shape(shape, level))
    ]


def blocks_of(shape: Sequence[int], below: Level, level: Level) -> NDArray[np.int64]:
    """Return for each block of a finer level the number of the block of a coarser one that it lies in."""
    rise = tuple(high - low for low, high in zip(below, level, strict=True))
    return block_of_cells(blocks_shape(shape, below), rise)
