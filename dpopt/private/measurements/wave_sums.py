"""Sums over all bins, each bin with a whole weight of its own: the waves of `dpopt.queries.ranges.waves`, rounded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.relations import NeighbouringRelation, once_or_twice
from dpopt.constraints import Whole
from dpopt.errors import PlanError, PrivateDataError
from dpopt.private.measurements.noisy_counts import NamedNoise, noise_charge
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.waves import waves_of

LARGEST_UNIT = 2**25
"""Squares of columns stay below 2^53 where both neighbours' are counted."""
MOST_WAVES = 2**16
MOST_RECORDS = 2**36
"""No weight is much above a unit: sums stay below 2^62."""


@dataclass(frozen=True, slots=True)
class WaveSums(NamedNoise):
    """As many sums as bins; each adds up all bins with whole weights."""

    bins: Annotated[int, Whole("the number of bins of waves", most=MOST_WAVES)]
    prefixes: bool
    """Whether the waves are those of prefixes, or of all ranges."""
    unit: Annotated[int, Whole("the unit of waves", most=LARGEST_UNIT)]
    """The integer that represents 1, the norm of a column before rounding."""

    def sensitivity(self, relation: NeighbouringRelation) -> int:
        """Return by how much two neighbours differ: in L1 for Laplace noise, in squared L2 for Gaussian noise, at most."""
        absolute, square = column_norms(self.bins, self.prefixes, self.unit)
        if not self.gaussian:
            return once_or_twice(absolute, relation)
        return once_or_twice(once_or_twice(square, relation), relation)

    def charge(self, bins_of_a_record: int, relation: NeighbouringRelation) -> Charge:
        """Return the charge.

        **Sensitivity.** A record lies in one bin, and moves each sum by the weight that its bin has there: by the bin's
        column of whole weights, of which the largest L1 norm and the largest squared L2 norm are added up exactly.
        Replaced, by the difference of two columns: at most twice the norm, four times its square. **Theorem.**
        `dpopt.accounting.measurements.measurement_charge`. Privacy: C1, C17 in docs/privacy. Test:
        `tests/private/test_wave_sums.py`.
        """
        if bins_of_a_record != 1:
            raise PlanError(f"{self.name}: waves over nodes are not measured; an edge counts in two bins")
        return noise_charge(self, self.sensitivity(relation), relation)

    def exact(self, counts: BinCounts, *_: object) -> NDArray[np.int64]:
        """Return the sums, (bins,). Private."""
        if counts._counts.shape != (self.bins,):
            raise PrivateDataError(
                f"{self.name}: the plan was made for {self.bins:,} bins, and {counts._counts.size:,} were counted"
            )
        if int(counts._counts.sum()) > MOST_RECORDS:
            raise PrivateDataError(
                f"{self.name}: found {int(counts._counts.sum()):,} records, and at most {MOST_RECORDS:,} are measured "
                f"so; measure blocks"
            )
        return _sums(self.bins, self.prefixes, self.unit, counts._counts)[0]


@lru_cache(maxsize=8)
def column_norms(bins: int, prefixes: bool, unit: int) -> tuple[int, int]:  # noqa: FBT001  # a cache's keys
    """Return the largest L1 norm and the largest squared L2 norm of a column of whole weights."""
    _, absolute, squares = _sums(bins, prefixes, unit, np.zeros(bins, dtype=np.int64))
    return int(absolute.max()), int(squares.max())


def _sums(
    bins: int,
    prefixes: bool,  # noqa: FBT001
    unit: int,
    counts: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the sums of counts, and both norms of each bin's weights."""
    from dpopt.private.measurements.kernels import weighted_sums

    waves = waves_of(bins, prefixes=prefixes)
    heights, norms = waves.weights()
    sums, absolute, squares = (np.zeros(bins, dtype=np.int64) for _ in range(3))
    first, apart = int(waves.columns[0]), 2 if prefixes else 1
    weighted_sums(unit * heights, norms, waves.rows, first, apart, waves.table, counts, sums, absolute, squares)
    return sums, absolute, squares
