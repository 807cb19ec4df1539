"""The curator of noisy counts: of queries, bins, conjunctions, lists, coefficients, points, columns, and records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.private.curators.door import Door
from dpopt.private.measurements.bin_measurement import BinsInUse, ColumnSums, GroupSums, SortedCounts
from dpopt.private.measurements.conjunction_measurement import (
    ConjunctionCounts,
    ConjunctionTable,
    ListCounts,
    ListTable,
)
from dpopt.private.measurements.halfspace_measurement import ProjectedPoints, Sides
from dpopt.private.measurements.measurement import Measurement, NumberOfRecords
from dpopt.private.measurements.noisy_counts import Noised
from dpopt.private.measurements.sanitizer_sums import CoefficientSums, CoefficientTable
from dpopt.private.measurements.wave_sums import WaveSums
from dpopt.private.tables.bin_counts import BinCounts, ColumnCounts
from dpopt.private.tables.closed import Closed
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.threads import USUAL
from dpopt.transcript.released import NoisyAnswers

MEASUREMENTS: Mapping[type, type[Closed]] = {
    Measurement: PrivateDataset,
    GroupSums: BinCounts,
    SortedCounts: BinCounts,
    BinsInUse: BinCounts,
    WaveSums: BinCounts,
    ConjunctionCounts: ConjunctionTable,
    ListCounts: ListTable,
    CoefficientSums: CoefficientTable,
    Sides: ProjectedPoints,
    ColumnSums: ColumnCounts,
    NumberOfRecords: Closed,
}
"""Types of measurements with proven charges (docs/privacy), each with the type of the data that it measures."""


class Counted(Noised, Protocol):
    """A type of `MEASUREMENTS`: public values give its charge, private data its exact value."""

    def charge(self, public: Any, relation: NeighbouringRelation) -> Charge:
        """Return the charge, a function of the public facts (`Closed._public`). Privacy: C1 in docs/privacy."""
        ...

    def exact(self, held: Any, relation: NeighbouringRelation, threads: int = USUAL) -> NDArray[np.int64]:
        """Return the exact values, before noise. Private."""
        ...


class CountingCurator(Door[Closed]):
    """Answers a driver with noisy counts only; parameters as for `Door`."""

    def measure(self, measurement: Counted, *, again: bool = False, **where: int) -> NoisyAnswers:
        """Count, charge, then add noise.

        Neighbouring relation, sensitivity and theorem: see the measurement's `charge`. It is computed here from the
        measurement and what is public, never taken from the caller. `where` goes into the transcript: ``round=3``.

        Each name is measured once.

        Privacy: A3, A5, C2, C3, C5, C6, C7, C8, C9, C10, C11, C12, C14, C15, C17, C18, C19 in docs/privacy.

        Raises BudgetError, before anything is drawn, if the ledger has no reservation left for this charge, none such was
        recalled, or the name was measured already; PlanError, before anything is spent, if the measurement is none of
        `MEASUREMENTS`, whose charge nobody has proven, or not one of these records; WorkloadError or PrivateDataError
        if measurement and records do not fit together; nothing is spent then.
        """
        return self._measured(measurement, again=again, **where)

    def _measured(self, measurement: Counted, *, again: bool, **where: int) -> NoisyAnswers:
        """Measure once for each name. Privacy: A3, C2 in docs/privacy."""
        held = MEASUREMENTS.get(type(measurement))
        if held is None or not isinstance(self._dataset, held):
            known = [one.__name__ for one, of in MEASUREMENTS.items() if isinstance(self._dataset, of)]
            raise PlanError(f"found a {type(measurement).__name__}; expected one of {', '.join(known)}")
        self._not_drawn(measurement.name)
        charge = measurement.charge(self._dataset._public, self._relation)
        exact = measurement.exact(self._dataset, self._relation, self._threads)
        paid = self._paid_once(charge, f"the measurement {measurement.name!r}", again=again, **where)
        return self._noisy(exact, measurement, paid, **where)
