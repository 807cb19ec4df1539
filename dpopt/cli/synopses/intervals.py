"""`dpopt intervals plan`, `release`, `answer`, `export` and `from-histogram`: intervals and boxes of nearly equal counts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.algorithms.terms import N0
from dpopt.cli import options
from dpopt.cli.synopses import shared
from dpopt.cli.synopses.histograms import HISTOGRAM, EstimateOption
from dpopt.errors import PlanError
from dpopt.synopses.any_synopsis import KINDS

if TYPE_CHECKING:
    from dpopt.synopses.histograms.histogram import Histogram
    from dpopt.synopses.intervals.against_trees import TreeBeside
    from dpopt.synopses.intervals.partition_plan import PartitionPlan
    from dpopt.synopses.intervals.partition_release import PartitionRelease
    from dpopt.synopses.release import Request, RequestKeywords


INTERVALS = shared.Kind(
    "intervals",
    "Intervals of a column, or boxes of several, found so that each holds nearly equally many records.",
    KINDS["dpopt_intervals"],
)


@dataclass(frozen=True)
class ShapeOptions:
    """The search."""

    intervals: Annotated[
        int | None,
        typer.Option(
            "--intervals", help="One column: the largest number of intervals.", show_default="that with the least error"
        ),
    ] = None
    cuts: Annotated[
        int | None,
        typer.Option(
            "--cuts", help="Several columns: how often each is cut.", show_default="that with the least expected bound"
        ),
    ] = None
    error: Annotated[
        float | None, "Refuse unless the proven error is at most this share of the records, between 0 and 1."
    ] = None
    confidence: Annotated[float, "Probability with which the stated error holds."] = 0.95


@INTERVALS.plans(shared.PlanSizeOptions)
def plan(
    request: Request,
    *,
    columns: shared.ColumnsOption = None,
    where: shared.BinOptions,
    n: shared.NOption = None,
    n0: N0 = None,
    shape: ShapeOptions,
) -> shared.Output:
    """Show the searches of a release, their noise, the predicted error, and that of a tree of counts. Reads no table."""
    from dpopt.files.codec import encode
    from dpopt.synopses.intervals.against_trees import tree_beside
    from dpopt.synopses.intervals.release_intervals import plan_partition

    axes = where.axes(request, shared.named_columns(columns))
    sides = tuple(axis.number for axis in axes)
    plan = partial(plan_partition, sides, relation=request.relation, **asdict(shape))
    planned = request.plan(plan, n, n0, compared=partial(plan, error=None))
    beside = tree_beside(planned)
    return shared.Output(
        {**planned.to_json(), "tree": {**encode(beside), "better": beside.better}},
        [*planned.in_words(), _proven(planned), _tree(planned, beside)],
    )


@INTERVALS.releases(
    lambda released: (
        f"{len(released.partition):,} {'intervals' if len(released.axes) == 1 else 'boxes'}, some {released.total:,.0f} "
        f"records"
    ),
    shared.ReleaseSizeOptions,
)
def release(
    how: RequestKeywords,
    *,
    table: options.TableArgument,
    columns: shared.ColumnsOption = None,
    schema: shared.MaybeSchemaOption = None,
    counts: shared.CountsOption = None,
    solving: options.ModelSolverOptions,
    n0: N0 = None,
    shape: ShapeOptions,
) -> PartitionRelease:
    """Release intervals of a column of TABLE, or boxes of several, as one file that answers any range or box."""
    from dpopt.synopses.intervals.release_intervals import intervals

    names = shared.named_columns(columns)
    return intervals(table, schema, names, counts=counts, n0=n0, **asdict(shape), **asdict(solving), **how)


@INTERVALS.shows("answer")
def answer(
    released: PartitionRelease,
    *,
    query: Annotated[
        list[str] | None,
        "Range a:b, or of several columns one each with commas between them, as in 20:40,0:10; may be repeated. Ranges "
        "as for 'dpopt histogram answer'.",
    ] = None,
    confidence: shared.ConfidenceOption = 0.95,
) -> shared.Output:
    """Answer ranges or boxes from released intervals, with bounds of their errors. Costs no privacy."""
    return shared.box_answers(
        released.axes, query, "off by at most", partial(released.answer, confidence=confidence), confidence
    )


@INTERVALS.exports("New file: .csv (intervals or boxes with weights) or .png.")
def export(
    *, rows: Annotated[int | None, "For .csv: write this many synthetic records instead of the intervals."] = None
) -> shared.Forms:
    """Write released intervals with their weights, or synthetic records made from them. Costs no privacy."""
    from dpopt.cli.pictures import draw_partition
    from dpopt.synopses.intervals.partition_release import write_boxes, write_records

    def refuse_picture(*_: object) -> None:
        raise PlanError("records are written as .csv")

    if rows is not None:
        return {".csv": partial(write_records, records=rows), ".png": refuse_picture}
    return {".csv": write_boxes, ".png": draw_partition}


@HISTOGRAM.shows("from-histogram", INTERVALS.group)
def from_histogram(
    histogram: Histogram,
    *,
    intervals: Annotated[int, "How many intervals."],
    out: Annotated[Path, "-o", "--out", "New file (.csv): intervals with weights."],
    by: Annotated[
        str,
        "What the intervals minimize: error (squared differences to the counts of the bins) or depth (differences of "
        "their numbers of records).",
    ] = "error",
    estimate: EstimateOption = None,
    solving: options.ModelSolverOptions,
) -> shared.Output:
    """Join the bins of a released histogram into the best intervals, with weights. Costs no privacy."""
    from dpopt.files.codec import encode
    from dpopt.files.written_files import check_new
    from dpopt.synopses.intervals.joined_bins import join_bins, write_joined

    check_new(out)
    joined = join_bins(histogram, intervals, by=by, estimate=estimate, **asdict(solving))
    write_joined(histogram, joined, out)
    summary = (
        f"{histogram.bins.number:,} bins in {joined.starts.size:,} intervals; root of the mean squared difference to "
        f"the counts of the bins: {joined.root_mean_square:,.4g}; most records in one: {joined.weights.max():,.0f}; "
        f"written to {out}"
    )
    return shared.Output(encode(joined), [*filter(None, [joined.solution]), summary])


def _proven(planned: PartitionPlan) -> str:
    share = planned.error / planned.size
    if share >= 1.0:
        return "the proven error is not informative: at so small a budget it is at least the number of records"
    what = "range" if len(planned.shape) == 1 else "box"
    return (
        f"proven: no {what} is off by more than {planned.error:,.0f} records ({share:.3g} of {planned.size:,}), with "
        f"probability {1 - planned.beta:g}{planned.proven_for}"
    )


def _tree(planned: PartitionPlan, beside: TreeBeside) -> str:
    """Return the prediction for a tree of counts with the same budget."""
    every = "no range is" if len(planned.shape) == 1 else "a box is not"
    return (
        f"'{beside.command}' with this budget: standard error {beside.standard_error:,.2f} records (root of the mean "
        f"variance), {every} off by more than {beside.bound:,.0f}. Recommended: use "
        f"{repr(beside.command) if beside.better else 'intervals'}"
    )
