"""A door that also measures counts of queries on the records of a table."""

from __future__ import annotations

from dpopt.accounting.charges import Charge
from dpopt.private.curators.door import Door
from dpopt.private.measurements.measurement import Measurement
from dpopt.private.measurements.noisy_counts import noisy_counts
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.transcript.released import NoisyAnswers


class TableDoor(Door[PrivateDataset]):
    """The door of the curators of a table."""

    def _measured(self, measurement: Measurement, charge: Charge, **where: int) -> NoisyAnswers:
        """Count, add noise, put on file, hand out. The charge was spent and is on file. Privacy: A3, C1 in docs/privacy.md."""
        answers = noisy_counts(
            self._dataset,
            measurement,
            charge,
            self._noise,
            threads=self._threads,
            progress=self._progress,
        )
        return self._released(answers, {**answers.to_json(), **where})
