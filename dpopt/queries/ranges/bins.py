"""The bins of a histogram: positions, declared values in order, or intervals of numbers; and ranges of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite

from dpopt.errors import WorkloadError
from dpopt.schema.attribute import Attribute, AttributeKind, number_text

_SHOWN = 5


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Bins in order.

    Attributes
    ----------
    name : str
        What is counted: the name of the column.
    number : int
        How many bins there are.
    labels : tuple of str or None
        A text for each bin; None for bins that are known by their positions 0, 1, ...
    edges : tuple of float or None
        Bin i is [edges[i], edges[i + 1]); a bin for missing values may follow the last interval.
    """

    name: str
    number: int
    labels: tuple[str, ...] | None = None
    edges: tuple[float, ...] | None = None

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
                f"{self.name}: found {len(self.edges):,} edges for {self.number:,} bins; expected increasing finite numbers, "
                "one more than there are intervals"
            )

    @property
    def intervals(self) -> int:
        """How many bins hold numbers; a bin for missing values may follow them. All bins, where they have no edges."""
        return self.number if self.edges is None else len(self.edges) - 1

    @classmethod
    def of_attribute(cls, attribute: Attribute, *, ordered: bool = False) -> Bins:
        """Return the codes of an attribute as bins.

        Parameters
        ----------
        ordered : bool
            Whether the declared values of a categorical attribute stand in a meaningful order.

        Raises
        ------
        WorkloadError
            If they do not: a range of values without order means nothing.
        """
        if attribute.kind is not AttributeKind.NUMERIC and not ordered:
            raise WorkloadError(
                f"attribute {attribute.name!r} is {attribute.kind.value}, and nothing says that its values are ordered; if "
                "they are declared in their order, say so (--ordered)"
            )
        labels = tuple(attribute.label(code) for code in range(attribute.size))
        edges = tuple(attribute.edges) if attribute.kind is AttributeKind.NUMERIC else None
        return cls(attribute.name, attribute.size, labels, edges)

    def label(self, position: int) -> str:
        """Return a bin in words."""
        return str(position) if self.labels is None else self.labels[position]

    def range_of(self, text: str) -> tuple[int, int]:
        """Return the range start, stop that a text ``a:b`` names.

        Of numbers it holds a <= x < b, and a and b are edges of bins; of positions the bins a, ..., b - 1; of declared values
        those from a to b, both included. A side that is left out stands for the end. Where a bin for missing values follows the
        numbers, its label names it ("missing:missing"), and ":" alone holds it too; "a:" does not.

        Raises
        ------
        WorkloadError
            If the text names no range; the message says what could be named.
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

    def _ends(self, text: str) -> tuple[str, str]:
        """Return the two ends; of labels that hold colons themselves, those that are declared."""
        parts = text.split(":")
        found = [(":".join(parts[:place]), ":".join(parts[place:])) for place in range(1, len(parts))]
        if len(found) > 1 and self.labels is not None and self.edges is None:
            known = {"", *self.labels}
            found = [ends for ends in found if known.issuperset(ends)]
        if len(found) != 1:
            raise WorkloadError(f"found the range {text!r}; expected two ends and a colon, such as 10:20")
        return found[0]

    def _by_edges(self, low: str, high: str) -> tuple[int, int]:
        low, high = low.strip(), high.strip()
        missing = "" if self.intervals == self.number else self.label(self.intervals)
        if not low and not high:
            return 0, self.number
        start = self.intervals if missing and low == missing else self._edge(low, 0)
        ends_there = missing and (high == missing or (not high and low == missing))
        return start, self.number if ends_there else self._edge(high, self.intervals)

    def _edge(self, text: str, default: int) -> int:
        edges = self.edges or ()
        if not text.strip():
            return default
        try:
            wanted = float(text)
        except ValueError:
            raise WorkloadError(
                f"{self.name}: {text!r} is no number; ranges are named by edges of bins"
            ) from None
        place = bisect_left(edges, wanted)
        if place < len(edges) and edges[place] == wanted:
            return place
        around = ", ".join(number_text(edge) for edge in edges[max(0, place - 1) : place + 1])
        raise WorkloadError(f"{self.name}: {text} is no edge of a bin; the nearest are {around}")

    def _by_labels(self, first: str, last: str) -> tuple[int, int]:
        labels = self.labels or ()
        for text in (first, last):
            if text and text not in labels:
                shown = ", ".join(labels[:_SHOWN]) + (", ..." if len(labels) > _SHOWN else "")
                raise WorkloadError(f"{self.name}: {text!r} is none of its values {shown}")
        start = labels.index(first) if first else 0
        return start, (labels.index(last) + 1 if last else self.number)

    def _by_positions(self, low: str, high: str) -> tuple[int, int]:
        try:
            return int(low) if low.strip() else 0, int(high) if high.strip() else self.number
        except ValueError:
            raise WorkloadError(
                f"{self.name}: {low}:{high} are no positions; expected whole numbers such as 0:64"
            ) from None


def names_of(axes: Iterable[Bins]) -> str:
    """Return the columns in words, each with its number of bins."""
    return " x ".join(f"{bins.name!r} ({bins.number:,})" for bins in axes)
