"""`dpopt halfspaces plan`, `release` and `answer`: the share of records in any halfspace, from projected points."""

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
    from dpopt.synopses.halfspaces.halfspace_plan import HalfspacePlan
    from dpopt.synopses.halfspaces.planning import Shape


def print_plan(planned: HalfspacePlan) -> None:
    """Print what a plan measures, and its predicted errors."""
    from rich.table import Table

    from dpopt.cli.reports.reports import console

    out = console()
    noise = "Gaussian" if planned.gaussian else "Laplace"
    table = Table(
        "measured", "numbers", "noise: scale", title=f"measured with {noise} noise", title_justify="left"
    )
    for one, scale, numbers in zip(planned.measurements(), planned.scales, planned.numbers, strict=True):
        table.add_row(one.name, f"{numbers:,}", f"{scale:.4g}")
    out.print(table)
    predicted = planned.prediction
    out.print(
        f"{planned.number:,} projections to R^{planned.dimension}, {2 * planned.directions} directions each"
    )
    out.print(
        f"{predicted.queries:,} queries of margin {planned.margin:g}: within {predicted.error:.3g}, all of them with "
        f"probability 95 %; {predicted.bias:.3g} of it for the projections (a single record is typically "
        f"off by {predicted.typical:.2g}), {predicted.noise:.2g} for the noise"
    )
    out.print(
        f"each of them counted with noise of its own: within {predicted.direct:.3g}; this release is worth it from "
        f"{predicted.worth:,} queries on"
    )


halfspaces_group = typer.Typer(
    help="Halfspaces: which share of points lies on one side of any hyperplane through the origin, each answer with its error.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
application.add_typer(halfspaces_group, name="halfspaces")

ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns", help="Columns of the coordinates, with commas between them; all columns if left out."
    ),
]
NormaliseOption = Annotated[
    bool, typer.Option("--normalise", help="Divide each row by its length; else rows must have length 1.")
]
BoundsOption = Annotated[
    str | None,
    typer.Option(
        "--bounds",
        help="Or: public bounds LOW:HIGH of all columns; each is centred and scaled, so that rows have length 1 at most.",
    ),
]
SchemaOption = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        help="Or: a schema file (JSON) whose numeric attributes have the bounds of the columns. Public.",
    ),
]
MarginOption = Annotated[
    float,
    typer.Option(
        "--margin",
        help="gamma: errors are predicted for queries y (of length 1) with |<x, y>| of at least gamma for all records x.",
    ),
]
DimensionOption = Annotated[
    int | None,
    typer.Option("--projected-to", help="T, the dimension of the projections; chosen if left out."),
]
ProjectionsOption = Annotated[
    int | None, typer.Option("--projections", help="m, how many projections; chosen if left out.")
]
DirectionsOption = Annotated[
    int | None,
    typer.Option(
        "--directions",
        help="|U|, how many canonical directions each projection has, antipodes among them: even. Chosen if left out.",
    ),
]
MeasuredOption = Annotated[
    str,
    typer.Option(
        "--measured",
        help="sides (one number for each pair of antipodal directions), arcs (a circular tree of bins of angles; T = 2), or "
        "bins (its leaves alone).",
    ),
]
QueriesOption = Annotated[
    int, typer.Option("--queries", help="For how many queries together errors are predicted.")
]
SeedOption = Annotated[
    int, typer.Option("--seed", help="Seed of the projections. Public; no private draw depends on it.")
]
CopiesOption = Annotated[
    int,
    typer.Option(
        "--copies",
        help="Signs that an entry of a projection adds up; 1 are the paper's matrices (see the documentation).",
    ),
]
SizeOption = Annotated[
    int | None,
    typer.Option(
        "--n0",
        help="Under add-remove a fixed public number that answers are shares of. Left out, it is measured with 1 % of the "
        "budget.",
    ),
]


@command("plan", group=halfspaces_group)
def plan(
    *,
    n: Annotated[int, typer.Option("--n", help="Public number of records.")],
    margin: MarginOption,
    coordinates: Annotated[int | None, typer.Option("--d", help="Number of coordinates.")] = None,
    columns: ColumnsOption = None,
    spending: options.SpendingOptions,
    dimension: DimensionOption = None,
    projections: ProjectionsOption = None,
    directions: DirectionsOption = None,
    measured: MeasuredOption = "sides",
    queries: QueriesOption = 1000,
    alpha: Annotated[
        float, typer.Option("--alpha", help="Error for which the parameters of the theorem are shown.")
    ] = 0.1,
    seed: SeedOption = 0,
    copies: CopiesOption = 63,
    as_json: options.JsonOption = False,
) -> None:
    """Say what would be measured with how much noise, and the errors to expect: before any table is read."""
    from dpopt.queries.halfspaces.halfspaces import PointColumns, Scaling
    from dpopt.synopses.halfspaces.halfspace_theory import corrected_parameters, printed_parameters
    from dpopt.synopses.halfspaces.planning import plan_halfspaces
    from dpopt.synopses.histograms.histogram_settings import HistogramSettings

    settings = HistogramSettings(**asdict(spending))
    names = _names(columns)
    if (names is None) == (coordinates is None):
        raise PlanError("say how many coordinates points have: --d, or their --columns")
    if names is None:
        names = tuple(f"x{place + 1}" for place in range(coordinates or 0))
    planned = plan_halfspaces(
        PointColumns(names, Scaling.UNIT),
        settings.budget(),
        size=n,
        margin=margin,
        relation=settings.relation,
        shapes=_shapes(dimension, projections, directions, measured),
        queries=queries,
        seed=seed,
        copies=copies,
    )
    budget = settings.budget()
    at = budget.epsilon or 1.0
    theory = {
        "printed": printed_parameters(len(names), margin, alpha, at),
        "corrected": corrected_parameters(len(names), margin, alpha, at),
    }
    if as_json:
        print_json({**planned.to_json(), "theory": {name: asdict(one) for name, one in theory.items()}})
        return
    print_plan(planned)
    from dpopt.cli.reports.reports import console

    for name, one in theory.items():
        console().print(
            f"theorem ({name}), error {alpha:g}: T = {one.dimension:,}, m = {one.projections:,}, |U| = 10^"
            f"{one.log10_directions:,.0f}, 10^{one.log10_records:,.0f} records at epsilon {at:g}: out of reach"
        )


@command("release", group=halfspaces_group)
def release(
    *,
    table: Annotated[
        Path,
        typer.Argument(help="CSV (also .gz), Parquet or .npy file. Private: read here and nowhere else."),
    ],
    margin: MarginOption,
    out: Annotated[Path, typer.Option("-o", "--out", help="New file for the release.")],
    columns: ColumnsOption = None,
    normalise: NormaliseOption = False,
    bounds: BoundsOption = None,
    schema: SchemaOption = None,
    spending: options.SpendingOptions,
    paying: options.PayingOptions,
    dimension: DimensionOption = None,
    projections: ProjectionsOption = None,
    directions: DirectionsOption = None,
    measured: MeasuredOption = "sides",
    n0: SizeOption = None,
    queries: QueriesOption = 1000,
    seed: SeedOption = 0,
    copies: CopiesOption = 63,
    text: options.TextOptions,
) -> None:
    """Release noisy sides of the projected points of TABLE, which answer halfspace queries without the data."""
    from dpopt.cli.reports.progress import TerminalProgress
    from dpopt.cli.reports.reports import console
    from dpopt.releases.folder_files import check_new
    from dpopt.synopses.halfspaces.declared_columns import declared_columns
    from dpopt.synopses.halfspaces.halfspaces import write_halfspaces
    from dpopt.synopses.halfspaces.release_halfspaces import halfspaces_of_table
    from dpopt.synopses.histograms.histogram_settings import HistogramSettings

    settings = HistogramSettings(**asdict(spending))
    reading = text.text()
    check_new(out)
    shapes = _shapes(dimension, projections, directions, measured)
    with TerminalProgress() as progress:
        released = halfspaces_of_table(
            table,
            declared_columns(table, _names(columns), bounds, schema, normalise=normalise, reading=reading),
            settings.budget(),
            margin=margin,
            relation=settings.relation,
            size=n0,
            shapes=shapes,
            queries=queries,
            seed=seed,
            copies=copies,
            reading=reading,
            progress=progress,
            ledger=paying.ledger(),
        )
        write_halfspaces(released, out)
    print_spent(released.privacy)
    prediction = released.plan.prediction
    console().print(
        f"{sum(values.size for values in released.noisy):,} noisy numbers; queries of margin {margin:g} within "
        f"{prediction.error:.3g}, {prediction.queries:,} of them together with probability 95 %; written to {out}"
    )


@command("answer", group=halfspaces_group)
def answer(
    file: Annotated[Path, typer.Argument(help="File of 'dpopt halfspaces release'.")],
    queries: Annotated[
        list[str] | None,
        typer.Option(
            "--query",
            help="A vector y, as in 0.3,-0.1,0.2: asks for the share of records x with <x, y> > 0. May be repeated.",
        ),
    ] = None,
    query_file: Annotated[
        Path | None,
        typer.Option(
            "--queries", help="CSV file of such vectors, one in each line; a line of names may be first."
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            "--margin", help="What is promised of the queries; the margin that was planned for if left out."
        ),
    ] = None,
    estimator: Annotated[
        str | None,
        typer.Option(
            "--estimator",
            help="regression (default), debiased (the mean over projections times the best slope), or average (as printed in "
            "the paper).",
        ),
    ] = None,
    nonnegative: Annotated[
        bool, typer.Option("--nonnegative", help="Arcs: from bins of angles that are not below 0.")
    ] = False,
    confidence: Annotated[float, typer.Option("--confidence", help="Of the bounds, each for itself.")] = 0.95,
    as_json: options.JsonOption = False,
) -> None:
    """Answer halfspaces from a release, with bounds for queries of a margin. Costs no privacy."""
    import numpy as np
    from rich.table import Table

    from dpopt.cli.reports.reports import console
    from dpopt.queries.halfspaces.halfspaces import unit_query
    from dpopt.releases.plan import choice
    from dpopt.synopses.halfspaces.bias_sample import TURNS
    from dpopt.synopses.halfspaces.estimators import Estimator
    from dpopt.synopses.halfspaces.halfspaces import read_halfspaces
    from dpopt.synopses.halfspaces.query_file import read_queries

    released = read_halfspaces(file)
    warn_if_not_private(released.privacy)
    names = released.plan.columns.names
    vectors = [unit_query(text, len(names)) for text in queries or []]
    labels = list(queries or [])
    if query_file is not None:
        read = read_queries(query_file, names)
        vectors += list(read)
        labels += [",".join(f"{one:g}" for one in row) for row in read.tolist()]
    if not vectors:
        raise PlanError("nothing is asked: give --query or --queries")
    found = released.answers(
        np.array(vectors),
        margin=margin,
        estimator=None if estimator is None else choice(Estimator, estimator, "estimator"),
        confidence=confidence,
        nonnegative=nonnegative,
        turns=TURNS if len(vectors) <= MANY else TURNS // 4,
    )
    if as_json:
        print_json(
            {
                "columns": list(names),
                "answers": [{"query": text, **asdict(one)} for text, one in zip(labels, found, strict=True)],
            }
        )
        return
    shown = Table(title_justify="left")
    shown.add_column("query", overflow="fold")
    for heading in ("share of records", f"within ({100 * confidence:g}%)", "of it projections", "noise"):
        shown.add_column(heading)
    for text, one in zip(labels, found, strict=True):
        shown.add_row(text, f"{one.value:.4f}", f"{one.bound:.4f}", f"{one.bias:.4f}", f"{one.noise:.4f}")
    console().print(shown)
    console().print(
        f"bounds are for records that do not depend on the projections, none of them with |<x, y>| below {found[0].margin:g}; "
        "without that promise, add twice the share of records below it"
    )


MANY = 100
"""Queries above which biases are estimated on fewer points."""


def _names(columns: str | None) -> tuple[str, ...] | None:
    return None if columns is None else tuple(name.strip() for name in columns.split(","))


def _shapes(
    dimension: int | None, projections: int | None, directions: int | None, measured: str
) -> list[Shape] | None:
    """Return the one shape that options name, or none."""
    from dpopt.synopses.halfspaces.halfspace_plan import ARCS, SIDES
    from dpopt.synopses.halfspaces.planning import Shape

    if measured not in {"sides", "arcs", "bins"}:
        raise PlanError(f"found --measured {measured}; expected sides, arcs or bins")
    given = (dimension, projections, directions)
    if all(one is None for one in given) and measured == "sides":
        return None
    if dimension is None or projections is None or directions is None:
        raise PlanError("give --projected-to, --projections and --directions together, or none of them")
    if directions % 2 or directions < 2:
        raise PlanError(f"found {directions} directions; expected an even number: each with its antipode")
    if measured == "sides":
        return [Shape(dimension, projections, directions // 2, SIDES)]
    if directions & (directions - 1) or dimension != 2:
        raise PlanError(
            f"found T = {dimension} and {directions} directions; arcs need T = 2 and a power of two of directions"
        )
    levels = tuple(range(directions.bit_length() - 1)) if measured == "arcs" else (0,)
    return [Shape(dimension, projections, directions // 2, ARCS, levels)]
