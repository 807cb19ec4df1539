"""`dpopt halfspaces plan`, `release` and `answer`: the share of records in any halfspace, from projected points."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import command
from dpopt.cli.commands.plan import print_json
from dpopt.cli.synopses import shared
from dpopt.errors import PlanError

if TYPE_CHECKING:
    from dpopt.synopses.halfspaces.halfspace_plan import HalfspacePlan


def print_plan(planned: HalfspacePlan) -> None:
    """Print what a plan measures, and its predicted errors."""
    measured = zip(planned.measurements(), planned.scales, planned.numbers, strict=True)
    shared.print_noise(
        ("measured", "numbers", "noise: scale"),
        [(one.name, f"{numbers:,}", f"{scale:.4g}") for one, scale, numbers in measured],
        gaussian=planned.gaussian,
    )
    predicted = planned.prediction
    shared.say(
        f"{planned.number:,} projections to R^{planned.dimension}, {2 * planned.directions} directions each"
    )
    shared.say(
        f"{predicted.queries:,} queries of margin {planned.margin:g}: within {predicted.error:.3g}, all of them with "
        f"probability 95 %; {predicted.bias:.3g} of it for the projections (a single record is typically "
        f"off by {predicted.typical:.2g}), {predicted.noise:.2g} for the noise"
    )
    shared.say(
        f"separate noise on each of them: within {predicted.direct:.3g}; this release is more accurate for "
        f"{predicted.worth:,} queries or more"
    )


halfspaces_group = shared.synopsis_group(
    "halfspaces",
    "Halfspaces: which share of points lies on one side of any hyperplane through the origin, each answer with its error.",
)

NormaliseOption = Annotated[
    bool, typer.Option("--normalise", help="Divide each row by its length; else rows must have length 1.")
]
BoundsOption = Annotated[
    str | None,
    typer.Option(
        "--bounds",
        help="In place of --normalise: public bounds LOW:HIGH of all columns; each is centred and scaled, so that rows "
        "have length 1 at most.",
    ),
]
SchemaOption = Annotated[
    Path | None,
    typer.Option(
        "--schema",
        help="In place of --bounds: a schema file (JSON) whose numeric attributes have the bounds of the columns. Public.",
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
        help="|U|, how many directions each projection has, an even number that includes antipodes; chosen if left out.",
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
    int, typer.Option("--queries", help="Number of queries for which errors are predicted simultaneously.")
]
SeedOption = Annotated[
    int, typer.Option("--seed", help="Seed of the projections. Public; no private draw depends on it.")
]
CopiesOption = Annotated[
    int,
    typer.Option(
        "--copies",
        help="Number of random signs that an entry of a projection adds up; 1 gives the paper's matrices.",
    ),
]


@dataclass(frozen=True)
class ShapeOptions:
    """Which projections are released, and for which queries errors are predicted."""

    projected_to: DimensionOption = None
    projections: ProjectionsOption = None
    directions: DirectionsOption = None
    measured: MeasuredOption = "sides"
    queries: QueriesOption = 1000
    seed: SeedOption = 0
    copies: CopiesOption = 63


@command("plan", group=halfspaces_group)
def plan(
    *,
    margin: MarginOption,
    n: shared.NOption = None,
    n0: shared.N0Option = None,
    coordinates: Annotated[
        int | None, typer.Option("--attributes", help="Number of coordinates, in place of --columns.")
    ] = None,
    columns: shared.ColumnsOption = None,
    spending: options.SpendingOptions,
    shape: ShapeOptions,
    theorem_error: Annotated[
        float,
        typer.Option("--error", help="Error for which the parameters of the theorem are shown."),
    ] = 0.1,
    as_json: options.JsonOption = False,
) -> None:
    """Show what would be measured with how much noise, and the predicted errors, before any table is read."""
    from dpopt.queries.halfspaces.halfspaces import PointColumns, Scaling
    from dpopt.synopses.halfspaces.halfspace_theory import corrected_parameters, printed_parameters
    from dpopt.synopses.halfspaces.planning import named_shapes, plan_halfspaces
    from dpopt.synopses.release import Request

    request, names = Request(**asdict(spending)), shared.named_columns(columns)
    if (names is None) == (coordinates is None):
        raise PlanError("say how many coordinates points have: --attributes, or their --columns")
    if names is None:
        names = tuple(f"x{place + 1}" for place in range(coordinates or 0))
    named = PointColumns(names, Scaling.UNIT)
    planned = request.plan(
        lambda budget, size: plan_halfspaces(
            named,
            budget,
            size=size or 0,
            margin=margin,
            relation=request.relation,
            shapes=named_shapes(shape.projected_to, shape.projections, shape.directions, shape.measured),
            queries=shape.queries,
            seed=shape.seed,
            copies=shape.copies,
        ),
        n,
        n0,
    )
    at = request.epsilon or 1.0
    theory = {
        "printed": printed_parameters(len(names), margin, theorem_error, at),
        "corrected": corrected_parameters(len(names), margin, theorem_error, at),
    }
    if as_json:
        print_json({**planned.to_json(), "theory": {name: asdict(one) for name, one in theory.items()}})
        return
    print_plan(planned)
    for name, one in theory.items():
        shared.say(
            f"theorem ({name}), error {theorem_error:g}: T = {one.dimension:,}, m = {one.projections:,}, |U| = 10^"
            f"{one.log10_directions:,.0f}, 10^{one.log10_records:,.0f} records at epsilon {at:g}: not practical"
        )


@command("release", group=halfspaces_group)
def release(
    *,
    table: Annotated[
        Path,
        typer.Argument(help="CSV (also .gz), Parquet or .npy file. Private: read here and nowhere else."),
    ],
    margin: MarginOption,
    out: shared.OutOption,
    columns: shared.ColumnsOption = None,
    normalise: NormaliseOption = False,
    bounds: BoundsOption = None,
    schema: SchemaOption = None,
    accept_draft: shared.AcceptDraftOption = False,
    asked: shared.TextReleaseOptions,
    shape: ShapeOptions,
    n0: shared.N0Option = None,
) -> None:
    """Release noisy sides of the projected points of TABLE, which answer halfspace queries without the data."""
    from dpopt.synopses.halfspaces.release_halfspaces import halfspaces

    released = shared.make(
        out,
        lambda how: halfspaces(
            table,
            margin,
            columns=shared.named_columns(columns),
            normalise=normalise,
            bounds=bounds,
            schema=schema,
            n0=n0,
            **asdict(shape),
            **how,
        ),
        {**asked.asked(), "accept_draft": accept_draft},
    )
    prediction = released.plan.prediction
    shared.say(
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
            "--query-file", help="CSV file of such vectors, one on each line; a header line may be first."
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            "--margin",
            help="Margin that you promise for the queries and all records; the margin of the plan if left out.",
        ),
    ] = None,
    estimate: Annotated[
        str | None,
        typer.Option(
            "--estimate",
            help="regression, debiased (the mean over projections times the best slope), or average (as printed in the paper).",
            show_default="regression, or debiased for many numbers",
        ),
    ] = None,
    nonnegative: Annotated[
        bool,
        typer.Option(
            "--nonnegative", help="With arcs: answer from the nearest bins of angles that are not negative."
        ),
    ] = False,
    confidence: shared.ConfidenceOption = 0.95,
    as_json: options.JsonOption = False,
) -> None:
    """Answer halfspaces from a release, with bounds for queries of a margin. Costs no privacy."""
    import numpy as np

    from dpopt.queries.halfspaces.halfspaces import unit_query
    from dpopt.synopses.halfspaces.bias_sample import TURNS
    from dpopt.synopses.halfspaces.halfspaces import Halfspaces
    from dpopt.synopses.halfspaces.query_file import read_queries

    released = shared.opened(Halfspaces, file)
    names = released.plan.columns.names
    vectors = [unit_query(text, len(names)) for text in queries or []]
    labels = list(queries or [])
    if query_file is not None:
        read = read_queries(query_file, names)
        vectors += list(read)
        labels += [",".join(f"{one:g}" for one in row) for row in read.tolist()]
    if not vectors:
        raise PlanError("nothing is asked: give --query or --query-file")
    found = released.answers(
        np.array(vectors),
        margin=margin,
        estimate=estimate,
        confidence=confidence,
        nonnegative=nonnegative,
        turns=TURNS if len(vectors) <= MANY else TURNS // 4,
    )
    if as_json:
        print_json({"columns": list(names), "answers": shared.answers_json(labels, found)})
        return
    shared.print_table(
        ("query", "share of records", f"within ({100 * confidence:g}%)", "error of projections", "of noise"),
        [
            (text, *(f"{share:.4f}" for share in (one.value, one.bound, one.bias, one.noise)))
            for text, one in zip(labels, found, strict=True)
        ],
        fold=True,
    )
    shared.say(
        f"bounds are for records that do not depend on the projections, none of them with |<x, y>| below {found[0].margin:g}; "
        "without that promise, add twice the share of records below it"
    )


MANY = 100
"""Queries above which biases are estimated on fewer points."""
