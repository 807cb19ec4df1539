"""`dpopt studio`: a page on this machine for owners who do not use a shell."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from dpopt.cli.application import command
from dpopt.errors import PlanError


@command("studio")
def studio(
    *,
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Tables and budget files that the page may open where they are; others are sent to it."),
    ] = None,
    folder: Annotated[Path, "Where releases are put; made if it is not there. They stay when the studio ends."] = Path(
        "dpopt-releases"
    ),
    port: Annotated[int, "Of 127.0.0.1; 0 takes one that is free."] = 0,
    browser: Annotated[bool, "--browser/--no-browser", "Open the page in a browser."] = True,
) -> None:
    """Open a page on this machine, 127.0.0.1 alone: from a file to a release, step by step. Ends with Ctrl-C."""
    try:
        import python_multipart  # noqa: F401  # what forms need is loaded late otherwise
        import uvicorn  # noqa: F401

        from dpopt.studio.application import Studio
    except ModuleNotFoundError as problem:
        raise PlanError(
            f"the studio needs {problem.name}, which is not installed; run: python -m pip install 'dpopt[studio]'"
        ) from None
    running = Studio(folder, port, files or ())

    def show() -> None:
        typer.echo(f"open in a browser on this machine (this address admits one browser, once):\n{running.address}")
        typer.echo(f"for another browser, or again, open the file {running.entrance}")
        typer.echo("Ctrl-C ends the studio and removes the tables that were sent to it; releases stay.")
        if browser:
            webbrowser.open(running.entrance.as_uri())  # a file: all users see the arguments of a process

    running.serve(show)
