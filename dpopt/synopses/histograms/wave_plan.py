"""The plan of a histogram that measures waves over all bins, not counts of blocks; made from public numbers alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.arrays import freeze
from dpopt.errors import PlanError
from dpopt.private.measurements.wave_sums import LARGEST_UNIT, MOST_WAVES, WaveSums
from dpopt.queries.ranges.tree import Tree
from dpopt.queries.ranges.waves import Waves, waves_of
from dpopt.synopses.histograms.counts_plan import check_scales, is_gaussian, whole_amount
from dpopt.synopses.histograms.range_workload import ALL, PREFIXES
from dpopt.synopses.histograms.tree_plan import MeasuredLevel, TreePlan

WAVES = "waves over all bins"
_WORDS = {ALL: "all ranges", PREFIXES: "prefixes"}


@dataclass(frozen=True, eq=False, kw_only=True)
class WavePlan(TreePlan):
    """The plan of a release of a histogram: as many waves as bins, under add-remove and with Gaussian noise.

    Each wave adds up all bins with whole weights, in units of 1 / `unit`. Estimates other than least squares divide the
    least-squares counts over a tree of blocks; nothing of that tree is measured.
    """

    unit: int = field(default=LARGEST_UNIT)
    """The integer that represents 1 in the measured sums."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check(self.ranges, self.relation, gaussian=self.gaussian)
        check_scales(self.scales, (WAVES,))
        _ = self._sums  # refuses too many bins, or a unit out of range

    @property
    def _sums(self) -> WaveSums:
        return WaveSums(WAVES, self.scales[0], self.gaussian, self.bins, self.ranges == PREFIXES, self.unit)

    @property
    def scales_in_records(self) -> tuple[float, ...]:
        """Scale of the noise of a wave whose columns have the norm 1."""
        return (self.scales[0] / self.unit,)

    @property
    def waves(self) -> Waves:
        """The measurements, before rounding."""
        return waves_of(self.bins, prefixes=self.ranges == PREFIXES)

    @property
    def levels(self) -> tuple[MeasuredLevel, ...]:
        """The one level that is measured."""
        return (MeasuredLevel(WAVES, len(self.tree.levels) - 1, self.scales[0]),)

    @cached_property
    def tree(self) -> Tree:
        """Blocks of 1, 2, 4, ... bins."""
        return Tree.balanced(self.bins, 2)

    def charges(self) -> list[Charge]:
        """Return the charge of the waves."""
        return [self._sums.charge(1, self.relation)]

    def derived(self) -> dict[str, Any]:
        """Return derived figures, including the kind of the plan."""
        return {**super().derived(), "measured": WAVES}

    def measurements(self) -> Iterator[WaveSums]:
        """Return the measurements."""
        yield self._sums

    def node_values(self, noisy: tuple[NDArray[np.int64], ...]) -> NDArray[np.float64]:
        """Return the least-squares count of each node, (v,)."""
        return self.tree.totals(self.waves.bins_of(noisy[0] / self.unit))

    @cached_property
    def variances(self) -> NDArray[np.float64]:
        """About the variances of the least-squares counts of all nodes, (v,); exact for single bins."""
        tree = self.tree
        return freeze(self.waves.near_variances(tree.start, tree.size) * self.scales_in_records[0] ** 2)

    def range_variances(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the variances of the least-squares counts of ranges, (q,)."""
        return self.waves.variances(starts, stops) * self.scales_in_records[0] ** 2


def _check(ranges: str, relation: NeighbouringRelation, *, gaussian: bool) -> None:
    if ranges not in _WORDS or not gaussian or relation is not NeighbouringRelation.ADD_REMOVE:
        raise PlanError(
            f"found waves for the ranges {ranges!r}; they are measured for {ALL!r} or {PREFIXES!r}, under add-remove, "
            f"with Gaussian noise (rho, or epsilon and delta): measure blocks for others"
        )


def plan_waves(bins: int, budget: Budget, *, ranges: str, relation: NeighbouringRelation) -> WavePlan:
    """Return the plan that measures waves: for all ranges, or for prefixes (ST-6 at equal d)."""
    _check(ranges, relation, gaussian=is_gaussian(budget))
    if not 1 <= bins <= MOST_WAVES:
        raise PlanError(f"waves are measured over 1 to {MOST_WAVES:,} bins, found {bins:,}; measure blocks")
    trial = WaveSums(WAVES, 1.0, gaussian=True, bins=bins, prefixes=ranges == PREFIXES, unit=LARGEST_UNIT)
    scale = measurement_scale(trial.sensitivity(relation), amount=whole_amount(budget), gaussian=is_gaussian(budget))
    waves = waves_of(bins, prefixes=ranges == PREFIXES)
    return WavePlan(
        bins=bins,
        relation=relation,
        budget=budget,
        gaussian=is_gaussian(budget),
        scales=(scale,),
        ranges=ranges,
        size=None,
        predicted={_WORDS[ranges]: waves.mean_variance() * (scale / LARGEST_UNIT) ** 2},
    )
