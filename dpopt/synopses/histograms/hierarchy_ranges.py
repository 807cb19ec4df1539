"""Which ranges a histogram over a declared hierarchy should answer well, as ranges with weights (models/hierarchy_budgets).

maximize sum_h (1 / lambda_h - 1 / lambda_(h-1)) a_h(start, stop) over 0 <= start < stop <= bins

a_h is the squared norm of LB-5 (`dpopt.queries.ranges.weighted_ranges`); levels that are not measured drop out. The search
begins with positions of many sizes, evenly spaced, and improves the best of each size by moves of its ends, with steps that are
halved. A heuristic: tests compare it with all ranges.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import WorkloadError
from dpopt.models.noise_budgets.level_budgets import LevelProgram
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.tree import Tree
from dpopt.queries.ranges.weighted_ranges import WeightedRanges, height_of, squared_norms
from dpopt.synopses.histograms.range_workload import ALL, FILE, SIZES, described, parse_sizes

_SIZES, _POSITIONS, _IMPROVED = 240, 128, 4
_APART = 1.3
"""Ranges that are returned together differ in size by this factor at least."""
_ROUNDING = 1e-12


def worst_ranges(
    program: LevelProgram, amounts: NDArray[np.float64], bins: int, number: int
) -> list[tuple[int, int, float]]:
    """Return start, stop and variance of ranges of large variance, the largest first, of different sizes.

    Parameters
    ----------
    program : LevelProgram
        Of the levels of `bins` bins; one level less than these have means that the total is known.
    amounts : (L + 1,) float64
        Parts of the budget, above 0 for single bins.
    number : int
        How many at most.
    """
    heights, weights = _weights(program, amounts, bins)

    def variances(starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.float64]:
        found = np.zeros(starts.shape)
        for height, weight in zip(heights, weights, strict=True):
            found += weight * squared_norms(starts, stops, 1 << height)
        return found

    sizes = np.unique(np.geomspace(1, bins, _SIZES).round().astype(np.int64))
    starts = np.linspace(np.zeros(sizes.size), bins - sizes, _POSITIONS, axis=1).astype(np.int64)
    first = np.argsort(-variances(starts, starts + sizes[:, None]), axis=1)[:, :_IMPROVED]
    start = np.take_along_axis(starts, first, axis=1).ravel()
    stop = start + np.repeat(sizes, _IMPROVED)
    best = variances(start, stop)
    step = max(1, bins // 4)
    while step:
        moves = np.array([[step, step], [-step, -step], [0, step], [0, -step], [step, 0], [-step, 0]])
        tried_start, tried_stop = start[:, None] + moves[:, 0], stop[:, None] + moves[:, 1]
        inside = (tried_start >= 0) & (tried_stop <= bins) & (tried_start < tried_stop)
        tried_start, tried_stop = np.where(inside, tried_start, 0), np.where(inside, tried_stop, 1)
        found = np.where(inside, variances(tried_start, tried_stop), -np.inf)
        move, rows = np.argmax(found, axis=1), np.arange(start.size)
        better = found[rows, move] > best * (1 + _ROUNDING)
        start = np.where(better, tried_start[rows, move], start)
        stop = np.where(better, tried_stop[rows, move], stop)
        best = np.where(better, found[rows, move], best)
        if not better.any():
            step //= 2
    return _apart(start, stop, best, number)


def _weights(program: LevelProgram, amounts: NDArray[np.float64], bins: int) -> tuple[list[int], list[float]]:
    """Return the levels whose norms count, and how much."""
    inverse = 1.0 / program.gathered(amounts)
    weights = np.diff(inverse, prepend=0.0)
    if inverse.size <= height_of(bins):  # less the part that the known total tells
        weights = np.append(weights, -inverse[-1])
    counted = np.flatnonzero(np.abs(weights) > _ROUNDING * np.abs(weights).max())
    return counted.tolist(), weights[counted].tolist()


def _apart(
    starts: NDArray[np.int64], stops: NDArray[np.int64], variances: NDArray[np.float64], number: int
) -> list[tuple[int, int, float]]:
    found: list[tuple[int, int, float]] = []
    for place in np.argsort(-variances, kind="stable").tolist():
        size = int(stops[place] - starts[place])
        ratios = [size / (stop - start) for start, stop, _ in found]
        if len(found) < number and all(ratio >= _APART or ratio <= 1 / _APART for ratio in ratios):
            found.append((int(starts[place]), int(stops[place]), float(variances[place])))
    return found


NODES = "nodes"
MOST_OF_A_KIND = 2_048
"""All groups of a level, all positions of a size and all ranges are represented by at most so many each, evenly spaced."""


def parse_hierarchy_ranges(text: str, hierarchy: Tree, bins: Bins) -> tuple[str, str, WeightedRanges]:
    """Read "nodes", "all", "sizes:1,64,1024", or "file:PATH".

    Returns
    -------
    tuple
        The text that goes on file (without a path), the ranges in words, and the ranges.

    Raises
    ------
    WorkloadError
        If it is none of them, a size does not fit the bins, or the file declares no ranges of them.
    """
    if text == NODES:
        return text, "groups of all levels", ranges_of_nodes(hierarchy)
    if text == ALL:
        return text, "all ranges", all_ranges(bins.number)
    if text.startswith(SIZES):
        return text, "ranges of these sizes", ranges_of_sizes(parse_sizes(text), bins.number)
    if text.startswith(FILE):
        declared = WeightedRanges.read(text.removeprefix(FILE), bins)
        return described(declared), "declared ranges", declared
    raise WorkloadError(
        f"found the ranges {text!r}; with a hierarchy, expected nodes, all, sizes:1,64,1024, or file:PATH"
    )


def ranges_of_nodes(tree: Tree) -> WeightedRanges:
    """Return the nodes of a tree as ranges: all levels weigh alike, and alike the nodes of a level (HB-5)."""
    chosen = [level.start + _spaced(level.stop - level.start) for level in tree.levels]
    nodes = np.concatenate(chosen)
    starts = tree.start[nodes]
    return WeightedRanges(starts, starts + tree.size[nodes], _alike(chosen), tree.bins)


def all_ranges(bins: int) -> WeightedRanges:
    """Return all ranges with equal weights; evenly spaced ones, in the order of starts and stops, if there are too many."""
    of_starts = np.arange(bins, 0, -1, dtype=np.int64)
    before = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(of_starts)))
    chosen = _spaced(int(before[-1]))
    starts = np.searchsorted(before, chosen, side="right") - 1
    stops = starts + 1 + chosen - before[starts]
    return WeightedRanges(starts, stops, np.ones(chosen.size), bins)


def ranges_of_sizes(sizes: list[int], bins: int) -> WeightedRanges:
    """Return the ranges of these sizes: all sizes weigh alike, and alike the positions of a size.

    Raises
    ------
    WorkloadError
        If a size does not fit the bins.
    """
    for size in sizes:
        if not 1 <= size <= bins:
            raise WorkloadError(f"a range of {size:,} bins; the domain has {bins:,}")
    starts = [_spaced(bins - size + 1) for size in sizes]
    joined = np.concatenate(starts)
    lengths = np.repeat(sizes, [positions.size for positions in starts])
    return WeightedRanges(joined, joined + lengths, _alike(starts), bins)


def _alike(groups: list[NDArray[np.int64]]) -> NDArray[np.float64]:
    """Return weights for the members of groups side by side: all groups weigh alike, and alike the members of a group."""
    sizes = np.array([group.size for group in groups])
    return np.repeat(1.0 / (sizes * sizes.size), sizes)


def _spaced(number: int) -> NDArray[np.int64]:
    """Return 0, ..., number - 1, or so many of them, evenly spaced from the first to the last, as there may be."""
    if number <= MOST_OF_A_KIND:
        return np.arange(number, dtype=np.int64)
    return np.linspace(0, number - 1, MOST_OF_A_KIND).astype(np.int64)
