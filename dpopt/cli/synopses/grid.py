"""`dpopt grid plan`, `release`, `answer` and `export`: counts over several ordered columns, and boxes with their errors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeVar

import typer

from dpopt.cli import options
from dpopt.cli.application import command
from dpopt.cli.commands.plan import print_json
from dpopt.cli.synopses import shared
from dpopt.errors import PlanError

_Named = TypeVar("_Named")
grid_group = shared.synopsis_group(
    "grid", "Histograms over two or more ordered columns: any box, with its error."
)

BoxesOption = Annotated[
    str,
    typer.Option(
        "--ranges",
        help="What the plan minimizes: all (the mean variance over all boxes), or the largest variance over sizes such as "
        "sizes:1x1,16x16,4x256, each divided by that of a simple strategy.",
    ),
]
ShapesOption = Annotated[
    str,
    typer.Option(
        "--shapes",
        help="Which blocks of cells may be measured: cubes (of equal sides), rectangles (all), cells, or auto (rectangles "
        "where they are predicted to be better by a fifth).",
    ),
]
FileArgument = Annotated[Path, typer.Argument(help="File of 'dpopt grid release'.")]
GridEstimateOption = Annotated[
    str,
    typer.Option(
        "--estimate",
        help="How cells are made consistent: divided (none negative, empty cells nearly exact) or least-squares (unbiased,"
        " cells may be negative).",
    ),
]


@command("plan", group=grid_group)
def plan(
    *,
    bins: shared.BinsOption = None,
    columns: shared.ColumnsOption = None,
    schema: shared.MaybeSchemaOption = None,
    asked: shared.PlanOptions,
    ranges: BoxesOption = "all",
    shapes: ShapesOption = "auto",
    n: Annotated[int | None, typer.Option("--n", help="Number of records, under replace.")] = None,
    ordered: shared.OrderedOption = False,
    as_json: options.JsonOption = False,
) -> None:
    """Show which blocks would be measured with how much noise, and the predicted errors, before any table is read."""
    from dpopt.queries.ranges.grids import blocks_shape
    from dpopt.synopses.histograms.grids.grid_plan import blocks_name, plan_grid
    from dpopt.synopses.histograms.release_histogram import declared_bins

    request, names = asked.request(), shared.named_columns(columns) or ()
    shape = shared.planned_shape(bins, names, schema)
    if shape is None and schema is not None:
        axes = declared_bins(request, schema, _several(names, "--columns"), ordered=ordered)
        shape = tuple(axis.number for axis in axes)
    found = plan_grid(
        _several(shape or (), "--bins"),
        request.spending(),
        ranges=ranges,
        shapes=shapes,
        relation=request.relation,
        size=n,
    )
    if as_json:
        print_json(found.to_json())
        return
    rows = [
        (
            blocks_name(level),
            " x ".join(f"{number:,}" for number in blocks_shape(found.shape, level)),
            f"{scale:.4g}",
        )
        for level, scale in zip(found.levels, found.scales, strict=True)
    ]
    shared.print_noise(("level", "blocks", "noise: scale"), rows, gaussian=found.gaussian)
    for name, variance in found.predicted.items():
        shared.say(
            f"{name}: standard error {variance**0.5:,.2f} records (root of the mean variance), less where cells are empty"
        )


@command("release", group=grid_group)
def release(
    *,
    table: options.TableArgument,
    schema: shared.SchemaOption,
    columns: Annotated[
        str,
        typer.Option(
            "--columns",
            help="Two or more columns declared in --schema, with commas between them (a comma in a name is written twice).",
        ),
    ],
    out: shared.OutOption,
    asked: shared.ReleaseOptions,
    ranges: BoxesOption = "all",
    shapes: ShapesOption = "auto",
    ordered: shared.OrderedOption = False,
) -> None:
    """Release the histogram of several columns of TABLE as one file that answers any box."""
    from dpopt.synopses.histograms.grids.release_grid import grid

    names = _several(shared.named_columns(columns) or (), "--columns")
    released = shared.make(
        out,
        lambda how: grid(table, schema, names, ranges=ranges, shapes=shapes, ordered=ordered, **how),
        asked.asked(schema),
    )
    cells = " x ".join(f"{bins:,}" for bins in released.plan.shape)
    shared.say(f"{cells} cells, some {released.total:,.0f} records; written to {out}")


@command("answer", group=grid_group)
def answer(
    file: FileArgument,
    queries: Annotated[
        list[str] | None,
        typer.Option(
            "--query",
            help="Box: a range a:b for each column, with commas between them, as in 20:40,0:10; may be repeated. Ranges as for "
            "'dpopt histogram answer'; ':' is all of a column.",
        ),
    ] = None,
    confidence: shared.ConfidenceOption = 0.95,
    estimate: GridEstimateOption = "divided",
    as_json: options.JsonOption = False,
) -> None:
    """Answer boxes from a released histogram of several columns, with errors. Costs no privacy."""
    from dpopt.cli.reports.reports import print_answers
    from dpopt.synopses.histograms.grids.grid_histogram import GridHistogram

    histogram = shared.opened(GridHistogram, file)
    asked = queries or [",".join(":" for _ in histogram.axes)]
    found = [histogram.answer(text, confidence=confidence, estimate=estimate) for text in asked]
    names = [bins.name for bins in histogram.axes]
    if as_json:
        print_json({"columns": names, "answers": shared.answers_json(asked, found)})
        return
    print_answers(", ".join(names), dict(zip(asked, found, strict=True)), confidence)


@command("export", group=grid_group)
def export(
    file: FileArgument,
    out: Annotated[
        Path,
        typer.Option(
            "-o",
            "--out",
            help="New file: .csv (a line for each cell: count, standard error, interval) or .png (of two columns).",
        ),
    ],
    whole: Annotated[
        bool, typer.Option("--whole", help="For .csv: round the estimate to whole numbers.")
    ] = False,
    estimate: GridEstimateOption = "divided",
) -> None:
    """Write a released histogram of several columns as a table or as a picture. Costs no privacy."""
    from dpopt.cli.pictures.grid_picture import draw_grid
    from dpopt.synopses.histograms.grids.grid_histogram import GridHistogram
    from dpopt.synopses.histograms.grids.grid_table import write_cells

    shared.check_export(out, ".csv", ".png")
    histogram = shared.opened(GridHistogram, file)
    if out.suffix == ".csv":
        write_cells(histogram, out, whole=whole, estimate=estimate)
    else:
        draw_grid(histogram, out, estimate)
    shared.say(f"written to {out}")


def _several(found: tuple[_Named, ...], option: str) -> tuple[_Named, ...]:
    if len(found) < 2:
        raise PlanError(f"{option}: give two or more columns, or use 'dpopt histogram' for one")
    return found
