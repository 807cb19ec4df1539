"""`dpopt histogram` and `dpopt grid`: counts over one ordered column, or several, and ranges and boxes with their errors."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.cli import options
from dpopt.cli.synopses import shared
from dpopt.errors import PlanError
from dpopt.synopses.any_synopsis import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dpopt.models.noise_budgets.budget_program import SolvedBudget
    from dpopt.synopses.histograms.counts_plan import CountsPlan
    from dpopt.synopses.histograms.grids.grid_histogram import GridHistogram
    from dpopt.synopses.histograms.histogram import Histogram
    from dpopt.synopses.histograms.least_possible import LeastVariances
    from dpopt.synopses.histograms.tree_plan import TreePlan
    from dpopt.synopses.release import Request, RequestKeywords


HISTOGRAM = shared.Kind(
    "histogram", "Histograms over ordered bins: any range, with its error.", KINDS["dpopt_histogram"]
)


GRID = shared.Kind(
    "grid", "Histograms over two or more ordered columns: any box, with its error.", KINDS["dpopt_grid_histogram"]
)

_DEFAULT = "divided, or what --solver was asked for"
EstimateOption = Annotated[
    str | None,
    typer.Option(
        "--estimate",
        help="How counts are made consistent: divided (none negative, wide ranges as by least squares), least-squares "
        "(unbiased), nonnegative (the nearest without negative bins, of a release with --solver), zeroing (of a "
        "hierarchy or --branching: Hay et al.). Rounds have one estimate, shrunken.",
        show_default=_DEFAULT,
    ),
]
GridEstimateOption = Annotated[
    str | None,
    typer.Option(
        "--estimate",
        help="How cells are made consistent: divided (none negative, empty cells nearly exact), least-squares (unbiased, "
        "cells may be negative). Rounds have one estimate, shrunken.",
        show_default=_DEFAULT,
    ),
]

BudgetSolverOption = Annotated[
    str | None,
    "Solver that spreads the budget of Gaussian noise over the levels, a convex program with cones, such as clarabel. "
    "Default: dpopt's own method. See 'dpopt solvers'.",
]


@dataclass(frozen=True)
class HistogramOptions:
    """The measurements of a column."""

    ranges: Annotated[
        str | None,
        typer.Option(
            "--ranges",
            help="What the plan minimizes: all (the mean variance over all ranges), prefixes (over those that begin with the "
            "first bin), worst (the largest variance of any range),"
            " sizes:1,64,1024 (the largest variance over these sizes, each divided by that of a simple strategy), or "
            "file:PATH (the weighted mean variance over the ranges of a public CSV file with lines a:b,weight). With a "
            "hierarchy: nodes (the mean variance of its groups), all, sizes or file.",
            show_default="all, or nodes",
        ),
    ] = None
    hierarchy: Annotated[
        Path | None,
        "Public JSON file of nested lists of bins, by labels or positions: the levels of this hierarchy are measured.",
    ] = None
    branching: Annotated[
        int | None,
        "Measure the tree in which each node joins this many, every level with the same part of the budget, as Hay et al. "
        "2010 do; 'answer --estimate least-squares' gives their H-bar. Without it the plan finds better budgets.",
    ] = None
    measure: Annotated[
        str,
        "What is measured: blocks (of 1, 2, 4, ... bins), or waves (weighted sums of all bins: with Gaussian noise, "
        "for the ranges all or prefixes, the least variance; better where most bins hold records, often worse where "
        "most are empty), or rounds (blocks from the largest down, none with few records divided further: better where "
        "most bins are empty), or auto: rounds for the ranges all or prefixes with Laplace noise and without --solver, "
        "if blocks of 8 bins or more are planned; else blocks.",
    ] = "auto"


@dataclass(frozen=True)
class GridOptions:
    """The measurements of several columns."""

    ranges: Annotated[
        str,
        "What the plan minimizes: all (the mean variance over all boxes), or the largest variance over sizes such as "
        "sizes:1x1,16x16,4x256, each divided by that of a simple strategy.",
    ] = "all"
    shapes: Annotated[
        str,
        "Which blocks of cells may be measured: cubes (of equal sides), rectangles (all), cells, rounds (the largest "
        "first, none with few records divided further), or auto: of two columns with Laplace noise rounds, if there "
        "are several and no --solver is named; else rectangles where they are predicted to be better by a fifth, else "
        "cubes.",
    ] = "auto"


@HISTOGRAM.plans()
def plan_histogram(
    request: Request,
    *,
    column: shared.ColumnOption = None,
    where: shared.BinOptions,
    measured: HistogramOptions,
    n: shared.ReplaceNOption = None,
    solver: BudgetSolverOption = None,
) -> shared.Output:
    """Show which levels a release measures, their noise, and the predicted errors. Reads no table."""
    from dpopt.synopses.histograms.least_possible import least_variances
    from dpopt.synopses.histograms.range_workload import ALL, NODES
    from dpopt.synopses.histograms.release_histogram import planned_histogram

    bins, solver_note = where.axis(request, column), _SolverNote()
    plan: Callable[..., TreePlan] = partial(planned_histogram, bins, request, **asdict(measured))
    found = plan(request.noise(plan, n), n, solver=solver, on_solved=solver_note.note)
    counts = [f"{nodes:,}" for (nodes,) in found.level_shapes()]
    ranges = measured.ranges or (NODES if measured.hierarchy else ALL)
    at_once = {"blocks": plan(found.budget, n, measure="blocks")} if found.round_levels else {}
    return _planned(found, "counts", counts, "bins", solver_note, least_variances(found, ranges, bins), at_once)


@GRID.plans()
def plan_grid(
    request: Request,
    *,
    columns: shared.ColumnsOption = None,
    where: shared.BinOptions,
    measured: GridOptions,
    n: shared.ReplaceNOption = None,
    solver: BudgetSolverOption = None,
) -> shared.Output:
    """Show which blocks a release measures, their noise, and the predicted errors. Reads no table."""
    from dpopt.synopses.histograms.grids import grid_plan
    from dpopt.synopses.histograms.least_possible import least_variances

    axes = where.axes(request, _several(columns))
    if len(axes) < 2:
        raise PlanError(_ONE_COLUMN.format("--bins"))
    cells, solver_note = tuple(bins.number for bins in axes), _SolverNote()
    plan: Callable[..., grid_plan.GridPlan] = partial(
        grid_plan.plan_grid, cells, relation=request.relation, **asdict(measured)
    )
    found = plan(request.noise(plan, n), n, solver=solver, on_solved=solver_note.note)
    blocks = [_sides(shape) for shape in found.level_shapes()]
    at_once = {"cubes": plan(found.budget, n, shapes="cubes")} if found.round_levels else {}
    return _planned(found, "blocks", blocks, "cells", solver_note, least_variances(found, measured.ranges), at_once)


@HISTOGRAM.releases(lambda released: f"{released.bins.number:,} bins, some {released.total:,.0f} records")
def release_histogram(
    how: RequestKeywords,
    *,
    table: options.TableArgument,
    column: shared.ColumnOption = None,
    schema: shared.MaybeSchemaOption = None,
    counts: shared.CountsOption = None,
    solving: options.ModelSolverOptions,
    measured: HistogramOptions,
) -> Histogram:
    """Release the histogram of a column of TABLE, or of counts, as one file that answers any range."""
    from dpopt.synopses.histograms.release_histogram import histogram

    return histogram(table, schema, column, counts=counts, **asdict(measured), **asdict(solving), **how)


@GRID.releases(lambda released: f"{_sides(released.plan.shape)} cells, some {released.total:,.0f} records")
def release_grid(
    how: RequestKeywords,
    *,
    table: options.TableArgument,
    schema: shared.SchemaOption,
    columns: Annotated[
        str, "Two or more columns declared in --schema, with commas between them (a comma in a name is written twice)."
    ],
    solving: options.ModelSolverOptions,
    measured: GridOptions,
) -> GridHistogram:
    """Release the histogram of several columns of TABLE as one file that answers any box."""
    from dpopt.synopses.histograms.grids.release_grid import grid

    return grid(table, schema, _several(columns), **asdict(measured), **asdict(solving), **how)


@HISTOGRAM.shows("answer")
def answer_histogram(
    histogram: Histogram,
    *,
    query: Annotated[
        list[str] | None,
        "Range a:b; can be repeated. Default: all bins. Numeric bins: a <= x < b for edges a and b, dates as "
        "their column has them. Positions, without a schema: bins a to b - 1. Categorical values: from a to b, both "
        "included.",
    ] = None,
    quantile: Annotated[list[float] | None, "Quantile to answer, a share between 0 and 1; may be repeated."] = None,
    confidence: shared.ConfidenceOption = 0.95,
    estimate: EstimateOption = None,
) -> shared.Output:
    """Answer ranges and quantiles from a released histogram, with errors. Costs no privacy."""
    asked = query or ([] if quantile else [":"])
    found = [histogram.answer(text, confidence=confidence, estimate=estimate) for text in asked]
    shares = [
        {"quantile": share, "bin": place, "label": histogram.bins.label(place)}
        for share in quantile or []
        for place in [histogram.quantile(share, estimate=estimate)]
    ]
    ranges = [shared.interval_table("range", "standard error", asked, found, confidence)] if found else []
    return shared.Output(
        {"answers": shared.answers_json(asked, found), "quantiles": shares},
        [*ranges, *(f"quantile {share['quantile']:g}: bin {share['label']}" for share in shares)],
    )


@GRID.shows("answer")
def answer_grid(
    histogram: GridHistogram,
    *,
    query: Annotated[
        list[str] | None,
        "Box: a range a:b for each column, with commas between them, as in 20:40,0:10; may be repeated. Ranges as for "
        "'dpopt histogram answer'; ':' is all of a column.",
    ] = None,
    confidence: shared.ConfidenceOption = 0.95,
    estimate: GridEstimateOption = None,
) -> shared.Output:
    """Answer boxes from a released histogram of several columns, with errors. Costs no privacy."""
    return shared.box_answers(
        histogram.axes,
        query,
        "standard error",
        partial(histogram.answer, confidence=confidence, estimate=estimate),
        confidence,
    )


@HISTOGRAM.exports("New file: .csv (bin, count, standard error, interval) or .png (with error band).")
def export_histogram(*, whole: shared.WholeOption = False, estimate: EstimateOption = None) -> shared.Forms:
    """Write a released histogram as a table or as a picture. Costs no privacy."""
    from dpopt.cli.pictures import draw_histogram
    from dpopt.synopses.histograms.released_counts import write_cells

    table = partial(write_cells, whole=whole, estimate=estimate)
    return {".csv": table, ".png": partial(draw_histogram, estimate=estimate)}


@GRID.exports("New file: .csv (a line for each cell: count, standard error, interval) or .png (of two columns).")
def export_grid(*, whole: shared.WholeOption = False, estimate: GridEstimateOption = None) -> shared.Forms:
    """Write a released histogram of several columns as a table or as a picture. Costs no privacy."""
    from dpopt.cli.pictures import draw_grid
    from dpopt.synopses.histograms.released_counts import write_cells

    table = partial(write_cells, whole=whole, estimate=estimate)
    return {".csv": table, ".png": partial(draw_grid, estimate=estimate)}


class _SolverNote:
    """The report on a solver that spread a budget."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def note(self, solved: SolvedBudget | None, gap: float | None) -> None:
        """Say how its budget compares, and how far from the optimum it is."""
        if solved is not None:
            proven = "" if gap is None else f"; no other budget is better by more than a part of {gap:.2g}, proven"
            self.words = [f"spread by {solved}{proven}"]


def _planned(
    found: CountsPlan,
    heading: str,
    numbers: list[str],
    empty: str,
    solver_note: _SolverNote,
    least: LeastVariances,
    at_once: Mapping[str, CountsPlan],
) -> shared.Output:
    """Return the levels of a plan, how many counts each has, the predicted errors, and how little they can be.

    `at_once` are plans that measure all blocks, by their names, beside one that measures them in rounds.
    """
    scales = [f"{scale:.4g}" for scale in found.scales_in_records]
    rows = zip(found.level_names, numbers, scales, strict=True)
    errors = (
        f"{name}: standard error {variance**0.5:,.2f} records (root of the mean variance), less where {empty} are empty"
        for name, variance in found.predicted.items()
    )
    table = shared.noise_table(("level", heading, "noise: scale"), list(rows), gaussian=found.gaussian)
    solved = {"solved": solver_note.words[0]} if solver_note.words else {}
    proven = least.in_words(found.predicted)
    others = [
        f"{name} all at once in place of rounds: {group}, standard error {variance**0.5:,.2f} records; that of rounds is "
        f"smaller than above where many blocks hold few records"
        for name, other in at_once.items()
        for group, variance in other.predicted.items()
    ]
    return shared.Output(
        {
            **found.to_json(),
            "least": least.least,
            "at_once": {name: dict(other.predicted) for name, other in at_once.items()},
            **solved,
        },
        [table, *errors, *proven, *others, *solver_note.words],
    )


def _sides(shape: tuple[int, ...]) -> str:
    return " x ".join(f"{number:,}" for number in shape)


_ONE_COLUMN = "{}: give two or more columns, or use 'dpopt histogram' for one"


def _several(columns: str | None) -> tuple[str, ...]:
    names = shared.named_columns(columns)
    if len(names) == 1:
        raise PlanError(_ONE_COLUMN.format("--columns"))
    return names
