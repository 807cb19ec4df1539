"""How a driver tells a person where it stands; what it tells is for the terminal and is never stored."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Progress(Protocol):
    """Receives stages, shares of a stage, and rounds."""

    def note(self, text: str) -> None:
        """Tell the user something that needs no answer; public values only."""
        ...

    def owner_note(self, text: str) -> None:
        """Tell the owner of the table something that depends on it; stored nowhere."""
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

    def end(self, stage: str) -> None:
        """Take note that a stage has ended."""
        ...


class Silent:
    """Says nothing and keeps the seconds by stage; the base of every other progress."""

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

    def end(self, stage: str) -> None:
        """Stop the clock of a stage."""
        self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - self._begun.pop(stage)


@contextmanager
def stage(progress: Progress, name: str) -> Iterator[None]:
    """Run the body as one stage."""
    progress.begin(name)
    try:
        yield
    finally:
        progress.end(name)
