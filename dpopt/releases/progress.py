"""How a driver reports its progress to the owner, on the terminal or in a log; nothing of it is ever released."""

from __future__ import annotations

import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from html import escape

from dpopt.errors import DpoptWarning, warn

Figures = Mapping[str, str | int | float | bool | None]
"""The results of a round, by name."""


class Detail(str):
    """A note on a run's own choice and its reason: the command line shows it on request."""

    __slots__ = ()


class Progress:
    """Receives the events of a run. This one keeps the seconds by stage, raises warnings, and is silent otherwise.

    Others override what they show: all that reaches them is public, but for notes for the owner, seconds and shares.

    Examples
    --------
    >>> class Printed(Progress):
    ...     def step(self, number, steps, what):
    ...         print(f"{what}: {number} of {steps}")
    >>> progress = Printed()
    >>> with stage(progress, "measuring"):
    ...     progress.step(1, 2, "age")
    age: 1 of 2
    >>> list(progress.seconds)
    ['measuring']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._begun: dict[str, float] = {}

    def note(self, text: str) -> None:
        """Take a note; public values only."""

    def warning(self, what: DpoptWarning) -> None:
        """Take a warning; where it is shown otherwise, a run of Python raises none."""
        warn(what)

    def owner_note(self, text: str) -> None:
        """Take a note that depends on the table and is for its owner; it is stored nowhere."""

    def begin(self, stage: str) -> None:
        """Take note that a stage begins."""
        self._begun[stage] = time.perf_counter()

    def share(self, done: float) -> None:
        """Take note that a share between 0 and 1 of the stage is done."""
        self.moved(done, "")

    def round(self, number: int, rounds: int, value: float) -> None:
        """Take note of a finished round and the value of its record: objective divided by draws."""
        self.moved(number / rounds, f"{number:,} of {rounds:,}")

    def step(self, number: int, steps: int, what: str) -> None:
        """Take note of a finished step of a stage and of its result, in words; public values only."""
        self.moved(number / steps, f"{number:,} of {steps:,}, {what}")

    def moved(self, done: float, text: str) -> None:
        """Take note of a share, of a round or of a step, whose words these are, unless its own method does otherwise."""

    def figures(self, of_round: Callable[[], Figures]) -> None:
        """Take note of the result of the next round; `of_round` is called only where that is kept."""

    def end(self, stage: str) -> None:
        """Take note that a stage has ended."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - self._begun.pop(stage)


def warn_of_paid(what: DpoptWarning, progress: Progress, *, kept: bool = False) -> None:
    """Show a warning on a release that is paid for: unless it is `kept` on file, it outlives `-W error`."""
    try:
        progress.warning(what)
    except DpoptWarning:
        if kept:
            raise
        with warnings.catch_warnings():
            warnings.simplefilter("always", DpoptWarning)
            progress.warning(what)


class Together(Progress):
    """Passes progress on to several listeners."""

    def __init__(self, *listeners: Progress) -> None:
        super().__init__()
        for name in ("note", "warning", "owner_note", "begin", "share", "round", "step", "figures", "end"):
            own = [getattr(self, name)] if name in ("begin", "end") else []  # these keep the seconds
            setattr(self, name, partial(_each, [*own, *(getattr(one, name) for one in listeners)]))


def _each(methods: Sequence[Callable[..., None]], *what: object) -> None:
    for method in methods:
        method(*what)


class Pace:
    """Estimates the seconds that a stage still takes, from how fast it went lately.

    The rounds of an earlier run that are read back at once are forgotten after `SAMPLES` seconds.
    """

    SAMPLES = 30

    def __init__(self, now: float) -> None:
        self._samples: deque[tuple[float, float]] = deque([(now, 0.0)], maxlen=self.SAMPLES)

    def seconds_left(self, done: float, now: float) -> float | None:
        """Return the seconds until the share `done` is 1; None while unknown."""
        begun, share = self._samples[0]
        if now - self._samples[-1][0] >= 1.0:
            self._samples.append((now, done))
        if done <= share or now <= begun:
            return None
        return max(0.0, 1.0 - done) * (now - begun) / (done - share)


def shown_progress(progress: Progress | bool | None) -> Progress:  # noqa: FBT001  as users give it
    """Return the progress that is given; otherwise, unless it is False, that of the notebook that runs this process."""
    if isinstance(progress, Progress):
        return progress
    ipython = sys.modules.get("IPython")  # not imported for it
    shown = progress is not False and hasattr(ipython and ipython.get_ipython(), "kernel")
    return NotebookProgress() if shown else Progress()


class NotebookProgress(Progress):
    """Shows stages, shares and notes below a cell of a notebook.

    A notebook is kept on file and can be published: notes for the owner (`owner_note`) are not shown, and no time stays
    once a stage has ended.
    """

    APART = 0.2
    """Seconds between two drawings of one stage."""

    def __init__(self) -> None:
        super().__init__()
        self._notes: list[str] = []
        self._drawn, self._pace = 0.0, Pace(0.0)
        self._display = sys.modules["IPython"].display
        self._place = self._display.display(self._display.HTML(""), display_id=True)

    def note(self, text: str) -> None:
        """Show a note; details are left out."""
        if not isinstance(text, Detail):
            self._notes.append(text)
            self._draw("")

    def begin(self, stage: str) -> None:
        """Show a new bar."""
        super().begin(stage)
        self._pace = Pace(time.perf_counter())
        self._draw(f"{escape(stage)} <progress></progress>")

    def end(self, stage: str) -> None:
        """Remove the bar."""
        super().end(stage)
        self._draw("")

    def moved(self, done: float, text: str) -> None:
        """Move the bar and show the finished part."""
        now = time.perf_counter()
        left = self._pace.seconds_left(done, now)
        if now - self._drawn < self.APART or not self._begun:
            return
        self._drawn = now
        waiting = "" if left is None else f" {left:,.0f} s left"
        name = escape(list(self._begun)[-1])
        self._draw(f'{name} <progress value="{done:.3f}"></progress> {escape(text)}{waiting}')

    def _draw(self, bar: str) -> None:
        lines = [*map(escape, self._notes), *([bar] if bar else [])]
        self._place.update(self._display.HTML("<br>".join(lines)))


@contextmanager
def stage(progress: Progress, name: str) -> Iterator[None]:
    """Run the body as one stage."""
    progress.begin(name)
    try:
        yield
    finally:
        progress.end(name)
