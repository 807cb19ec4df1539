"""Peers of dpopt's histograms, each from its paper, under pure differential privacy for one record added or removed.

Each takes the true counts, a budget, the asked boxes and a generator, and returns its estimate of every cell.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.inference.histograms.grid_least_squares import grid_least_squares
from dpopt.queries.ranges.grids import Level, grid_heights
from dpopt.synopses.histograms.histogram_plan import plan_blocks

Numbers = NDArray[np.float64]
Peer = Callable[[Numbers, float, NDArray[np.int64], np.random.Generator], Numbers]
SHARE_OF_PARTITION = 0.25  # of DAWA's budget, as in its paper
AHP_SHARE, AHP_CUT = 0.85, 0.35
GRID_CELLS, GRID_PARTS, LEAST_GRID = 10.0, 5.0, 10
_MOST_ROUNDS, _PASSES = 40, 20


def pure(epsilon: float) -> Budget:
    """Return a budget of Laplace noise."""
    return Budget(epsilon=epsilon, delta=0.0, rho=None, accountant=Accountant.PURE)


def block_sums(cells: Numbers, level: Level) -> Numbers:
    """Return the counts of the blocks of a level; sides of the grid are multiples of those of blocks."""
    for axis, height in enumerate(level):
        shape = cells.shape
        cells = cells.reshape(*shape[:axis], shape[axis] >> height, 1 << height, *shape[axis + 1 :]).sum(axis + 1)
    return cells


def of_levels(cells: Numbers, scales: dict[Level, float], generator: np.random.Generator) -> Numbers:
    """Return least squares over levels of blocks, each measured with Laplace noise of its scale."""
    noisy = {}
    for level, scale in scales.items():
        exact = block_sums(cells, level)
        noisy[level] = exact + generator.laplace(scale=scale, size=exact.shape)
    return grid_least_squares(cells.shape, noisy, {level: 0.5 / scale**2 for level, scale in scales.items()})


def identity(cells: Numbers, epsilon: float, _boxes: NDArray[np.int64], generator: np.random.Generator) -> Numbers:
    """Return noisy cells."""
    return cells + generator.laplace(scale=1 / epsilon, size=cells.shape)


def hb(cells: Numbers, epsilon: float, _boxes: NDArray[np.int64], generator: np.random.Generator) -> Numbers:
    """Return least squares over the tree of equal budgets with the best branching (Qardaji, Yang and Li 2013)."""
    (height, *_), axes = grid_heights(cells.shape), cells.ndim

    def cost(step: int) -> float:
        levels, branching = -(-height // step), 2.0**step
        if axes == 1:
            return float((branching - 1) * levels**3 - 2 * (branching + 1) * levels**2 / 3)
        return float(levels**2 * sum((branching ** (2 * above)) ** 0.5 for above in range(levels)) * branching)

    step = min(range(1, height + 1), key=cost)
    levels = range(0, height, step)
    return of_levels(cells, {(h,) * axes: len(levels) / epsilon for h in levels}, generator)


@cache
def _tree_scales(bins: int) -> dict[Level, float]:
    """Return scales for epsilon 1 of a tree whose budgets are the best for all ranges: at least as good as greedy ones."""
    plan = plan_blocks(bins, pure(1.0))
    return {(height,): scale for height, scale in zip(plan.heights, plan.scales, strict=True)}


def greedy_h(cells: Numbers, epsilon: float, _boxes: NDArray[np.int64], generator: np.random.Generator) -> Numbers:
    """Return least squares over a tree with optimized budgets of levels (Li, Hay and Miklau 2014); grids along a curve."""
    line = cells.reshape(-1)[curve(cells.shape)]
    return _from_line(_on_line(line, epsilon, generator), cells.shape)


def _on_line(line: Numbers, epsilon: float, generator: np.random.Generator) -> Numbers:
    bins = 1 << int(line.size - 1).bit_length()
    padded = np.concatenate((line, np.zeros(bins - line.size)))
    scales = {level: scale / epsilon for level, scale in _tree_scales(bins).items()}
    return of_levels(padded, scales, generator)[: line.size]


def dawa(cells: Numbers, epsilon: float, _boxes: NDArray[np.int64], generator: np.random.Generator) -> Numbers:
    """Return a private partition, then noisy counts of its intervals by a tree (Li, Hay, Miklau and Wang 2014).

    The cost of an interval is its sum of absolute deviations and the noise of its count; noise of scale 4 / (a share of
    epsilon) on each, for sensitivity 2 in both directions; intervals of 1, 2, 4, ... bins.
    """
    from experiments.dpbench.kernels import cheapest_partition

    order = curve(cells.shape)
    line = cells.reshape(-1)[order]
    first = SHARE_OF_PARTITION * epsilon
    steps, deviations = _deviations(line.tobytes(), line.size)
    costs = deviations.copy()
    noise = generator.laplace(scale=4 / first, size=costs.shape)
    costs[1:] = np.maximum(costs[1:] + noise[1:], 0.0)
    before = np.zeros(line.size + 1, dtype=np.int64)
    cheapest_partition(costs + 1 / (epsilon - first), steps, before)
    places = [line.size]
    while places[-1]:
        places.append(int(before[places[-1]]))
    starts, sizes = np.array(places[:0:-1]), np.diff(places[::-1])
    found = _on_line(np.add.reduceat(line, starts), epsilon - first, generator)
    return _from_line(np.repeat(found / sizes, sizes), cells.shape)


@cache
def _deviations(data: bytes, size: int) -> tuple[NDArray[np.int64], Numbers]:
    """Return the steps between starts of intervals of 2^k bins, and the sums of absolute deviations."""
    line = np.frombuffer(data)
    heights = range(size.bit_length())
    steps = np.array([1 if size <= 1 << 12 else max(1, (1 << k) // 4) for k in heights])
    found = np.full((len(steps), size), np.inf)
    found[0] = 0.0
    for k in heights[1:]:
        windows = np.lib.stride_tricks.sliding_window_view(line, 1 << k)[:: steps[k]]
        for low in range(0, len(windows), 512):
            part = windows[low : low + 512]
            found[k, low : low + len(part)] = np.abs(part - part.mean(axis=1, keepdims=True)).sum(axis=1)
    return steps, found


def ahp(cells: Numbers, epsilon: float, _boxes: NDArray[np.int64], generator: np.random.Generator) -> Numbers:
    """Return noisy counts of clusters of bins that are alike by earlier noisy counts (Zhang et al. 2014)."""
    from experiments.dpbench.kernels import greedy_clusters

    flat = cells.reshape(-1)
    first, second = AHP_SHARE * epsilon, (1 - AHP_SHARE) * epsilon
    noisy = flat + generator.laplace(scale=1 / first, size=flat.size)
    noisy[noisy <= AHP_CUT * np.log(flat.size) / first] = 0.0
    order = np.argsort(noisy, kind="stable")
    sorted_clusters, cluster = np.empty(flat.size, np.int64), np.empty(flat.size, np.int64)
    greedy_clusters(noisy[order], 2 / second**2, sorted_clusters)
    cluster[order] = sorted_clusters
    sums, sizes = np.bincount(cluster, weights=flat), np.bincount(cluster)
    means = (sums + generator.laplace(scale=1 / second, size=sums.size)) / sizes
    return means[cluster].reshape(cells.shape)


def mwem(cells: Numbers, epsilon: float, boxes: NDArray[np.int64], generator: np.random.Generator) -> Numbers:
    """Return multiplicative weights on queries that the exponential mechanism chose (Hardt, Ligett and McSherry 2012).

    It knows the number of records, as its paper assumes, and takes more rounds the more signal there is (DPBench).
    """
    from experiments.dpbench.kernels import reweight

    table = cells.reshape(cells.shape[0], -1)
    signal = epsilon * table.sum()
    rounds = int(np.clip(np.interp(np.log10(signal), [1, 3, 4, 5, 6], [2, 8, 12, 40, 40]), 2, _MOST_ROUNDS))
    if cells.ndim > 1:
        rounds = int(np.clip(rounds, 12, _MOST_ROUNDS))
    corners = (
        boxes
        if cells.ndim > 1
        else np.column_stack((boxes, np.zeros(len(boxes), np.int64), np.ones(len(boxes), np.int64)))
    )
    exact, found = box_sums(table, corners), np.full(table.shape, table.mean())
    taken: list[int] = []
    answers: list[float] = []
    for _ in range(rounds):
        scores = np.abs(exact - box_sums(found, corners)) * epsilon / (4 * rounds)
        scores[taken] = -np.inf
        taken.append(int(np.argmax(scores + generator.gumbel(size=scores.size))))
        answers.append(exact[taken[-1]] + generator.laplace(scale=2 * rounds / epsilon))
        reweight(found, corners[taken], np.array(answers), _PASSES if cells.ndim == 1 else 4)
    return found.reshape(cells.shape)


def box_sums(table: Numbers, corners: NDArray[np.int64]) -> Numbers:
    """Return the sums of boxes (q, 4): top, bottom, left, right."""
    sums = np.zeros((table.shape[0] + 1, table.shape[1] + 1))
    sums[1:, 1:] = table.cumsum(0).cumsum(1)
    top, bottom, left, right = corners.T
    return np.asarray(sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left])


def agrid(cells: Numbers, epsilon: float, _boxes: NDArray[np.int64], generator: np.random.Generator) -> Numbers:
    """Return an adaptive grid: noisy counts of a coarse one say how finely each part is divided (Qardaji, Yang and Li 2013).

    It knows the number of records, as in DPBench.
    """
    side, half = cells.shape[0], epsilon / 2
    coarse = max(LEAST_GRID, int(np.sqrt(cells.sum() * epsilon / GRID_CELLS) / 4))
    width = max(1, int(np.ceil(side / min(coarse, side))))
    found = np.zeros(cells.shape)
    for top in range(0, side, width):
        for left in range(0, side, width):
            part = cells[top : top + width, left : left + width]
            first = part.sum() + generator.laplace(scale=1 / half)
            fine = max(1, int(np.ceil(np.sqrt(max(first, 0.0) * half / GRID_PARTS))))
            step = max(1, int(np.ceil(min(part.shape) / fine)))
            rows, columns = np.arange(0, part.shape[0], step), np.arange(0, part.shape[1], step)
            counts = np.add.reduceat(np.add.reduceat(part, rows, axis=0), columns, axis=1)
            counts = counts + generator.laplace(scale=1 / half, size=counts.shape)
            mean = (counts.size * first + counts.sum()) / (counts.size + 1)  # by variances
            counts += (mean - counts.sum()) / counts.size
            tall, wide = np.diff([*rows, part.shape[0]]), np.diff([*columns, part.shape[1]])
            spread = counts / np.outer(tall, wide)
            found[top : top + width, left : left + width] = np.repeat(np.repeat(spread, tall, 0), wide, 1)
    return found


@cache
def curve(shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the cells along a Hilbert curve (of one axis: as they are)."""
    if len(shape) == 1:
        return np.arange(shape[0])
    (side, _), steps = shape, np.arange(shape[0] * shape[1])
    x, y, rest, width = np.zeros_like(steps), np.zeros_like(steps), steps.copy(), 1
    while width < side:
        right = 1 & (rest // 2)
        up = 1 & (rest ^ right)
        flip = (up == 0) & (right == 1)
        x, y = np.where(flip, width - 1 - x, x), np.where(flip, width - 1 - y, y)
        x, y = np.where(up == 0, y, x), np.where(up == 0, x, y)
        x, y, rest, width = x + width * right, y + width * up, rest // 4, 2 * width
    return np.asarray(x * side + y)


def _from_line(line: Numbers, shape: tuple[int, ...]) -> Numbers:
    found = np.empty(line.size)
    found[curve(shape)] = line
    return found.reshape(shape)


LINES: dict[str, Peer] = {"Identity": identity, "HB": hb, "GreedyH": greedy_h, "DAWA": dawa, "AHP": ahp, "MWEM": mwem}
GRIDS: dict[str, Peer] = {**LINES, "AGrid": agrid}
