"""How far marginals are from public predictions of them: one whole number for each marginal.

The distance of a marginal with counts m_c from predictions b_c / u, in units of one u-th of a record, is

    sum over its cells c of |u m_c - b_c|.

A record that is added or removed changes one count of each marginal by one, and so each distance by u at most; one that
is replaced changes two counts, and each distance by 2 u at most. That is little beside the noise on all cells:
distances tell cheaply which marginals are worth measuring.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.constraints import constrain
from dpopt.errors import WorkloadError
from dpopt.queries.marginal_set import MarginalSet

UNIT = 64
"""Predictions are rounded to this fraction of a record."""

LARGEST_TOTAL = 2**60
"""Largest sum of a marginal's predictions, in units; of up to 2^40 records all distances then stay within 2^61."""


@dataclass(frozen=True, slots=True, eq=False)
class Distances:
    """L1 distances of marginals from predictions, in units of 1 / 64 of a record."""

    marginals: MarginalSet
    """Which marginals."""
    predictions: NDArray[np.int64]
    """Shape (cells,). The predicted count of each cell, in units, at least 0."""

    def __post_init__(self) -> None:
        constrain(self, WorkloadError)
        cells = self.marginals.number_of_cells
        if self.predictions.shape != (cells,) or (self.predictions < 0).any():
            raise WorkloadError(
                f"distances: found predictions of shape {self.predictions.shape}; expected one of at least 0 for each "
                f"of {cells:,} cells"
            )
        totals = np.add.reduceat(self.predictions.astype(np.float64), self.marginals.starts[:-1])
        if (totals > LARGEST_TOTAL).any():
            raise WorkloadError("distances: found predictions of more than 2^40 records; predict fewer")

    def __len__(self) -> int:
        """Return the number of marginals."""
        return len(self.marginals)

    def of(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the distances, (marginals,), of the counts of all cells, (cells,), of at most 2^40 records."""
        apart = np.abs(UNIT * counts - self.predictions)
        distances: NDArray[np.int64] = np.add.reduceat(apart, self.marginals.starts[:-1])
        return distances

    def sensitivity(self, *, replaced: bool, squared: bool) -> int:
        """Return by how much one record, added or replaced, moves the numbers: the squared L2 distance, or L1.

        Both are upper bounds. Privacy: C18 in docs/privacy.
        """
        moved = UNIT * (1 + replaced)
        return len(self.marginals) * (moved * moved if squared else moved)
