"""How a driver reports its progress to the owner, on the terminal or in a log; nothing of it is ever released."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

Figures = Mapping[str, str | int | float | bool | None]
"""What a round came to, by name."""


class Progress(Protocol):
    """Receives stages, shares of a stage, and rounds."""

    def note(self, text: str) -> None:
        """Show a note to the user; public values only."""
        ...

    def owner_note(self, text: str) -> None:
        """Show a note that depends on the table to its owner; stored nowhere."""
        ...

    def begin(self, stage: str) -> None:
        """Take note that a stage begins."""
        ...

    def share(self, done: float) -> None:
        """Take note that a share between 0 and 1 of the stage is done."""
        ...

    def round(self, number: int, rounds: int, value: float) -> None:
        """Take note of a finished round and the value of its record: objective divided by draws."""
        ...

    def step(self, number: int, steps: int, what: str) -> None:
        """Take note of a finished step of a stage and of what it did, in words; public values only."""
        ...

    def figures(self, of_round: Callable[[], Figures]) -> None:
        """Take note of what the round that comes next came to; `of_round` is called only where that is kept."""
        ...

    def end(self, stage: str) -> None:
        """Take note that a stage has ended."""
        ...


class Silent:
    """Reports nothing and keeps the seconds by stage; the base of every other progress."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._begun: dict[str, float] = {}

    def note(self, text: str) -> None:
        """Say nothing."""

    def owner_note(self, text: str) -> None:
        """Say nothing."""

    def begin(self, stage: str) -> None:
        """Start the clock of a stage."""
        self._begun[stage] = time.perf_counter()

    def share(self, done: float) -> None:
        """Say nothing."""

    def round(self, number: int, rounds: int, value: float) -> None:
        """Say nothing."""

    def step(self, number: int, steps: int, what: str) -> None:
        """Say nothing."""

    def figures(self, of_round: Callable[[], Figures]) -> None:
        """Ask for nothing."""

    def end(self, stage: str) -> None:
        """Stop the clock of a stage."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - self._begun.pop(stage)


class Together(Silent):
    """Passes progress on to several listeners."""

    def __init__(self, *listeners: Progress) -> None:
        super().__init__()
        self._listeners = listeners

    def note(self, text: str) -> None:
        """Pass the note on."""
        for one in self._listeners:
            one.note(text)

    def owner_note(self, text: str) -> None:
        """Pass the note on."""
        for one in self._listeners:
            one.owner_note(text)

    def begin(self, stage: str) -> None:
        """Pass the beginning on."""
        super().begin(stage)
        for one in self._listeners:
            one.begin(stage)

    def share(self, done: float) -> None:
        """Pass the share on."""
        for one in self._listeners:
            one.share(done)

    def round(self, number: int, rounds: int, value: float) -> None:
        """Pass the round on."""
        for one in self._listeners:
            one.round(number, rounds, value)

    def step(self, number: int, steps: int, what: str) -> None:
        """Pass the step on."""
        for one in self._listeners:
            one.step(number, steps, what)

    def figures(self, of_round: Callable[[], Figures]) -> None:
        """Pass the figures on."""
        for one in self._listeners:
            one.figures(of_round)

    def end(self, stage: str) -> None:
        """Pass the end on."""
        super().end(stage)
        for one in self._listeners:
            one.end(stage)


class Pace:
    """Estimates the seconds that a stage still takes, from how fast it went lately.

    The rounds of an earlier run that are read back at once are forgotten after `SAMPLES` seconds.
    """

    SAMPLES = 30

    def __init__(self, now: float) -> None:
        self._samples: deque[tuple[float, float]] = deque([(now, 0.0)], maxlen=self.SAMPLES)

    def seconds_left(self, done: float, now: float) -> float | None:
        """Return the seconds until the share `done` is 1, given that it is what it is now; None while nothing is known."""
        begun, share = self._samples[0]
        if now - self._samples[-1][0] >= 1.0:
            self._samples.append((now, done))
        if done <= share or now <= begun:
            return None
        return max(0.0, 1.0 - done) * (now - begun) / (done - share)


@contextmanager
def stage(progress: Progress, name: str) -> Iterator[None]:
    """Run the body as one stage."""
    progress.begin(name)
    try:
        yield
    finally:
        progress.end(name)
