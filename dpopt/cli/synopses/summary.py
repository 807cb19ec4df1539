"""`dpopt summary plan`, `release` and `answer`: queries of many conditions from noisy counts of conjunctions of a few."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import application, command
from dpopt.cli.commands.plan import print_json
from dpopt.cli.reports.reports import print_spent, warn_if_not_private

if TYPE_CHECKING:
    from dpopt.synopses.summaries.alternatives import Alternatives
    from dpopt.synopses.summaries.summary_plan import SummaryPlan

summary_group = typer.Typer(
    help="Summaries that answer conjunctions, disjunctions and r-of-k queries without the data, each with its bound.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
application.add_typer(summary_group, name="summary")

SchemaOption = Annotated[Path, typer.Option("--schema", help="Schema file (JSON). Public.")]
WidthOption = Annotated[int, typer.Option("--k", help="The largest number of conditions of a query.")]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        "--columns", help="Columns that queries may ask of, with commas between them; all if left out."
    ),
]
LiteralsOption = Annotated[
    str,
    typer.Option(
        "--literals",
        help="What is counted: all (every value), or positive (of columns with two values only the second one).",
    ),
]
ForOption = Annotated[
    str,
    typer.Option(
        "--for",
        help="For which queries the budget is spread: and (all conditions hold), or (at least one), atleast:R. Others are "
        "answered too.",
    ),
]
SizeOption = Annotated[
    int | None,
    typer.Option(
        "--n0",
        help="Under add-remove a fixed public number that answers are shares of, at least that of the records. Left out, it is "
        "measured with 1 % of the budget, and rounded up.",
    ),
]
ErrorOption = Annotated[
    float | None,
    typer.Option(
        "--error",
        help="Refuse unless all queries of k conditions are predicted to be within this share of the records; says which n, "
        "budget or k would do.",
    ),
]
SmallQueriesOption = Annotated[
    float,
    typer.Option(
        "--small-queries",
        help="Share of the budget that is kept for queries of fewer conditions. With 0 the prediction is never worse than that "
        "of noise on each query of its own.",
    ),
]


@command("plan", group=summary_group)
def plan(
    *,
    schema: SchemaOption,
    width: WidthOption,
    n: Annotated[int, typer.Option("--n", help="Public number of records.")],
    spending: options.SpendingOptions,
    unit: options.UnitOptions,
    columns: ColumnsOption = None,
    literals: LiteralsOption = "all",
    predicate: ForOption = "and",
    error: ErrorOption = None,
    small_queries: SmallQueriesOption = 0.05,
    as_json: options.JsonOption = False,
) -> None:
    """Say which conjunctions would be counted with how much noise, and the error to expect: before any table is read."""
    from dpopt.queries.conjunctions.literals import ChosenLiterals
    from dpopt.schema.schema import Schema
    from dpopt.synopses.histograms.histogram_settings import HistogramSettings
    from dpopt.synopses.summaries.alternatives import alternatives
    from dpopt.synopses.summaries.error_goals import refuse_inaccurate
    from dpopt.synopses.summaries.summary_plan import plan_summary

    settings = HistogramSettings(**asdict(spending), reading=unit.reading())
    chosen = ChosenLiterals.of(Schema.read(schema), _names(columns), literals)
    planned = plan_summary(
        chosen,
        width,
        settings.budget(),
        size=n,
        predicate=predicate,
        relation=settings.relation,
        small_queries=small_queries,
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
    schema: SchemaOption,
    width: WidthOption,
    out: Annotated[Path, typer.Option("-o", "--out", help="New file for the summary.")],
    spending: options.SpendingOptions,
    paying: options.PayingOptions,
    columns: ColumnsOption = None,
    literals: LiteralsOption = "all",
    predicate: ForOption = "and",
    n0: SizeOption = None,
    error: ErrorOption = None,
    small_queries: SmallQueriesOption = 0.05,
    reading: options.ReadingOptions,
    accept_draft: Annotated[
        bool, typer.Option("--accept-draft", help="Use a drafted, unreviewed schema.")
    ] = False,
) -> None:
    """Release a summary of TABLE that answers queries of up to k conditions."""
    from dpopt.cli.reports.progress import TerminalProgress
    from dpopt.cli.reports.reports import console
    from dpopt.releases.folder_files import check_new
    from dpopt.synopses.histograms.histogram_settings import HistogramSettings
    from dpopt.synopses.summaries.release_summary import summary_of_table
    from dpopt.synopses.summaries.summary import write_summary

    settings = HistogramSettings(**asdict(spending))
    check_new(out)
    with TerminalProgress() as progress:
        released = summary_of_table(
            table,
            schema,
            width,
            settings.budget(),
            columns=_names(columns),
            literals=literals,
            predicate=predicate,
            relation=settings.relation,
            size=n0,
            small_queries=small_queries,
            error=error,
            reading=reading.reading(),
            accept_draft=accept_draft,
            progress=progress,
            ledger=paying.ledger(),
        )
        write_summary(released, out)
    print_spent(released.privacy)
    counted = sum(noisy.size for noisy in released.noisy)
    console().print(
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
    predicate: Annotated[
        str, typer.Option("--predicate", help="and (all conditions hold), or (at least one), atleast:R.")
    ] = "and",
    estimate: Annotated[
        str,
        typer.Option(
            "--estimate",
            help="consistent (within what records can have these noisy counts: smaller bounds, two linear programs a query) or "
            "polynomial (a weighted sum of noisy counts).",
        ),
    ] = "consistent",
    confidence: Annotated[float, typer.Option("--confidence", help="Of the bounds, each for itself.")] = 0.95,
    as_json: options.JsonOption = False,
) -> None:
    """Answer queries from a released summary, with bounds. Costs no privacy."""
    from dataclasses import asdict

    from rich.table import Table

    from dpopt.cli.reports.reports import console
    from dpopt.synopses.summaries.summary import read_summary

    summary = read_summary(file)
    warn_if_not_private(summary.privacy)
    found = {
        query: summary.answer(query, predicate, confidence=confidence, estimate=estimate) for query in queries
    }
    if as_json:
        print_json(
            {
                "predicate": predicate,
                "answers": [{"query": query, **asdict(found[query])} for query in queries],
            }
        )
        return
    table = Table(title_justify="left")
    table.add_column("query", overflow="fold")
    for heading in ("share of records", f"within ({100 * confidence:g}%)", "from", "to", "by"):
        table.add_column(heading)
    for query, one in found.items():
        shares = (f"{share:.4f}" for share in (one.value, one.bound, one.low, one.high))
        table.add_row(query, *shares, one.estimate)
    console().print(table)
    for query, one in found.items():
        if one.note:
            console().print(f"{query}: {one.note}")


def _names(columns: str | None) -> tuple[str, ...] | None:
    return None if columns is None else tuple(name.strip() for name in columns.split(","))


def _print_plan(planned: SummaryPlan) -> None:
    from rich.table import Table

    from dpopt.cli.reports.reports import console

    out = console()
    noise = "Gaussian" if planned.gaussian else "Laplace"
    table = Table(
        "conjunctions of",
        "number",
        "noise: scale",
        title=f"measured with {noise} noise",
        title_justify="left",
    )
    for size, scale in zip(planned.sizes, planned.scales, strict=True):
        table.add_row(f"{size} literals", f"{planned.literals.groups.conjunctions(size):,}", f"{scale:.4g}")
    out.print(table)
    out.print(
        f"queries of {planned.width} conditions ({planned.predicate}): within {planned.predicted:.4g}, all of them with "
        f"probability 95 %; {planned.approximation:.2g} of it is the polynomial's"
    )


def _print_alternatives(planned: SummaryPlan, others: Alternatives) -> None:
    """Say what other ways would promise, and why this one is taken."""
    from math import isfinite

    from dpopt.cli.reports.reports import console
    from dpopt.synopses.summaries.summary_plan import MOST_COUNTED, columns_that_do

    out, k = console(), planned.width
    if isfinite(others.direct):
        out.print(f"each of them counted with noise of its own: within {others.direct:.4g}")
    out.print(
        f"records made to agree with noisy counts of up to {others.marginal_size} conditions: guaranteed within "
        f"{others.marginals:.4g}, typically nearer"
    )
    if k not in planned.sizes and planned.literals.groups.conjunctions(k) > MOST_COUNTED:
        out.print(
            f"conjunctions of {k} literals are more than the {MOST_COUNTED:,} that are counted; those of the "
            f"{columns_that_do(planned.literals, k):,} columns with the fewest values are not"
        )
    if others.least == "polynomial":
        out.print("the summary is the best of these")
    elif others.least == "marginals":
        out.print(
            "records made to agree promise more than the summary: see 'dpopt release --algorithm projection'"
        )
    elif k in planned.sizes:
        out.print(
            "the summary counts these, too, and keeps a share of the budget for fewer conditions: --small-queries 0 does not"
        )
