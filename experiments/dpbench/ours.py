"""What dpopt answers from its noisy counts: by least squares, divided, and shrunken; and plans that it compares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.histograms.grid_least_squares import (
    grid_least_squares,
    grid_precisions,
    halve_from_the_whole,
)
from dpopt.inference.histograms.shrunken_halves import shrunken_halves
from dpopt.inference.histograms.tree_least_squares import divide_from_the_root
from dpopt.queries.ranges.grids import Level
from dpopt.synopses.histograms.counts_plan import noise_variance
from dpopt.synopses.histograms.grids.grid_plan import plan_grid
from dpopt.synopses.histograms.histogram_plan import HistogramPlan, plan_histogram
from experiments.dpbench.peers import Numbers, block_sums, pure

TOTAL = 0.1
"""Share of the budget that the plan with the total measured spends on it."""
LEAST_SQUARES, DIVIDED, SHRUNKEN = "least squares", "divided", "shrunken"
CUBES = {0: 0.25, 1: 0.15, 2: 0.15, 3: 0.12, 4: 0.12, 5: 0.1, 6: 0.06, 8: 0.05}
"""Shares of the budget of cubes of 2^h bins that were chosen for errors after shrinkage, in place of the least variance."""


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """Estimates of the cells, and the variances of the shrunken answers to the asked boxes."""

    cells: dict[str, Numbers]
    variances: Numbers


@cache
def _scales(shape: tuple[int, ...]) -> dict[str, dict[Level, float]]:
    """Return `scales` for epsilon 1."""
    today: dict[Level, float]
    if len(shape) == 1:
        one = plan_histogram(shape[0], pure(1.0))
        today = {(height,): scale for height, scale in zip(one.heights, one.scales, strict=True)}
        top = shape[0].bit_length() - 1
        other = {level: scale / (1 - TOTAL) for level, scale in today.items()}
        return {"plan": today, "other plan": {**other, (top,): 1 / TOTAL}}
    many = plan_grid(shape, pure(1.0))
    today = dict(zip(many.levels, many.scales, strict=True))
    fits = {height: share for height, share in CUBES.items() if 1 << height <= min(shape)}
    whole = sum(fits.values())
    return {"plan": today, "other plan": {(h, h): whole / share for h, share in fits.items()}}


def scales(shape: tuple[int, ...], epsilon: float) -> dict[str, dict[Level, float]]:
    """Return the scales of noise of each measured level, by the plan: today's, and one for errors after shrinkage."""
    return {
        name: {level: scale / epsilon for level, scale in plan.items()}
        for name, plan in _scales(shape).items()
    }


def answered(
    cells: Numbers,
    noise: dict[Level, float],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    generator: np.random.Generator,
) -> Answered:
    """Return the estimates of one release, with Laplace noise (rounding to whole numbers changes variances by 1/6 at most)."""
    noisy = {}
    for level, scale in noise.items():
        exact = block_sums(cells, level)
        noisy[level] = np.rint(exact + generator.laplace(scale=scale, size=exact.shape))
    precisions = {level: 1 / noise_variance(scale, gaussian=False) for level, scale in noise.items()}
    best = grid_least_squares(cells.shape, noisy, precisions)
    if cells.ndim == 1:
        divided = _divided_line(cells.size, noisy, precisions)
    else:
        divided = halve_from_the_whole(best, noisy[0, 0], 1 / precisions[0, 0])
    shrunken = shrunken_halves(divided, 1 / grid_precisions(cells.shape, precisions))
    return Answered(
        {LEAST_SQUARES: best, DIVIDED: divided, SHRUNKEN: shrunken.cells}, shrunken.variances(starts, stops)
    )


def _divided_line(bins: int, noisy: dict[Level, Numbers], precisions: dict[Level, float]) -> Numbers:
    """Return what `dpopt histogram` answers by default."""
    heights = tuple(sorted(height for (height,) in noisy))
    plan = HistogramPlan(
        bins=bins,
        heights=heights,
        relation=plan_histogram(2, pure(1.0)).relation,
        budget=pure(1.0),
        gaussian=False,
        scales=tuple(1.0 for _ in heights),
        ranges="all",
        size=None,
        predicted={},
    )
    tree = plan.tree
    values, variances = np.zeros(len(tree)), np.full(len(tree), np.inf)
    for level in plan.levels:
        height = plan.heights[len(tree.levels) - 1 - level.depth]
        values[plan.nodes(level)] = noisy[height,]
        variances[plan.nodes(level)] = 1 / precisions[height,]
    return divide_from_the_root(tree, values, variances)[tree.leaf_of_bin]


def names() -> Iterator[str]:
    """Yield the names of dpopt's own answers."""
    for plan in ("plan", "other plan"):
        for estimate in (LEAST_SQUARES, DIVIDED, SHRUNKEN):
            yield f"{plan}, {estimate}"
