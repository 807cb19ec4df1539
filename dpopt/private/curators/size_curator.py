"""The curator of the number of records: lets it out once, with noise, where it is not public."""

from __future__ import annotations

import numpy as np

from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.size import SizeMeasurement
from dpopt.errors import PlanError
from dpopt.private.curators.door import Door, is_trusted
from dpopt.private.measurements.noisy_counts import with_noise
from dpopt.private.mechanisms.noise import Noise, OpendpNoise
from dpopt.private.tables.closed import Closed
from dpopt.transcript.journal import Journal
from dpopt.transcript.released import NoisyAnswers


class SizeCurator(Door[Closed]):
    """Answers with a noisy number of records, and nothing else.

    Privacy: C14 in docs/privacy.md. Test: `tests/boundary/test_exact_loss_of_sizes.py`.

    Parameters
    ----------
    dataset : Closed
        The records, of whatever kind.
    ledger : Ledger
        Holds the reservation of the measurement, under add-remove.
    journal : Journal
        Gets charge, then value, each before anything else sees it.
    noise : Noise, optional
        Anything but the default marks the ledger as not private.

    Raises
    ------
    PlanError
        Under replace-one, where the number of records is public and costs nothing.
    """

    def __init__(
        self, dataset: Closed, ledger: Ledger, journal: Journal, *, noise: Noise | None = None
    ) -> None:
        if ledger.relation is NeighbouringRelation.REPLACE_ONE:
            raise PlanError(
                "under replace-one the number of records is public; take it from the table, and measure nothing"
            )
        noise = OpendpNoise() if noise is None else noise
        super().__init__(dataset, ledger, journal, size=0, noise=noise, trusted=is_trusted(None, noise))

    def measure(self, measurement: SizeMeasurement) -> NoisyAnswers:
        """Charge, then count the records and add noise.

        Neighbouring relation, sensitivity and theorem: see `SizeMeasurement.charge`. The charge is computed here from the
        scale, never taken from the caller. Checked by `tests/boundary/test_exact_loss_of_sizes.py`.

        Privacy: C14 in docs/privacy.md.

        Raises
        ------
        BudgetError
            If the ledger has no reservation left for this charge; nothing is drawn then.
        """
        self._charged(measurement.charge())
        return self._measured(measurement)

    def complete_measure(self, measurement: SizeMeasurement) -> NoisyAnswers:
        """Make the measurement of the charge that was recalled without its value; nothing had left the curator.

        Privacy: A5, C14 in docs/privacy.md.

        Raises
        ------
        BudgetError
            If no such charge was recalled, or it is another one.
        """
        self._recalled(measurement.charge(), f"the {measurement.name}")
        return self._measured(measurement)

    def _measured(self, measurement: SizeMeasurement) -> NoisyAnswers:
        """Add noise, put on file, hand out. The charge was spent and is on file. Privacy: C14 in docs/privacy.md."""
        exact = np.array([self._dataset._rows], dtype=np.int64)
        value = with_noise(exact, measurement, measurement.charge(), self._noise)
        return self._released(value, value.to_json())
