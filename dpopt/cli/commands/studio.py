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
        typer.Argument(help="Tables and budget files that the studio opens in place; you upload others."),
    ] = None,
    folder: Annotated[
        Path, "Folder for the releases, which stay when the studio ends. The studio makes it if it does not exist."
    ] = Path("dpopt-releases"),
    port: Annotated[int, "Port on 127.0.0.1; 0 takes a free one."] = 0,
    browser: Annotated[bool, "--browser/--no-browser", "Open the page in a browser."] = True,
) -> None:
    """Open a page in your browser that leads from a file to a release. Only this machine can reach it. Ctrl-C ends it."""
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
        typer.echo("Ctrl-C ends the studio and removes the tables that you uploaded; releases stay.")
        if browser:
            webbrowser.open(running.entrance.as_uri())  # a file: all users see the arguments of a process

    running.serve(show)
