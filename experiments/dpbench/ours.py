"""What dpopt answers from its noisy counts: by least squares, divided, and in rounds."""

from __future__ import annotations

from functools import cache

import numpy as np

from dpopt.accounting.measurements import joint_scale
from dpopt.inference.histograms.grid_least_squares import grid_least_squares, halve_from_the_whole
from dpopt.inference.histograms.halves_in_rounds import Round, groups_of, halves_in_rounds
from dpopt.inference.histograms.shrunken_halves import ShrunkenHalves
from dpopt.inference.histograms.tree_least_squares import divide_from_the_root
from dpopt.queries.ranges.grids import Level
from dpopt.synopses.histograms.counts_plan import CountsPlan, noise_variance
from dpopt.synopses.histograms.grids.grid_plan import plan_grid
from dpopt.synopses.histograms.histogram_plan import HistogramPlan, plan_blocks
from dpopt.synopses.histograms.in_rounds import ROUNDS, next_round, round_variances
from experiments.dpbench.peers import Numbers, block_sums, pure

LEAST_SQUARES, DIVIDED = "least squares", "divided"


@cache
def _scales(shape: tuple[int, ...], ranges: str) -> dict[Level, float]:
    """Return `scales` for epsilon 1."""
    if len(shape) == 1:
        one = plan_blocks(shape[0], pure(1.0), ranges=ranges)
        return {(height,): scale for height, scale in zip(one.heights, one.scales, strict=True)}
    many = plan_grid(shape, pure(1.0), modelled=True)
    return dict(zip(many.levels, many.scales, strict=True))


def scales(shape: tuple[int, ...], epsilon: float, ranges: str) -> dict[Level, float]:
    """Return the scale of the noise of each level that dpopt measures without rounds, for all ranges or prefixes."""
    return {level: scale / epsilon for level, scale in _scales(shape, ranges).items()}


@cache
def _rounds(shape: tuple[int, ...], ranges: str) -> list[tuple[Level, float]]:
    """Return level and scale for epsilon 1 of each round, the first one first."""
    plan: CountsPlan = (
        plan_blocks(shape[0], pure(1.0), ranges=ranges, rounds=True)
        if len(shape) == 1
        else plan_grid(shape, pure(1.0), shapes=ROUNDS)
    )
    return list(zip(plan.round_levels, plan.scales, strict=True))[::-1]


def in_rounds(cells: Numbers, epsilon: float, generator: np.random.Generator, ranges: str) -> ShrunkenHalves:
    """Return what one release in rounds says, with Laplace noise, planned for all ranges or prefixes."""
    plan = _rounds(cells.shape, ranges)
    scales, found = [scale / epsilon for _, scale in plan], list[Round]()
    for place, (level, _) in enumerate(plan):
        nodes, last = next_round(cells.shape, found, level, scales, gaussian=False)
        groups = groups_of(cells.shape, nodes)
        sums = np.bincount(groups + 1, weights=cells.reshape(-1), minlength=nodes.size + 1)[1:]
        left = joint_scale(scales[place:], gaussian=False)
        noisy = np.rint(sums + generator.laplace(scale=np.where(last, left, scales[place]))).astype(np.int64)
        variances = round_variances(scales[place:], gaussian=False)
        found.append(Round(nodes, noisy, np.where(last, *variances), last))
    return halves_in_rounds(cells.shape, found)


def answered(cells: Numbers, noise: dict[Level, float], generator: np.random.Generator) -> dict[str, Numbers]:
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
    return {LEAST_SQUARES: best, DIVIDED: divided}


def _divided_line(bins: int, noisy: dict[Level, Numbers], precisions: dict[Level, float]) -> Numbers:
    """Return what `dpopt histogram` answers by default."""
    heights = tuple(sorted(height for (height,) in noisy))
    plan = HistogramPlan(
        bins=bins,
        heights=heights,
        relation=plan_blocks(2, pure(1.0)).relation,
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
