"""Progress on the terminal: stages, rounds, value and time left, as bars or as lines of a log file."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn
from rich.progress import Progress as Bars

from dpopt.cli.interruption import raise_again
from dpopt.errors import DpoptWarning
from dpopt.files.written_files import whole_file
from dpopt.releases.progress import Detail, Pace, Progress

LINES_APART = 10.0
"""Seconds between two lines of one stage, where there is no terminal."""
UNEVEN = frozenset({"fitting records"})
"""Stages whose steps take unlike times, so that an estimate of the rest was up to three times off."""
_MOVES, _SHARE = 5, 0.25
"""After this number of moves, or from this share on, the rest of a stage's time is shown."""


class TerminalProgress(Progress):
    """Shows stages and rounds on standard error and keeps the seconds by stage.

    On a terminal it draws bars. Elsewhere it prints a line when a stage ends, and every ten seconds how far it is and,
    once that can be told, how long it will take, so that a run of hours can be followed in the log of a batch system.
    `figure` says what the number beside the rounds is; with `details` the reasons of what was chosen, and what each
    step came to, are shown. Each step also raises a Ctrl-C that was swallowed.
    """

    def __init__(self, *, quiet: bool = False, figure: str = "value", details: bool = True) -> None:
        super().__init__()
        self._figure, self._details = figure, details
        self._console = Console(stderr=True, quiet=quiet)
        self._bars = Bars(
            TextColumn("{task.description:<22}"),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[text]}"),
            TextColumn("{task.fields[left]}"),
            console=self._console,
            transient=False,
            disable=quiet or not self._console.is_terminal,
        )
        self._task: TaskID | None = None
        self._stage, self._moves = "", 0
        self._pace = Pace(0.0)
        self._line_before = 0.0

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def begin(self, stage: str) -> None:
        """Show a new bar."""
        raise_again()
        super().begin(stage)
        self._task = self._bars.add_task(stage, total=1.0, text="", left="")
        self._stage, self._line_before, self._moves = stage, time.perf_counter(), 0
        self._pace = Pace(self._line_before)

    def note(self, text: str) -> None:
        """Print a note above the bars."""
        if isinstance(text, Detail) and not self._details:
            return
        self._console.print(text, highlight=False, markup=False, emoji=False, soft_wrap=True)

    def warning(self, what: DpoptWarning) -> None:
        """Print a warning above the bars; a quiet command prints it too."""
        if self._console.quiet:
            super().warning(what)
        self.note(f"warning: {what}")

    def owner_note(self, text: str) -> None:
        """Print a note that depends on the table above the bars, and say so."""
        self.note(f"{text}\n(This depends on the table: it is for its owner and is stored nowhere.)")

    def round(self, number: int, rounds: int, value: float) -> None:
        """Move the bar of the rounds and show the figure: by default the record's objective divided by the draws."""
        self.moved(number / rounds, f"{number:,} of {rounds:,}, {self._figure} {value:+.3f}")

    def step(self, number: int, steps: int, what: str) -> None:
        """Move the bar of the stage and show the finished part."""
        self.moved(number / steps, f"{number:,} of {steps:,}{f', {what}' if self._details else ''}")

    def moved(self, done: float, text: str) -> None:
        """Move the bar, or print a line if the last one is some time ago."""
        raise_again()
        if self._task is None:
            return
        now = time.perf_counter()
        left = self._pace.seconds_left(done, now)
        self._moves += 1
        known = left is not None and self._stage not in UNEVEN and (self._moves >= _MOVES or done >= _SHARE)
        waiting = f"{in_words(left)} left" if known and left is not None else ""
        if self._console.is_terminal:
            self._bars.update(self._task, completed=done, text=text, left=waiting)
            return
        if now - self._line_before >= LINES_APART and done < 1.0:
            self._line_before = now
            self._console.print(
                ", ".join(filter(None, [f"{self._stage}: {text or f'{done:.0%}'}", waiting])),
                highlight=False,
                markup=False,
                soft_wrap=True,
            )

    def end(self, stage: str) -> None:
        """Complete the bar, or print the stage's line, with its seconds this time: a stage can come again."""
        before = self.seconds.get(stage, 0.0)
        super().end(stage)
        if self._task is not None:
            self._bars.update(self._task, completed=1.0, left="")
        if not self._console.is_terminal:
            self._console.print(f"{stage}: {self.seconds[stage] - before:.2f} s", highlight=False)

    def write_timings(self, path: Path) -> None:
        """Write the seconds by stage as JSON, to a file that the owner names; they depend on the table."""
        with whole_file(path, private=True) as file:
            file.write(f"{json.dumps({'seconds': self.seconds}, indent=1)}\n".encode())


def in_words(seconds: float) -> str:
    """Return a time of waiting in its largest units: "2 h 05 min", "3 min 20 s", "8 s"."""
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 60} min {whole % 60:02d} s" if whole >= 60 else f"{whole} s"
