"""The selection of the candidate marginal whose exact counts are farthest from those of the public records."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import score_range, selection_charge
from dpopt.arrays import frozen
from dpopt.constraints import Number, OneOf, Whole, constrain
from dpopt.errors import PlanError
from dpopt.private.selections.query_weights import LARGEST_SCORE, MOST_ROWS
from dpopt.queries.marginal_set import MarginalSet

SCORES = ("l1", "max")
MOST_CANDIDATES = 10_000
MOST_CELLS_OF_A_CANDIDATE = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """One selection by the exponential mechanism."""

    round: Annotated[int, Whole("the number of a round")]
    """Number of the round, from 1; there is one selection per round."""
    candidates: MarginalSet
    """M marginals to select from, at most 10,000, each of at most 2,000,000 cells."""
    score: Annotated[str, OneOf("the score of candidates", SCORES)]
    """How far the counts of a candidate lie from those of the public records, brought to the public size: "l1", the sum
    over its cells of the absolute differences, or "max", the largest one."""
    penalties: NDArray[np.int64]
    """Shape (M,). Public numbers that are taken off the scores, in records."""
    range: Annotated[Decimal, Number("the range of a selection", above=0, decimal=True)]
    """Range of the mechanism, an exact decimal: its epsilon, without the slack of the sampler."""

    def __post_init__(self) -> None:
        constrain(self, PlanError)
        what = f"round {self.round}"
        candidates = len(self.candidates)
        if not 1 <= candidates <= MOST_CANDIDATES:
            raise PlanError(
                f"{what}: one of 1 to {MOST_CANDIDATES:,} candidates is selected, found {candidates:,}; give fewer "
                f"marginals"
            )
        cells = self.candidates.cells()
        if int(cells.max()) > MOST_CELLS_OF_A_CANDIDATE:
            raise PlanError(
                f"{what}: candidate {int(np.argmax(cells))} has {int(cells.max()):,} cells, at most "
                f"{MOST_CELLS_OF_A_CANDIDATE:,} are possible; leave it out, and offer marginals over some of its "
                f"attributes"
            )
        if self.penalties.shape != (candidates,):
            raise PlanError(
                f"{what}: {candidates:,} candidates need as many penalties, found shape {self.penalties.shape}"
            )

    def charge(self, relation: NeighbouringRelation) -> Charge:
        """Return the charge of the selection. Privacy: E1, E4 in docs/privacy."""
        return selection_charge(self.round, self.range, relation)

    def spread(self, relation: NeighbouringRelation, total: int) -> int:
        """Return by how much the changes of two candidates' scores, in units of 1 / `total` records, differ at most.

        Sensitivity: see `dpopt.private.selections.candidate_scores.CandidateScores`.
        """
        return score_range(self.score, relation) * total

    def check_records(
        self, records: NDArray[np.int32], multiplicity: NDArray[np.int64], sizes: NDArray[np.integer], size: int
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the public records and their multiplicities if scores can use them; a function of public values."""
        what = f"round {self.round}"
        try:
            records, multiplicity = frozen(records, np.int32), frozen(multiplicity, np.int64)
        except (OverflowError, TypeError, ValueError) as error:
            raise PlanError(f"{what}: records are codes, and their multiplicities whole numbers") from error
        if records.ndim != 2 or records.shape[1] != len(sizes) or multiplicity.shape != records.shape[:1]:
            raise PlanError(
                f"{what}: records of shape {records.shape} with multiplicities of shape {multiplicity.shape} do not "
                f"fit a schema of {len(sizes)} attributes"
            )
        if np.any(records < 0) or np.any(records >= sizes):
            raise PlanError(f"{what}: the records hold codes that the schema does not have")
        if np.any(multiplicity < 0) or not np.any(multiplicity):
            raise PlanError(f"{what}: multiplicities of records must not be negative, and not all of them 0")
        total = float(multiplicity.astype(np.float64).sum())  # 64-bit sums could wrap around
        if total * (size + MOST_ROWS) > LARGEST_SCORE:
            raise PlanError(
                f"{what}: {total:,.0f} public records are too many to score marginals at public size {size:,} in 64 "
                f"bits; use at most {LARGEST_SCORE // (size + MOST_ROWS):,}"
            )
        return records, multiplicity
