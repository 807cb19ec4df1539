"""The closed forms of models of histograms: how `dpopt.models` solves them where no solver is named.

Each gives the values of all variables of its model, in their order, and the duals of its rows, which prove the values
optimal; None where no duals are known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.histograms.interval_partition import best_intervals
from dpopt.inference.histograms.sorted import isotonic
from dpopt.inference.histograms.tree_least_squares import least_squares, nonnegative_least_squares
from dpopt.models.histograms.interval_partition import interval_arcs
from dpopt.models.model import Answer
from dpopt.queries.ranges.tree import Tree

Numbers = NDArray[np.float64]


def isotonic_regression(
    values: Numbers, weights: Numbers, *, lower: float | None, upper: float | None, total: float | None
) -> Answer:
    """Return the sequence of least squares, and the multipliers of IR-7."""
    s = isotonic.isotonic(values, weights=weights, lower=lower, upper=upper, total=total)
    shift = 0.0
    if total is not None:
        inside = (s != lower) & (s != upper)
        if not inside.any():
            return s, None
        shift = float((weights * (s - values))[inside].sum() / np.count_nonzero(inside))
    free = isotonic.isotonic(values + shift / weights, weights=weights)
    rises = np.cumsum(weights * (values - free) + shift)[:-1]
    return s, rises if total is None else np.append(rises, shift)


def isotonic_median(values: Numbers, weights: Numbers, *, lower: float | None, upper: float | None) -> Answer:
    """Return the sequence of least absolute differences, and these."""
    s = isotonic.isotonic_median(values, weights=weights, lower=lower, upper=upper)
    return np.concatenate([s, np.abs(s - values)]), None


def tree_consistency(tree: Tree, values: Numbers, variances: Numbers, *, nonnegative: bool) -> Answer:
    """Return the values of the nodes, and the multipliers of TC-2: the slope of a node plus the multiplier of its parent."""
    fit = nonnegative_least_squares if nonnegative else least_squares
    x = fit(tree, values, variances)
    measured = np.isfinite(variances) & (variances > 0)
    duals = np.where(measured, 2.0 * (x - values) / np.where(measured, variances, 1.0), 0.0)
    for level in tree.levels[1:]:
        duals[level] += duals[tree.parent[level]]
    return x, duals[tree.children > 0]


def interval_partition(values: Numbers, intervals: int, *, by_depth: bool) -> Answer:
    """Return the path of least cost, by dynamic programming."""
    places = best_intervals(values, intervals, by_depth=by_depth)
    first, last, place = interval_arcs(values.size, intervals)
    chosen = (places[place - 1] == first) & (places[place] == last)
    return chosen.astype(np.float64), None
