"""`dpopt histogram plan`, `release`, `answer` and `export`: counts of ordered bins, and ranges of them with their errors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpopt.cli import options
from dpopt.cli.application import application, command
from dpopt.cli.plan import print_json
from dpopt.errors import PlanError

if TYPE_CHECKING:
    from dpopt.algorithms.histograms.histogram import Histogram
    from dpopt.algorithms.histograms.histogram_plan import HistogramPlan

histogram_group = typer.Typer(
    help="Histograms over ordered bins: any range, with its error.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
application.add_typer(histogram_group, name="histogram")

EpsilonOption = Annotated[
    float | None,
    typer.Option(
        "--epsilon", help="Privacy budget epsilon; alone Laplace noise, with --delta Gaussian noise."
    ),
]
RangesOption = Annotated[
    str,
    typer.Option(
        "--ranges",
        help="For which ranges the budget is spread over the levels of a tree: all (their mean), worst (the worst one), or "
        "sizes:1,64,1024 (each of these sizes beside what a plain strategy has there).",
    ),
]
NeighboursOption = Annotated[
    str,
    typer.Option(
        "--neighbours", help="add-remove (one record more or less) or replace (one record changed, n public)."
    ),
]
FileArgument = Annotated[Path, typer.Argument(help="File of 'dpopt histogram release'.")]


@command("plan", group=histogram_group)
def plan(
    bins: Annotated[int, typer.Option("--bins", help="Number of bins.")],
    epsilon: EpsilonOption = None,
    delta: options.DeltaOption = None,
    rho: options.RhoOption = None,
    ranges: RangesOption = "all",
    neighbours: NeighboursOption = "add-remove",
    n: Annotated[int | None, typer.Option("--n", help="Number of records, under replace.")] = None,
    as_json: options.JsonOption = False,
) -> None:
    """Say which levels would be measured with how much noise, and the errors to expect: before any table is read."""
    from dpopt.algorithms.histograms.histogram_of_table import HistogramSettings
    from dpopt.algorithms.histograms.histogram_plan import plan_histogram

    settings = HistogramSettings(epsilon=epsilon, delta=delta, rho=rho, ranges=ranges, neighbours=neighbours)
    planned = plan_histogram(bins, settings.budget(), ranges=ranges, relation=settings.relation, size=n)
    if as_json:
        print_json(planned.to_json())
        return
    _print_plan(planned)


@command("release", group=histogram_group)
def release(
    table: options.TableArgument,
    out: Annotated[Path, typer.Option("-o", "--out", help="New file (JSON) for the histogram.")],
    column: Annotated[
        str | None, typer.Option("--column", help="Count the values of this column, declared in --schema.")
    ] = None,
    schema: Annotated[Path | None, typer.Option("--schema", help="Schema file (JSON). Public.")] = None,
    counts: Annotated[
        str | None,
        typer.Option(
            "--counts",
            help="Or: the table has one row for each bin, in order, with its count in this column.",
        ),
    ] = None,
    epsilon: EpsilonOption = None,
    delta: options.DeltaOption = None,
    rho: options.RhoOption = None,
    ranges: RangesOption = "all",
    neighbours: NeighboursOption = "add-remove",
    ordered: Annotated[
        bool,
        typer.Option("--ordered", help="The declared values of a categorical column stand in their order."),
    ] = False,
    on_unknown: options.OnUnknownOption = "error",
    accept_draft: Annotated[
        bool, typer.Option("--accept-draft", help="Use a drafted, unreviewed schema.")
    ] = False,
) -> None:
    """Release the histogram of a column of TABLE, or of counts, as one file that answers any range."""
    from dpopt.algorithms.histograms.histogram_of_table import (
        HistogramSettings,
        check_new,
        histogram_of_column,
        histogram_of_counts,
        write_histogram,
    )
    from dpopt.cli.progress import TerminalProgress

    settings = HistogramSettings(
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        ranges=ranges,
        neighbours=neighbours,
        ordered=ordered,
        on_unknown=on_unknown,
        accept_draft=accept_draft,
    )
    if (column is None) == (counts is None) or (column is None) != (schema is None):
        raise PlanError("name what is counted: --column and --schema, or --counts")
    check_new(out)
    with TerminalProgress() as progress:
        if column is not None and schema is not None:
            released = histogram_of_column(table, schema, column, settings, progress=progress)
        else:
            released = histogram_of_counts(table, str(counts), settings, progress=progress)
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
    as_json: options.JsonOption = False,
) -> None:
    """Answer ranges and quantiles from a released histogram, with errors. Costs no privacy."""
    from rich.table import Table

    from dpopt.algorithms.histograms.histogram_of_table import read_histogram
    from dpopt.cli.reports import console

    histogram = read_histogram(file)
    asked = ranges or ([] if quantiles else [":"])
    found: list[dict[str, Any]] = []
    for text in asked:
        got = histogram.between(text, confidence=confidence)
        found.append(
            {
                "range": text,
                "value": got.value,
                "standard_error": got.standard_error,
                "low": got.low,
                "high": got.high,
                "confidence": got.confidence,
            }
        )
    shares = [
        {"quantile": share, "bin": (place := histogram.quantile(share)), "label": histogram.bins.label(place)}
        for share in quantiles or []
    ]
    if as_json:
        print_json({"ranges": found, "quantiles": shares})
        return
    if found:
        table = Table(
            "range", "records", "standard error", f"{confidence:.0%} interval", title_justify="left"
        )
        for row in found:
            interval = f"{row['low']:,.1f} to {row['high']:,.1f}"
            table.add_row(row["range"], f"{row['value']:,.1f}", f"{row['standard_error']:,.1f}", interval)
        console().print(table)
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
    whole: Annotated[bool, typer.Option("--whole", help="CSV: whole numbers.")] = False,
) -> None:
    """Write a released histogram as a table or as a picture. Costs no privacy."""
    from dpopt.algorithms.histograms.histogram_of_table import check_new, read_histogram
    from dpopt.algorithms.histograms.histogram_table import write_table
    from dpopt.cli.histogram_picture import draw_histogram
    from dpopt.cli.reports import console

    if out.suffix not in {".csv", ".png"}:
        raise PlanError(f"found the file {out.name}; expected a name that ends in .csv or .png")
    check_new(out)
    histogram = read_histogram(file)
    if out.suffix == ".csv":
        write_table(histogram, out, whole=whole)
    else:
        draw_histogram(histogram, out)
    console().print(f"written to {out}")


def _print_plan(planned: HistogramPlan) -> None:
    from rich.table import Table

    from dpopt.cli.reports import console

    out = console()
    noise = "Gaussian" if planned.gaussian else "Laplace"
    table = Table(
        "level", "blocks", "noise: scale", title=f"measured with {noise} noise", title_justify="left"
    )
    for height, scale in zip(planned.heights, planned.scales, strict=True):
        name = "single bins" if height == 0 else f"{2**height:,} bins each"
        table.add_row(name, f"{planned.blocks(height):,}", f"{scale:.4g}")
    out.print(table)
    for name, variance in planned.predicted.items():
        out.print(
            f"{name}: standard error {variance**0.5:,.2f} records (root of the mean variance), less where bins are empty"
        )


def _print_release(released: Histogram, out: Path) -> None:
    from dpopt.cli.reports import console

    shown, privacy = console(), released.privacy
    if privacy["private"]:
        at = f" at delta = {privacy['delta']:g}" if privacy["delta"] else ""
        shown.print(
            f"spent: epsilon = {privacy['epsilon']:.4f}{at} (rho = {privacy['rho']:.6f}), {privacy['neighbours']}"
        )
    else:
        shown.print("NOT PRIVATE: a part of the noise came from a seeded or scripted source")
    shown.print(f"{released.bins.number:,} bins, some {released.total:,.0f} records; written to {out}")
