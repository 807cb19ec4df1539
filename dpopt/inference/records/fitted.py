"""What a fit gives: weighted records, how near their answers are, and how much nearer any could be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import frozen
from dpopt.errors import ProgramError

TIME_IS_UP = "time is up"
"""Why a fit stopped: its limit of seconds."""


@dataclass(frozen=True, slots=True)
class FitProgress:
    """Where a fit stood at one moment.

    Attributes
    ----------
    stage : str
        "start" or "sweep" of the record search; "merge" (equal records as one, best weights), "round" or "end" of column
        generation.
    step : int
        Number of the sweep or round, from 1; 0 for a start.
    seconds : float
        Since the fit began; the clock of the public side, no part of a result that is compared.
    objective : float
        f of the records at that moment.
    records : int
        Number of records (search) or of records with a weight (column generation).
    moved : int
        Changes of codes in the sweep; new records in a round.
    lower_bound : float or None
        The largest proven lower bound of f so far.
    """

    stage: str
    step: int
    seconds: float
    objective: float
    records: int
    moved: int = 0
    lower_bound: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """Weighted records, and what is known of them.

    Attributes
    ----------
    records : (r, d) int32
        Legal records; after column generation distinct ones.
    weights : (r,) float64
        Their shares, positive, sum 1.
    objective : float
        f of these weights.
    lower_bound : float or None
        No distribution on legal records has a smaller f; None where nothing was proven.
    frank_wolfe_gap : float or None
        <gradient, A p> less <gradient, q(x)> for the best record x that pricing found at p: with exact pricing f(p) is within
        this of the optimum. None without column generation, and where it ended before these weights were priced.
    pricing_gap : float or None
        By how much a better record than the one found could lower <gradient, q(x)>, proven; None where nothing was.
    gap : float or None
        objective - lower_bound, at most the sum of the two gaps above; None without a bound.
    proof : str
        Who proved the lower bound, in words; empty without one.
    stopped : str
        Why the fit ended.
    history : tuple of FitProgress
    """

    records: NDArray[np.int32]
    weights: NDArray[np.float64]
    objective: float
    lower_bound: float | None
    pricing_gap: float | None
    gap: float | None
    stopped: str
    history: tuple[FitProgress, ...]
    frank_wolfe_gap: float | None = None
    proof: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", frozen(self.records, np.int32))
        object.__setattr__(self, "weights", frozen(self.weights, np.float64))
        object.__setattr__(self, "history", tuple(self.history))
        if self.records.ndim != 2 or self.weights.shape != (self.records.shape[0],) or not self.weights.size:
            raise ProgramError(
                f"records of shape {self.records.shape} with weights of shape {self.weights.shape}; each record has one"
            )
        if (self.weights <= 0).any() or abs(float(self.weights.sum()) - 1.0) > 1e-9:
            raise ProgramError("the weights of fitted records must be positive and sum to 1")
        if (self.lower_bound is None) != (self.gap is None):
            raise ProgramError("a gap comes with a lower bound, and a lower bound with a gap")
