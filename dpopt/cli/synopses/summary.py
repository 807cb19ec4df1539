"""`dpopt summary plan`, `release` and `answer`: queries of many conditions from noisy counts of conjunctions of a few."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import command
from dpopt.cli.commands.plan import print_json
from dpopt.cli.synopses import shared

if TYPE_CHECKING:
    from dpopt.synopses.summaries.alternatives import Alternatives
    from dpopt.synopses.summaries.summary_plan import SummaryPlan

summary_group = shared.synopsis_group(
    "summary",
    "Summaries that answer conjunctions, disjunctions and r-of-k queries without the data, each with its bound.",
)

WidthOption = Annotated[int, typer.Option("--k", help="The largest number of conditions of a query.")]
LiteralsOption = Annotated[
    str,
    typer.Option(
        "--literals",
        help="What is counted: all (every value), or positive (of columns with two values only the second one).",
    ),
]
PredicateOption = Annotated[
    str,
    typer.Option(
        "--predicate",
        help="Queries for which the plan minimizes the error: and (all conditions hold), or (at least one holds), or "
        "atleast:R (at least R hold). Others are answered too.",
    ),
]
ErrorOption = Annotated[
    float | None,
    typer.Option(
        "--error",
        help="Refuse unless all queries of k conditions are predicted to be within this share of the records; the message "
        "names a sufficient n, budget or k.",
    ),
]
SmallQueriesOption = Annotated[
    float,
    typer.Option(
        "--small-queries",
        help="Share of the budget for queries of fewer conditions, between 0 and 1. With 0 the prediction is never worse "
        "than that of separate noise on each query.",
    ),
]


@command("plan", group=summary_group)
def plan(
    *,
    schema: shared.SchemaOption,
    width: WidthOption,
    n: shared.NOption = None,
    n0: shared.N0Option = None,
    asked: shared.PlanOptions,
    columns: shared.ColumnsOption = None,
    literals: LiteralsOption = "all",
    predicate: PredicateOption = "and",
    error: ErrorOption = None,
    small_queries: SmallQueriesOption = 0.05,
    as_json: options.JsonOption = False,
) -> None:
    """Show which conjunctions would be counted with how much noise, and the predicted error, before any table is read."""
    from dpopt.queries.conjunctions.literals import ChosenLiterals
    from dpopt.synopses.summaries.alternatives import alternatives
    from dpopt.synopses.summaries.error_goals import refuse_inaccurate
    from dpopt.synopses.summaries.summary_plan import plan_summary

    request = asked.request()
    chosen = ChosenLiterals.of(request.declared(schema), shared.named_columns(columns), literals)
    planned = request.plan(
        lambda budget, size: plan_summary(
            chosen,
            width,
            budget,
            size=size or 0,
            predicate=predicate,
            relation=request.relation,
            small_queries=small_queries,
        ),
        n,
        n0,
    )
    if error is not None:
        refuse_inaccurate(planned, error, small_queries)
    others = alternatives(planned)
    if as_json:
        print_json(
            {
                **{key: value for key, value in planned.to_json().items() if key != "literals"},
                "guaranteed_error_of_marginals_and_projection": others.marginals,
                "marginals_of": others.marginal_size,
                "least": others.least,
            }
        )
        return
    _print_plan(planned)
    _print_alternatives(planned, others)


@command("release", group=summary_group)
def release(
    *,
    table: options.TableArgument,
    schema: shared.SchemaOption,
    width: WidthOption,
    out: shared.OutOption,
    asked: shared.ReleaseOptions,
    columns: shared.ColumnsOption = None,
    literals: LiteralsOption = "all",
    predicate: PredicateOption = "and",
    n0: shared.N0Option = None,
    error: ErrorOption = None,
    small_queries: SmallQueriesOption = 0.05,
) -> None:
    """Release a summary of TABLE that answers queries of up to k conditions."""
    from dpopt.synopses.summaries.release_summary import summary

    released = shared.make(
        out,
        lambda how: summary(
            table,
            schema,
            width,
            columns=shared.named_columns(columns),
            literals=literals,
            predicate=predicate,
            n0=n0,
            small_queries=small_queries,
            error=error,
            **how,
        ),
        asked.asked(schema),
    )
    counted = sum(noisy.size for noisy in released.noisy)
    shared.say(
        f"{counted:,} noisy counts; queries of {width} conditions within {released.plan.predicted:.4g}, all of them with "
        f"probability 95 %; written to {out}"
    )


@command("answer", group=summary_group)
def answer(
    file: Annotated[Path, typer.Argument(help="File of 'dpopt summary release'.")],
    queries: Annotated[
        list[str],
        typer.Option(
            "--query",
            help="Conditions with commas between them, as in smoker=yes,age>=50; also !=, <, <=, >. A comma in a value is "
            "written twice. May be repeated.",
        ),
    ],
    predicate: shared.PredicateOption = "and",
    estimate: Annotated[
        str,
        typer.Option(
            "--estimate",
            help="consistent (within what records can have these noisy counts: smaller bounds, two linear programs a query) or "
            "polynomial (a weighted sum of noisy counts).",
        ),
    ] = "consistent",
    confidence: shared.ConfidenceOption = 0.95,
    as_json: options.JsonOption = False,
) -> None:
    """Answer queries from a released summary, with bounds. Costs no privacy."""
    from dpopt.synopses.summaries.summary import Summary

    released = shared.opened(Summary, file)
    found = [released.answer(query, predicate, confidence=confidence, estimate=estimate) for query in queries]
    if as_json:
        print_json({"predicate": predicate, "answers": shared.answers_json(queries, found)})
        return
    shared.print_table(
        ("query", "share of records", f"within ({100 * confidence:g}%)", "from", "to", "by"),
        [
            (query, *(f"{share:.4f}" for share in (one.value, one.bound, one.low, one.high)), one.estimate)
            for query, one in zip(queries, found, strict=True)
        ],
        fold=True,
    )
    for query, one in zip(queries, found, strict=True):
        if one.note:
            shared.say(f"{query}: {one.note}")


def _print_plan(planned: SummaryPlan) -> None:
    shared.print_noise(
        ("conjunctions of", "number", "noise: scale"),
        [
            (f"{size} literals", f"{planned.literals.groups.conjunctions(size):,}", f"{scale:.4g}")
            for size, scale in zip(planned.sizes, planned.scales, strict=True)
        ],
        gaussian=planned.gaussian,
    )
    shared.say(
        f"queries of {planned.width} conditions ({planned.predicate}): within {planned.predicted:.4g}, all of them with "
        f"probability 95 %; of which the polynomial's error is {planned.approximation:.2g}"
    )


def _print_alternatives(planned: SummaryPlan, others: Alternatives) -> None:
    """Say what other ways would promise, and why this one is taken."""
    from math import isfinite

    from dpopt.synopses.summaries.summary_plan import MOST_COUNTED, columns_that_do

    k = planned.width
    if isfinite(others.direct):
        shared.say(f"separate noise on each of these queries: within {others.direct:.4g}")
    shared.say(
        f"records fitted to noisy counts of up to {others.marginal_size} conditions: guaranteed within "
        f"{others.marginals:.4g}, typically nearer"
    )
    if k not in planned.sizes and planned.literals.groups.conjunctions(k) > MOST_COUNTED:
        shared.say(
            f"conjunctions of {k} literals are more than the {MOST_COUNTED:,} that are counted; those of the "
            f"{columns_that_do(planned.literals, k):,} columns with the fewest values are not"
        )
    if others.least == "polynomial":
        shared.say("the summary is the best of these")
    elif others.least == "marginals":
        shared.say(
            "fitted records have a smaller guaranteed error than the summary: see 'dpopt release --algorithm projection'"
        )
    elif k in planned.sizes:
        shared.say(
            "the summary counts these, too, and keeps a share of the budget for fewer conditions: --small-queries 0 keeps none"
        )
