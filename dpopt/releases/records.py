"""The synthetic records of a run: one per round, equal weights; merged, weighted, or repeated to a chosen number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PlanError
from dpopt.public_random import permutation, public_stream
from dpopt.queries.counting.binary_columns import BitRecords
from dpopt.releases.plan import Encoding
from dpopt.schema.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticRecords:
    """Distinct records and how many rounds gave each.

    Attributes
    ----------
    held : (r, d) int32 array or BitRecords
        Distinct coded records, in lexicographic order; as bits where there are many attributes of two codes.
    multiplicity : (r,) int64 array
        In how many rounds each occurred; sums to the number of rounds.
    """

    held: NDArray[np.int32] | BitRecords
    multiplicity: NDArray[np.int64]

    @classmethod
    def of(cls, records: Sequence[NDArray[np.int32] | BitRecords]) -> SyntheticRecords:
        """Merge the rounds' records: codes (d,) each, or one row of bits each.

        Raises PlanError if there is none.
        """
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

    def rows(self, number: int) -> NDArray[np.int32]:
        """Return `number` rows by systematic resampling: each record floor or ceil of number * weight times.

        The rows are in a public random order, so that any part of them looks like the whole; it is the same each time.

        Raises PlanError if `number` is below 1.
        """
        taken = self.places(number)
        return self.held.take(taken).codes() if isinstance(self.held, BitRecords) else self.held[taken]

    def decodable(self, schema: Schema, encoding: Encoding) -> int:
        """Return in how many rounds the record has exactly one value per attribute."""
        if encoding is Encoding.RECORDS:
            return int(self.multiplicity.sum())
        ones = np.add.reduceat(self.distinct, schema.offsets[:-1], axis=1)
        return int(self.multiplicity[np.all(ones == 1, axis=1)].sum())

    def places(self, number: int) -> NDArray[np.int64]:
        """Return which distinct record each of the rows of `rows` is, (number,)."""
        if number < 1:
            raise PlanError(f"the number of rows must be at least 1, found {number}")
        edges = np.cumsum(self.multiplicity)
        total = int(edges[-1])
        # Integer arithmetic: row j stands at (2 j + 1) / (2 number) of the total.
        points = (2 * np.arange(number, dtype=np.int64) + 1) * total // (2 * number)
        order = permutation(public_stream(number, "order of the rows"), number)
        return np.asarray(np.searchsorted(edges, points[order], side="right"), dtype=np.int64)


def merged(
    records: Sequence[NDArray[np.int32] | BitRecords],
) -> tuple[NDArray[np.int32] | BitRecords, NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct ones of records in lexicographic order, how often each occurs, and where each record is among them.

    Raises PlanError if there is none.
    """
    if not records:
        raise PlanError("the run ended without a single record, so there is nothing to release")
    as_bits = [record for record in records if isinstance(record, BitRecords)]
    if as_bits:
        return BitRecords.joined(as_bits).distinct()
    codes = np.stack([record for record in records if not isinstance(record, BitRecords)])
    distinct, place, multiplicity = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    return distinct.astype(np.int32), multiplicity.astype(np.int64), place.astype(np.int64).ravel()
