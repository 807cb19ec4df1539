"""A progress bar on the terminal: stages, rounds, value and time left."""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from dpopt.algorithms.progress import Silent


class TerminalProgress(Silent):
    """Shows stages and rounds on standard error and keeps the seconds by stage.

    On a terminal it draws bars; elsewhere it prints one line per stage, so that logs stay readable. `figure` says what the
    number beside the rounds is.
    """

    def __init__(self, *, quiet: bool = False, figure: str = "value") -> None:
        super().__init__()
        self._figure = figure
        self._console = Console(stderr=True, quiet=quiet)
        self._bars = Progress(
            TextColumn("{task.description:<22}"),
            BarColumn(bar_width=12),
            TextColumn("{task.fields[text]}"),
            TextColumn("left"),
            TimeRemainingColumn(compact=True),
            console=self._console,
            transient=False,
            disable=quiet or not self._console.is_terminal,
        )
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def begin(self, stage: str) -> None:
        """Show a new bar."""
        super().begin(stage)
        self._task = self._bars.add_task(stage, total=1.0, text="")

    def note(self, text: str) -> None:
        """Print a note above the bars."""
        self._console.print(text, highlight=False, markup=False, emoji=False, soft_wrap=True)

    def owner_note(self, text: str) -> None:
        """Print what depends on the table above the bars, and say so."""
        self.note(f"{text}\n(This depends on the table: it is for its owner and is stored nowhere.)")

    def share(self, done: float) -> None:
        """Move the bar of the stage."""
        if self._task is not None:
            self._bars.update(self._task, completed=done)

    def round(self, number: int, rounds: int, value: float) -> None:
        """Move the bar of the rounds and show the figure: by default the record's objective divided by the draws."""
        if self._task is not None:
            self._bars.update(
                self._task,
                completed=number / rounds,
                text=f"{number:,} of {rounds:,}, {self._figure} {value:+.3f}",
            )

    def step(self, number: int, steps: int, what: str) -> None:
        """Move the bar of the stage and show what was done."""
        if self._task is not None:
            self._bars.update(self._task, completed=number / steps, text=f"{number:,} of {steps:,}, {what}")

    def end(self, stage: str) -> None:
        """Complete the bar, or print the stage's line."""
        super().end(stage)
        if self._task is not None:
            self._bars.update(self._task, completed=1.0)
        if not self._console.is_terminal:
            self._console.print(f"{stage}: {self.seconds[stage]:.2f} s", highlight=False)

    def write_timings(self, path: Path) -> None:
        """Write the seconds by stage as JSON, to a file that the owner names; they depend on the table."""
        path.write_text(json.dumps({"seconds": self.seconds}, indent=1) + "\n", encoding="utf-8")
