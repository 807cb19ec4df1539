"""What a solver needs to run here, looked up without importing it: a library, a program, a licence."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from dpopt.programs.solver import Availability, AvailabilityStatus

LICENCE_SECONDS = 30.0
"""How long a library may look for its licence."""


class Requirement(Protocol):
    """Something that can be there or not."""

    def availability(self) -> Availability:
        """Look it up; what is missing comes with the command that brings it."""
        ...


@dataclass(frozen=True, slots=True)
class Library:
    """A library of which at_least <= version < below, where given; whole numbers between dots.

    `stage` is what follows for pip after the numbers of `at_least`, of a library that has pre-releases only (".dev17");
    `why` is what is wrong with other versions.
    """

    module: str
    distribution: str
    at_least: tuple[int, ...] = ()
    below: tuple[int, ...] = ()
    stage: str = ""
    why: str = ""

    def availability(self) -> Availability:
        """Look the library up without importing it."""
        if importlib.util.find_spec(self.module) is None:
            return Availability(AvailabilityStatus.NOT_INSTALLED, f"{self.module} is not installed; {self._remedy()}")
        try:
            text = _installed_version(self.distribution)
        except importlib.metadata.PackageNotFoundError:
            return Availability(AvailabilityStatus.AVAILABLE, f"{self.module}, version unknown")
        found = version_numbers(text)
        if found < self.at_least or (self.below and found >= self.below):
            why = f", {self.why}" if self.why else ""
            explanation = f"{self.distribution} {text} is installed{why}; {self._remedy()}"
            return Availability(AvailabilityStatus.WRONG_VERSION, explanation)
        return Availability(AvailabilityStatus.AVAILABLE, f"{self.distribution} {text}")

    def specifier(self) -> str:
        """Return the requirement as pip reads it."""
        bounds = [
            f"{sign}{'.'.join(map(str, at))}{stage}"
            for sign, at, stage in ((">=", self.at_least, self.stage), ("<", self.below, ""))
            if at
        ]
        return self.distribution + ",".join(bounds)

    def _remedy(self) -> str:
        return f"run: python -m pip install '{self.specifier()}'"


@dataclass(frozen=True, slots=True)
class ProgramOnPath:
    """A program that pip cannot bring; `remedy` is the command that does."""

    program: str
    remedy: str

    def availability(self) -> Availability:
        """Look for the program on the PATH."""
        place = shutil.which(self.program)
        if place is None:
            return Availability(
                AvailabilityStatus.NOT_INSTALLED, f"{self.program} is not on the PATH; run: {self.remedy}"
            )
        return Availability(AvailabilityStatus.AVAILABLE, place)


@dataclass(frozen=True, slots=True)
class Licence:
    """A licence, which `code` finds or fails to find; it runs in a process of its own, once."""

    library: str
    code: str

    def availability(self) -> Availability:
        """Let the library look for its licence."""
        problem = _last_words(self.code)
        if problem is None:
            return Availability(AvailabilityStatus.AVAILABLE, "with a licence")
        return Availability(AvailabilityStatus.NO_LICENCE, f"{self.library} finds no licence: {problem}")


def availability_of(requirements: Sequence[Requirement]) -> Availability:
    """Return what is missing first, else that everything is there, in the words of all requirements."""
    found = []
    for requirement in requirements:
        availability = requirement.availability()
        if not availability.available:
            return availability
        found.append(availability.explanation)
    return Availability(AvailabilityStatus.AVAILABLE, ", ".join(found))


def version_numbers(text: str) -> tuple[int, ...]:
    """Return the leading whole numbers of a version: "9.15.6755" gives (9, 15, 6755), "4.0.0a12" gives (4, 0, 0)."""
    leading = re.match(r"\d+(\.\d+)*", text)
    return tuple(map(int, leading[0].split("."))) if leading else ()


@functools.cache  # reading it takes longer than many a small program; whoever changes it begins a new process
def _installed_version(distribution: str) -> str:
    return importlib.metadata.version(distribution)


@functools.cache
def _last_words(code: str) -> str | None:
    """Run Python code in a new process; None if it succeeds, else the last line that it printed."""
    try:
        done = subprocess.run(  # noqa: S603  # our own interpreter and code
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=LICENCE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {LICENCE_SECONDS:g} s"
    if done.returncode == 0:
        return None
    return next(reversed(done.stderr.strip().splitlines()), f"exit code {done.returncode}")
