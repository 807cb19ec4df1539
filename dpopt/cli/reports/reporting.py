"""Where a long run reports its progress: on the terminal, in a file of timings, and in a log."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from dpopt.cli.application import EXIT_INTERRUPTED
from dpopt.errors import PlanError

if TYPE_CHECKING:
    from dpopt.algorithms.run_log import RunLog
    from dpopt.releases.progress import Progress


@contextmanager
def reporting(
    command: str,
    folder: Path,
    timings: Path | None,
    log: Path | None,
    *,
    quiet: bool,
    budget: Path | None = None,
) -> Iterator[Progress]:
    """Show progress and keep timings and log where they are wanted; after Ctrl-C say how to go on, and with which budget.

    Raises
    ------
    PlanError
        Before anything is spent, if a file cannot be written or lies in the release folder.
    """
    from dpopt.cli.reports.progress import TerminalProgress
    from dpopt.releases.progress import Together

    for option, path, what in (("--timings", timings, "seconds"), ("--log", log, "its seconds")):
        check_owners_file(option, path, folder, what)
    if timings is not None and log is not None and timings.resolve() == log.resolve():
        raise PlanError(f"--timings and --log both name {log}; name two files")
    writes = _opened(log, command)
    try:
        with TerminalProgress(quiet=quiet) as shown:
            yield shown if writes is None else Together(shown, writes)
    except KeyboardInterrupt:
        begun = (folder / "transcript.jsonl").exists()
        paid = "" if budget is None else f" --budget {budget}"
        then = f"continue with 'dpopt resume {folder} TABLE{paid}'" if begun else "nothing has been spent"
        typer.echo(f"interrupted; {then}", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
    finally:
        _close(writes)
    if timings is not None:
        shown.write_timings(timings)


def check_owners_file(option: str, path: Path | None, folder: Path, what: str) -> None:
    """Refuse, before anything is spent, a file for the owner that cannot be written or that would be published.

    Raises
    ------
    PlanError
        If it lies in the release folder, is a folder, or its folder does not exist.
    """
    if path is None:
        return
    place = path.resolve()
    if place.is_relative_to(folder.resolve()):
        raise PlanError(
            f"{option} {path} lies in the release folder, which may be published, and {what} depend on the table. "
            "Name a file elsewhere"
        )
    if place.is_dir() or not place.parent.is_dir():
        raise PlanError(f"{option} {path} cannot be written: name a file in a folder that exists")


def _opened(log: Path | None, command: str) -> RunLog | None:
    if log is None:
        return None
    from dpopt.algorithms.run_log import RunLog

    return RunLog(log, command=command)


def _close(writes: RunLog | None) -> None:
    """Write how the run ended, and close the log."""
    if writes is None:
        return
    error = sys.exc_info()[1]
    if error is None:
        writes.line("finish")
    else:
        ended = "interrupted" if isinstance(error, typer.Exit | KeyboardInterrupt) else "failed"
        writes.line(ended, error=type(error).__name__)
    writes.close()
