"""Entry point of the command line; importing a command's file registers it."""

from __future__ import annotations

import resource
from typing import Annotated

import typer

from dpopt.cli import demo, inspect, plan, release, schema
from dpopt.cli.application import application

__all__ = ["demo", "inspect", "main", "plan", "release", "schema"]


def _show_version(wanted: bool) -> None:
    if wanted:
        from dpopt import __version__

        typer.echo(f"dpopt {__version__}")
        raise typer.Exit


@application.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Release statistics and synthetic data from sensitive tables under differential privacy."""


def main() -> None:
    """Run the command line. A crash leaves no image of the memory, which may hold the table, on the disk."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    application()
