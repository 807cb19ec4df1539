"""`dpopt histogram plan`, `release`, `answer` and `export`: counts of ordered bins, and ranges of them with their errors."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import application, command
from dpopt.cli.commands.plan import print_json
from dpopt.cli.reports.reports import print_spent, warn_if_not_private
from dpopt.errors import PlanError

if TYPE_CHECKING:
    from dpopt.synopses.histograms.histogram import Histogram
    from dpopt.synopses.histograms.tree_plan import TreePlan

histogram_group = typer.Typer(
    help="Histograms over ordered bins: any range, with its error.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
application.add_typer(histogram_group, name="histogram")

RangesOption = Annotated[
    str | None,
    typer.Option(
        "--ranges",
        help="For which ranges the budget is spread over the levels of a tree: all (their mean), worst (the worst one), "
        "sizes:1,64,1024 (each of these sizes beside what a plain strategy has there), or file:PATH (the weighted mean of the "
        "ranges in a CSV file: a:b,weight in each line; public). With a hierarchy: nodes (the mean of its groups), all, sizes, "
        "file.",
        show_default="all, or nodes",
    ),
]
HierarchyOption = Annotated[
    Path | None,
    typer.Option(
        "--hierarchy",
        help="JSON file of nested lists of bins, by labels or positions: count the bins and the groups of this hierarchy. "
        "Public.",
    ),
]
ColumnOption = Annotated[
    str | None, typer.Option("--column", help="Count the values of this column, declared in --schema.")
]
SchemaFileOption = Annotated[Path | None, typer.Option("--schema", help="Schema file (JSON). Public.")]
CountsOption = Annotated[
    str | None,
    typer.Option(
        "--counts", help="Or: the table has one row for each bin, in order, with its count in this column."
    ),
]
OrderedOption = Annotated[
    bool, typer.Option("--ordered", help="The declared values of a categorical column stand in their order.")
]
AcceptDraftOption = Annotated[bool, typer.Option("--accept-draft", help="Use a drafted, unreviewed schema.")]
EstimateOption = Annotated[
    str,
    typer.Option(
        "--estimate",
        help="Which consistent counts: divided (none negative, wide ranges kept), least-squares (unbiased), nonnegative (the "
        "nearest), whole (the nearest whole numbers), zeroing (Hay et al.).",
    ),
]
FileArgument = Annotated[Path, typer.Argument(help="File of 'dpopt histogram release'.")]


@command("plan", group=histogram_group)
def plan(
    *,
    bins: Annotated[int | None, typer.Option("--bins", help="Number of bins.")] = None,
    column: ColumnOption = None,
    schema: SchemaFileOption = None,
    spending: options.SpendingOptions,
    unit: options.UnitOptions,
    ranges: RangesOption = None,
    hierarchy: HierarchyOption = None,
    n: Annotated[int | None, typer.Option("--n", help="Number of records, under replace.")] = None,
    ordered: OrderedOption = False,
    accept_draft: AcceptDraftOption = False,
    as_json: options.JsonOption = False,
) -> None:
    """Say which levels would be measured with how much noise, and the errors to expect: before any table is read."""
    from dpopt.queries.ranges.bins import Bins
    from dpopt.synopses.histograms.histogram_of_table import declared_bins, planned
    from dpopt.synopses.histograms.histogram_settings import HistogramSettings

    settings = HistogramSettings(
        **asdict(spending),
        reading=unit.reading(),
        ranges=ranges,
        hierarchy=hierarchy,
        ordered=ordered,
        accept_draft=accept_draft,
    )
    if (bins is None) == (column is None) or (column is None) != (schema is None):
        raise PlanError("name the bins: --bins with their number, or --column and --schema")
    if column is not None and schema is not None:
        found = planned(declared_bins(schema, column, settings), settings, n)
    else:
        found = planned(Bins("bins", bins or 0), settings, n)
    if as_json:
        print_json(found.to_json())
        return
    _print_plan(found)


@command("release", group=histogram_group)
def release(
    *,
    table: options.TableArgument,
    out: Annotated[Path, typer.Option("-o", "--out", help="New file (JSON) for the histogram.")],
    column: ColumnOption = None,
    schema: SchemaFileOption = None,
    counts: CountsOption = None,
    spending: options.SpendingOptions,
    paying: options.PayingOptions,
    ranges: RangesOption = None,
    hierarchy: HierarchyOption = None,
    ordered: OrderedOption = False,
    reading: options.ReadingOptions,
    accept_draft: AcceptDraftOption = False,
) -> None:
    """Release the histogram of a column of TABLE, or of counts, as one file that answers any range."""
    from dpopt.cli.reports.progress import TerminalProgress
    from dpopt.releases.folder_files import check_new
    from dpopt.synopses.histograms.histogram_files import write_histogram
    from dpopt.synopses.histograms.histogram_of_table import histogram_of_column, histogram_of_counts
    from dpopt.synopses.histograms.histogram_settings import HistogramSettings

    settings = HistogramSettings(
        **asdict(spending),
        ranges=ranges,
        hierarchy=hierarchy,
        ordered=ordered,
        reading=reading.reading(),
        accept_draft=accept_draft,
    )
    check_source(column, schema, counts)
    check_new(out)
    with TerminalProgress() as progress:
        if column is not None and schema is not None:
            released = histogram_of_column(
                table, schema, column, settings, progress=progress, budget=paying.ledger()
            )
        else:
            released = histogram_of_counts(
                table, str(counts), settings, progress=progress, budget=paying.ledger()
            )
        write_histogram(released, out)
    _print_release(released, out)


@command("answer", group=histogram_group)
def answer(
    file: FileArgument,
    ranges: Annotated[
        list[str] | None,
        typer.Option(
            "--range",
            help="Range a:b; may be repeated. Numbers: a <= x < b, both edges of bins; positions: bins a to b - 1; values: "
            "from a to b, both included.",
        ),
    ] = None,
    quantiles: Annotated[
        list[float] | None, typer.Option("--quantile", help="Share between 0 and 1; may be repeated.")
    ] = None,
    confidence: Annotated[float, typer.Option("--confidence", help="Of the intervals.")] = 0.95,
    estimate: EstimateOption = "divided",
    as_json: options.JsonOption = False,
) -> None:
    """Answer ranges and quantiles from a released histogram, with errors. Costs no privacy."""
    from dpopt.cli.reports.reports import answer_json, console, print_answers
    from dpopt.synopses.histograms.histogram_files import read_histogram

    histogram = read_histogram(file)
    warn_if_not_private(histogram.privacy)
    asked = ranges or ([] if quantiles else [":"])
    found = {text: histogram.between(text, confidence=confidence, estimate=estimate) for text in asked}
    places = [histogram.quantile(share, estimate=estimate) for share in quantiles or []]
    shares = [
        {"quantile": share, "bin": place, "label": histogram.bins.label(place)}
        for share, place in zip(quantiles or [], places, strict=True)
    ]
    if as_json:
        print_json({"ranges": [answer_json(text, found[text]) for text in asked], "quantiles": shares})
        return
    if found:
        print_answers("range", found, confidence)
    for share in shares:
        console().print(f"quantile {share['quantile']:g}: bin {share['label']}")


@command("export", group=histogram_group)
def export(
    file: FileArgument,
    out: Annotated[
        Path,
        typer.Option(
            "-o",
            "--out",
            help="New file: .csv (bin, count, standard error, interval) or .png (with error band).",
        ),
    ],
    whole: Annotated[
        bool, typer.Option("--whole", help="CSV: the estimate, rounded to whole numbers.")
    ] = False,
    estimate: EstimateOption = "divided",
) -> None:
    """Write a released histogram as a table or as a picture. Costs no privacy."""
    from dpopt.cli.pictures.histogram_picture import draw_histogram
    from dpopt.cli.reports.reports import console
    from dpopt.releases.folder_files import check_new
    from dpopt.synopses.histograms.histogram_files import read_histogram
    from dpopt.synopses.histograms.histogram_table import write_table

    if out.suffix not in {".csv", ".png"}:
        raise PlanError(f"found the file {out.name}; expected a name that ends in .csv or .png")
    check_new(out)
    histogram = read_histogram(file)
    warn_if_not_private(histogram.privacy)
    if out.suffix == ".csv":
        write_table(histogram, out, whole=whole, estimate=estimate)
    else:
        draw_histogram(histogram, out, estimate=estimate)
    console().print(f"written to {out}")


def check_source(column: str | None, schema: Path | None, counts: str | None) -> None:
    """Refuse a command that does not name what is counted.

    Raises
    ------
    PlanError
        With what to name.
    """
    if (column is None) == (counts is None) or (column is None) != (schema is None):
        raise PlanError("name what is counted: --column and --schema, or --counts")


def _print_plan(planned: TreePlan) -> None:
    from rich.table import Table

    from dpopt.cli.reports.reports import console

    out = console()
    noise = "Gaussian" if planned.gaussian else "Laplace"
    table = Table(
        "level", "counts", "noise: scale", title=f"measured with {noise} noise", title_justify="left"
    )
    for level in planned.levels:
        table.add_row(level.name, f"{planned.number_of_nodes(level):,}", f"{level.scale:.4g}")
    out.print(table)
    for name, variance in planned.predicted.items():
        out.print(
            f"{name}: standard error {variance**0.5:,.2f} records (root of the mean variance), less where bins are empty"
        )


def _print_release(released: Histogram, out: Path) -> None:
    from dpopt.cli.reports.reports import console

    print_spent(released.privacy)
    console().print(f"{released.bins.number:,} bins, some {released.total:,.0f} records; written to {out}")
