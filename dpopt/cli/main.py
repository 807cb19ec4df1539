"""Entry point of the command line; importing a command's file registers it."""

from __future__ import annotations

import atexit
import io
import os
import sys
from contextlib import suppress
from typing import Annotated, NoReturn

import typer

from dpopt.cli import budget
from dpopt.cli.application import application
from dpopt.cli.commands import answer, certify, compare, demo, inspect, model, plan, release, schema, studio
from dpopt.cli.interruption import listen
from dpopt.cli.synopses import count, halfspaces, histograms, intervals, lists, polynomial, prefixes, summary
from dpopt.cli.synopses import sorted as sorted_counts
from dpopt.machine import write_no_memory_to_disk

COMMANDS = (answer, budget, certify, compare, demo, inspect, model, plan, release, schema, studio)
SYNOPSES = (count, halfspaces, histograms, intervals, lists, polynomial, prefixes, sorted_counts, summary)


def _show_version(wanted: bool) -> None:
    if wanted:
        from dpopt.version import __version__

        typer.echo(f"dpopt {__version__}")
        raise typer.Exit


@application.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Release statistics and synthetic data from sensitive tables under differential privacy."""


def main() -> NoReturn:
    """Run the command line and end the process.

    A crash leaves no image of the memory, which may hold the table, on the disk. The process ends without taking the
    interpreter down piece by piece: idle threads of Arrow, which reads tables, can abort it there, after all work is
    done. Letters that a terminal or a redirected output cannot encode are shown as escapes.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    listen()
    write_no_memory_to_disk()
    code = 0
    try:
        application()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    atexit._run_exitfuncs()  # noqa: SLF001  closes the solvers' child processes
    with suppress(OSError, ValueError):  # a pipe that was closed
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
