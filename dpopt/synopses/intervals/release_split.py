"""From exact counts of cells behind their door to boxes: each is cut at its noisy median, along one axis after the other."""

from __future__ import annotations

import numpy as np

from dpopt.accounting.ledger import Account
from dpopt.algorithms.statement import privacy_statement
from dpopt.arrays import freeze
from dpopt.errors import PlanError
from dpopt.private.curators.searching_curator import SearchingCurator
from dpopt.private.measurements.bin_measurement import GroupSums
from dpopt.private.mechanisms.noise import Noise
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.grids import box_of_cells, cut_boxes, whole_box
from dpopt.releases.ledgers import reserved_ledger
from dpopt.releases.progress import Progress, Silent, stage
from dpopt.synopses.intervals.partition import Partition
from dpopt.synopses.intervals.partition_release import PartitionRelease
from dpopt.synopses.intervals.split_plan import SplitPlan, boxes_after
from dpopt.transcript.journal import MemoryJournal


def release_split(
    counts: BinCounts,
    plan: SplitPlan,
    axes: tuple[Bins, ...] | None = None,
    *,
    noise: Noise | None = None,
    progress: Progress | None = None,
    account: Account | None = None,
) -> PartitionRelease:
    """Cut as a plan says, count the boxes, and return them with weights.

    Everything is charged before it is drawn. If the run ends before it returns, nothing has left the private side.

    Parameters
    ----------
    counts : BinCounts
        The exact counts of the cells, the last column's bins fastest. Private.
    plan : SplitPlan
    axes : tuple of Bins, optional
        What the bins of each column are; positions 0, 1, ... if left out.
    noise : Noise, optional
        Anything but the default marks the release as not private.
    progress : Progress, optional
    account : Account, optional
        From where it is paid besides (`dpopt.releases.ledgers.open_account`).

    Raises
    ------
    PlanError
        If plan and axes have different numbers of bins.
    PrivateDataError
        If the counts do not have the plan's number of cells, or under replace-one another number of records.
    BudgetError
        If the plan costs more than its budget.
    """
    told = progress or Silent()
    named = (
        tuple(Bins(f"column {place}", bins) for place, bins in enumerate(plan.shape))
        if axes is None
        else axes
    )
    if tuple(bins.number for bins in named) != plan.shape:
        raise PlanError(
            f"found columns of {[bins.number for bins in named]} bins for a plan of {list(plan.shape)}"
        )
    ledger = reserved_ledger(plan.budget, plan.relation, plan.charges(), account)
    starts, stops = whole_box(plan.shape)
    boxes = [(starts, stops)]  # after each number of cuts
    lines = [np.zeros(1, dtype=np.int64)]  # for each box the one that it was cut from
    with stage(told, "cutting boxes"):
        curator = SearchingCurator(
            counts, ledger, MemoryJournal(keep=False), shape=plan.shape, size=plan.size, noise=noise
        )
        for cut in plan.cuts:
            starts, stops, parts = cut_boxes(starts, stops, cut.axis, curator.cut(cut).ends)
            boxes.append((starts, stops))
            lines.append(np.repeat(np.arange(parts.size, dtype=np.int64), parts))
            told.share(cut.number / len(plan.cuts))
    with stage(told, "counting boxes"):
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
    privacy = privacy_statement(plan, ledger)
    released = PartitionRelease(named, plan, partition, tuple(noisy), privacy)
    _ = released.weights
    return released
