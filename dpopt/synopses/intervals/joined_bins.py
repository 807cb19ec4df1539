"""The bins of a released histogram joined into intervals with weights: post-processing, by the best partition."""

from __future__ import annotations

import os
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import PlanError
from dpopt.inference.histograms.interval_partition import best_intervals, partition_cost
from dpopt.models.histograms.interval_partition import interval_partition, places_of
from dpopt.programs.solver import Solver
from dpopt.synopses.histograms.estimates import Estimate
from dpopt.synopses.histograms.histogram import Histogram
from dpopt.synopses.synopsis import write_rows

BY = ("error", "depth")


@dataclass(frozen=True, slots=True, eq=False)
class JoinedBins:
    """Intervals of bins with weights."""

    by: str
    """error or depth."""
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    """Shape (K,). The bins start, ..., stop - 1 of each interval."""
    weights: NDArray[np.float64]
    """Shape (K,). The records of each, by the estimate that was joined."""
    root_mean_square: float
    """Root of the mean squared difference between the counts of the bins, by that estimate, and their interval's
    mean."""
    solution: str
    """The result of the named solver, and a bound on its distance from the optimum; empty without one."""


def join_bins(
    histogram: Histogram,
    intervals: int,
    *,
    by: str = "error",
    estimate: str | Estimate | None = None,
    solver: str | Solver | None = None,
    seconds: float | None = None,
) -> JoinedBins:
    """Return the best intervals of a histogram's bins by a criterion (models/interval_partition).

    A solver, within its seconds, solves the model in place of dynamic programming, its closed form.
    """
    if by not in BY:
        raise PlanError(f"--by is one of {', '.join(BY)}; found {by!r}")
    counts = histogram.estimate(estimate)
    by_depth, solution = by == "depth", None
    if solver is None:
        places = best_intervals(counts, intervals, by_depth=by_depth)
    else:
        model = interval_partition(counts, intervals, by_depth=by_depth)
        solution = model.solve_for_release(solver, seconds=seconds)
        places = places_of(solution, counts.size, intervals)
    cost = partition_cost(counts, places)
    return JoinedBins(
        by,
        freeze(places[:-1].copy()),
        freeze(places[1:].copy()),
        freeze(np.add.reduceat(counts, places[:-1])),
        sqrt(cost / counts.size),
        "" if solution is None else str(solution),
    )


def write_joined(histogram: Histogram, joined: JoinedBins, path: str | os.PathLike[str]) -> None:
    """Write first and last bin, their labels and the weight of each interval; whole or not at all."""
    label = histogram.bins.label
    ends = zip(joined.starts.tolist(), joined.stops.tolist(), joined.weights.tolist(), strict=True)
    rows = ([start, stop - 1, label(start), label(stop - 1), f"{weight:.6g}"] for start, stop, weight in ends)
    write_rows(path, ["first", "last", "first_label", "last_label", "weight"], rows)
