"""`dpopt intervals plan`, `release`, `answer`, `export` and `from-histogram`: intervals and boxes of nearly equal counts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import command
from dpopt.cli.commands.plan import print_json
from dpopt.cli.synopses import shared
from dpopt.cli.synopses.histogram import EstimateOption
from dpopt.errors import PlanError

if TYPE_CHECKING:
    from dpopt.synopses.intervals.against_trees import TreeBeside
    from dpopt.synopses.intervals.partition_plan import PartitionPlan
    from dpopt.synopses.intervals.partition_release import PartitionAnswer, PartitionRelease


def print_plan(planned: PartitionPlan) -> None:
    """Print what a plan measures, and what it proves."""
    from dpopt.cli.reports.reports import console

    out, share = console(), planned.error / planned.size
    for sentence in planned.in_words():
        out.print(sentence)
    if share >= 1.0:
        out.print(
            "the proven error is not informative: at so small a budget it is at least the number of records"
        )
        return
    what = "range" if len(planned.shape) == 1 else "box"
    out.print(
        f"proven: no {what} is off by more than {planned.error:,.0f} records ({share:.3g} of {planned.size:,}), with "
        f"probability {1 - planned.beta:g}{planned.proven_for}"
    )


def print_tree(planned: PartitionPlan, beside: TreeBeside) -> None:
    """Print what a tree of counts would give with the same budget."""
    from dpopt.cli.reports.reports import console

    every = "no range is" if len(planned.shape) == 1 else "a box is not"
    message = (
        f"'{beside.command}' with this budget: standard error {beside.standard_error:,.2f} records (root of the mean "
        f"variance), {every} off by more than {beside.bound:,.0f}"
    )
    advice = f"use '{beside.command}'" if beside.better else "use intervals"
    console().print(f"{message}. Recommended: {advice}")


def print_release(released: PartitionRelease, out: Path) -> None:
    """Print what was spent and what was found."""
    from dpopt.cli.reports.reports import console, print_spent

    print_spent(released.privacy)
    what = "intervals" if len(released.axes) == 1 else "boxes"
    console().print(
        f"{len(released.partition):,} {what}, some {released.total:,.0f} records; written to {out}"
    )


def print_answers(heading: str, answers: dict[str, PartitionAnswer], confidence: float) -> None:
    """Print a table of answers with their bounds and intervals."""
    from rich.table import Table

    from dpopt.cli.reports.reports import console

    table = Table(
        heading, "records", "off by at most", f"{100 * confidence:.12g}% interval", title_justify="left"
    )
    for text, one in answers.items():
        table.add_row(text, f"{one.value:,.1f}", f"{one.bound:,.1f}", f"{one.low:,.1f} to {one.high:,.1f}")
    console().print(table)


intervals_group = shared.synopsis_group(
    "intervals",
    "Intervals of a column, or boxes of several, found so that each holds nearly equally many records.",
)

IntervalsOption = Annotated[
    int | None,
    typer.Option(
        "--intervals",
        help="One column: the largest number of intervals.",
        show_default="that with the least error",
    ),
]
CutsOption = Annotated[
    int | None,
    typer.Option(
        "--cuts",
        help="Several columns: how often each is cut.",
        show_default="that with the least expected bound",
    ),
]
WeightsOption = Annotated[
    str,
    typer.Option(
        "--weights",
        help="One column: measured (intervals are counted with noise) or printed (equal weights, as in the paper of Blum, "
        "Ligett and Roth).",
    ),
]
AtomOption = Annotated[
    int,
    typer.Option(
        "--atom",
        help="With printed weights: the largest number of records that share a value, for the stated error.",
    ),
]
ErrorOption = Annotated[
    float | None,
    typer.Option(
        "--error",
        help="Refuse unless the proven error is at most this share of the records, between 0 and 1.",
    ),
]
ConfidenceOption = Annotated[
    float, typer.Option("--confidence", help="Probability with which the stated error holds.")
]
FileArgument = Annotated[Path, typer.Argument(help="File of 'dpopt intervals release'.")]


@dataclass(frozen=True)
class ShapeOptions:
    """What is searched."""

    intervals: IntervalsOption = None
    cuts: CutsOption = None
    weights: WeightsOption = "measured"
    atom: AtomOption = 1
    error: ErrorOption = None
    confidence: ConfidenceOption = 0.95


@command("plan", group=intervals_group)
def plan(
    *,
    bins: shared.BinsOption = None,
    columns: shared.ColumnsOption = None,
    schema: shared.MaybeSchemaOption = None,
    asked: shared.PlanOptions,
    n: shared.NOption = None,
    n0: shared.N0Option = None,
    shape: ShapeOptions,
    ordered: shared.OrderedOption = False,
    as_json: options.JsonOption = False,
) -> None:
    """Show what would be searched with how much noise, the predicted error, and whether a tree of counts would be better."""
    from dpopt.files.codec import encode
    from dpopt.synopses.histograms.release_histogram import declared_bins
    from dpopt.synopses.intervals.against_trees import tree_beside
    from dpopt.synopses.intervals.release_intervals import plan_partition

    request, names = asked.request(), shared.named_columns(columns) or ()
    sides = shared.planned_shape(bins, names, schema)
    if sides is None and schema is not None:
        sides = tuple(axis.number for axis in declared_bins(request, schema, names, ordered=ordered))
    planned = request.plan(
        lambda budget, size: plan_partition(
            sides or (), budget, size, relation=request.relation, **asdict(shape)
        ),
        n,
        n0,
    )
    beside = tree_beside(planned)
    if as_json:
        print_json({**planned.to_json(), "tree": {**encode(beside), "better": beside.better}})
        return
    print_plan(planned)
    print_tree(planned, beside)


@command("release", group=intervals_group)
def release(
    *,
    table: options.TableArgument,
    out: shared.OutOption,
    columns: shared.ColumnsOption = None,
    schema: shared.MaybeSchemaOption = None,
    counts: shared.CountsOption = None,
    asked: shared.ReleaseOptions,
    n0: shared.N0Option = None,
    shape: ShapeOptions,
    ordered: shared.OrderedOption = False,
) -> None:
    """Release intervals of a column of TABLE, or boxes of several, as one file that answers any range or box."""
    from dpopt.synopses.intervals.release_intervals import intervals

    names = shared.named_columns(columns) or ()
    released = shared.make(
        out,
        lambda how: intervals(
            table, schema, names, counts=counts, n0=n0, ordered=ordered, **asdict(shape), **how
        ),
        asked.asked(schema),
    )
    print_release(released, out)


@command("answer", group=intervals_group)
def answer(
    file: FileArgument,
    queries: Annotated[
        list[str] | None,
        typer.Option(
            "--query",
            help="Range a:b, or of several columns one each with commas between them, as in 20:40,0:10; may be repeated. "
            "Ranges as for 'dpopt histogram answer'.",
        ),
    ] = None,
    confidence: shared.ConfidenceOption = 0.95,
    as_json: options.JsonOption = False,
) -> None:
    """Answer ranges or boxes from released intervals, with bounds of their errors. Costs no privacy."""
    from dpopt.synopses.intervals.partition_release import PartitionRelease

    released = shared.opened(PartitionRelease, file)
    asked = queries or [",".join(":" for _ in released.axes)]
    found = [released.answer(text, confidence=confidence) for text in asked]
    names = [bins.name for bins in released.axes]
    if as_json:
        print_json({"columns": names, "answers": shared.answers_json(asked, found)})
        return
    print_answers(", ".join(names), dict(zip(asked, found, strict=True)), confidence)


@command("export", group=intervals_group)
def export(
    file: FileArgument,
    out: Annotated[
        Path,
        typer.Option("-o", "--out", help="New file: .csv (intervals or boxes with weights) or .png."),
    ],
    rows: Annotated[
        int | None,
        typer.Option("--rows", help="For .csv: write this many synthetic records in place of the intervals."),
    ] = None,
) -> None:
    """Write released intervals with their weights, or synthetic records made from them. Costs no privacy."""
    from dpopt.cli.pictures import draw_partition
    from dpopt.synopses.intervals.partition_release import PartitionRelease, write_boxes, write_records

    shared.check_export(out, ".csv", ".png")
    if rows is not None and out.suffix != ".csv":
        raise PlanError("records are written as .csv")
    released = shared.opened(PartitionRelease, file)
    if out.suffix == ".png":
        draw_partition(released, out)
    elif rows is None:
        write_boxes(released, out)
    else:
        write_records(released, out, rows)
    shared.say(f"written to {out}")


@command("from-histogram", group=intervals_group)
def from_histogram(
    file: Annotated[Path, typer.Argument(help="File of 'dpopt histogram release'.")],
    intervals: Annotated[int, typer.Option("--intervals", help="How many intervals.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="New file (.csv): intervals with weights.")],
    by: Annotated[
        str,
        typer.Option(
            "--by",
            help="What the intervals minimize: error (squared differences to the counts of the bins) or depth (differences"
            " of their numbers of records).",
        ),
    ] = "error",
    estimate: EstimateOption = "divided",
    as_json: options.JsonOption = False,
) -> None:
    """Join the bins of a released histogram into the best intervals, with weights. Costs no privacy."""
    from dpopt.files.codec import encode
    from dpopt.synopses.histograms.histogram import Histogram
    from dpopt.synopses.intervals.joined_bins import join_bins, write_joined

    shared.check_export(out)
    histogram = shared.opened(Histogram, file)
    joined = join_bins(histogram, intervals, by=by, estimate=estimate)
    write_joined(histogram, joined, out)
    if as_json:
        print_json(encode(joined))
        return
    shared.say(
        f"{histogram.bins.number:,} bins in {joined.starts.size:,} intervals; root of the mean squared difference to the "
        f"counts of the bins: {joined.root_mean_square:,.4g}; most records in one: {joined.weights.max():,.0f}; "
        f"written to {out}"
    )
