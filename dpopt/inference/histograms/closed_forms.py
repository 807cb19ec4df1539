"""The closed forms of models of histograms: how `dpopt.models` solves them where no solver is named.

Each gives the values of all variables of its model, in their order, and the duals of its rows, which prove the values
optimal; None where no duals are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.histograms.grid_least_squares import grid_least_squares
from dpopt.inference.histograms.interval_partition import best_intervals
from dpopt.inference.histograms.sorted import isotonic
from dpopt.inference.histograms.tree_least_squares import least_squares
from dpopt.models.histograms.grid_consistency import blocks_of, ordered_levels, part_of
from dpopt.models.histograms.interval_partition import interval_arcs
from dpopt.models.model import Answer
from dpopt.queries.ranges.grids import Level
from dpopt.queries.ranges.tree import Tree

Numbers = NDArray[np.float64]
_HALVINGS = 100  # of a bracket of two doubles


def isotonic_regression(
    values: Numbers,
    weights: Numbers,
    *,
    lower: float | None,
    upper: float | None,
    total: float | None,
    breaks: Sequence[int] = (),
) -> Answer:
    """Return the sequence of least squares, and the multipliers of IR-7."""
    fit = partial(isotonic.isotonic, weights=weights, breaks=breaks)
    s = fit(values, lower=lower, upper=upper, total=total)
    shift = 0.0
    if total is not None:
        inside = (s != lower) & (s != upper)
        if inside.any():
            shift = float((weights * (s - values))[inside].sum() / np.count_nonzero(inside))
        else:
            shift = _shift_of_ends(values, weights, s, lower, upper)
    free = fit(values + shift / weights)
    rises = np.cumsum(weights * (values - free) + shift)
    rises = np.delete(rises, [*(place - 1 for place in breaks), values.size - 1])
    return s, rises if total is None else np.append(rises, shift)


def _shift_of_ends(values: Numbers, weights: Numbers, s: Numbers, lower: float | None, upper: float | None) -> float:
    """Return a multiplier of the total where every entry of s is at a bound: one that leaves all of them there."""
    ends = (s - values) * weights
    low, high = float(ends.min()), float(ends.max())
    for _ in range(_HALVINGS):
        shift = 0.5 * (low + high)
        moved = isotonic.isotonic(values + shift / weights, weights=weights, lower=lower, upper=upper)
        if np.allclose(moved, s, rtol=1e-12, atol=1e-12):
            return shift
        low, high = (shift, high) if moved.sum() < s.sum() else (low, shift)
    return shift


def tree_consistency(tree: Tree, values: Numbers, variances: Numbers) -> Answer:
    """Return the values of the nodes, and the multipliers of TC-2: a node's slope plus its parent's multiplier."""
    x = least_squares(tree, values, variances)
    measured = np.isfinite(variances) & (variances > 0)
    slopes = np.where(measured, 2.0 * (x - values) / np.where(measured, variances, 1.0), 0.0)
    duals = slopes.copy()
    known = (variances == 0) & (tree.children > 0)
    if known.any():
        duals[known] = _below(tree, slopes, variances == 0)[known]
    for level in tree.levels[1:]:
        above = duals[tree.parent[level]]
        duals[level] = np.where(known[level], duals[level], duals[level] + above)
    return x, duals[tree.children > 0]


def _below(tree: Tree, slopes: Numbers, known: NDArray[np.bool_]) -> Numbers:
    """Return each node's multiplier as required by the bins below it: 0 at a bin, a child's less its slope."""
    needed = np.where((tree.children == 0) & ~known, 0.0, -np.inf)
    for level in tree.levels[:0:-1]:
        asked = np.where(known[level], -np.inf, needed[level] - slopes[level])  # a known child asks for nothing
        np.maximum.at(needed, tree.parent[level], asked)
    return np.where(np.isfinite(needed), needed, 0.0)


def grid_consistency(
    shape: Sequence[int], noisy: Mapping[Level, Numbers], precisions: Mapping[Level, float], *, total: float | None
) -> Answer:
    """Return cells and sums of blocks, and the multipliers of TC-8.

    That of a block is its slope and the multipliers of the blocks that it is part of. The block of a known total has no
    slope: its multiplier is what the cells ask for.
    """
    x = grid_least_squares(shape, noisy, precisions, total=total)
    if x.size == 1 and total is not None:
        x = np.full(shape, float(total))
    cells, *blocks = ordered_levels(shape, noisy, total)
    sums: dict[Level, Numbers] = {cells: x.reshape(-1)}
    below: dict[Level, Level] = {}
    for level in blocks:
        below[level] = part_of(level, [*sums])
        parts = blocks_of(shape, below[level], level)
        sums[level] = np.bincount(parts, weights=sums[below[level]]).astype(np.float64)
    if total is not None and blocks:
        sums[blocks[-1]][:] = total

    def multipliers(whole: float) -> dict[Level, Numbers]:
        found = {
            level: 2.0 * precisions.get(level, 0.0) * (sums[level] - noisy.get(level, np.zeros(())).reshape(-1))
            for level in sums
        }
        if total is not None and blocks:
            found[blocks[-1]] = np.array([whole])
        for level in reversed(blocks):
            found[below[level]] += found[level][blocks_of(shape, below[level], level)]
        return found

    duals = multipliers(0.0)
    if total is not None and blocks:
        duals = multipliers(-float(duals[cells].mean()))
    point = np.concatenate([sums[level] for level in (cells, *blocks)])
    return point, np.concatenate([np.zeros(0), *(duals[level] for level in blocks)])


def interval_partition(values: Numbers, intervals: int, *, by_depth: bool) -> Answer:
    """Return the path of least cost, by dynamic programming."""
    places = best_intervals(values, intervals, by_depth=by_depth)
    first, last, place = interval_arcs(values.size, intervals)
    chosen = (places[place - 1] == first) & (places[place] == last)
    return chosen.astype(np.float64), None
