"""`dpopt intervals plan`, `release`, `answer`, `export` and `from-histogram`: intervals and boxes of nearly equal counts."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import application, command
from dpopt.cli.commands.plan import print_json
from dpopt.cli.reports.reports import warn_if_not_private
from dpopt.cli.synopses.histogram import (
    AcceptDraftOption,
    EstimateOption,
    OrderedOption,
    SchemaFileOption,
)
from dpopt.cli.synopses.intervals_report import print_answers, print_plan, print_release, print_tree
from dpopt.errors import PlanError

intervals_group = typer.Typer(
    help="Intervals of a column, or boxes of several, found so that each holds nearly equally many records.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
application.add_typer(intervals_group, name="intervals")

ColumnsOption = Annotated[
    list[str] | None,
    typer.Option("--column", help="A column declared in --schema; several for boxes."),
]
RecordsOption = Annotated[
    int | None,
    typer.Option(
        "--n",
        help="Public number of records; under add-remove a fixed number near it (release: measured with 1 % of the budget if "
        "left out).",
    ),
]
IntervalsOption = Annotated[
    int | None,
    typer.Option(
        "--intervals", help="One column: the most intervals.", show_default="that with the least error"
    ),
]
CutsOption = Annotated[
    int | None,
    typer.Option(
        "--cuts", help="Several columns: how often each is cut.", show_default="as expected to be best"
    ),
]
WeightsOption = Annotated[
    str,
    typer.Option(
        "--weights",
        help="One column: measured (intervals are counted with noise) or printed (equal ones, as Blum, Ligett and Roth print "
        "them).",
    ),
]
AtomOption = Annotated[
    int,
    typer.Option(
        "--atom", help="With printed weights: the most records that share a value, for the stated error."
    ),
]
ErrorOption = Annotated[
    float | None,
    typer.Option("--error", help="The largest error that will do, as a share of the records; or refuse."),
]
BetaOption = Annotated[
    float, typer.Option("--beta", help="With which probability the stated error may be exceeded.")
]
FileArgument = Annotated[Path, typer.Argument(help="File of 'dpopt intervals release'.")]
_SHOWN = 40  # characters of what was found


@command("plan", group=intervals_group)
def plan(
    *,
    bins: Annotated[
        str | None, typer.Option("--bins", help="Number of bins; of several columns as in 74x100.")
    ] = None,
    columns: ColumnsOption = None,
    schema: SchemaFileOption = None,
    spending: options.SpendingOptions,
    unit: options.UnitOptions,
    n: RecordsOption = None,
    intervals: IntervalsOption = None,
    cuts: CutsOption = None,
    weights: WeightsOption = "measured",
    atom: AtomOption = 1,
    error: ErrorOption = None,
    beta: BetaOption = 0.05,
    ordered: OrderedOption = False,
    accept_draft: AcceptDraftOption = False,
    as_json: options.JsonOption = False,
) -> None:
    """Say what would be searched with how much noise, the error to expect, and whether a tree of counts would be better."""
    from dpopt.synopses.histograms.histogram_settings import HistogramSettings
    from dpopt.synopses.intervals.against_trees import tree_beside
    from dpopt.synopses.intervals.interval_settings import IntervalSettings
    from dpopt.synopses.intervals.partition_of_table import declared_columns

    settings = IntervalSettings(
        HistogramSettings(
            **asdict(spending),
            reading=unit.reading(),
            ordered=ordered,
            accept_draft=accept_draft,
        ),
        n=n,
        weights=weights,
        intervals=intervals,
        cuts=cuts,
        atom=atom,
        error=error,
        beta=beta,
    )
    if (bins is None) == (not columns) or (not columns) != (schema is None):
        raise PlanError("name the bins: --bins with their numbers, or --column and --schema")
    if columns and schema is not None:
        shape = tuple(axis.number for axis in declared_columns(schema, tuple(columns), settings))
    else:
        shape = _shape(bins or "")
    planned = settings.plan(shape, n)
    beside = tree_beside(planned)
    if as_json:
        print_json({**planned.to_json(), "tree": beside.to_json()})
        return
    print_plan(planned)
    print_tree(planned, beside)


@command("release", group=intervals_group)
def release(
    *,
    table: options.TableArgument,
    out: Annotated[Path, typer.Option("-o", "--out", help="New file (JSON) for the intervals.")],
    columns: ColumnsOption = None,
    schema: SchemaFileOption = None,
    counts: Annotated[
        str | None,
        typer.Option(
            "--counts",
            help="Or: the table has one row for each bin, in order, with its count in this column.",
        ),
    ] = None,
    spending: options.SpendingOptions,
    paying: options.PayingOptions,
    n: RecordsOption = None,
    intervals: IntervalsOption = None,
    cuts: CutsOption = None,
    weights: WeightsOption = "measured",
    atom: AtomOption = 1,
    error: ErrorOption = None,
    beta: BetaOption = 0.05,
    ordered: OrderedOption = False,
    reading: options.ReadingOptions,
    accept_draft: AcceptDraftOption = False,
) -> None:
    """Release intervals of a column of TABLE, or boxes of several, as one file that answers any range or box."""
    from dpopt.cli.reports.progress import TerminalProgress
    from dpopt.releases.folder_files import check_new
    from dpopt.synopses.histograms.histogram_files import write_histogram
    from dpopt.synopses.histograms.histogram_settings import HistogramSettings
    from dpopt.synopses.intervals.interval_settings import IntervalSettings
    from dpopt.synopses.intervals.partition_of_table import partition_of_columns, partition_of_counts

    settings = IntervalSettings(
        HistogramSettings(
            **asdict(spending),
            ordered=ordered,
            reading=reading.reading(),
            accept_draft=accept_draft,
        ),
        n=n,
        weights=weights,
        intervals=intervals,
        cuts=cuts,
        atom=atom,
        error=error,
        beta=beta,
    )
    if (not columns) == (counts is None) or (not columns) != (schema is None):
        raise PlanError("name what is counted: --column and --schema, or --counts")
    check_new(out)
    with TerminalProgress() as progress:
        if columns and schema is not None:
            released = partition_of_columns(
                table, schema, tuple(columns), settings, progress=progress, budget=paying.ledger()
            )
        else:
            released = partition_of_counts(
                table, str(counts), settings, progress=progress, budget=paying.ledger()
            )
        write_histogram(released, out)
    print_release(released, out)


@command("answer", group=intervals_group)
def answer(
    file: FileArgument,
    ranges: Annotated[
        list[str] | None,
        typer.Option(
            "--range",
            help="Range a:b, or of several columns one each with commas between them, as in 20:40,0:10; may be repeated. "
            "Ranges as for 'dpopt histogram answer'.",
        ),
    ] = None,
    confidence: Annotated[float, typer.Option("--confidence", help="Of the bounds.")] = 0.95,
    as_json: options.JsonOption = False,
) -> None:
    """Answer ranges or boxes from released intervals, with bounds of their errors. Costs no privacy."""
    from dataclasses import asdict

    from dpopt.synopses.intervals.partition_of_table import read_partition

    released = read_partition(file)
    warn_if_not_private(released.privacy)
    asked = ranges or [",".join(":" for _ in released.axes)]
    found = {text: released.between(text, confidence=confidence) for text in asked}
    names = [bins.name for bins in released.axes]
    if as_json:
        rows = [{"range": text, **asdict(found[text])} for text in asked]
        print_json({"columns": names, "ranges": rows})
        return
    print_answers(", ".join(names), found, confidence)


@command("export", group=intervals_group)
def export(
    file: FileArgument,
    out: Annotated[
        Path,
        typer.Option("-o", "--out", help="New file: .csv (intervals or boxes with weights) or .png."),
    ],
    records: Annotated[
        int | None,
        typer.Option("--records", help="CSV: write so many synthetic records in their place."),
    ] = None,
) -> None:
    """Write released intervals with their weights, or synthetic records made from them. Costs no privacy."""
    from dpopt.cli.pictures.intervals_picture import draw_partition
    from dpopt.cli.reports.reports import console
    from dpopt.releases.folder_files import check_new
    from dpopt.synopses.intervals.partition_of_table import read_partition
    from dpopt.synopses.intervals.partition_table import write_boxes, write_records

    if out.suffix not in {".csv", ".png"}:
        raise PlanError(f"found the file {out.name}; expected a name that ends in .csv or .png")
    if records is not None and out.suffix != ".csv":
        raise PlanError("records are written as .csv")
    check_new(out)
    released = read_partition(file)
    warn_if_not_private(released.privacy)
    if out.suffix == ".png":
        draw_partition(released, out)
    elif records is None:
        write_boxes(released, out)
    else:
        write_records(released, out, records)
    console().print(f"written to {out}")


@command("from-histogram", group=intervals_group)
def from_histogram(
    file: Annotated[Path, typer.Argument(help="File of 'dpopt histogram release'.")],
    intervals: Annotated[int, typer.Option("--intervals", help="How many intervals.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="New file (.csv): intervals with weights.")],
    by: Annotated[
        str,
        typer.Option(
            "--by",
            help="error (least squared differences to the counts of the bins) or depth (most equal numbers of records).",
        ),
    ] = "error",
    estimate: EstimateOption = "divided",
    as_json: options.JsonOption = False,
) -> None:
    """Join the bins of a released histogram into the best intervals, with weights. Costs no privacy."""
    from dpopt.cli.reports.reports import console
    from dpopt.releases.folder_files import check_new
    from dpopt.synopses.histograms.histogram_files import read_histogram
    from dpopt.synopses.intervals.joined_bins import join_bins, write_joined

    check_new(out)
    histogram = read_histogram(file)
    warn_if_not_private(histogram.privacy)
    joined = join_bins(histogram, intervals, by=by, estimate=estimate)
    write_joined(histogram, joined, out)
    if as_json:
        print_json(joined.to_json())
        return
    console().print(
        f"{histogram.bins.number:,} bins in {joined.starts.size:,} intervals; root of the mean squared difference to the "
        f"counts of the bins: {joined.root_mean_square:,.4g}; most records in one: {joined.weights.max():,.0f}; "
        f"written to {out}"
    )


def _shape(text: str) -> tuple[int, ...]:
    from dpopt.synopses.histograms.counts_plan import whole_number

    sides = text.split("x")
    found = tuple(number for number in map(whole_number, sides) if number is not None)
    if len(found) < len(sides):
        raise PlanError(
            f"found --bins {text[:_SHOWN]}; expected a number of bins for each column, as in 74x100"
        )
    return found
