"""`dpopt summary`: queries of many conditions from noisy counts of conjunctions of a few."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated

from dpopt.algorithms.terms import N0
from dpopt.cli import options
from dpopt.cli.synopses import shared
from dpopt.synopses.any_synopsis import KINDS

if TYPE_CHECKING:
    from rich.table import Table

    from dpopt.synopses.release import Request, RequestKeywords
    from dpopt.synopses.summaries.alternatives import Alternatives
    from dpopt.synopses.summaries.summary import Summary
    from dpopt.synopses.summaries.summary_plan import SummaryPlan


SUMMARY = shared.Kind(
    "summary",
    "Summaries that answer conjunctions, disjunctions and r-of-k queries without the data, each with its bound.",
    KINDS["dpopt_summary"],
)


@dataclass(frozen=True)
class SummaryOptions:
    """Which queries are to be answered, and how well."""

    k: Annotated[int, "The largest number of conditions of a query."]
    literals: Annotated[
        str, "What is counted: all (every value), or positive (of columns with two values only the second one)."
    ] = "all"
    predicate: Annotated[
        str,
        "Queries for which the plan minimizes the error: and (all conditions hold), or (at least one holds), or "
        "atleast:R (at least R hold). Others are answered too.",
    ] = "and"
    error: Annotated[
        float | None,
        "Refuse unless all queries of k conditions are predicted to be within this share of the records; the message "
        "names a sufficient n, budget or k.",
    ] = None
    small_queries: Annotated[
        float,
        "Share of the budget for queries of fewer conditions, between 0 and 1. With 0 the prediction is never worse "
        "than that of separate noise on each query.",
    ] = 0.05
    solver: options.ModelSolverOption = None


@SUMMARY.plans(shared.PlanSizeOptions)
def plan(
    request: Request,
    *,
    schema: shared.SchemaOption,
    n: shared.NOption = None,
    n0: N0 = None,
    columns: shared.ColumnsOption = None,
    about: SummaryOptions,
) -> shared.Output:
    """Show which conjunctions a release counts, their noise, and the predicted error. Reads no table."""
    from dpopt.queries.conjunctions.literals import ChosenLiterals
    from dpopt.synopses.summaries.alternatives import alternatives
    from dpopt.synopses.summaries.release_summary import refuse_inaccurate
    from dpopt.synopses.summaries.summary_plan import plan_summary

    names = shared.named_columns(columns) or None
    chosen = ChosenLiterals.of(request.declared(schema), names, about.literals)
    how = asdict(about)
    width, error, _ = how.pop("k"), how.pop("error"), how.pop("literals")
    planned = request.plan(partial(plan_summary, chosen, width, relation=request.relation, **how), n, n0)
    if error is not None:
        refuse_inaccurate(planned, error, about.small_queries)
    others = alternatives(planned)
    return shared.Output(
        {
            **{key: value for key, value in planned.to_json().items() if key != "literals"},
            "guaranteed_error_of_marginals_and_projection": others.marginals,
            "marginals_of": others.marginal_size,
            "least": others.least,
        },
        [*_planned(planned), *_alternatives(planned, others)],
    )


@SUMMARY.releases(
    lambda released: (
        f"{sum(noisy.size for noisy in released.noisy):,} noisy counts; queries of {released.plan.width} conditions within "
        f"{released.plan.predicted:.4g}, all of them with probability 95 %"
    ),
    shared.ReleaseSizeOptions,
)
def release(
    how: RequestKeywords,
    *,
    table: options.TableArgument,
    schema: shared.SchemaOption,
    columns: shared.ColumnsOption = None,
    n0: N0 = None,
    about: SummaryOptions,
) -> Summary:
    """Release a summary of TABLE that answers queries of up to k conditions."""
    from dpopt.synopses.summaries.release_summary import summary

    names = shared.named_columns(columns) or None
    return summary(table, schema, columns=names, n0=n0, **asdict(about), **how)


@SUMMARY.shows("answer")
def answer(
    released: Summary,
    *,
    query: Annotated[
        list[str],
        "Conditions with commas between them, as in smoker=yes,age>=50; also !=, <, <=, >. A comma in a value is "
        "written twice. Can be repeated.",
    ],
    predicate: Annotated[
        str, "and (all conditions hold), or (at least one holds), or atleast:R (at least R hold)."
    ] = "and",
    estimate: Annotated[
        str,
        "consistent (within what records can have these noisy counts: smaller bounds, two linear programs a query) or "
        "polynomial (a weighted sum of noisy counts).",
    ] = "consistent",
    confidence: shared.ConfidenceOption = 0.95,
    solver: options.ModelSolverOption = None,
) -> shared.Output:
    """Answer queries from a released summary, with bounds. Costs no privacy."""
    found = [
        released.answer(text, predicate, confidence=confidence, estimate=estimate, solver=solver) for text in query
    ]
    answers = list(zip(query, found, strict=True))
    return shared.Output(
        {"predicate": predicate, "answers": shared.answers_json(query, found)},
        [
            shared.shares_table(
                ("query", "share of records", f"within ({100 * confidence:g}%)", "from", "to", "by"),
                query,
                [(one.value, one.bound, one.low, one.high, one.estimate) for one in found],
            ),
            *(f"{text}: {one.note}" for text, one in answers if one.note),
        ],
    )


SUMMARY.exports_json()


def _planned(planned: SummaryPlan) -> Iterator[str | Table]:
    yield shared.noise_table(
        ("conjunctions of", "number", "noise: scale"),
        [
            (f"{size} literals", f"{planned.literals.groups.conjunctions(size):,}", f"{scale:.4g}")
            for size, scale in zip(planned.sizes, planned.scales, strict=True)
        ],
        gaussian=planned.gaussian,
    )
    yield (
        f"queries of {planned.width} conditions ({planned.predicate}): within {planned.predicted:.4g}, all of them "
        f"with probability 95 %; of which the polynomial's error is {planned.approximation:.2g}"
    )


def _alternatives(planned: SummaryPlan, others: Alternatives) -> Iterator[str]:
    """Say what other ways would promise, and why this one is taken."""
    from math import isfinite

    from dpopt.synopses.summaries.summary_plan import MOST_COUNTED, columns_that_do

    k = planned.width
    if isfinite(others.direct):
        yield (f"separate noise on each of these queries: within {others.direct:.4g}")
    yield (
        f"records fitted to noisy counts of up to {others.marginal_size} conditions: guaranteed within "
        f"{others.marginals:.4g}, typically nearer"
    )
    if k not in planned.sizes and planned.literals.groups.conjunctions(k) > MOST_COUNTED:
        yield (
            f"conjunctions of {k} literals are more than the {MOST_COUNTED:,} that are counted; those of the "
            f"{columns_that_do(planned.literals, k):,} columns with the fewest values are not"
        )
    if others.least == "polynomial":
        yield ("the summary is the best of these")
    elif others.least == "marginals":
        yield (
            "fitted records have a smaller guaranteed error than the summary: see 'dpopt release --algorithm "
            "projection'"
        )
    elif k in planned.sizes:
        yield (
            "the summary counts these, too, and keeps a share of the budget for fewer conditions: --small-queries 0 "
            "keeps none"
        )
