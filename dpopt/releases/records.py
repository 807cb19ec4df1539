"""The synthetic records of a run: one per round, equal weights; merged, weighted, or repeated to a chosen number of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import frozen
from dpopt.errors import PlanError, TranscriptError
from dpopt.inference.records.problem import FitProblem
from dpopt.public_random import shuffled
from dpopt.queries.counting.binary_columns import BitRecords
from dpopt.releases.kept_records import bit_records_from_json
from dpopt.transcript.journal import Entry

ROWS_AT_ONCE = 2**18
"""Rows of a block: no more of them are in memory while a file is written."""
Numbers = Mapping[int, NDArray[np.float64]]


@dataclass(frozen=True, slots=True, eq=False)
class RowBlock:
    """Rows that follow each other in a file."""

    codes: NDArray[np.int32]
    """Shape (r, d)."""
    weights: NDArray[np.float64] | None = None
    """Shape (r,). Where weights are written."""
    numbers: Numbers = field(default_factory=dict)
    """By the positions of numeric attributes: a number for each row, (r,), in place of that of its bin; NaN where
    missing."""
    unordered: int = 0
    """How many of them have the representatives of bins, since rules found no numbers in order."""

    @property
    def shares(self) -> NDArray[np.float64]:
        """The weight of each row in counts, (r,), or 1."""
        return np.ones(len(self.codes)) if self.weights is None else self.weights


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticRecords:
    """Distinct records and how many rounds gave each."""

    held: NDArray[np.int32] | BitRecords
    """Shape (r, d), in lexicographic order; as bits where there are many attributes of two codes."""
    multiplicity: NDArray[np.int64]
    """Shape (r,). In how many rounds each occurred; sums to the number of rounds."""

    @classmethod
    def of(cls, records: Sequence[NDArray[np.int32] | BitRecords]) -> SyntheticRecords:
        """Merge the rounds' records: codes (d,) each, or one row of bits each."""
        held, multiplicity, _ = merged(records)
        return cls(held, multiplicity)

    def __len__(self) -> int:
        """Return the number of distinct records r."""
        return len(self.held)

    @property
    def distinct(self) -> NDArray[np.int32]:
        """The codes of the distinct records, (r, d); 4 r d bytes anew each time, where they are held as bits."""
        return self.held.codes() if isinstance(self.held, BitRecords) else self.held

    @property
    def weights(self) -> NDArray[np.float64]:
        """Return the share of each distinct record, (r,), summing to 1."""
        return np.asarray(self.multiplicity / self.multiplicity.sum(), dtype=np.float64)

    def blocks(self, *, weighted: bool = False) -> Iterator[RowBlock]:
        """Yield the rows of `rows`, or the distinct records with their weights, in blocks of at most `ROWS_AT_ONCE`."""
        if not weighted:
            yield from (RowBlock(self._taken(places)) for places in self._place_blocks())
            return
        weights = self.weights
        for begin in range(0, len(self), ROWS_AT_ONCE):
            places = np.arange(begin, min(begin + ROWS_AT_ONCE, len(self)))
            yield RowBlock(self._taken(places), weights[places])

    def table(self, *, weighted: bool) -> RowBlock:
        """Return all blocks of `blocks` as one."""
        return RowBlock(self.distinct, self.weights) if weighted else RowBlock(self.rows())

    def rows(self) -> NDArray[np.int32]:
        """Return every record as often as its multiplicity says, (sum of multiplicities, d).

        The rows are in a public random order, so that any part of them looks like the whole; it is the same each time.
        """
        return np.concatenate([block.codes for block in self.blocks()])

    def places(self) -> NDArray[np.int64]:
        """Return which distinct record each of the rows of `rows` is, (sum of multiplicities,)."""
        return np.concatenate(list(self._place_blocks()))

    def _place_blocks(self) -> Iterator[NDArray[np.int64]]:
        for part in shuffled(int(self.multiplicity.sum()), "order of the rows", self.multiplicity):
            yield from np.array_split(part, -(-len(part) // ROWS_AT_ONCE))

    def _taken(self, places: NDArray[np.int64]) -> NDArray[np.int32]:
        return self.held.take(places).codes() if isinstance(self.held, BitRecords) else self.held[places]

    def resampled(self, number: int) -> SyntheticRecords:
        """Return `number` rows by systematic resampling: each record floor or ceil of number * weight times."""
        from dpopt.inference.records.rounding import systematic_multiplicities  # imports numba

        if number < 1:
            raise PlanError(f"the number of rows must be at least 1, found {number}")
        return self.with_multiplicity(systematic_multiplicities(self.multiplicity, number))

    def with_multiplicity(self, multiplicity: NDArray[np.int64]) -> SyntheticRecords:
        """Return those records whose multiplicity (r,) is not 0 any more, with it."""
        kept = np.flatnonzero(multiplicity)
        held = self.held.take(kept) if isinstance(self.held, BitRecords) else self.held[kept]
        return SyntheticRecords(held, multiplicity[kept])

    def and_(self, others: SyntheticRecords) -> SyntheticRecords:
        """Return the rows of both."""
        held: NDArray[np.int32] | BitRecords
        if isinstance(self.held, BitRecords) and isinstance(others.held, BitRecords):
            held, _, place = BitRecords.joined([self.held, others.held]).distinct()
        else:
            held, place = np.unique(np.concatenate((self.distinct, others.distinct)), axis=0, return_inverse=True)
        multiplicity = np.zeros(len(held), dtype=np.int64)
        np.add.at(multiplicity, place.ravel(), np.concatenate((self.multiplicity, others.multiplicity)))
        return SyntheticRecords(held, multiplicity)


def merged(
    records: Sequence[NDArray[np.int32] | BitRecords],
) -> tuple[NDArray[np.int32] | BitRecords, NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct records in lexicographic order, how often each occurs, and where each record is among them."""
    if not records:
        raise PlanError("the run ended without a single record, so there is nothing to release")
    as_bits = [record for record in records if isinstance(record, BitRecords)]
    if as_bits:
        return BitRecords.joined(as_bits).distinct()
    codes = np.stack([record for record in records if not isinstance(record, BitRecords)])
    distinct, place, multiplicity = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    return distinct.astype(np.int32), multiplicity.astype(np.int64), place.astype(np.int64).ravel()


def weighted_records(entry: Entry, problem: FitProblem, *, as_bits: bool = False) -> SyntheticRecords:
    """Return the "records" of a transcript and their "multiplicity", validated; with `as_bits` they are kept as bits.

    The problem says which records may be released: of which codes, by which rules.
    """
    try:
        weights = frozen(entry["multiplicity"], np.int64)
        held: NDArray[np.int32] | BitRecords = (
            bit_records_from_json(entry["records"], problem.sizes) if as_bits else frozen(entry["records"], np.int32)
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise TranscriptError(f"the records on file are damaged: {error!r}") from error
    shape = (len(held), held.width) if isinstance(held, BitRecords) else held.shape
    expected = (weights.size, problem.number_of_attributes)
    if weights.ndim != 1 or not weights.size or shape != expected or np.any(weights < 1):
        raise TranscriptError(
            f"the records on file have shape {shape}, expected {expected} and as many weights, each at least 1"
        )
    records = SyntheticRecords(held, weights)
    if as_bits and (problem.domains.counts == 2).all() and not problem.rules.number_of_rules:
        return records  # every record of bits is one of its codes
    if problem.infeasible(records.distinct).any():
        raise TranscriptError(
            "a record on file does not fit the schema or breaks a rule; the transcript is damaged or belongs to "
            "another schema"
        )
    return records
