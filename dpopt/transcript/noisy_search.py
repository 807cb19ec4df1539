"""What noisy binary searches found: where each ended. The outcomes of their comparisons can be read off that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.arrays import frozen
from dpopt.errors import TranscriptError


@dataclass(frozen=True, slots=True, eq=False)
class NoisySearch:
    """Where binary searches with noisy comparisons ended, charged first.

    Attributes
    ----------
    name : str
        What was searched, for example ``"comparisons of search 3"``.
    ends : (c,) int64 array
        The position at which each of c simultaneous searches ended. A binary search from a public range to a position has one
        sequence of outcomes only, so that this is all that its comparisons told.
    noise : str
        Law of the noise of each comparison.
    scale : float
        Its scale, in records.
    charge : Charge or None
        What all comparisons that the search may make cost, whether it made them or not; None where nothing was compared.

    Notes
    -----
    Constructed in `dpopt.private` only.
    """

    name: str
    ends: NDArray[np.int64]
    noise: str
    scale: float
    charge: Charge | None

    def __post_init__(self) -> None:
        try:
            ends = frozen(self.ends, np.int64)
        except (OverflowError, TypeError, ValueError) as error:
            raise TranscriptError(f"{self.name}: positions are whole numbers below 2**63") from error
        if ends.ndim != 1 or (ends.size and ends.min() < 0):
            raise TranscriptError(f"{self.name}: expected a row of positions from 0 on")
        if not self.scale > 0:
            raise TranscriptError(f"{self.name}: the noise must have a positive scale, found {self.scale}")
        object.__setattr__(self, "ends", ends)

    def to_json(self) -> dict[str, Any]:
        """Return the search as a journal entry."""
        return {
            "kind": "search",
            "name": self.name,
            "ends": self.ends.tolist(),
            "noise": self.noise,
            "scale": self.scale,
        }
