"""The curator of halfspaces: measures on which sides of projected halfspaces records lie."""

from __future__ import annotations

from typing import get_args

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.ledger import Ledger
from dpopt.errors import BudgetError, PlanError, PrivateDataError
from dpopt.private.curators.door import Door, is_trusted
from dpopt.private.measurements.halfspace_measurement import HalfspaceMeasurement, NumberOfRecords, Sides
from dpopt.private.measurements.noisy_counts import with_noise
from dpopt.private.mechanisms.noise import Noise, OpendpNoise
from dpopt.private.readers.read_numbers import HalfspacePoints
from dpopt.queries.halfspaces.halfspaces import Projections
from dpopt.transcript.journal import Journal
from dpopt.transcript.released import NoisyAnswers


class HalfspaceCurator(Door[HalfspacePoints]):
    """Answers a driver with noisy numbers of records on sides of halfspaces only.

    Parameters
    ----------
    points : HalfspacePoints
    projections : Projections
        Public.
    ledger : Ledger
        Holds the reservation of the whole plan; every charge is spent here before its draw is made.
    journal : Journal
        Gets charge, then draw, each before anything else sees it.
    size : int
        Under replace-one the number of records, which is public then; not used under add-remove.
    noise : Noise, optional
        Anything but the default marks the ledger as not private.
    threads : int
        Threads for drawing.

    Raises
    ------
    PrivateDataError
        Under replace-one, if there are not exactly `size` records; or if the points have another number of coordinates.
    """

    def __init__(
        self,
        points: HalfspacePoints,
        projections: Projections,
        ledger: Ledger,
        journal: Journal,
        *,
        size: int,
        noise: Noise | None = None,
        threads: int = 2,
    ) -> None:
        found, expected = points._coordinates.shape[1], projections.shape[0]
        if found != expected:
            raise PrivateDataError(f"points of {found} coordinates, and projections of points of {expected}")
        noise = OpendpNoise() if noise is None else noise
        super().__init__(
            points, ledger, journal, size=size, noise=noise, trusted=is_trusted(None, noise), threads=threads
        )
        self._projections = projections
        self._measured: set[str] = set()
        self._bins: NDArray[np.int64] | None = None

    def measure(self, measurement: HalfspaceMeasurement) -> NoisyAnswers:
        """Charge, then count and add noise.

        Neighbouring relation, sensitivity and theorem: see the measurement's `charge`, which is computed here, never taken from
        the caller. Privacy: C11, C12 in docs/privacy.md.

        Raises
        ------
        BudgetError
            If the ledger has no reservation left for this charge, or the same was measured before; nothing is drawn then.
        PlanError
            If the measurement is anything else, whose charge nobody has proven; nothing is spent then.
        """
        if type(measurement) not in get_args(HalfspaceMeasurement):
            raise PlanError(
                f"found a {type(measurement).__name__}; expected sides, arcs, or the number of records"
            )
        if measurement.name in self._measured:
            raise BudgetError(f"{measurement.name!r} was measured before, and no draw is repeated")
        charge = self._charged(measurement.charge(self._projections, self._relation))
        self._measured.add(measurement.name)
        answers = with_noise(
            self._exact(measurement), measurement, charge, self._noise, threads=self._threads
        )
        return self._released(answers, answers.to_json())

    def _exact(self, measurement: HalfspaceMeasurement) -> NDArray[np.int64]:
        if isinstance(measurement, NumberOfRecords):
            return np.array([self._dataset._rows], dtype=np.int64)
        if isinstance(measurement, Sides):
            return measurement.exact(self._dataset, self._projections, self._relation)
        return measurement.exact(self._counted_bins())

    def _counted_bins(self) -> NDArray[np.int64]:
        """Return how many records fall into each bin of angles, (m, 2 h), counted once for all levels."""
        if self._bins is None:
            from dpopt.private.measurements.halfspace_kernels import count_angles

            _, _, m, h = self._projections.shape
            self._bins = np.zeros((m, 2 * h), dtype=np.int64)
            count_angles(
                self._dataset._coordinates,
                self._projections.matrices,
                self._projections.directions,
                self._bins,
            )
        return self._bins
