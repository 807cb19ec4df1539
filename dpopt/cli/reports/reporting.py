"""Where a long run reports its progress: on the terminal, in a file of timings, and in a log.

The log is for the run's owner, people and programs: one JSON object per line. Its seconds depend on the table: it is no
part of a release and must not lie in the release folder.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import typer

from dpopt.cli.application import interrupted_exit
from dpopt.errors import DpoptWarning, PlanError, ReleaseFolderError
from dpopt.files.written_files import check_replaceable, open_private
from dpopt.machine import peak_memory
from dpopt.releases.progress import Figures, Pace, Progress

SHARES_APART = 10.0
"""Seconds between two lines on shares of one stage; rounds and steps have a line each."""

_BEGINNING = b'{"event": "'


class RunLog(Progress):
    """Writes a line when the run begins, when a stage begins or ends, and for each round, step and note.

    Every line goes to the file at once; the first has what is said `about` the run, such as its command. A log that is
    there is continued: a resumed run may use that of the interrupted one. A log that cannot be written any more is
    given up; the run goes on.
    """

    def __init__(self, path: str | os.PathLike[str], **about: str) -> None:
        super().__init__()
        self._begun_at = time.perf_counter()
        self._stage: str | None = None
        self._pace = Pace(self._begun_at)
        self._round_before = self._share_before = self._begun_at
        self._figures: Figures = {}
        try:
            whole = _can_be_continued(Path(path))
            self._file: int | None = open_private(path, os.O_WRONLY | os.O_APPEND)
            if not whole:
                os.write(self._file, b"\n")  # an earlier run was killed within a line
        except OSError as error:
            raise PlanError(f"the log {path} cannot be written: {error.strerror}; name another file") from error
        from dpopt.version import __version__

        started = datetime.now(UTC).isoformat(timespec="seconds")
        self.line("run", dpopt=__version__, started=started, process=os.getpid(), **about)

    def line(self, event: str, **what: Any) -> None:
        """Write one line: the event, after how many seconds, and further values."""
        if self._file is None:
            return
        seconds = round(time.perf_counter() - self._begun_at, 6)
        text = json.dumps({"event": event, "seconds": seconds, **what}, ensure_ascii=True)
        try:
            os.write(self._file, f"{text}\n".encode())
        except OSError as error:  # a full disk must not end a run that has drawn
            typer.echo(f"warning: the log ends here, as it cannot be written: {error.strerror}", err=True)
            self.close()

    def ended(self, error: BaseException | None) -> None:
        """Write how the run ended, and close the file."""
        if error is None:
            self.line("finish")
        else:
            how = "interrupted" if isinstance(error, typer.Exit | KeyboardInterrupt) else "failed"
            self.line(how, error=type(error).__name__)
        self.close()

    def close(self) -> None:
        """Close the file; later messages are dropped."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def note(self, text: str) -> None:
        """Write the note. Notes for the owner alone are not written: they are stored nowhere."""
        self.line("note", text=text)

    def warning(self, what: DpoptWarning) -> None:
        """Write the warning."""
        self.note(f"warning: {what}")

    def begin(self, stage: str) -> None:
        """Write that a stage begins."""
        super().begin(stage)
        self._stage = stage
        self._round_before = self._share_before = time.perf_counter()
        self._pace = Pace(self._round_before)
        self.line("begin", stage=stage)

    def share(self, done: float) -> None:
        """Write how much of the stage is done, now and then."""
        now = time.perf_counter()
        left = self._pace.seconds_left(done, now)
        if now - self._share_before >= SHARES_APART:
            self._share_before = now
            self.line("share", stage=self._stage, share=round(done, 6), seconds_left=_rounded(left))

    def figures(self, of_round: Callable[[], Figures]) -> None:
        """Keep the result of the next round, for its line."""
        self._figures = dict(of_round())

    def round(self, number: int, rounds: int, value: float) -> None:
        """Write the round."""
        self._count("round", number, "rounds", rounds, value=value)

    def step(self, number: int, steps: int, what: str) -> None:
        """Write the step."""
        self._count("step", number, "steps", steps, what=what)

    def end(self, stage: str) -> None:
        """Write that a stage ends, its seconds, and the most memory that the process has held so far."""
        taken = time.perf_counter() - self._begun[stage]
        super().end(stage)
        self._stage = None
        self.line("end", stage=stage, stage_seconds=round(taken, 6), peak_bytes=peak_memory())

    def _count(self, event: str, number: int, all_of_them: str, total: int, **what: Any) -> None:
        now = time.perf_counter()
        left = self._pace.seconds_left(number / total, now)
        figures, self._figures = self._figures, {}
        taken, self._round_before = now - self._round_before, now
        self.line(
            event,
            stage=self._stage,
            **{event: number, all_of_them: total},
            **what,
            **figures,
            taken_seconds=round(taken, 6),
            seconds_left=_rounded(left),
        )


def _can_be_continued(path: Path) -> bool:
    """Return whether the last line of a log is whole; it is also where there is no file, or an empty one, or no plain file."""
    if not path.is_file() or not path.stat().st_size:
        return True
    with path.open("rb") as file:
        if not file.read(len(_BEGINNING)).startswith(_BEGINNING):
            raise PlanError(f"{path} is not a log of dpopt; name another file")
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)


@contextmanager
def reporting(
    command: str,
    folder: Path,
    timings: Path | None,
    log: Path | None,
    *,
    quiet: bool,
    details: bool = False,
    budget: Path | None = None,
) -> Iterator[Progress]:
    """Show progress and keep timings and log where they are wanted; after Ctrl-C say how to go on, and with which budget."""
    from dpopt.cli.reports.progress import TerminalProgress
    from dpopt.releases.progress import Together

    for option, path, what in (("--timings", timings, "seconds"), ("--log", log, "its seconds")):
        check_owners_file(option, path, folder, what)
    if timings is not None:
        check_replaceable(timings, b'{"seconds"', "file of timings")
    if timings is not None and log is not None and timings.resolve() == log.resolve():
        raise PlanError(f"--timings and --log both name {log}; name two files")
    writes = None if log is None else RunLog(log, command=command)
    try:
        with TerminalProgress(quiet=quiet, details=details) as shown:
            yield shown if writes is None else Together(shown, writes)
    except KeyboardInterrupt:
        begun = (folder / "transcript.jsonl").exists()
        paid = "" if budget is None else f" --budget {budget}"
        then = f"continue with 'dpopt resume {folder} TABLE{paid}'" if begun else "nothing has been spent"
        interrupted_exit(f"interrupted; {then}")
    finally:
        if writes is not None:
            writes.ended(sys.exc_info()[1])
    if timings is not None:
        try:
            shown.write_timings(timings)
        except ReleaseFolderError as problem:  # the run has ended well, and is paid for
            typer.echo(f"warning: {problem}", err=True)


def check_owners_file(option: str, path: Path | None, folder: Path, what: str) -> None:
    """Refuse, before anything is spent, a file for the owner that cannot be written or that would be published."""
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
