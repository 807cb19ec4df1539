"""`dpopt prefixes`: how many records up to each step, as the steps pass."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import command
from dpopt.cli.synopses import shared
from dpopt.synopses.any_synopsis import KINDS

if TYPE_CHECKING:
    from dpopt.synopses.histograms.prefixes import Prefixes
    from dpopt.synopses.release import Request


PREFIXES = shared.Kind(
    "prefixes", "Counts up to each step of a column, answered as the steps pass.", KINDS["dpopt_prefixes"]
)

StepsOption = Annotated[
    int, "Number of finished bins: their counts are released now, the others by 'dpopt prefixes grow'."
]
FileArgument = Annotated[Path, typer.Argument(help="File of 'dpopt prefixes release'.")]
TimeOption = Annotated[str, "The column of times, declared in --schema; its bins are the steps."]


@PREFIXES.plans()
def plan(request: Request, *, column: shared.ColumnOption = None, where: shared.BinOptions) -> shared.Output:
    """Predict the errors of the counts up to each step. Reads no table."""
    from dpopt.synopses.histograms.prefixes import planned_prefixes

    found = planned_prefixes(where.axis(request, column), request)
    errors = found.deviations().tolist()
    steps = [2**power for power in range(found.steps.bit_length())]  # 1, 2, 4, ... and the last
    shown = [(f"{step:,}", f"{errors[step - 1]:,.2f}") for step in dict.fromkeys([*steps, found.steps])]
    return shared.Output(
        {**found.to_json(), "standard_errors": errors},
        [shared.table_of(("up to step", "standard error"), shown, title="Gaussian noise, charged once for all steps")],
    )


@command("release", group=PREFIXES.group)
def release(
    *,
    table: options.TableArgument,
    out: Annotated[Path, "-o", "--out", "New file; 'dpopt prefixes grow' goes on with it."],
    column: TimeOption,
    schema: shared.SchemaOption,
    steps: StepsOption,
    terms: shared.ReleaseOptions,
) -> None:
    """Charge for all steps of a column, and release the counts up to each of the first ones."""
    from dpopt.synopses.histograms.prefixes import prefixes

    _report(prefixes(table, schema, column, steps=steps, out=out, **terms.keywords(schema)), out)


@command("grow", group=PREFIXES.group)
def grow(
    *,
    file: FileArgument,
    table: options.TableArgument,
    column: TimeOption,
    schema: shared.SchemaOption,
    steps: StepsOption,
    reading: options.ReadingOptions,
    accept_draft: shared.AcceptDraftOption = False,
) -> None:
    """Release the counts up to further steps, into the same file. They are paid for already."""
    from dpopt.schema.schema import Schema
    from dpopt.synopses.histograms import prefixes

    declared = Schema.read(schema) if reading.no_header else None
    made = prefixes.grow(
        file, table, schema, column, steps=steps, reading=reading.reading(declared), accept_draft=accept_draft
    )
    _report(made, file)


@PREFIXES.shows("answer")
def answer(
    made: Prefixes,
    *,
    query: Annotated[
        list[int] | None, "Number of first steps to count up to. Can be repeated. Default: all measured steps."
    ] = None,
    confidence: shared.ConfidenceOption = 0.95,
) -> shared.Output:
    """Give the number of records up to each step, with errors. Costs no privacy."""
    asked = list(range(1, made.rows.size + 1)) if query is None else query
    found = [made.answer(step, confidence=confidence) for step in asked]
    names = [f"{step:,}: {made.bins.label(step - 1)}" for step in asked]
    return shared.Output(
        {"column": made.bins.name, "answers": shared.answers_json(list(map(str, asked)), found)},
        [shared.interval_table(f"up to {made.bins.name}", "standard error", names, found, confidence)],
    )


@PREFIXES.exports("New file (.csv): each step that was measured, with its count, standard error and interval.")
def export() -> shared.Forms:
    """Write the counts up to each step so far as a table. Costs no privacy."""
    from dpopt.synopses.histograms.prefixes import write_prefixes

    return {".csv": write_prefixes}


def _report(made: Prefixes, file: Path) -> None:
    from dpopt.cli.reports.reports import print_spent

    print_spent(made.privacy)
    last = made.answer(made.rows.size)
    shared.say(
        f"{made.rows.size:,} of {made.plan.steps:,} steps, some {last.value:,.0f} records up to the last of them "
        f"(standard error {last.standard_error:,.1f}); in {file}"
    )
