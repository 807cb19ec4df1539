"""Released values: the small database, or the candidate of a net, that the net mechanism selected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.arrays import frozen
from dpopt.errors import TranscriptError


@dataclass(frozen=True, slots=True, eq=False)
class SelectedDatabase:
    """A multiset of elements of a public universe.

    Attributes
    ----------
    elements : (r,) int64 array
        Positions of the elements that occur, strictly increasing from 0 up.
    counts : (r,) int64 array
        How often each occurs, at least once.
    charge : Charge
        What the selection cost; it was charged before it was made.

    Notes
    -----
    Constructed in `dpopt.private` only, and where a saved transcript is read.

    Raises
    ------
    TranscriptError
        Numbers that are none, or out of range.
    """

    elements: NDArray[np.int64]
    counts: NDArray[np.int64]
    charge: Charge

    def __post_init__(self) -> None:
        for name in ("elements", "counts"):
            try:
                values = frozen(getattr(self, name), np.int64)
            except (OverflowError, TypeError, ValueError) as error:
                raise TranscriptError(f"the {name} of a small database are whole numbers") from error
            object.__setattr__(self, name, values)
        if self.elements.ndim != 1 or self.elements.shape != self.counts.shape or not self.elements.size:
            raise TranscriptError(
                f"a small database of {self.elements.shape} elements with {self.counts.shape} counts is damaged"
            )
        if self.elements[0] < 0 or np.any(np.diff(self.elements) <= 0) or np.any(self.counts < 1):
            raise TranscriptError(
                "the elements of a small database are positions in increasing order, and each occurs at least once"
            )

    def to_json(self) -> dict[str, Any]:
        """Return the selection as a journal entry."""
        return {
            "kind": "database",
            "elements": self.elements.tolist(),
            "counts": self.counts.tolist(),
        }

    @classmethod
    def from_json(cls, entry: dict[str, Any], charge: Charge) -> SelectedDatabase:
        """Read a selection back from its journal entry and the charge that precedes it.

        Raises
        ------
        TranscriptError
            If the entry is damaged.
        """
        return cls(entry["elements"], entry["counts"], charge)


@dataclass(frozen=True, slots=True)
class SelectedCandidate:
    """A candidate of a public list.

    Attributes
    ----------
    candidate : int
        Its position, from 0.
    charge : Charge
        What the selection cost; it was charged before it was made.

    Notes
    -----
    Constructed in `dpopt.private` only, and where a saved transcript is read.

    Raises
    ------
    TranscriptError
        A number that is none, or below 0.
    """

    candidate: int
    charge: Charge

    def __post_init__(self) -> None:
        if type(self.candidate) is not int or self.candidate < 0:
            raise TranscriptError(f"candidates are numbered from 0, found {self.candidate!r}")

    def to_json(self) -> dict[str, Any]:
        """Return the selection as a journal entry."""
        return {"kind": "candidate", "candidate": self.candidate}

    @classmethod
    def from_json(cls, entry: dict[str, Any], charge: Charge) -> SelectedCandidate:
        """Read a selection back from its journal entry and the charge that precedes it."""
        return cls(entry["candidate"], charge)
