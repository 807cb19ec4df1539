"""`dpopt replay`, `dpopt evaluate`, `dpopt report`, `dpopt inspect` and `dpopt solvers`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpopt.cli import options
from dpopt.cli.application import command, fail
from dpopt.cli.commands.plan import print_json
from dpopt.cli.reports.declared import reading_now
from dpopt.cli.reports.reports import console, listed, print_spent, print_table, report_errors, warn_if_not_private
from dpopt.errors import PlanError

if TYPE_CHECKING:
    from dpopt.algorithms.synthetic_release import SyntheticRelease


@command("replay")
def replay(folder: options.FolderArgument, out: Annotated[Path, "-o", "--out", "New or empty folder."]) -> None:
    """Rebuild a release in a new folder from its plan and transcript, without the table, and compare the two."""
    from dpopt.algorithms.replay import INPUTS, absent_files, differing_files
    from dpopt.algorithms.replay import replay as rebuild

    rebuilt = rebuild(folder, out)
    absent = absent_files(folder, out)
    different = [name for name in differing_files(folder, out) if name not in absent]
    if different:
        fail(
            f"{listed(different)} in {folder} is not what its transcript gives: it was changed after the release, or "
            f"written by other versions. {out} holds what the transcript gives"
        )
    console().print(f"{_what_was_rebuilt(rebuilt)}, in {out}")
    same = sorted({path.name for path in out.iterdir()} - {*INPUTS, *absent})
    if same:
        verb = "are" if len(same) > 1 else "is"
        console().print(f"{folder} holds the same release: {listed(same)} {verb} the same byte for byte.")
    if absent:
        console().print(f"{listed(absent)}: not in {folder}, so that there was nothing to compare with.")
    if extra := absent_files(out, folder):
        console().print(
            f"{listed(extra)} in {folder}: no part of the release. What is there may be private; remove it before you "
            f"publish."
        )
    console().print(
        f"{listed(INPUTS)} were read and not rebuilt: the first three have the fingerprint that stands in the "
        "transcript; the bytes of these files were not compared"
    )


def _what_was_rebuilt(rebuilt: SyntheticRelease) -> str:
    if rebuilt.noisy is not None:
        return f"{len(rebuilt.noisy):,} noisy answers"
    records = f"{len(rebuilt.records):,} distinct records"
    if rebuilt.played:
        return f"{len(rebuilt.played):,} rounds certified again, {records}"
    return f"{records} checked again"


@command("evaluate")
def evaluate(
    *,
    folder: options.FolderArgument,
    table: options.AnyTableArgument,
    reading: options.LayoutOptions,
    engine: options.EngineOption = "memory",
    as_json: options.JsonOption = False,
) -> None:
    """Compare a release with its table, the weakest figures first. NOT private.

    dpopt reads TABLE with the options of the release. If it is now in a file of another layout, give --layout.
    """
    from dpopt.algorithms.evaluate import evaluate as compare
    from dpopt.algorithms.evaluate import refuse_swapped
    from dpopt.algorithms.release import read_again
    from dpopt.algorithms.replay import load

    refuse_swapped(folder, table)
    finished = load(folder)
    how = reading_now(lambda: finished.job, reading)
    errors = compare(finished, read_again(finished.job, table, engine=engine, reading=how))
    if as_json:
        print_json(errors.to_json())
    else:
        report_errors(errors)


@command("report")
def report(
    *,
    release: Annotated[Path, typer.Argument(help="Release folder, or file of a release that answers queries (.npz).")],
    table: Annotated[
        Path | None,
        typer.Argument(
            help="The private table. With it the report holds exact figures and is for the owner only; without it the "
            "report may be published."
        ),
    ] = None,
    out: Annotated[Path, "-o", "--out", "File for the report: one page of HTML."],
    target: Annotated[
        str | None, "Column that test models predict, trained on synthetic and on real records; needs the table."
    ] = None,
    title: Annotated[str | None, "Heading of the report. Public."] = None,
    quiet: Annotated[bool, "Do not show progress."] = False,
) -> None:
    """Show a release as one page of HTML; with TABLE also how accurate it is. Works without a network."""
    from dpopt.reports.report import report as make

    def show(said: str) -> None:
        if not quiet:
            typer.echo(f"{said} ...", err=True)

    make(release, table, out=out, target=target, title=title, progress=show)
    whose = "may be published with the release" if table is None else "NOT private: for the owner of the table only"
    console().print(f"written to {out} ({whose})")


@command("inspect")
def inspect(
    *,
    path: Annotated[Path, typer.Argument(help="File or folder that dpopt wrote, or a folder with some of them.")],
    out: Annotated[
        Path | None,
        "-o",
        "--out",
        "For a run of dualquery: write its rounds as a table (.csv) or a picture (.svg, .png or .pdf).",
    ] = None,
    as_json: options.JsonOption = False,
) -> None:
    """Describe a file or folder that dpopt wrote: what it holds, its cost, and the gaps of its solvers. Costs no privacy.

    For a run of dualquery, finished or not, it lists some rounds, and with --json all.
    """
    from dpopt.cli.commands.compare import check_outside_releases
    from dpopt.cli.pictures import draw_rounds
    from dpopt.cli.reports.holdings import held_in
    from dpopt.cli.reports.rows import print_rows, write_rows

    found = held_in(path)
    if out is not None:
        if not found.rounds:
            raise PlanError("there are no rounds of dualquery to write; leave --out out, or name another folder")
        check_outside_releases(out)
        write_rows(found.rounds, out, draw_rounds)
    if as_json:
        print_json({name: value for name, value in asdict(found).items() if value is not None})
        return
    if found.privacy is not None:
        warn_if_not_private(found.privacy)
        print_spent(found.privacy)
    solved = () if found.solved is None else found.solved or ("solved by dpopt's own methods",)
    for line in [found.holds, *found.says, *solved]:
        console().print(line, highlight=False, markup=False)
    if found.rounds:
        print_rows(found.rounds, title=f"some of {len(found.rounds):,} rounds")


@command("solvers")
def solvers(as_json: options.JsonOption = False) -> None:
    """List the solvers, what they solve, and whether they can run here."""
    from dpopt.solvers.registry import solver_names

    rows = [_solver_row(name) for name in solver_names()]
    if as_json:
        print_json({"solvers": rows})
        return
    shown = [(row["name"], row["status"], ", ".join(row["capabilities"]), row["explanation"]) for row in rows]
    print_table(("solver", "status", "accepts and gives", "remark"), shown)


def _solver_row(name: str) -> dict[str, Any]:
    from dpopt.errors import SolverUnavailableError
    from dpopt.programs.solver import Capability
    from dpopt.solvers.registry import get_solver, whether_it_runs

    status, capabilities = "broken", frozenset[Capability]()
    try:
        solver = get_solver(name)
        availability, capabilities = whether_it_runs(solver), solver.capabilities
        explanation, status = availability.explanation, availability.status.value
    except SolverUnavailableError as problem:  # from outside, and broken
        explanation = str(problem)
    return {
        "name": name,
        "available": status == "available",
        "status": status,
        "explanation": explanation,
        "capabilities": sorted(capability.name.lower() for capability in capabilities),
    }
