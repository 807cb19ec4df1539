"""Selections of the candidate marginal whose exact counts are farthest from those of the public records, and its scores."""

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
from dpopt.private.engines.exact_counts import exact_counts, runs_of
from dpopt.private.selections.query_weights import LARGEST_SCORE, MOST_ROWS
from dpopt.private.tables.closed import StaysHere
from dpopt.private.tables.dataset import PrivateDataset, Progress
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.domains import Domains
from dpopt.threads import USUAL, in_threads

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

        Sensitivity: see `dpopt.private.selections.selection.CandidateScores`.
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


GROUP_CELLS = 4_000_000
"""Cells that are counted at a time: bounds the temporary arrays."""
KEPT_BYTES = 2**30
"""Counts that are kept between rounds; beyond them, candidates are counted anew each time."""

_Counted = tuple[NDArray[np.int32], NDArray[np.signedinteger]]


class CandidateScores(StaysHere):
    """Scores of marginals by the distance between their exact counts and those of public records.

    **Score.** Let k_c be the number of records in cell c, m_c that of public records, N of them in all. The score of a
    marginal is the sum ("l1") or the maximum ("max") over its cells of |N k_c - size m_c|: whole numbers, in units of 1
    / N records.

    **Neighbouring relation and sensitivity.** The changes of two marginals' scores differ by at most 2 N under both
    relations; by 4 N for "l1" under replace-one. Penalties are public and move nothing.
    `dpopt.accounting.selections.score_range` says the same in records. Privacy: E4 in docs/privacy. Test:
    `tests/private/test_candidate_scores.py`.

    Counts are kept as the list of cells that are not empty. How long counting takes depends on the records; that time
    is not hidden (known limits). Progress depends on public sizes only. `size` is the public n or n0.
    """

    def __init__(self, dataset: PrivateDataset, *, size: int, threads: int = USUAL) -> None:
        self._dataset = dataset
        self._size = size
        self._threads = threads
        self._domains: Domains | None = None
        self._kept: dict[tuple[int, ...], _Counted] = {}
        self._kept_bytes = 0

    def of(
        self,
        candidates: MarginalSet,
        score: str,
        records: NDArray[np.int32],
        multiplicity: NDArray[np.int64],
        *,
        progress: Progress | None = None,
    ) -> list[int]:
        """Return the score of each candidate, before penalties, in units of 1 / N records; N is the sum of multiplicities.

        The caller has checked that sums stay within 64 bits (`Selection.check_records`).
        """
        from dpopt.private.selections.kernels import distances

        self._use(candidates.domains)
        public = _positions(candidates, records, self._dataset._schema.sizes), multiplicity
        scales, cells = (int(multiplicity.sum()), self._size), candidates.cells()
        found = np.empty((len(candidates), 2), dtype=np.int64)
        for first, last in runs_of(candidates.starts, GROUP_CELLS):
            counted = self._counted(candidates.take(list(range(first, last))))

            def compare(part: slice, first: int = first, counted: list[_Counted] = counted) -> None:
                scratch = np.zeros(int(cells[first + part.start : first + part.stop].max()), dtype=np.int64)
                for number in range(part.start, part.stop):
                    own = candidates.attributes[first + number], candidates.strides[first + number]
                    found[first + number] = distances(*counted[number], *public, *own, *scales, scratch)

            in_threads(compare, last - first, -(-(last - first) // self._threads), self._threads, None)
            if progress is not None:
                progress(last / len(candidates))
        return [int(one) for one in found[:, 0 if score == "l1" else 1]]

    def _use(self, domains: Domains) -> None:
        """Drop kept results about cells over other codes."""
        known = self._domains
        if known is None or not (
            np.array_equal(known.counts, domains.counts) and np.array_equal(known.codes, domains.codes)
        ):
            self._domains, self._kept, self._kept_bytes = domains, {}, 0

    def _counted(self, group: MarginalSet) -> list[_Counted]:
        """Return for each marginal of a group the cells that are not empty, and their counts."""
        keys = [group.attributes_of(number) for number in range(len(group))]
        missing = [number for number, key in enumerate(keys) if key not in self._kept]
        fresh: dict[tuple[int, ...], _Counted] = {}
        if missing:
            part = group.take(missing)
            counts = exact_counts(self._dataset, part, threads=self._threads)
            dtype = np.int32 if self._dataset._rows < 2**31 else np.int64
            for place, number in enumerate(missing):
                of_one = counts[part.starts[place] : part.starts[place + 1]]
                filled = np.flatnonzero(of_one).astype(np.int32)
                fresh[keys[number]] = (filled, of_one[filled].astype(dtype))
        for key, (cells, found) in fresh.items():
            if self._kept_bytes + cells.nbytes + found.nbytes <= KEPT_BYTES:
                self._kept[key] = (cells, found)
                self._kept_bytes += cells.nbytes + found.nbytes
        return [fresh[key] if key in fresh else self._kept[key] for key in keys]


def _positions(candidates: MarginalSet, records: NDArray[np.int32], sizes: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return the place of every code of the public records in its attribute's domain, -1 for codes left out; (r, d)."""
    tables = candidates.position_tables(sizes)
    columns = [table[column] for table, column in zip(tables, records.T, strict=True)]
    return np.ascontiguousarray(np.stack(columns, axis=1))
