"""`dpopt replay`, `dpopt evaluate` and `dpopt solvers`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpopt.cli import options
from dpopt.cli.application import command, fail
from dpopt.cli.plan import print_json

if TYPE_CHECKING:
    from dpopt.algorithms.synthetic_release import SyntheticRelease


@command("replay")
def replay(
    folder: options.FolderArgument,
    out: Annotated[Path, typer.Option("-o", "--out", help="New or empty folder.")],
) -> None:
    """Rebuild a release from its plan and transcript in a new folder, byte for byte, with no table and no solver."""
    from dpopt.algorithms.replay import differing_files
    from dpopt.algorithms.replay import replay as rebuild
    from dpopt.cli.reports import console

    rebuilt = rebuild(folder, out)
    different = differing_files(folder, out)
    if different:
        fail(
            f"{' and '.join(different)} in {folder} is not what its transcript gives: it was changed after the release, or "
            f"written by other versions. {out} holds what the transcript gives"
        )
    console().print(f"{_what_was_rebuilt(rebuilt)}, in {out}")
    console().print(f"{folder} holds the same release byte for byte")


def _what_was_rebuilt(rebuilt: SyntheticRelease) -> str:
    if rebuilt.noisy is not None:
        return f"{len(rebuilt.noisy):,} noisy answers"
    records = f"{len(rebuilt.records):,} distinct records"
    if rebuilt.rounds:
        return f"{len(rebuilt.rounds):,} rounds certified again, {records}"
    return f"{records} checked again"


@command("evaluate")
def evaluate(
    folder: options.FolderArgument,
    table: options.AnyTableArgument,
    engine: options.EngineOption = "memory",
    as_json: options.JsonOption = False,
) -> None:
    """Compare a release with its table. NOT private: the figures are computed from the exact answers."""
    from dpopt.algorithms.evaluate import evaluate as compare
    from dpopt.algorithms.replay import load
    from dpopt.algorithms.synthesize import read_again
    from dpopt.cli.reports import report_errors

    finished = load(folder)
    errors = compare(finished, read_again(finished.job, table, engine=engine))
    if as_json:
        print_json(errors)
    else:
        report_errors(errors)


@command("solvers")
def solvers(as_json: options.JsonOption = False) -> None:
    """List the solvers, what they accept and give, and whether they can run here."""
    from rich.table import Table

    from dpopt.cli.reports import console
    from dpopt.solvers.registry import solver_names

    rows = [_solver_row(name) for name in solver_names()]
    if as_json:
        print_json({"solvers": rows})
        return
    table = Table("solver", "status", "accepts and gives", "remark")
    for row in rows:
        table.add_row(row["name"], row["status"], ", ".join(row["capabilities"]), row["explanation"])
    console().print(table)


def _solver_row(name: str) -> dict[str, Any]:
    from dpopt.errors import SolverUnavailableError
    from dpopt.solvers.registry import get_solver, whether_it_runs

    try:
        solver = get_solver(name)
    except SolverUnavailableError as problem:  # from outside, and broken
        return {
            "name": name,
            "available": False,
            "status": "broken",
            "explanation": str(problem),
            "capabilities": [],
        }
    availability = whether_it_runs(solver)
    return {
        "name": name,
        "available": availability.available,
        "status": availability.status.value,
        "explanation": availability.explanation,
        "capabilities": sorted(capability.name.lower() for capability in solver.capabilities),
    }
