"""`dpopt release` and `dpopt resume`: from a table to a folder of synthetic records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from dpopt.cli import options
from dpopt.cli.application import EXIT_INTERRUPTED, command
from dpopt.errors import PlanError

TimingsOption = Annotated[
    Path | None,
    typer.Option("--timings", help="Write seconds by stage to this file. They depend on the table: keep it."),
]


@command("release")
def release(
    table: options.TableArgument,
    schema: options.SchemaOption,
    workload: options.WorkloadOption,
    out: Annotated[Path, typer.Option("-o", "--out", help="New or empty folder for the release.")],
    epsilon: options.EpsilonOption = None,
    delta: options.DeltaOption = None,
    rho: options.RhoOption = None,
    algorithm: options.AlgorithmOption = "auto",
    solver: options.SolverOption = "auto",
    rounds: options.RoundsOption = None,
    draws: options.DrawsOption = None,
    step: options.StepOption = None,
    plan_by: options.PlanByOption = "rule",
    selections: options.SelectionsOption = None,
    records: options.RecordsOption = None,
    smoothing: options.SmoothingOption = None,
    columns: options.ColumnsOption = None,
    fit_seconds: options.FitSecondsOption = None,
    alpha: options.AlphaOption = None,
    select: options.SelectOption = None,
    update: options.UpdateOption = None,
    selection_share: options.SelectionShareOption = None,
    replays: options.ReplaysOption = None,
    average: options.AverageOption = False,
    accountant: options.AccountantOption = "zcdp",
    neighbours: options.NeighboursOption = "replace",
    n0: options.N0Option = None,
    free_attributes: options.FreeOption = "first",
    encoding: options.EncodingOption = "records",
    on_unknown: options.OnUnknownOption = "error",
    accept_draft: Annotated[
        bool, typer.Option("--accept-draft", help="Use a drafted, unreviewed schema; the release records it.")
    ] = False,
    rows: Annotated[
        int | None,
        typer.Option("--rows", help="Write this many rows; without it, distinct records with weights."),
    ] = None,
    file_format: Annotated[
        str | None, typer.Option("--format", help="csv or parquet; that of the table if left out.")
    ] = None,
    work: options.WorkOption = None,
    seconds: options.SecondsOption = None,
    seed: options.SeedOption = 0,
    predict: Annotated[
        bool,
        typer.Option("--predict/--no-predict", help="Simulate the errors on public synthetic data first."),
    ] = True,
    no_header: options.NoHeaderOption = False,
    timings: TimingsOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
) -> None:
    """Release differentially private synthetic records of TABLE into a new folder."""
    from dpopt.algorithms.settings import Settings
    from dpopt.algorithms.synthesize import synthesize
    from dpopt.private.read_table import unused_columns
    from dpopt.queries.schema import Schema

    settings = Settings(
        algorithm=algorithm,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        accountant=accountant,
        neighbours=neighbours,
        n0=n0,
        rounds=rounds,
        draws=draws,
        step=step,
        plan_by=plan_by,
        selections=selections,
        records=records,
        smoothing=smoothing,
        columns=columns,
        fit_seconds=fit_seconds,
        alpha=alpha,
        select=select,
        update=update,
        selection_share=selection_share,
        replays=replays,
        average=average,
        solver=solver,
        work=work,
        seconds=seconds,
        seed=seed,
        free_attributes=free_attributes,
        encoding=encoding,
        on_unknown=on_unknown,
        accept_draft=accept_draft,
        rows=rows,
        format=file_format or _format_of(table),
        predict=predict,
    )
    declared = Schema.read(schema)
    names = list(declared.names) if no_header else None
    ignored = unused_columns(table, declared, column_names=names)
    if ignored and not quiet:
        typer.echo(f"columns that the schema does not name, ignored: {', '.join(ignored)}", err=True)
    with _told(out, timings, quiet=quiet) as progress:
        finished = synthesize(
            table,
            declared,
            workload,
            out=out,
            settings=settings,
            progress=progress,
            column_names=names,
        )
    _report(finished.statement, out, quiet=quiet)


@command("resume")
def resume(
    folder: options.FolderArgument,
    table: options.TableArgument,
    timings: TimingsOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Say nothing but errors.")] = False,
) -> None:
    """Continue an interrupted release in FOLDER; TABLE must be the table that it began with."""
    from dpopt.algorithms.synthesize import continue_run

    with _told(folder, timings, quiet=quiet) as progress:
        finished = continue_run(folder, table, progress=progress)
    _report(finished.statement, folder, quiet=quiet)


def _format_of(table: Path) -> str:
    return "parquet" if table.suffix.lower() in {".parquet", ".pq"} or table.is_dir() else "csv"


def _check_timings(timings: Path | None, folder: Path) -> None:
    """Refuse, before anything is spent, a file of timings that cannot be written or that would be published."""
    if timings is None:
        return
    place = timings.resolve()
    if place.is_relative_to(folder.resolve()):
        raise PlanError(
            f"--timings {timings} lies in the release folder, which may be published, and seconds depend on the table. "
            "Name a file elsewhere"
        )
    if place.is_dir() or not place.parent.is_dir():
        raise PlanError(f"--timings {timings} cannot be written: name a file in a folder that exists")


@contextmanager
def _told(folder: Path, timings: Path | None, *, quiet: bool) -> Iterator[Any]:
    """Show progress; after Ctrl-C say how to go on."""
    from dpopt.cli.progress import TerminalProgress

    _check_timings(timings, folder)
    try:
        with TerminalProgress(quiet=quiet) as progress:
            yield progress
    except KeyboardInterrupt:
        begun = (folder / "transcript.jsonl").exists()
        then = f"continue with 'dpopt resume {folder} TABLE'" if begun else "nothing has been spent"
        typer.echo(f"interrupted; {then}", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    if timings is not None:
        progress.write_timings(timings)


def _report(statement: Any, folder: Path, *, quiet: bool) -> None:
    if not quiet:
        from dpopt.cli.reports import report_release

        report_release(statement, folder)
