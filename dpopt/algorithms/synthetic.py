"""The synthetic records of a run: one per round, equal weights; merged, weighted, or repeated to a chosen number of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.algorithms.plan import Encoding
from dpopt.algorithms.public_choice import permutation, public_stream
from dpopt.errors import PlanError
from dpopt.queries.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class SyntheticRecords:
    """Distinct records and how many rounds gave each.

    Attributes
    ----------
    distinct : (r, d) int32 array
        Distinct coded records, in lexicographic order.
    multiplicity : (r,) int64 array
        In how many rounds each occurred; sums to the number of rounds.
    """

    distinct: NDArray[np.int32]
    multiplicity: NDArray[np.int64]

    @classmethod
    def of(cls, records: Sequence[NDArray[np.int32]]) -> SyntheticRecords:
        """Merge the rounds' records, each (d,).

        Raises
        ------
        PlanError
            If there is none.
        """
        if not records:
            raise PlanError("the run ended without a single record, so there is nothing to release")
        distinct, multiplicity = np.unique(np.stack(records), axis=0, return_counts=True)
        return cls(distinct.astype(np.int32), multiplicity.astype(np.int64))

    @property
    def weights(self) -> NDArray[np.float64]:
        """Return the share of each distinct record, (r,), summing to 1."""
        return np.asarray(self.multiplicity / self.multiplicity.sum(), dtype=np.float64)

    def per_round(self) -> NDArray[np.int32]:
        """Return one record per round, (T, d), equal ones together."""
        return np.repeat(self.distinct, self.multiplicity, axis=0)

    def rows(self, number: int) -> NDArray[np.int32]:
        """Return `number` rows by systematic resampling: each record floor or ceil of number * weight times.

        The rows are in a public random order, so that any part of them looks like the whole; it is the same each time.

        Raises
        ------
        PlanError
            If `number` is below 1.
        """
        if number < 1:
            raise PlanError(f"the number of rows must be at least 1, found {number}")
        edges = np.cumsum(self.multiplicity)
        total = int(edges[-1])
        # Integer arithmetic: row j stands at (2 j + 1) / (2 number) of the total.
        points = (2 * np.arange(number, dtype=np.int64) + 1) * total // (2 * number)
        order = permutation(public_stream(number, "order of the rows"), number)
        return self.distinct[np.searchsorted(edges, points[order], side="right")]

    def decodable(self, schema: Schema, encoding: Encoding) -> int:
        """Return in how many rounds the record has exactly one value per attribute."""
        if encoding is Encoding.RECORDS:
            return int(self.multiplicity.sum())
        ones = np.add.reduceat(self.distinct, schema.offsets[:-1], axis=1)
        return int(self.multiplicity[np.all(ones == 1, axis=1)].sum())
