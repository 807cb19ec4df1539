"""From exact counts behind their door to intervals, or to boxes that are cut at their noisy medians.

ReleaseIntervals of Blum, Ligett and Roth, corrected:

    lo = 1
    while lo <= bins and fewer than K - 1 intervals were found:
        b = the first bin at which the noisy count from lo on reaches T        (a binary search with noisy comparisons)
        lo = b + 1
    the last interval is what is left

against the printed pseudo-code: the next interval starts after the last bin of the one before, a search halves what is left
and ends, at most K - 1 searches are made and all are charged, and weights add up to all records.

Boxes: each is cut at its noisy median, along one axis after the other.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpopt.arrays import freeze
from dpopt.private.curators.searching_curator import IntervalSearch, SearchingCurator
from dpopt.private.measurements.bin_measurement import GroupSums
from dpopt.queries.ranges.grids import box_of_cells, cut_boxes, whole_box
from dpopt.releases.progress import Progress
from dpopt.synopses.intervals.interval_plan import MASSES, IntervalPlan
from dpopt.synopses.intervals.partition import Partition, interval_partition
from dpopt.synopses.intervals.split_plan import SplitPlan, boxes_after

Found = tuple[Partition, Iterator[GroupSums]]
"""Intervals or boxes, and what is measured of them, made one after the other: a level takes a number for each cell."""


def search_intervals(curator: SearchingCurator, plan: IntervalPlan, progress: Progress) -> Found:
    """Return the intervals of a plan: those that were found, and what is left."""
    ends: list[int] = []
    start = 0
    while start < plan.bins and len(ends) < plan.searches:
        search = IntervalSearch(
            len(ends) + 1, plan.comparisons, plan.scale, plan.gaussian, start, plan.threshold
        )
        end = int(curator.search(search).ends[0])
        ends.append(end)
        start = end + 1
        progress.share(len(ends) / plan.searches)
    measured = bool(plan.mass_scales)
    found = [end for end in ends if end < plan.bins - 1]  # a search that ended there found nothing
    partition = interval_partition(plan.bins, found, last_bins_alone=measured, measured=measured)
    groups = box_of_cells(partition.shape, partition.starts, partition.stops)
    return partition, (
        GroupSums(MASSES, scale, plan.gaussian, groups, len(partition)) for scale in plan.mass_scales
    )


def cut_at_medians(curator: SearchingCurator, plan: SplitPlan, progress: Progress) -> Found:
    """Return the boxes after all cuts of a plan, and the sums of the boxes after some of them."""
    starts, stops = whole_box(plan.shape)
    boxes = [(starts, stops)]  # after each number of cuts
    lines = [np.zeros(1, dtype=np.int64)]  # for each box the one that it was cut from
    for cut in plan.cuts:
        starts, stops, parts = cut_boxes(starts, stops, cut.axis, curator.cut(cut).ends)
        boxes.append((starts, stops))
        lines.append(np.repeat(np.arange(parts.size, dtype=np.int64), parts))
        progress.share(cut.number / len(plan.cuts))
    descent = np.arange(len(starts), dtype=np.int64)  # of each last box, the box after so many cuts
    sizes = {}
    for depth in range(len(plan.cuts), -1, -1):
        sizes[depth] = freeze(np.bincount(descent).astype(np.int64))
        descent = lines[depth][descent]
    groups = tuple(sizes[depth] for depth in plan.mass_depths)
    sums = (
        GroupSums(
            boxes_after(depth),
            scale,
            plan.gaussian,
            box_of_cells(plan.shape, *boxes[depth]),
            len(boxes[depth][0]),
        )
        for depth, scale in zip(plan.mass_depths, plan.mass_scales, strict=True)
    )
    return Partition(plan.shape, freeze(starts.copy()), freeze(stops.copy()), groups), sums
