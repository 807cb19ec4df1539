"""`dpopt halfspaces`: the share of records in any halfspace, from projected points."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.algorithms.terms import N0
from dpopt.cli.synopses import shared
from dpopt.errors import PlanError
from dpopt.synopses.any_synopsis import KINDS

if TYPE_CHECKING:
    from dpopt.synopses.halfspaces.halfspaces import Halfspaces
    from dpopt.synopses.release import Request, RequestKeywords


HALFSPACES = shared.Kind(
    "halfspaces",
    "Halfspaces: which share of points lies on one side of any hyperplane through the origin, each answer with its "
    "error.",
    KINDS["dpopt_halfspaces"],
)
MANY = 100
"""Queries above which biases are estimated on fewer points."""


@dataclass(frozen=True)
class ShapeOptions:
    """Which projections are released, and for which queries errors are predicted."""

    margin: Annotated[
        float,
        "gamma: errors are predicted for queries y (of length 1) with |<x, y>| of at least gamma for all records x.",
    ]
    projected_to: Annotated[int | None, "T, the dimension of the projections. Default: chosen by the plan."] = None
    projections: Annotated[int | None, "m, the number of projections. Default: chosen by the plan."] = None
    directions: Annotated[
        int | None,
        "|U|, the number of directions of each projection, even because it includes antipodes. Default: chosen by the plan.",
    ] = None
    queries: Annotated[int, "Number of queries for which errors are predicted simultaneously."] = 1000
    seed: Annotated[int, "Seed of the projections. Public; no private draw depends on it."] = 0
    copies: Annotated[
        int, "Number of random signs that an entry of a projection adds up; 1 gives the paper's matrices."
    ] = 63


@dataclass(frozen=True)
class ScalingOptions:
    """How rows come to have length 1 at most."""

    normalise: Annotated[bool, "Divide each row by its length; else rows must have length 1."] = False
    bounds: Annotated[
        str | None,
        "Instead of --normalise: public bounds LOW:HIGH of all columns; each is centred and scaled, so that rows have "
        "length 1 at most.",
    ] = None
    schema: Annotated[
        Path | None,
        "Instead of --bounds: a schema file (JSON) whose numeric attributes have the bounds of the columns. Public.",
    ] = None


@HALFSPACES.plans(shared.PlanBudgetOptions)
def plan(
    request: Request,
    *,
    n: shared.NOption = None,
    n0: N0 = None,
    attributes: Annotated[int | None, "Number of coordinates, instead of --columns."] = None,
    columns: shared.ColumnsOption = None,
    shape: ShapeOptions,
    error: Annotated[float, "Error for which the parameters of the theorem are shown."] = 0.1,
) -> shared.Output:
    """Show what a release measures, its noise, and the predicted errors. Reads no table."""
    from dpopt.queries.halfspaces.halfspaces import MOST_COORDINATES, PointColumns, Scaling
    from dpopt.synopses.halfspaces.estimators import theorem_parameters
    from dpopt.synopses.halfspaces.planning import named_shapes, plan_halfspaces

    names = shared.named_columns(columns)
    if (columns is None) == (attributes is None):
        raise PlanError("say how many coordinates points have: --attributes, or their --columns")
    if not 2 <= (attributes or 2) <= MOST_COORDINATES:
        raise PlanError(f"found --attributes {attributes}; expected 2 to {MOST_COORDINATES:,}")
    names = names or tuple(f"x{place + 1}" for place in range(attributes or 0))
    how = asdict(shape)
    shapes = named_shapes(*map(how.pop, ("projected_to", "projections", "directions")))
    points = PointColumns(names, Scaling.UNIT)
    planned = request.plan(partial(plan_halfspaces, points, relation=request.relation, shapes=shapes, **how), n, n0)
    at, predicted = request.epsilon or 1.0, planned.prediction
    theory = {
        name: theorem_parameters(len(names), shape.margin, error, at, corrected=name == "corrected")
        for name in ("printed", "corrected")
    }
    measured = zip(planned.measurements(), planned.scales, planned.numbers, strict=True)
    table = shared.noise_table(
        ("measured", "numbers", "noise: scale"),
        [(one.name, f"{numbers:,}", f"{scale:.4g}") for one, scale, numbers in measured],
        gaussian=planned.gaussian,
    )
    lines = (
        f"{planned.number:,} projections to R^{planned.dimension}, {2 * planned.directions} directions each",
        (
            f"{predicted.queries:,} queries of margin {planned.margin:g}: within {predicted.error:.3g}, all of them "
            f"with probability 95 %; {predicted.bias:.3g} of it for the projections (a single record is typically "
            f"off by {predicted.typical:.2g}), {predicted.noise:.2g} for the noise"
        ),
        (
            f"separate noise on each of them: within {predicted.direct:.3g}; this release is more accurate for "
            f"{predicted.worth:,} queries or more"
        ),
        *(
            f"theorem ({name}), error {error:g}: T = {one.dimension:,}, m = {one.projections:,}, |U| = 10^"
            f"{one.log10_directions:,.0f}, 10^{one.log10_records:,.0f} records at epsilon {at:g}: not practical"
            for name, one in theory.items()
        ),
    )
    return shared.Output(
        {**planned.to_json(), "theory": {name: asdict(one) for name, one in theory.items()}}, [table, *lines]
    )


@HALFSPACES.releases(
    lambda released: (
        f"{sum(values.size for values in released.noisy):,} noisy numbers; queries of margin {released.plan.margin:g} "
        f"within {released.plan.prediction.error:.3g}, {released.plan.prediction.queries:,} of them together with "
        f"probability 95 %"
    ),
    shared.TextReleaseOptions,
)
def release(
    how: RequestKeywords,
    *,
    table: Annotated[
        Path, typer.Argument(help="CSV (also .gz), Parquet or .npy file. Private: read here and nowhere else.")
    ],
    columns: shared.ColumnsOption = None,
    scaling: ScalingOptions,
    accept_draft: shared.AcceptDraftOption = False,
    shape: ShapeOptions,
    n0: N0 = None,
) -> Halfspaces:
    """Release noisy sides of the projected points of TABLE, which answer halfspace queries without the data."""
    from dpopt.synopses.halfspaces.release_halfspaces import halfspaces

    names = None if columns is None else shared.named_columns(columns)
    how["accept_draft"] = accept_draft
    return halfspaces(table, columns=names, n0=n0, **asdict(scaling), **asdict(shape), **how)


@HALFSPACES.shows("answer")
def answer(
    released: Halfspaces,
    *,
    query: Annotated[
        list[str] | None,
        "A vector y, such as 0.3,-0.1,0.2: asks for the share of records x with <x, y> > 0. Can be repeated.",
    ] = None,
    query_file: Annotated[
        Path | None, "CSV file of such vectors, one on each line; a header line may be first."
    ] = None,
    margin: Annotated[
        float | None, "Margin that you promise for the queries and the records. Default: that of the plan."
    ] = None,
    inside: Annotated[
        float,
        "Share of the records that may be within the margin all the same, 0 to 1; 1 needs no promise, but bounds are "
        "wide.",
    ] = 0.0,
    estimate: Annotated[
        str | None,
        typer.Option(
            "--estimate",
            help="regression, or average (as printed in the paper).",
            show_default="regression, or average for many numbers",
        ),
    ] = None,
    confidence: shared.ConfidenceOption = 0.95,
) -> shared.Output:
    """Answer halfspaces from a release, with bounds for queries of a margin. Costs no privacy."""
    import numpy as np

    from dpopt.queries.halfspaces.halfspaces import unit_query
    from dpopt.synopses.halfspaces.bias_sample import TURNS
    from dpopt.synopses.halfspaces.halfspaces import read_queries

    names, labels = released.plan.columns.names, list(query or [])
    vectors = [unit_query(text, len(names)) for text in labels]
    if query_file is not None:
        read = read_queries(query_file, names)
        vectors += list(read)
        labels += [",".join(f"{one:g}" for one in row) for row in read.tolist()]
    if not vectors:
        raise PlanError("found no query; give --query or --query-file")
    found = released.answers(
        np.array(vectors),
        margin=margin,
        inside=inside,
        estimate=estimate,
        confidence=confidence,
        turns=TURNS if len(vectors) <= MANY else TURNS // 4,
    )
    within = f"within ({100 * confidence:g}%)"
    return shared.Output(
        {"columns": list(names), "answers": shared.answers_json(labels, found)},
        [
            shared.shares_table(
                ("query", "share of records", within, "error of projections", "of noise"),
                labels,
                [(one.value, one.bound, one.bias, one.noise) for one in found],
            ),
            (
                f"bounds are for records that do not depend on the projections, a share of {inside:.3g} at most with "
                f"|<x, y>| below {found[0].margin:g}: this is not checked, and nothing is promised where it is not so"
            ),
        ],
    )


HALFSPACES.exports_json()
