"""Measurements of counts in the finer bins of numeric columns: sums over intervals of cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.relations import NeighbouringRelation, once_or_twice
from dpopt.errors import PlanError
from dpopt.private.measurements.noisy_counts import NamedNoise, noise_charge
from dpopt.private.tables.bin_counts import ColumnCounts


@dataclass(frozen=True, slots=True, eq=False)
class ColumnSums(NamedNoise):
    """Sums over disjoint intervals of cells."""

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    """Shape (m,). The first cell of each interval, and the one after its last; in order."""
    columns: int
    """In how many columns intervals lie at most; so much is charged, whatever the intervals are: they depend on
    released values, and the charge was fixed before."""

    def __post_init__(self) -> None:
        NamedNoise.__post_init__(self)
        in_order = bool(np.all(self.starts < self.stops) and np.all(self.stops[:-1] <= self.starts[1:]))
        if not self.starts.size or self.starts.shape != self.stops.shape or self.starts[0] < 0 or not in_order:
            raise PlanError(f"{self.name}: expected intervals of cells in order, none with a cell of another")

    def charge(self, ends: NDArray[np.int64], relation: NeighbouringRelation) -> Charge:
        """Return the charge.

        **Sensitivity.** A record lies in at most one cell of each column, and a cell in at most one interval. So a
        record counts in at most one interval of each of `columns` columns: as much in L1, and in squared L2, under
        add-remove, and twice that under replace-one.

        **Theorem.** `dpopt.accounting.measurements.measurement_charge`. Privacy: C1, C19 in docs/privacy. Test:
        `tests/private/test_column_curator.py`.

        `ends` (columns of the table,) are where the cells of each column end.
        """
        of = np.searchsorted(ends, self.starts, side="right")
        if of[-1] >= ends.size or np.any(self.stops > ends[of]):
            raise PlanError(f"{self.name}: an interval ends beyond its column")
        if np.unique(of).size > self.columns:
            raise PlanError(f"{self.name}: intervals of more than {self.columns:,} columns, which are charged")
        return noise_charge(self, once_or_twice(self.columns, relation), relation)

    def exact(self, counts: ColumnCounts, *_: object) -> NDArray[np.int64]:
        """Return the sums, (m,). Private."""
        return np.asarray(counts._sums[self.stops] - counts._sums[self.starts])
