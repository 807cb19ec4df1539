"""`dpopt grid plan`, `release`, `answer` and `export`: counts over several ordered columns, and boxes with their errors."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import application, command
from dpopt.cli.commands.plan import print_json
from dpopt.cli.reports.reports import answer_json, print_answers, print_spent, warn_if_not_private
from dpopt.cli.synopses.histogram import (
    AcceptDraftOption,
    OrderedOption,
    SchemaFileOption,
)
from dpopt.errors import PlanError

if TYPE_CHECKING:
    from dpopt.synopses.histograms.grids.grid_plan import GridPlan

grid_group = typer.Typer(
    help="Histograms over two or more ordered columns: any box, with its error.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
application.add_typer(grid_group, name="grid")

BoxesOption = Annotated[
    str,
    typer.Option(
        "--ranges",
        help="For which boxes the budget is spread: all (their mean), or sizes such as sizes:1x1,16x16,4x256 (each beside what "
        "a plain plan has there).",
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
        help="divided (none negative, empty cells nearly exact) or least-squares (unbiased; cells may be negative).",
    ),
]
_SHOWN = 40  # characters of what was found


@command("plan", group=grid_group)
def plan(
    *,
    bins: Annotated[
        str | None, typer.Option("--bins", help="Numbers of bins of the columns, as in 74x100.")
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option("--column", help="Or: a column declared in --schema; give two or more."),
    ] = None,
    schema: SchemaFileOption = None,
    spending: options.SpendingOptions,
    unit: options.UnitOptions,
    ranges: BoxesOption = "all",
    shapes: ShapesOption = "auto",
    n: Annotated[int | None, typer.Option("--n", help="Number of records, under replace.")] = None,
    ordered: OrderedOption = False,
    accept_draft: AcceptDraftOption = False,
    as_json: options.JsonOption = False,
) -> None:
    """Say which blocks would be measured with how much noise, and the errors to expect: before any table is read."""
    from dpopt.synopses.histograms.grids.grid_of_table import declared_axes
    from dpopt.synopses.histograms.grids.grid_plan import plan_grid
    from dpopt.synopses.histograms.histogram_settings import HistogramSettings

    settings = HistogramSettings(
        **asdict(spending),
        reading=unit.reading(),
        ranges=ranges,
        ordered=ordered,
        accept_draft=accept_draft,
    )
    if (bins is None) == (not columns) or (not columns) != (schema is None):
        raise PlanError("name the bins: --bins with their numbers, or --column twice or more and --schema")
    if columns and schema is not None:
        _check_columns(len(columns))
        shape = tuple(axis.number for axis in declared_axes(schema, tuple(columns), settings))
    else:
        shape = _shape(bins or "")
    planned = plan_grid(
        shape, settings.budget(), ranges=ranges, shapes=shapes, relation=settings.relation, size=n
    )
    if as_json:
        print_json(planned.to_json())
        return
    _print_plan(planned)


@command("release", group=grid_group)
def release(
    *,
    table: options.TableArgument,
    schema: Annotated[Path, typer.Option("--schema", help="Schema file (JSON). Public.")],
    columns: Annotated[
        list[str], typer.Option("--column", help="A column declared in --schema; give two or more.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="New file (JSON) for the histogram.")],
    spending: options.SpendingOptions,
    paying: options.PayingOptions,
    ranges: BoxesOption = "all",
    shapes: ShapesOption = "auto",
    ordered: OrderedOption = False,
    reading: options.ReadingOptions,
    accept_draft: AcceptDraftOption = False,
) -> None:
    """Release the histogram of several columns of TABLE as one file that answers any box."""
    from dpopt.cli.reports.progress import TerminalProgress
    from dpopt.cli.reports.reports import console
    from dpopt.releases.folder_files import check_new
    from dpopt.synopses.histograms.grids.grid_of_table import histogram_of_columns
    from dpopt.synopses.histograms.histogram_files import write_histogram
    from dpopt.synopses.histograms.histogram_settings import HistogramSettings

    _check_columns(len(columns))
    settings = HistogramSettings(
        **asdict(spending),
        ranges=ranges,
        ordered=ordered,
        reading=reading.reading(),
        accept_draft=accept_draft,
    )
    check_new(out)
    with TerminalProgress() as progress:
        released = histogram_of_columns(
            table, schema, tuple(columns), settings, shapes=shapes, progress=progress, budget=paying.ledger()
        )
        write_histogram(released, out)
    print_spent(released.privacy)
    shape = " x ".join(f"{bins:,}" for bins in released.plan.shape)
    console().print(f"{shape} cells, some {released.total:,.0f} records; written to {out}")


@command("answer", group=grid_group)
def answer(
    file: FileArgument,
    boxes: Annotated[
        list[str] | None,
        typer.Option(
            "--range",
            help="Box: a range a:b for each column, with commas between them, as in 20:40,0:10; may be repeated. Ranges as for "
            "'dpopt histogram answer'; ':' is all of a column.",
        ),
    ] = None,
    confidence: Annotated[float, typer.Option("--confidence", help="Of the intervals.")] = 0.95,
    estimate: GridEstimateOption = "divided",
    as_json: options.JsonOption = False,
) -> None:
    """Answer boxes from a released histogram of several columns, with errors. Costs no privacy."""
    from dpopt.synopses.histograms.grids.grid_of_table import read_grid

    histogram = read_grid(file)
    warn_if_not_private(histogram.privacy)
    asked = boxes or [",".join(":" for _ in histogram.axes)]
    found = {text: histogram.between(text, confidence=confidence, estimate=estimate) for text in asked}
    names = [bins.name for bins in histogram.axes]
    if as_json:
        rows = [answer_json(text, found[text]) for text in asked]
        print_json({"columns": names, "ranges": rows})
        return
    print_answers(", ".join(names), found, confidence)


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
    whole: Annotated[bool, typer.Option("--whole", help="CSV: whole numbers.")] = False,
    estimate: GridEstimateOption = "divided",
) -> None:
    """Write a released histogram of several columns as a table or as a picture. Costs no privacy."""
    from dpopt.cli.pictures.grid_picture import draw_grid
    from dpopt.cli.reports.reports import console
    from dpopt.releases.folder_files import check_new
    from dpopt.synopses.histograms.grids.grid_of_table import read_grid
    from dpopt.synopses.histograms.grids.grid_table import write_cells

    if out.suffix not in {".csv", ".png"}:
        raise PlanError(f"found the file {out.name}; expected a name that ends in .csv or .png")
    check_new(out)
    histogram = read_grid(file)
    warn_if_not_private(histogram.privacy)
    if out.suffix == ".csv":
        write_cells(histogram, out, whole=whole, estimate=estimate)
    else:
        draw_grid(histogram, out, estimate)
    console().print(f"written to {out}")


def _shape(text: str) -> tuple[int, ...]:
    from dpopt.synopses.histograms.counts_plan import whole_number

    sides = text.split("x")
    found = tuple(number for number in map(whole_number, sides) if number is not None)
    if len(found) < len(sides):
        raise PlanError(
            f"found --bins {text[:_SHOWN]}; expected a number of bins for each column, as in 74x100"
        )
    if len(found) < 2:
        raise PlanError(f"found --bins {text}; give two or more columns, or use 'dpopt histogram' for one")
    return found


def _check_columns(number: int) -> None:
    if number < 2:
        raise PlanError("found one --column; give two or more, or use 'dpopt histogram' for one")


def _print_plan(planned: GridPlan) -> None:
    from rich.table import Table

    from dpopt.cli.reports.reports import console
    from dpopt.queries.ranges.grids import blocks_shape
    from dpopt.synopses.histograms.grids.grid_plan import blocks_name

    out = console()
    noise = "Gaussian" if planned.gaussian else "Laplace"
    table = Table(
        "level", "blocks", "noise: scale", title=f"measured with {noise} noise", title_justify="left"
    )
    for level, scale in zip(planned.levels, planned.scales, strict=True):
        blocks = " x ".join(f"{number:,}" for number in blocks_shape(planned.shape, level))
        table.add_row(blocks_name(level), blocks, f"{scale:.4g}")
    out.print(table)
    for name, variance in planned.predicted.items():
        out.print(
            f"{name}: standard error {variance**0.5:,.2f} records (root of the mean variance), less where cells are empty"
        )
