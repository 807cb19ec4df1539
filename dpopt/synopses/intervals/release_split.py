"""From exact counts of cells behind their door to boxes: each is cut at its noisy median, along one axis after the other."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from dpopt.arrays import freeze
from dpopt.private.curators.searching_curator import SearchingCurator
from dpopt.private.measurements.bin_measurement import GroupSums
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.grids import box_of_cells, cut_boxes, whole_box
from dpopt.synopses.histograms.release_histogram import named_axes
from dpopt.synopses.intervals.partition import Partition
from dpopt.synopses.intervals.partition_release import PartitionRelease
from dpopt.synopses.intervals.split_plan import SplitPlan, boxes_after
from dpopt.synopses.release import Running, reserved
from dpopt.transcript.journal import MemoryJournal


def release_split(
    counts: BinCounts, plan: SplitPlan, axes: tuple[Bins, ...] | None = None, **how: Unpack[Running]
) -> PartitionRelease:
    """Cut as a plan says, count the boxes, and return them with weights.

    Parameters
    ----------
    counts : BinCounts
        The exact counts of the cells, the last column's bins fastest. Private.
    plan : SplitPlan
    axes : tuple of Bins, optional
        What the bins of each column are; positions 0, 1, ... if left out.
    **how
        As `dpopt.synopses.release.Running` says.

    Raises
    ------
    PlanError, PrivateDataError, BudgetError
        As `dpopt.synopses.histograms.release_histogram.release_histogram`.
    """
    named = named_axes(plan.shape, axes)
    run = reserved(plan, plan.charges(), how)
    starts, stops = whole_box(plan.shape)
    boxes = [(starts, stops)]  # after each number of cuts
    lines = [np.zeros(1, dtype=np.int64)]  # for each box the one that it was cut from
    with run.stage("cutting boxes"):
        curator = SearchingCurator(
            counts, run.ledger, MemoryJournal(keep=False), shape=plan.shape, size=plan.size, noise=run.noise
        )
        for cut in plan.cuts:
            starts, stops, parts = cut_boxes(starts, stops, cut.axis, curator.cut(cut).ends)
            boxes.append((starts, stops))
            lines.append(np.repeat(np.arange(parts.size, dtype=np.int64), parts))
            run.progress.share(cut.number / len(plan.cuts))
    with run.stage("counting boxes"):
        groups, noisy = [], []
        descent = np.arange(len(starts), dtype=np.int64)  # of each last box, the box after so many cuts
        sizes = {}
        for depth in range(len(plan.cuts), -1, -1):
            sizes[depth] = np.bincount(descent).astype(np.int64)
            descent = lines[depth][descent]
        for depth, scale in zip(plan.mass_depths, plan.mass_scales, strict=True):
            numbers = box_of_cells(plan.shape, *boxes[depth])
            sums = GroupSums(boxes_after(depth), scale, plan.gaussian, numbers, len(boxes[depth][0]))
            noisy.append(curator.measure(sums).values)
            groups.append(freeze(sizes[depth]))
        curator.spend_the_rest()
    partition = Partition(plan.shape, freeze(starts.copy()), freeze(stops.copy()), tuple(groups))
    released = PartitionRelease(named, plan, partition, tuple(noisy), run.privacy())
    _ = released.weights
    return released
