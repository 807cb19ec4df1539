"""Whole releases of a public table compared by `dpopt compare`: a table for people, files and a picture."""

from __future__ import annotations

from pathlib import Path

import typer

from dpopt.errors import ReleaseFolderError

USUAL = "local-search,cp-sat,highs:clique"
"""Solvers where none are named."""


def compare_whole_releases(
    plan: Path, table: Path, solvers: str | None, *, seconds: float | None, seed: int, out: Path | None, as_json: bool
) -> None:
    """Release a public table with each solver; print what they came to, and write it with a picture into a folder."""
    from dpopt.cli.commands.plan import print_json
    from dpopt.cli.pictures import draw_releases
    from dpopt.cli.reports.progress import TerminalProgress
    from dpopt.cli.reports.rows import print_rows, write_rows
    from dpopt.comparison.releases import compare_releases
    from dpopt.releases.folder_files import check_empty, make_empty, write_json

    if out is not None:
        check_outside_releases(out)
        check_empty(out)
    with TerminalProgress(quiet=as_json) as progress:
        found = compare_releases(plan, table, solvers or USUAL, seconds=seconds, seed=seed, progress=progress)
    if out is not None:
        make_empty(out)
        write_json(out / "results.json", found.to_json())
        write_rows(found.rows, out / "results.csv", lambda rows, path: None)
        draw_releases(found.rounds, found.errors, out / "releases.png")
    if as_json:
        print_json(found.to_json())
        return
    print_rows(found.rows, title=f"releases of a public table by DualQuery, seed {seed}: NOT private")
    typer.echo("errors: on the table; seconds: of the whole run, and of the solver; value and gaps: means per draw")


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
