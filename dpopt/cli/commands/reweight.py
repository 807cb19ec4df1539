"""`dpopt reweight`: maximum-likelihood weights for the records of a finished DualQuery run, from its transcript alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpopt.cli import options
from dpopt.cli.application import command
from dpopt.cli.reports.declared import reading_now
from dpopt.errors import PlanError


@command("reweight")
def reweight(
    *,
    folder: options.FolderArgument,
    out: Annotated[Path, typer.Option("-o", "--out", help="New or empty folder.")],
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows", help="Write this many rows without weights; if left out, distinct records with weights."
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--evaluate",
            help="Also compare the release before and after with this table. NOT private: the figures are shown and stored"
            " nowhere.",
        ),
    ] = None,
    reading: options.LayoutOptions,
) -> None:
    """Give the records of a DualQuery release the weights under which its transcript is most likely. Costs no privacy.

    The release is never changed.
    """
    from dpopt.algorithms.after.reweighted_release import REWEIGHTING, reweight_release
    from dpopt.algorithms.release_folder import read_job
    from dpopt.algorithms.synthesize import read_again
    from dpopt.cli.reports.progress import TerminalProgress
    from dpopt.cli.reports.reports import console, report_errors

    how = reading_now(lambda: read_job(folder), reading)
    if how is not None and table is None:
        raise PlanError(
            "--layout and what belongs to it say how the table of --evaluate is read; name one, or leave them out"
        )
    # First, so that nothing is written beside a table that cannot be read.
    dataset = None if table is None else read_again(read_job(folder), table, reading=how)
    with TerminalProgress() as progress:
        progress.begin("re-weighting")
        reweighted = reweight_release(folder, out, rows=rows)
        progress.end("re-weighting")
    found, shown = reweighted.found, console()
    shown.print(
        f"log-likelihood of the draws: {found.before:.1f} with equal weights, {found.after:.1f} with these; at most "
        f"{found.gap:.2g} below the largest, proven"
    )
    released = len(reweighted.release.records)
    shown.print(f"records: {reweighted.distinct:,} of the {released:,} distinct ones have a weight above 0")
    shown.print(f"written to {out}: the records, and {REWEIGHTING}. No privacy was spent")
    if dataset is not None:
        report_errors(reweighted.errors(dataset))
