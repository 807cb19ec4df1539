"""Intervals of a column, or boxes of several: planned, searched behind the door, counted, and wrapped.

ReleaseIntervals of Blum, Ligett and Roth, corrected:

    lo = 1
    while lo <= bins and fewer than K - 1 intervals were found:
        b = the first bin at which the noisy count from lo on reaches T        (a binary search with noisy comparisons)
        lo = b + 1
    the last interval is what is left

against the printed pseudo-code: the next interval starts after the last bin of the one before, a search halves what is
left and ends, at most K - 1 searches are made and all are charged, and weights add up to all records.

Boxes: each is cut at its noisy median, along one axis after the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.arrays import freeze
from dpopt.errors import PlanError
from dpopt.private.curators.searching_curator import IntervalSearch, SearchingCurator
from dpopt.private.measurements.bin_measurement import GroupSums
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.grids import box_of_cells, cut_boxes, whole_box
from dpopt.releases.progress import Progress
from dpopt.schema.schema import Schema
from dpopt.synopses.histograms.released_counts import CONFIDENCE
from dpopt.synopses.intervals.interval_plan import MASSES, IntervalPlan, plan_intervals
from dpopt.synopses.intervals.partition import Partition, interval_partition
from dpopt.synopses.intervals.partition_plan import PartitionPlan
from dpopt.synopses.intervals.partition_release import PartitionRelease
from dpopt.synopses.intervals.split_plan import SplitPlan, boxes_after, plan_split
from dpopt.synopses.release import ModelKeywords, Request, Reserved, Running, named_axes

if TYPE_CHECKING:
    from dpopt.private.readers.open_table import AnyTable


Found = tuple[Partition, Iterator[GroupSums]]
"""Intervals or boxes, and their measurements, made in turn: a level takes a number for each cell."""


def search_intervals(curator: SearchingCurator, plan: IntervalPlan, progress: Progress) -> Found:
    """Return the intervals of a plan: the found ones, and the rest."""
    ends: list[int] = []
    start = 0
    while start < plan.bins and len(ends) < plan.searches:
        search = IntervalSearch(len(ends) + 1, plan.comparisons, plan.scale, plan.gaussian, start, plan.threshold)
        end = int(curator.search(search).ends[0])
        ends.append(end)
        start = end + 1
        progress.share(len(ends) / plan.searches)
    found = [end for end in ends if end < plan.bins - 1]  # a search that ended there found nothing
    partition = interval_partition(plan.bins, found)
    groups = box_of_cells(partition.shape, partition.starts, partition.stops)
    return partition, (GroupSums(MASSES, scale, plan.gaussian, groups, len(partition)) for scale in plan.mass_scales)


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
            boxes_after(depth), scale, plan.gaussian, box_of_cells(plan.shape, *boxes[depth]), len(boxes[depth][0])
        )
        for depth, scale in zip(plan.mass_depths, plan.mass_scales, strict=True)
    )
    return Partition(plan.shape, freeze(starts.copy()), freeze(stops.copy()), groups), sums


_SEARCHES: Mapping[str, Callable[[SearchingCurator, Any, Progress], Found]] = {
    "intervals": search_intervals,
    "boxes": cut_at_medians,
}
_TRIED_SIZE = 10_000_000
"""Plans that are refused for this number of records are refused before the table is read, if their number is not
declared."""


def plan_partition(
    shape: tuple[int, ...],
    budget: Budget,
    size: int | None,
    *,
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE,
    intervals: int | None = None,
    cuts: int | None = None,
    error: float | None = None,
    confidence: float = CONFIDENCE,
) -> PartitionPlan:
    """Return the plan of intervals of one column, or of boxes of several, for a public number of records.

    Parameters as for `dpopt.intervals`; `shape` has the bins of each column.
    """
    beta = round(1.0 - confidence, 12)  # 0.05 and not 0.050000000000000044
    if len(shape) > 1:
        if intervals is not None:
            raise PlanError("--intervals is for one column; for several give --cuts")
        return plan_split(shape, budget, size, relation=relation, rounds=cuts, error=error, beta=beta)
    if cuts is not None:
        raise PlanError("--cuts is for several columns; for one give --intervals")
    return plan_intervals(shape[0], budget, size, relation=relation, intervals=intervals, error=error, beta=beta)


def intervals(
    table: AnyTable,
    schema: Schema | str | os.PathLike[str] | None = None,
    columns: str | Sequence[str] = (),
    *,
    counts: str | None = None,
    n0: int | None = None,
    intervals: int | None = None,
    cuts: int | None = None,
    error: float | None = None,
    confidence: float = CONFIDENCE,
    **keywords: Unpack[ModelKeywords],
) -> PartitionRelease:
    """Release intervals of a column, or boxes of several, each with nearly equally many records.

    Parameters
    ----------
    table : path or DataFrame
        CSV (also .gz), Parquet, or a pandas DataFrame. Private.
    schema : Schema or path, optional
        Declares the columns' bins or values. Public; other attributes are not looked at.
    columns : str or sequence of str
        One column for intervals, or several different ones for boxes; at most 4,194,304 cells together.
    counts : str, optional
        In place of schema and columns: the table has one row for each bin, in order, with its count in this column. A
        record is in one bin, and the number of rows is public.
    n0 : int, optional
        Under add-remove a fixed public number near that of the records; measured with 1 % of the budget if left out.
    intervals : int, optional
        One column: the largest number of intervals; that with the least error if left out.
    cuts : int, optional
        Several columns: how often each is cut; that with the least expected bound if left out.
    error : float, optional
        Refuse unless the proven error is at most this share of the records.
    confidence : float
        Probability with which the proven error holds.
    **keywords
        epsilon (delta=0: pure), or rho; neighbours, reading, accept_draft, progress, budget: see
        `dpopt.synopses.release.RequestKeywords`; solver, seconds: see `dpopt.synopses.release.ModelKeywords`.

    Returns
    -------
    PartitionRelease
        Answers by `answer("20:40")`, and is kept by `write(path)`.
    Raises DpoptError for whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote
    the table.

    Examples
    --------
    >>> import dpopt, pandas
    >>> ages = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 20, 40, 60, 80))
    >>> table = pandas.DataFrame({"age": [15, 25, 35, 45, 55, 65] * 500})
    >>> released = dpopt.intervals(table, dpopt.Schema((ages,)), "age", n0=3000, epsilon=1)
    >>> abs(released.answer("20:60").value - 2000) < 100
    True

    Axis-aligned rectangles of two columns:

    >>> hours = dpopt.Attribute("hours", dpopt.AttributeKind.NUMERIC, edges=(0, 20, 40, 60))
    >>> table["hours"] = [10, 30, 50] * 1000
    >>> boxes = dpopt.intervals(table, dpopt.Schema((ages, hours)), ["age", "hours"], n0=3000, epsilon=5)
    >>> one = boxes.answer("20:60,20:60", confidence=0.9999)
    >>> one.low <= 1500 <= one.high
    True
    """
    request = Request(**keywords)
    how: dict[str, Any] = {"intervals": intervals, "cuts": cuts, "confidence": confidence}

    def planned(axes: tuple[Bins, ...], budget: Budget, size: int | None, error: float | None = None) -> PartitionPlan:
        shape = tuple(bins.number for bins in axes)
        return plan_partition(shape, budget, size, relation=request.relation, error=error, **how)

    return request.release_bins(
        "intervals",
        table,
        schema,
        (columns,) if isinstance(columns, str) else tuple(columns),
        counts=counts,
        plan=partial(planned, error=error),
        compared=None if error is None else planned,  # without an error to refuse it is the plan
        measure=lambda axes: partial(release_partition, axes=axes),
        size=n0,
        tried=_TRIED_SIZE,
    )


def release_partition(
    counts: BinCounts, plan: PartitionPlan, axes: tuple[Bins, ...] | None = None, **how: Unpack[Running]
) -> PartitionRelease:
    """Find the intervals or boxes of a plan, measure them if it says so, and return them with weights.

    Parameters and errors as for `dpopt.synopses.histograms.grids.release_grid.release_grid`.
    """
    named = named_axes(plan.shape, axes)
    run = Reserved.of(plan, how)
    with run.stage(f"searching {plan.parts}"):
        curator = run.curator(SearchingCurator, counts, shape=plan.shape)
        partition, sums = _SEARCHES[plan.parts](curator, plan, run.progress)
    with run.stage(f"counting {plan.parts}"):
        noisy = tuple(curator.measure(one).values for one in sums)
        curator.spend_the_rest()
    released = PartitionRelease(named, plan, partition, noisy, run.privacy())
    _ = released.weights
    return released
