"""Which ranges of blocks have the largest predicted variance, under given budgets of the levels.

maximize sum_h (1 / lambda_h - 1 / lambda_(h-1)) a_h(start, stop) over 0 <= start < stop <= bins

a_h is the squared norm of LB-5 (`dpopt.queries.ranges.weighted_ranges`); levels that are not measured drop out. The search
begins with positions of many sizes, evenly spaced, and improves the best of each size by moves of its ends, with steps that are
halved. A heuristic: tests compare it with all ranges.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.models.noise_budgets.level_budgets import LevelProgram
from dpopt.queries.ranges.weighted_ranges import height_of, squared_norms

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
    if inverse.size <= height_of(bins):  # less the part that the known total determines
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
