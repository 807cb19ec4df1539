"""`dpopt reproduce`: figures, tables and theorems of five papers, repeated."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpopt.cli.application import command


@command("reproduce")
def reproduce(
    *,
    name: Annotated[str | None, typer.Argument(help="Paper and place, such as dualquery:figure3.")] = None,
    every: Annotated[bool, "--list", "List all names; also without a name."] = False,
    full: Annotated[
        bool, "Measure on the paper's tables (folder DPOPT_DATA), for hours if need be, in place of tiny made-up data."
    ] = False,
    out: Annotated[Path | None, "-o", "--out", "New or empty folder for README.md, results.json and pictures."] = None,
) -> None:
    """Repeat a figure, a table or a theorem of a paper: its words, our figures on file, and a run made now."""
    from dpopt.comparison.papers import reproduce as repeated

    typer.echo(repeated(None if every else name, full=full, out=out))
