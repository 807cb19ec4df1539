"""What a benchmark case is, and the list of cases: each file in `cases` enters its own when it is imported."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Bar:
    """A limit that a figure should keep: at most `limit`, or at least it with `at_least`."""

    figure: str
    value: float
    limit: float
    at_least: bool = False

    @property
    def kept(self) -> bool:
        """Whether the figure keeps the limit."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def to_json(self) -> dict[str, Any]:
        """Return the bar as a JSON object."""
        return {
            "figure": self.figure,
            "value": self.value,
            "at_least" if self.at_least else "at_most": self.limit,
            "kept": self.kept,
        }


@dataclass(frozen=True, slots=True)
class Result:
    """What a case measured."""

    rows: list[dict[str, Any]]
    """One row of figures per thing measured; equal keys mean equal figures."""
    bars: list[Bar] = field(default_factory=list)
    """Limits at full size."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How a case is run: how many runs are counted, whether tiny, and a folder for its files."""

    runs: int
    quick: bool
    folder: Path

    @property
    def warm_up(self) -> bool:
        """Whether a run that is not counted comes first."""
        return not self.quick

    def pick(self, full: Any, tiny: Any) -> Any:
        """Return the full size, or the tiny one of a quick run."""
        return tiny if self.quick else full


@dataclass(frozen=True, slots=True)
class Case:
    """A benchmark: its name, the question that it answers, and what measures it."""

    name: str
    question: str
    measure: Callable[[Setting], Result]


CASES: dict[str, Case] = {}


def case(question: str) -> Callable[[Callable[[Setting], Result]], Callable[[Setting], Result]]:
    """Enter a function in the list of cases under its own name."""

    def enter(measure: Callable[[Setting], Result]) -> Callable[[Setting], Result]:
        CASES[measure.__name__] = Case(measure.__name__, question, measure)
        return measure

    return enter


def load_cases() -> dict[str, Case]:
    """Import every file in `cases` and return what they entered, by name."""
    for module in pkgutil.iter_modules([str(Path(__file__).resolve().parent / "cases")]):
        import_module(f"experiments.benchmarks.cases.{module.name}")
    return CASES
