"""Tiny plans of intervals and boxes that the tests of the privacy boundary share."""

from __future__ import annotations

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.synopses.intervals.interval_plan import IntervalPlan
from dpopt.synopses.intervals.split_plan import SplitPlan
from tests.exact_counts_loss import AMPLE, ROWS


def tiny_intervals(
    relation: NeighbouringRelation,
    *,
    gaussian: bool,
    bins: int = 4,
    intervals: int = 3,
    threshold: int = 2,
    scale: float = 3.0,
    mass_scale: float | None = 5.0,
) -> IntervalPlan:
    return IntervalPlan(
        shape=(bins,),
        relation=relation,
        budget=AMPLE[gaussian],
        gaussian=gaussian,
        size=ROWS,
        intervals=intervals,
        threshold=threshold,
        scale=scale,
        mass_scales=() if mass_scale is None else (mass_scale,),
        atom=1,
        beta=0.05,
        error=3.0,
    )


def tiny_split(
    relation: NeighbouringRelation,
    *,
    gaussian: bool,
    shape: tuple[int, ...] = (2, 3),
    rounds: int = 1,
    scale: float = 3.0,
    mass_scales: tuple[float, ...] = (7.0, 5.0),
) -> SplitPlan:
    depth = rounds * len(shape)
    return SplitPlan(
        shape=shape,
        relation=relation,
        budget=AMPLE[gaussian],
        gaussian=gaussian,
        size=ROWS,
        rounds=rounds,
        scale=scale,
        mass_depths=(0, depth) if len(mass_scales) == 2 else (depth,),
        mass_scales=mass_scales,
        beta=0.05,
        error=3.0,
        expected=3.0,
    )
