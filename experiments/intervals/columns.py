"""One column: intervals as planned and as the theorem has them, beside a tree of counts, on public histograms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.inference.histograms.interval_partition import best_intervals
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.synopses.histograms.histogram_plan import plan_blocks
from dpopt.synopses.histograms.release_histogram import release_histogram
from dpopt.synopses.intervals.against_trees import tree_beside
from dpopt.synopses.intervals.interval_plan import plan_intervals
from dpopt.synopses.intervals.partition_release import PartitionRelease
from dpopt.synopses.intervals.release_intervals import release_partition
from experiments.histograms import LINES, dpbench
from experiments.intervals.theorem import corrected_error, printed_density, theorem_plan

Result = dict[str, Any]
Counts = NDArray[np.int64]
ADD_REMOVE = NeighbouringRelation.ADD_REMOVE
BETA = 0.05
BUDGETS = {"epsilon 1": Budget(1.0, 0.0, None, Accountant.PURE), "rho 0.5": Budget(None, 1e-9, 0.5, Accountant.ZCDP)}
SETS = ("HEPTH", "ADULT-CAPLOSS", "BIDS-FJ")
SMOOTH = "made up: beta(2, 5)"
PRINTED, MEASURED = "theorem 4.3, corrected", "measured weights"
PLANNED_PRINTED = "printed weights"
"""Removed from dpopt; its figures stay."""
TREE, JOINED = "dpopt histogram", "its bins joined"
METHODS = (PRINTED, PLANNED_PRINTED, MEASURED, TREE, JOINED)


def smooth(bins: int, records: int) -> Counts:
    """Return counts of records from a beta(2, 5) distribution on the bins, rounded; nothing is drawn."""
    places = np.linspace(0.0, 1.0, bins + 1)
    share = 1.0 - (1.0 - places) ** 5 * (1.0 + 5.0 * places)  # the distribution function of beta(2, 5)
    return np.diff(np.rint(share * records)).astype(np.int64)


def tables(*, quick: bool) -> Iterator[tuple[str, Counts]]:
    """Yield names and counts."""
    yield SMOOTH, smooth(*((2**6, 10**5) if quick else (2**20, 10**6)))
    if not quick:
        yield from ((histogram.name, histogram.counts) for histogram in dpbench(LINES) if histogram.name in SETS)


def worst_error(density: NDArray[np.float64], counts: Counts) -> float:
    """Return the largest error of any range, in records."""
    return float(np.ptp(np.concatenate(([0.0], np.cumsum(density - counts)))))


def root_mean_square(density: NDArray[np.float64], counts: Counts) -> float:
    """Return the root of the mean squared error over all ranges, in records: from the errors up to each place."""
    errors = np.concatenate(([0.0], np.cumsum(density - counts)))
    n = errors.size
    return float(np.sqrt(2.0 * n / (n - 1) * errors.var()))


def density_of(released: PartitionRelease) -> NDArray[np.float64]:
    """Return the records in each bin, by the intervals."""
    sides = (released.partition.stops - released.partition.starts)[:, 0]
    return np.repeat(released.weights / sides, sides)


def releases(
    counts: Counts, budget: Budget, *, joined: bool
) -> Iterator[tuple[str, float | None, Callable[[], NDArray[np.float64]]]]:
    """Yield each method's name, the error that it is proven to keep (a share of the records), and one that releases."""
    records, bins = int(counts.sum()), counts.size
    held = BinCounts.from_counts(counts)

    comparisons = (bins - 1).bit_length()
    if budget.epsilon is not None:
        alpha = corrected_error(records, budget.epsilon, comparisons, BETA)
        if alpha is not None and alpha < 1.0:
            plan = theorem_plan(bins, budget, records, alpha, relation=ADD_REMOVE)
            yield PRINTED, alpha, lambda: printed_density(held, plan)
    found = plan_intervals(bins, budget, records, relation=ADD_REMOVE, beta=BETA)
    yield MEASURED, found.error / records, lambda: density_of(release_partition(held, found))
    tree = plan_blocks(bins, budget, relation=ADD_REMOVE)
    beside = tree_beside(found)
    yield TREE, beside.bound / records, lambda: release_histogram(held, tree).counts
    if joined:
        yield JOINED, None, lambda: _joined(release_histogram(held, tree).counts, found.intervals)


def _joined(estimate: NDArray[np.float64], intervals: int) -> NDArray[np.float64]:
    places = best_intervals(estimate, min(intervals, estimate.size))
    sides = np.diff(places)
    return np.repeat(np.add.reduceat(estimate, places[:-1]) / sides, sides)


def measure(runs: int, *, quick: bool) -> Iterator[Result]:
    """Yield the errors of each method on each table, over runs."""
    for name, counts in tables(quick=quick):
        records = int(counts.sum())
        for text, budget in BUDGETS.items():
            row: Result = {"set": name, "bins": counts.size, "records": records, "budget": text}
            row["largest_bin"] = int(counts.max())
            for method, proven, release in releases(counts, budget, joined=counts.size <= 4096):
                densities = [release() for _ in range(runs)]
                row[method] = {
                    "proven": proven,
                    "worst": max(worst_error(density, counts) for density in densities) / records,
                    "rms": float(np.mean([root_mean_square(density, counts) for density in densities])) / records,
                }
            yield row
