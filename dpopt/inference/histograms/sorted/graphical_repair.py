"""Whole sequences made graphical: an odd sum mended, cuts tightened, small changes that bring the sequence nearer.

Heuristics: `degree_sequences.nearest_graphical` reports how far the result may be from the best.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.histograms.sorted.graphical_relaxation import Relaxation, cut_violations, parity_changes
from dpopt.inference.histograms.tree_least_squares import whole_of_total

_TRIED_REPAIRS = 200  # of an odd sum, cheapest first
_MOVES, _TRIED_PAIRS, _PASSES = 600, 400, 50  # of the search: moves paired, pairs tried in a pass, passes


def cost_of(whole: NDArray[np.int64], values: NDArray[np.float64]) -> float:
    """Return the squared distance."""
    return float(((whole - values) ** 2).sum())


def mended(whole: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Return a falling whole sequence with the cheapest change that makes its sum even; None if none was found graphical."""
    if cut_violations(whole)[0].max() > 0:
        return None
    if whole.sum() % 2 == 0:
        return whole.astype(np.int64)
    costs, firsts, ends, signs = parity_changes(whole, values)
    for change in np.argsort(costs, kind="stable")[:_TRIED_REPAIRS]:
        tried = whole.copy()
        tried[firsts[change] : ends[change]] += signs[change]
        if cut_violations(tried)[0].max() <= 0:
            return tried.astype(np.int64)
    return None


def rounded(point: NDArray[np.float64], total: int | None) -> NDArray[np.float64]:
    """Return the nearest whole sequence to a falling one, half up; of this total, if there is one."""
    if total is None:
        return np.floor(point + 0.5)
    return whole_of_total(point[::-1], total)[::-1].astype(np.float64)


def evened(whole: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return a graphical sequence of the same even sum: the largest entries give as little as will do to the smallest ones.

    What a graphical sequence majorizes is graphical, and so are entries that differ by 1 at most: what is given is found by
    halving its range.
    """
    given, size = whole.astype(np.int64), whole.size
    level = int(given.sum()) // size
    above, below = np.maximum(given - level, 0), np.maximum(level - given, 0)
    least, most = 0, int(max(np.maximum(above - 1, 0).sum(), below.sum()))
    while least < most:
        middle = (least + most) // 2
        fits = cut_violations(_passed_on(given, middle).astype(np.float64))[0].max() <= 0
        least, most = (least, middle) if fits else (middle + 1, most)
    return _passed_on(given, least)


def _passed_on(falling: NDArray[np.int64], units: int) -> NDArray[np.int64]:
    """Return the sequence with so many units taken from its largest entries, one by one, and given to its smallest."""
    return np.asarray(falling + _cut_off(falling, units) - _cut_off(-falling[::-1], units)[::-1])


def _cut_off(falling: NDArray[np.int64], units: int) -> NDArray[np.int64]:
    """Return by how much each entry changes if units are taken from the largest, one by one."""
    low, high = int(falling[-1]), int(falling[0])
    while low < high:  # the least cap whose cost is paid
        cap = (low + high) // 2
        low, high = (low, cap) if int(np.maximum(falling - cap, 0).sum()) <= units else (cap + 1, high)
    changes = np.minimum(low - falling, 0)
    left = units + int(changes.sum())
    end = int(np.count_nonzero(falling >= low))
    changes[end - left : end] -= 1
    return np.asarray(changes)


def tighter(
    relaxed: Relaxation, excess: NDArray[np.float64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the cuts with right sides less half of what rounding exceeds them by, the most violated one among them."""
    worst = int(np.argmax(excess))
    cut = np.array([[worst + 1, ends[worst]]])
    cuts, sides = relaxed.cuts, relaxed.sides.copy()
    known = (cuts == cut).all(axis=1)
    if known.any():
        sides[known] -= np.ceil(excess[worst] / 2)
        return cuts, sides
    side = (worst + 1) * (ends[worst] - 1.0) - np.ceil(excess[worst] / 2)
    return np.concatenate([cuts, cut]), np.append(sides, side)


def capped(whole: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the sequence with its largest entries cut off where it becomes graphical; at 0 it is."""
    for cap in range(int(whole.max()), 0, -1):
        found = mended(np.minimum(whole, cap), values)
        if found is not None:
            return found
    return np.zeros(whole.size, dtype=np.int64)


def improved(
    start: NDArray[np.int64], values: NDArray[np.float64], *, keep_sum: bool = False
) -> NDArray[np.int64]:
    """Return a graphical sequence that no pair of small moves brings nearer to the values, as far as pairs are tried.

    A move raises the first entry of a stretch of equal ones by 1, lowers the last, or moves the whole stretch. The parity of
    the sum is kept, or the sum itself.
    """
    whole = start.copy()
    for _ in range(_PASSES):
        costs, firsts, ends, signs = _moves(whole, values)
        one, two = np.triu_indices(costs.size)
        alone = one == two
        gains = np.where(alone, costs[one], costs[one] + costs[two])
        added = signs * (ends - firsts)
        change = added[one] + np.where(alone, 0, added[two])
        kept = change == 0 if keep_sum else change % 2 == 0
        useful = np.flatnonzero((gains < -1e-9) & kept)
        for pair in useful[np.argsort(gains[useful], kind="stable")][:_TRIED_PAIRS]:
            tried = whole.copy()
            for move in {one[pair], two[pair]}:
                tried[firsts[move] : ends[move]] += signs[move]
            if (
                tried.min() >= 0
                and (np.diff(tried) <= 0).all()
                and cost_of(tried, values) < cost_of(whole, values) - 1e-9
                and cut_violations(tried.astype(np.float64))[0].max() <= 0
            ):
                whole = tried
                break
        else:
            break
    return whole


def _moves(
    whole: NDArray[np.int64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the cheapest moves: what each adds to the squared distance, first entry, end, and +1 or -1."""
    starts = np.flatnonzero(np.diff(whole, prepend=-1))
    stops = np.append(starts[1:], whole.size)
    firsts = np.concatenate([starts, stops - 1, starts, starts])
    ends = np.concatenate([starts + 1, stops, stops, stops])
    signs = np.repeat(np.array([1, -1, 1, -1]), starts.size)
    sums = np.concatenate([[0.0], np.cumsum(whole - values)])
    costs = (ends - firsts) + 2 * signs * (sums[ends] - sums[firsts])
    moved = whole[firsts] + signs
    order = np.argsort(costs, kind="stable")
    order = order[((moved >= 0) & (moved < whole.size))[order]][:_MOVES]
    return costs[order], firsts[order], ends[order], signs[order]
