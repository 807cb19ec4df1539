"""`dpopt histogram plan`, `release`, `answer` and `export`: counts of ordered bins, and ranges of them with their errors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import command
from dpopt.cli.commands.plan import print_json
from dpopt.cli.synopses import shared
from dpopt.errors import PlanError

histogram_group = shared.synopsis_group(
    "histogram", "Histograms over ordered bins: any range, with its error."
)

RangesOption = Annotated[
    str | None,
    typer.Option(
        "--ranges",
        help="What the plan minimizes: all (the mean variance over all ranges), worst (the largest variance of any range),"
        " sizes:1,64,1024 (the largest variance over these sizes, each divided by that of a simple strategy), or "
        "file:PATH (the weighted mean variance over the ranges of a public CSV file with lines a:b,weight). With a "
        "hierarchy: nodes (the mean variance of its groups), all, sizes or file.",
        show_default="all, or nodes",
    ),
]
HierarchyOption = Annotated[
    Path | None,
    typer.Option(
        "--hierarchy",
        help="Public JSON file of nested lists of bins, by labels or positions: the levels of this hierarchy are measured.",
    ),
]
EstimateOption = Annotated[
    str,
    typer.Option(
        "--estimate",
        help="How counts are made consistent: divided (none negative, wide ranges as by least squares), least-squares "
        "(unbiased), nonnegative (the nearest without negative bins), whole (the nearest whole numbers), zeroing (Hay"
        " et al.).",
    ),
]
FileArgument = Annotated[Path, typer.Argument(help="File of 'dpopt histogram release'.")]


@command("plan", group=histogram_group)
def plan(
    *,
    bins: shared.BinsOption = None,
    column: shared.ColumnOption = None,
    schema: shared.MaybeSchemaOption = None,
    asked: shared.PlanOptions,
    ranges: RangesOption = None,
    hierarchy: HierarchyOption = None,
    n: Annotated[int | None, typer.Option("--n", help="Number of records, under replace.")] = None,
    ordered: shared.OrderedOption = False,
    as_json: options.JsonOption = False,
) -> None:
    """Show which levels would be measured with how much noise, and the predicted errors, before any table is read."""
    from dpopt.queries.ranges.bins import Bins
    from dpopt.synopses.histograms.release_histogram import declared_bins, planned_histogram

    request, shape = asked.request(), shared.planned_shape(bins, column, schema)
    if column is not None and schema is not None:
        (named,) = declared_bins(request, schema, (column,), ordered=ordered)
    elif shape is not None and len(shape) == 1:
        named = Bins("bins", shape[0])
    else:
        raise PlanError(f"found --bins {bins}; give one number, or use 'dpopt grid' for several columns")
    found = planned_histogram(named, request, request.spending(), n, ranges=ranges, hierarchy=hierarchy)
    if as_json:
        print_json(found.to_json())
        return
    rows = [(level.name, f"{found.number_of_nodes(level):,}", f"{level.scale:.4g}") for level in found.levels]
    shared.print_noise(("level", "counts", "noise: scale"), rows, gaussian=found.gaussian)
    for name, variance in found.predicted.items():
        shared.say(
            f"{name}: standard error {variance**0.5:,.2f} records (root of the mean variance), less where bins are empty"
        )


@command("release", group=histogram_group)
def release(
    *,
    table: options.TableArgument,
    out: shared.OutOption,
    column: shared.ColumnOption = None,
    schema: shared.MaybeSchemaOption = None,
    counts: shared.CountsOption = None,
    asked: shared.ReleaseOptions,
    ranges: RangesOption = None,
    hierarchy: HierarchyOption = None,
    ordered: shared.OrderedOption = False,
) -> None:
    """Release the histogram of a column of TABLE, or of counts, as one file that answers any range."""
    from dpopt.synopses.histograms.release_histogram import histogram

    released = shared.make(
        out,
        lambda how: histogram(
            table, schema, column, counts=counts, ranges=ranges, hierarchy=hierarchy, ordered=ordered, **how
        ),
        asked.asked(schema),
    )
    shared.say(f"{released.bins.number:,} bins, some {released.total:,.0f} records; written to {out}")


@command("answer", group=histogram_group)
def answer(
    file: FileArgument,
    queries: Annotated[
        list[str] | None,
        typer.Option(
            "--query",
            help="Range a:b; may be repeated; all bins if left out. Numeric bins: a <= x < b for edges a and b. Positions,"
            " without a schema: bins a to b - 1. Categorical values: from a to b, both included.",
        ),
    ] = None,
    quantiles: Annotated[
        list[float] | None,
        typer.Option("--quantile", help="Quantile to answer, a share between 0 and 1; may be repeated."),
    ] = None,
    confidence: shared.ConfidenceOption = 0.95,
    estimate: EstimateOption = "divided",
    as_json: options.JsonOption = False,
) -> None:
    """Answer ranges and quantiles from a released histogram, with errors. Costs no privacy."""
    from dpopt.cli.reports.reports import print_answers
    from dpopt.synopses.histograms.histogram import Histogram

    histogram = shared.opened(Histogram, file)
    asked = queries or ([] if quantiles else [":"])
    found = [histogram.answer(text, confidence=confidence, estimate=estimate) for text in asked]
    places = [histogram.quantile(share, estimate=estimate) for share in quantiles or []]
    shares = [
        {"quantile": share, "bin": place, "label": histogram.bins.label(place)}
        for share, place in zip(quantiles or [], places, strict=True)
    ]
    if as_json:
        print_json({"answers": shared.answers_json(asked, found), "quantiles": shares})
        return
    if found:
        print_answers("range", dict(zip(asked, found, strict=True)), confidence)
    for share in shares:
        shared.say(f"quantile {share['quantile']:g}: bin {share['label']}")


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
        bool, typer.Option("--whole", help="For .csv: round the estimate to whole numbers.")
    ] = False,
    estimate: EstimateOption = "divided",
) -> None:
    """Write a released histogram as a table or as a picture. Costs no privacy."""
    from dpopt.cli.pictures.histogram_picture import draw_histogram
    from dpopt.synopses.histograms.histogram import Histogram
    from dpopt.synopses.histograms.histogram_table import write_table

    shared.check_export(out, ".csv", ".png")
    histogram = shared.opened(Histogram, file)
    if out.suffix == ".csv":
        write_table(histogram, out, whole=whole, estimate=estimate)
    else:
        draw_histogram(histogram, out, estimate=estimate)
    shared.say(f"written to {out}")
