"""The curator of histograms and degree sequences: measures counts in bins."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from dpopt.accounting.ledger import Ledger
from dpopt.errors import BudgetError, PlanError
from dpopt.private.curators.door import Door, is_trusted
from dpopt.private.measurements.bin_measurement import BinMeasurement
from dpopt.private.measurements.noisy_counts import with_noise
from dpopt.private.mechanisms.noise import Noise, OpendpNoise
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.transcript.journal import Journal
from dpopt.transcript.released import NoisyAnswers


class BinCurator(Door[BinCounts]):
    """Answers a driver with noisy sums, sorted counts and numbers of bins only.

    Parameters
    ----------
    counts : BinCounts
        The exact counts.
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
    progress : callable, optional
        Called with the share of one measurement that is done.

    Raises
    ------
    PrivateDataError
        Under replace-one, if there are not exactly `size` records.
    """

    def __init__(
        self,
        counts: BinCounts,
        ledger: Ledger,
        journal: Journal,
        *,
        size: int,
        noise: Noise | None = None,
        threads: int = 2,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        noise = OpendpNoise() if noise is None else noise
        super().__init__(
            counts,
            ledger,
            journal,
            size=size,
            noise=noise,
            trusted=is_trusted(None, noise),
            threads=threads,
            progress=progress,
        )
        self._names: set[str] = set()

    def measure(self, measurement: BinMeasurement) -> NoisyAnswers:
        """Charge, then count and add noise.

        Neighbouring relation, sensitivity and theorem: see the measurement's `charge`, which is computed here, never taken from
        the caller. Privacy: C5, C6, C7 in docs/privacy.md.

        Raises
        ------
        BudgetError
            If the ledger has no reservation left for this charge, or the name was measured before; nothing is drawn then.
        PlanError
            If the measurement is none of these counts; nothing is spent then.
        """
        if type(measurement) not in get_args(BinMeasurement):
            raise PlanError(
                f"found a {type(measurement).__name__}; expected sums of groups, sorted counts, or bins in use"
            )
        if measurement.name in self._names:
            raise BudgetError(f"{measurement.name!r} was measured before, and no draw is repeated")
        charge = self._charged(measurement.charge(self._dataset, self._relation))
        self._names.add(measurement.name)
        answers = with_noise(
            measurement.exact(self._dataset),
            measurement,
            charge,
            self._noise,
            threads=self._threads,
            progress=self._progress,
        )
        return self._released(answers, answers.to_json())
