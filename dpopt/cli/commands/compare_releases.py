"""Whole releases of a public table compared by `dpopt compare`: a table for people, files and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dpopt.errors import ReleaseFolderError

if TYPE_CHECKING:
    from dpopt.comparison.releases import ReleaseComparison

USUAL = "local-search,cp-sat,highs:clique"
"""Solvers where none are named."""
RESULTS, TABLE, PICTURE = "results.json", "results.csv", "releases.png"


def compare_whole_releases(
    plan: Path,
    table: Path,
    solvers: str | None,
    *,
    seconds: float | None,
    seed: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Release a public table with each solver, and show and write what they came to."""
    from dpopt.cli.commands.plan import print_json
    from dpopt.cli.reports.progress import TerminalProgress
    from dpopt.comparison.releases import compare_releases
    from dpopt.releases.folder_files import check_empty, make_empty

    if out is not None:
        check_outside_releases(out)
        check_empty(out)
    with TerminalProgress(quiet=as_json) as progress:
        found = compare_releases(plan, table, solvers or USUAL, seconds=seconds, seed=seed, progress=progress)
    if out is not None:
        make_empty(out)
        _write(found, out)
    print_json(found.to_json()) if as_json else _print(found)
    if out is not None and not as_json:
        typer.echo(f"written to {out}")


def check_outside_releases(out: Path) -> None:
    """Refuse a folder at or below a release, which replay compares byte for byte."""
    from dpopt.releases.folder_files import PLAN, TRANSCRIPT, WORKLOAD

    place = out.resolve()
    for folder in (place, *place.parents):
        begun = (folder / PLAN).exists() and (folder / WORKLOAD).exists()
        if begun or (folder / TRANSCRIPT).exists():
            raise ReleaseFolderError(
                f"{out} lies in the release folder {folder}, which replay compares byte for byte. Name a folder "
                f"elsewhere"
            )


def _write(found: ReleaseComparison, out: Path) -> None:
    from dpopt.cli.pictures import draw_releases
    from dpopt.files.written_files import whole_file
    from dpopt.releases.folder_files import write_json

    write_json(out / RESULTS, found.to_json())
    with whole_file(out / TABLE) as stream:
        stream.write(found.to_pandas().to_csv(index=False).encode())
    if found.rounds:
        draw_releases(found.rounds, found.errors, found.rows, out / PICTURE)


def _print(found: ReleaseComparison) -> None:
    from dpopt.cli.reports.reports import print_table
    from dpopt.comparison.releases import SHOWN
    from dpopt.html_pages.shown import figure

    rows = [
        [str(row["solver"]), *("\N{EN DASH}" if row.get(name) is None else figure(row[name]) for name in SHOWN)]
        for row in found.rows
    ]
    headings = [name.replace("_", " ") for name in SHOWN]
    print_table(["solver", *headings], rows, title=f"releases of a public table, seed {found.seed}: NOT private")
    for row in found.rows:
        if "failed" in row:
            typer.echo(f"{row['solver']}: {row['failed']}")
    typer.echo(
        "errors: on the table; seconds: of the whole run; value and gaps: means per draw; optimal: rounds whose record is "
        "shown to be optimal; fallbacks: rounds in which the solver gave no record"
    )
