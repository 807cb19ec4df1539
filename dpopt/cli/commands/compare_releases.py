"""Whole releases of a public table compared by `dpopt compare`: a table for people, files and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpopt.cli.commands.plan import print_json
from dpopt.errors import PlanError, ReleaseFolderError

USUAL = "local-search,cp-sat,highs:clique"  # where none are named


def compare_whole_releases(
    plans: Sequence[Path | None],
    table: Path | None,
    solvers: str | None,
    *,
    seconds: float | None,
    seed: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Release a public table by one plan with each solver; print the results, and write them with a picture."""
    from dpopt.cli.pictures import draw_releases
    from dpopt.cli.reports.progress import TerminalProgress
    from dpopt.cli.reports.rows import print_rows, write_rows
    from dpopt.comparison.releases import compare_releases
    from dpopt.releases.folder_files import make_empty, write_json

    named = [one for one in plans if one is not None]
    if table is None or len(named) != 1:
        raise PlanError("--public-table goes with --release or --plan, one of them, and no other problems or --threads")
    check_out(out)
    with TerminalProgress(quiet=as_json) as progress:
        found = compare_releases(named[0], table, solvers or USUAL, seconds=seconds, seed=seed, progress=progress)
    if out is not None:
        make_empty(out)
        write_json(out / "results.json", found.to_json())
        write_rows(found.rows, out / "results.csv", lambda rows, path: None)
        draw_releases(found.rounds, found.errors, out / "releases.png")
    title = f"releases of a public table, seed {seed}: NOT private; value, bound and gap are means per draw"
    print_json(found.to_json()) if as_json else print_rows(found.rows, title=title)


def check_out(out: Path | None) -> None:
    """Refuse a folder that holds something, or lies at or below a release."""
    from dpopt.releases.folder_files import check_empty

    if out is not None:
        check_outside_releases(out)
        check_empty(out)


def check_outside_releases(out: Path) -> None:
    """Refuse a place at or below a release, which replay compares byte for byte."""
    from dpopt.releases.folder_files import PLAN, TRANSCRIPT, WORKLOAD

    place = out.resolve()
    for folder in (place, *place.parents):
        begun = (folder / PLAN).exists() and (folder / WORKLOAD).exists()
        if begun or (folder / TRANSCRIPT).exists():
            raise ReleaseFolderError(
                f"{out} lies in the release folder {folder}, which replay compares byte for byte. Name a place elsewhere"
            )
