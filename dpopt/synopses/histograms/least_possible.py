"""How near a plan of counts with Gaussian noise is to the least variance of any linear Gaussian mechanism (models/strategy).

For each group of ranges or boxes whose variance a plan predicts, where a bound is known: no linear Gaussian mechanism
that costs as much has less for this group, even if it serves no other. `predicted / least - 1` is what the plan is
above it at most.

| asked for | bound |
|---|---|
| all, prefixes, worst (no mean is above the largest) | ST-7, ST-8, replace-one ST-9; up to 256 bins the steps ST-5, and ST-4 |
| sizes | up to 1,024 bins ST-4; beyond ST-10, under add-remove |
| file, groups of a hierarchy | ST-4, of more than 1,024 bins for as many of them |
| all boxes, sizes of boxes | ST-11: products |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import pi, prod, sin

import numpy as np

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.models.noise_budgets.least_variance import (
    MOST_DENSE,
    least_of_declared,
    least_of_gram,
    least_of_prefixes,
    least_of_ranges,
    least_of_size,
    replaced_factor,
)
from dpopt.models.noise_budgets.strategy import gram_of_prefixes, gram_of_ranges
from dpopt.private.measurements.wave_sums import MOST_WAVES
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.waves import waves_of
from dpopt.queries.ranges.weighted_ranges import WeightedRanges
from dpopt.synopses.histograms.counts_plan import CountsPlan, whole_amount
from dpopt.synopses.histograms.grids.grid_plan import GridPlan
from dpopt.synopses.histograms.hierarchy_plan import HierarchyPlan
from dpopt.synopses.histograms.histogram_plan import HistogramPlan
from dpopt.synopses.histograms.range_workload import (
    ALL,
    FILE,
    NODES,
    PREFIXES,
    SIZES,
    WORST,
    parse_sizes,
    ranges_of_sizes,
)
from dpopt.synopses.histograms.tree_plan import TreePlan

_STEPPED = 256  # bins up to which the steps for all ranges take a fraction of a second


@dataclass(frozen=True, slots=True)
class LeastVariances:
    """The proven bounds on a plan."""

    ranges: str
    """The request of the plan."""
    least: dict[str, float]
    """A lower bound on the variance of groups whose variance the plan predicts, by their names, in records squared."""
    waves: float | None = None
    """The mean variance of waves in place of blocks, where they could be measured."""

    def in_words(self, predicted: Mapping[str, float]) -> list[str]:
        """Return its meaning for these predicted variances, a line for each."""
        what = "largest variance of any range" if self.ranges == WORST else "variance"
        lines = [
            f"{name}: {what} at most {100.0 * max(0.0, predicted[name] / bound - 1.0) + 0.05:.1f} % above the least of "
            "any linear Gaussian mechanism (proven: models/strategy)"
            for name, bound in self.least.items()
        ]
        if self.waves is not None:
            lines.append(
                f"waves in place of blocks (--measure waves): standard error {self.waves**0.5:,.2f} records; better "
                f"where most bins hold records, often worse where most are empty"
            )
        return lines


def least_variances(plan: CountsPlan, ranges: str, bins: Bins | None = None) -> LeastVariances:
    """Return the proven bounds on a plan; nothing for Laplace noise.

    `ranges` are what the plan was asked for, with the path where they were declared in a file; only there it matters
    what the bins are.
    """
    if not plan.gaussian:
        return LeastVariances(ranges, {})
    known_total = plan.relation is NeighbouringRelation.REPLACE_ONE
    found: dict[str, float] = {}
    if isinstance(plan, GridPlan):
        found = _of_boxes(plan, ranges, known_total=known_total)
    elif isinstance(plan, TreePlan):
        named = Bins("bins", plan.bins) if bins is None else bins
        found = _of_ranges(plan, ranges, named, known_total=known_total)
    unit = 1.0 / (2.0 * whole_amount(plan.budget))
    waves = None
    if isinstance(plan, HistogramPlan) and ranges in {ALL, PREFIXES} and plan.bins <= MOST_WAVES and not known_total:
        waves = unit * waves_of(plan.bins, prefixes=ranges == PREFIXES).mean_variance()
    return LeastVariances(ranges, {name: unit * least for name, least in found.items() if least > 0.0}, waves)


def _least(ranges: str, bins: int, *, known_total: bool) -> float:
    """Return the bound of all ranges, or of prefixes."""
    if bins > _STEPPED:
        return (least_of_prefixes if ranges == PREFIXES else least_of_ranges)(bins, known_total=known_total)
    gram = gram_of_prefixes(bins) if ranges == PREFIXES else gram_of_ranges(bins)
    return least_of_gram(gram, known_total=known_total)


def _of_ranges(plan: TreePlan, ranges: str, bins: Bins, *, known_total: bool) -> dict[str, float]:
    names, number = list(plan.predicted), plan.bins
    if ranges in {ALL, PREFIXES, WORST}:
        largest = max(names, key=lambda name: plan.predicted[name]) if ranges == WORST else names[0]
        return {largest: _least(ranges, number, known_total=known_total)}
    declared = partial(_of_declared, known_total=known_total)
    if ranges.startswith(FILE) or (ranges == NODES and isinstance(plan, HierarchyPlan)):
        file = ranges.removeprefix(FILE)
        wanted = (
            _nodes(plan) if isinstance(plan, HierarchyPlan) and ranges == NODES else WeightedRanges.read(file, bins)
        )
        return {names[0]: declared(wanted)}
    sizes = parse_sizes(ranges)
    if isinstance(plan, HierarchyPlan):
        return {names[0]: declared(ranges_of_sizes(sizes, number))} if number <= MOST_DENSE else {}
    each = zip(names, sizes, strict=True)
    return {name: _of_size(size, number, known_total=known_total) for name, size in each}


def _of_declared(wanted: WeightedRanges, *, known_total: bool) -> float:
    return least_of_declared(wanted.starts, wanted.stops, wanted.shares, wanted.bins, known_total=known_total)


def _of_size(size: int, bins: int, *, known_total: bool) -> float:
    if bins <= MOST_DENSE:
        return _of_declared(ranges_of_sizes([size], bins), known_total=known_total)
    return 0.0 if known_total else least_of_size(size, bins)


def _nodes(plan: HierarchyPlan) -> WeightedRanges:
    """Return all groups of all levels (HB-5)."""
    tree = plan.hierarchy
    weights = np.empty(len(tree))
    for level in tree.levels:
        weights[level] = 1.0 / (len(tree.levels) * (level.stop - level.start))
    return WeightedRanges(tree.start, tree.start + tree.size, weights, tree.bins)


def _of_boxes(plan: GridPlan, ranges: str, *, known_total: bool) -> dict[str, float]:
    names, shape = list(plan.predicted), plan.shape
    if ranges == ALL and not known_total:
        return {names[0]: prod(_least(ranges, bins, known_total=False) for bins in shape)}
    if ranges == ALL:
        # Without the total's direction, all singular values but the largest are at least the next ones.
        cells, every = prod(shape), prod(least_of_ranges(bins) for bins in shape)
        largest = prod(2.0**0.5 / (bins * 2.0 * sin(pi / (2.0 * bins + 2.0))) for bins in shape)
        return {names[0]: replaced_factor(cells) * max(0.0, every**0.5 - largest) ** 2} if cells > 1 else {}
    if known_total:
        return {}
    sizes = [[int(side) for side in part.split("x")] for part in ranges.removeprefix(SIZES).split(",")]
    return {
        name: prod(_of_size(side, bins, known_total=False) for side, bins in zip(sides, shape, strict=True))
        for name, sides in zip(names, sizes, strict=True)
    }
