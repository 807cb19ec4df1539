"""The bins of a histogram: positions, declared values in order, or intervals of numbers; and ranges of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Any

from dpopt.errors import WorkloadError
from dpopt.schema.attribute import Attribute, AttributeKind, number_text
from dpopt.schema.dates import date_number, date_text

_SHOWN = 5


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Bins in order."""

    name: str
    """The name of the counted column."""
    number: int
    """How many bins there are."""
    labels: tuple[str, ...] | None = None
    """A text for each bin; None for bins that are known by their positions 0, 1, ..."""
    edges: tuple[float, ...] | None = None
    """Bin i is [edges[i], edges[i + 1]); a bin for missing values may follow the last interval."""
    date_format: str | None = None
    """The edges are dates, in seconds since 1970, which are named in this form. Files from before it have none."""

    def __post_init__(self) -> None:
        if self.number < 1:
            raise WorkloadError(f"{self.name}: a histogram has at least one bin")
        if self.labels is not None and len(self.labels) != self.number:
            raise WorkloadError(f"{self.name}: {len(self.labels):,} labels for {self.number:,} bins")
        if self.edges is not None and not (
            self.number - self.intervals in {0, 1}
            and all(map(isfinite, self.edges))
            and all(low < high for low, high in pairwise(self.edges))
        ):
            raise WorkloadError(
                f"{self.name}: found {len(self.edges):,} edges for {self.number:,} bins; expected increasing finite "
                f"numbers, one more than there are intervals"
            )
        if self.date_format is not None:
            try:
                for place in (0, -1):
                    date_number(self.edge_text(place), self.date_format)
            except (ArithmeticError, LookupError, ValueError):
                form = self.date_format
                raise WorkloadError(f"{self.name}: the edges are not dates in the form {form!r}") from None

    @property
    def intervals(self) -> int:
        """How many bins hold numbers; a bin for missing values may follow them. All bins, where they have no edges."""
        return self.number if self.edges is None else len(self.edges) - 1

    @classmethod
    def of_attribute(cls, attribute: Attribute, *, in_order: bool = True) -> Bins:
        """Return the codes of an attribute as bins; WorkloadError if they are asked for in order, and have none."""
        if in_order and not attribute.ordered:
            raise WorkloadError(
                f"{attribute.name!r} is {attribute.kind.value}, and the schema declares no order of its values; if they are "
                f'listed in their order, declare "ordered": true in the schema'
            )
        labels = tuple(attribute.label(code) for code in range(attribute.size))
        edges = tuple(map(float, attribute.edges)) if attribute.kind is AttributeKind.NUMERIC else None
        return cls(attribute.name, attribute.size, labels, edges, attribute.date_format)

    def attribute(self) -> Attribute:
        """Return an attribute that has the bins as its codes: numbers or dates by their edges, positions as whole numbers."""
        if self.labels is not None and self.edges is None:
            return Attribute(self.name, AttributeKind.CATEGORICAL, self.labels)
        edges: Any = tuple(range(self.number + 1))
        if self.edges is not None:
            edges = tuple(map(self.edge_text, range(len(self.edges)))) if self.date_format else self.edges
        missing = None if self.intervals == self.number else ""
        return Attribute(
            self.name,
            AttributeKind.NUMERIC,
            edges=edges,
            missing=missing,
            date_format=self.date_format,
            integer=self.edges is None,
        )

    def label(self, position: int) -> str:
        """Return a bin in words."""
        return str(position) if self.labels is None else self.labels[position]

    def range_of(self, text: str) -> tuple[int, int]:
        """Return the range start, stop that a text ``a:b`` names.

        Of numbers and dates it holds a <= x < b, and a and b are edges of bins, dates in the form of their column; of
        positions the bins a, ..., b - 1; of declared values those from a to b, both included. A side that is left out
        stands for the end. Where a bin for missing values follows the numbers, its label names it ("missing:missing"),
        and ":" alone holds it too; "a:" does not. Where ends hold colons themselves, as times do, the range is divided
        where both ends can be read.
        """
        low, high = self._ends(text)
        if self.edges is not None:
            start, stop = self._by_edges(low, high)
        elif self.labels is not None:
            start, stop = self._by_labels(low, high)
        else:
            start, stop = self._by_positions(low, high)
        if not 0 <= start < stop <= self.number:
            raise WorkloadError(
                f"the range {text!r} holds no bin; its ends are out of order, or outside the {self.number:,} bins"
            )
        return start, stop

    def edge_text(self, place: int) -> str:
        """Return an edge as a range names it."""
        edge = (self.edges or ())[place]
        return number_text(edge) if self.date_format is None else date_text(edge, self.date_format)

    def _ends(self, text: str) -> tuple[str, str]:
        """Return the two ends; where there are more colons, those that are labels, or can be read as edges."""
        parts = text.split(":")
        found = [(":".join(parts[:place]), ":".join(parts[place:])) for place in range(1, len(parts))]
        if len(found) > 1:
            found = [ends for ends in found if all(map(self._is_end, ends))]
        if len(found) != 1:
            form = self.date_format
            dates = "10:20" if form is None else f"{self.edge_text(0)}:{self.edge_text(-1)} in the form {form!r}"
            raise WorkloadError(f"found the range {text!r}; expected two ends and a colon, such as {dates}")
        return found[0]

    def _is_end(self, text: str) -> bool:
        if self.edges is None:
            return text in {"", *(self.labels or ())}
        try:
            return text.strip() in {"", self._missing} or self._number(text.strip()) is not None
        except ValueError:
            return False

    @property
    def _missing(self) -> str:
        return "" if self.intervals == self.number else self.label(self.intervals)

    def _by_edges(self, low: str, high: str) -> tuple[int, int]:
        low, high = low.strip(), high.strip()
        missing = self._missing
        if not low and not high:
            return 0, self.number
        start = self.intervals if missing and low == missing else self._edge(low, 0)
        ends_there = missing and (high == missing or (not high and low == missing))
        return start, self.number if ends_there else self._edge(high, self.intervals)

    def _edge(self, text: str, default: int) -> int:
        edges = self.edges or ()
        if not text:
            return default
        try:
            wanted = self._number(text)
        except ValueError as problem:
            raise WorkloadError(f"{self.name}: {problem}; ranges are named by edges of bins") from None
        place = bisect_left(edges, wanted)
        if place < len(edges) and edges[place] == wanted:
            return place
        around = ", ".join(map(self.edge_text, range(max(0, place - 1), min(place + 1, len(edges)))))
        raise WorkloadError(f"{self.name}: {text} is not an edge of a bin; the nearest are {around}")

    def _number(self, text: str) -> float:
        """Return the number, or the seconds of the date, that a text names; ValueError if it names none."""
        if self.date_format is not None:
            return date_number(text, self.date_format)
        edges, labels = self.edges or (), self.labels or ()
        if labels and not labels[0].startswith(f"[{number_text(edges[0])}, "):  # dates, on file without a form
            ends = [*(label[1:].startswith(f"{text}, ") for label in labels[: self.intervals]), False]
            ends[-1] = labels[self.intervals - 1].endswith(f", {text}]")
            if any(ends):
                return edges[ends.index(True)]
        try:
            return float(text)
        except ValueError:
            raise ValueError(f"{text!r} is not a number") from None

    def _by_labels(self, first: str, last: str) -> tuple[int, int]:
        labels = self.labels or ()
        for text in (first, last):
            if text and text not in labels:
                shown = ", ".join(labels[:_SHOWN]) + (", ..." if len(labels) > _SHOWN else "")
                raise WorkloadError(f"{self.name}: {text!r} is not one of its values {shown}")
        start = labels.index(first) if first else 0
        return start, (labels.index(last) + 1 if last else self.number)

    def _by_positions(self, low: str, high: str) -> tuple[int, int]:
        try:
            return int(low) if low.strip() else 0, int(high) if high.strip() else self.number
        except ValueError:
            raise WorkloadError(
                f"{self.name}: {low}:{high} are not positions; expected whole numbers such as 0:64"
            ) from None


def as_today(stated: Any) -> Any:
    """Return the JSON of bins, or of several, as it is written today: dates had no form before."""
    if isinstance(stated, list):
        return list(map(as_today, stated))
    return {"date_format": None, **stated} if isinstance(stated, dict) else stated


def names_of(axes: Iterable[Bins]) -> str:
    """Return the columns in words, each with its number of bins."""
    return " x ".join(f"{bins.name!r} ({bins.number:,})" for bins in axes)
