"""`dpopt release` and `dpopt resume`: from a table to a folder of synthetic records."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from dpopt.algorithms.terms import ReleaseTerms
from dpopt.cli import options
from dpopt.cli.application import NamedAlgorithm, command
from dpopt.cli.reports.declared import declared_schema, reading_now
from dpopt.cli.reports.reporting import reporting
from dpopt.cli.reports.reports import report_release

TimingsOption = Annotated[
    Path | None, "Write the seconds of each stage to this file. They depend on the table: do not publish it."
]
LogOption = Annotated[
    Path | None,
    "Append a JSON line to this file when a stage or a round ends. It depends on the table: do not publish it.",
]


@command("release")
def release(
    *,
    table: options.AnyTableArgument,
    out: Annotated[Path, "-o", "--out", "New or empty folder for the release."],
    schema: options.DeclaredSchemaOption = None,
    plan: Annotated[Path | None, "File of 'dpopt plan -o', with the schema, workload, budget and algorithm."] = None,
    workload: options.WorkloadOption = None,
    binary_columns: options.BinaryColumnsOption = None,
    names: options.NamesOption = None,
    reading: options.AnyReadingOptions,
    paying: options.PayingOptions,
    algorithm: NamedAlgorithm,
    terms: ReleaseTerms,
    engine: options.EngineOption = "memory",
    public_table: Annotated[
        bool,
        "--public-table",
        "The table is public: --seed decides all draws, so that every solver gets the same ones. NOT private.",
    ] = False,
    timings: TimingsOption = None,
    log: LogOption = None,
    details: options.DetailsOption = False,
    quiet: Annotated[bool, "Print errors and warnings only."] = False,
) -> None:
    """Release synthetic records of TABLE, with differential privacy, into a new folder."""
    from dpopt.algorithms.planned import read_planned
    from dpopt.algorithms.release import release
    from dpopt.private.drafts.unused_columns import unused_columns

    if plan is None or schema is not None or binary_columns is not None:
        declared = declared_schema(schema, binary_columns, names)
    else:
        declared = read_planned(plan).schema
    how = reading.reading(declared)
    how.check_against(declared)
    if not quiet and (ignored := unused_columns(table, declared, how)):
        typer.echo(ignored, file=sys.stderr)
    with reporting("release", out, timings, log, quiet=quiet, details=details, budget=paying.budget) as progress:
        finished = release(
            table,
            declared,
            workload,
            plan=plan,
            out=out,
            algorithm=algorithm.options(),
            progress=progress,
            engine=engine,
            budget=paying.ledger(),
            public_table=public_table,
            reading=how,
            **asdict(terms),
        )
    _report(finished.statement, out, table, quiet=quiet, details=details or terms.delta is not None)


@command("resume")
def resume(
    *,
    folder: options.FolderArgument,
    table: options.AnyTableArgument,
    reading: options.LayoutOptions,
    paying: options.PayingOptions,
    engine: options.EngineOption = "memory",
    timings: TimingsOption = None,
    log: LogOption = None,
    quiet: Annotated[bool, "Print errors and warnings only."] = False,
) -> None:
    """Continue an interrupted release in FOLDER; TABLE must be the table that it began with.

    dpopt reads TABLE with the options of the release. If it is now in a file of another layout, give --layout.
    """
    from dpopt.algorithms.release import resume
    from dpopt.algorithms.release_folder import read_begun

    how = reading_now(lambda: read_begun(folder), reading)
    with reporting("resume", folder, timings, log, quiet=quiet, budget=paying.budget) as progress:
        finished = resume(folder, table, progress=progress, reading=how, engine=engine, budget=paying.ledger())
    _report(finished.statement, folder, table, quiet=quiet)


def _report(statement: Any, folder: Path, table: Path, *, quiet: bool, details: bool = True) -> None:
    if not quiet:
        report_release(statement, folder, table, details=details)
