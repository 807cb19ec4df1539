"""The curator of decision lists: measures how much all rows count in each conjunction of a number of literals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.measurements import measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import BudgetError, PlanError, PrivateDataError
from dpopt.private.curators.door import Door, is_trusted
from dpopt.private.measurements.noisy_counts import with_noise
from dpopt.private.mechanisms.noise import Noise, OpendpNoise
from dpopt.private.tables.list_table import PrivateLists
from dpopt.queries.decision_lists.coefficients import ListCoefficients
from dpopt.queries.decision_lists.families import LARGEST_LENGTH
from dpopt.transcript.journal import Journal
from dpopt.transcript.released import NoisyAnswers


@dataclass(frozen=True, slots=True)
class ListCounts:
    """What the rows count in all conjunctions of a number of literals, and the noise on each.

    Attributes
    ----------
    size : int
        How many literals; 0 for the empty conjunction, which is true everywhere.
    scale : float
        sigma of the discrete Gaussian or b of the discrete Laplace law, in units of the coefficients.
    gaussian : bool
    """

    size: int
    scale: float
    gaussian: bool

    def __post_init__(self) -> None:
        if not 0 <= self.size <= LARGEST_LENGTH:
            raise PlanError(f"conjunctions of {self.size} literals; expected 0 to {LARGEST_LENGTH}")

    @property
    def name(self) -> str:
        """What is counted, in words."""
        if self.size == 0:
            return "lists at the empty conjunction"
        return (
            "lists at single literals" if self.size == 1 else f"lists at conjunctions of {self.size} literals"
        )

    def charge(self, coefficients: ListCoefficients, relation: NeighbouringRelation) -> Charge:
        """Return what it costs.

        **Sensitivity.** `ListCoefficients.moved`: the largest distance between the counts of neighbours, in L1 for Laplace and
        in L2 for Gaussian noise, over all rows of the declared family. **Theorem.**
        `dpopt.accounting.measurements.measurement_charge`. Privacy: C1, C10 in docs/privacy.md. Test:
        `tests/private/test_list_curator.py`.
        """
        moved = coefficients.moved(
            self.size, replaced=relation is NeighbouringRelation.REPLACE_ONE, squared=self.gaussian
        )
        return measurement_charge(self.name, moved, self.scale, gaussian=self.gaussian, relation=relation)


class ListCurator(Door[PrivateLists]):
    """Answers a driver with noisy counts of what decision lists count in conjunctions, and with nothing else.

    Parameters
    ----------
    lists : PrivateLists
    coefficients : ListCoefficients
        Public; of the family by which the rows were read.
    ledger : Ledger
        Holds the reservation of the whole plan; every charge is spent here before its draw is made.
    journal : Journal
        Gets charge, then draw, each before anything else sees it.
    size : int
        Under replace-one the number of rows, which is public then; not used under add-remove.
    noise : Noise, optional
        Anything but the default marks the ledger as not private.
    threads : int
        Threads for drawing.
    progress : callable, optional
        Called with the share of one measurement that is done; its timing depends on public sizes only.

    Raises
    ------
    PrivateDataError
        Under replace-one, if there are not exactly `size` rows; or if they were read by another declaration.
    """

    def __init__(
        self,
        lists: PrivateLists,
        coefficients: ListCoefficients,
        ledger: Ledger,
        journal: Journal,
        *,
        size: int,
        noise: Noise | None = None,
        threads: int = 2,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        if lists._family != coefficients.family:
            raise PrivateDataError("the rows were read by another declaration than that of the coefficients")
        noise = OpendpNoise() if noise is None else noise
        super().__init__(
            lists,
            ledger,
            journal,
            size=size,
            noise=noise,
            trusted=is_trusted(None, noise),
            threads=threads,
            progress=progress,
        )
        self._coefficients = coefficients
        self._measured: set[int] = set()
        self._counts: list[NDArray[np.int64]] = []

    def count(self) -> None:
        """Count, for the measurements to come; nothing leaves."""
        from dpopt.queries.decision_lists.kernels import count_in_lists

        lists, coefficients = self._dataset, self._coefficients
        self._counts = count_in_lists(
            lists._variables,
            lists._positive,
            lists._bits,
            coefficients.values,
            2**coefficients.bits,
            len(coefficients.family.variables),
        )

    def measure(self, measurement: ListCounts) -> NoisyAnswers:
        """Charge, then add noise to the counts.

        Neighbouring relation, sensitivity and theorem: see `ListCounts.charge`, which is computed here, never taken from the
        caller. Privacy: C10 in docs/privacy.md.

        Raises
        ------
        BudgetError
            If the ledger has no reservation left for this charge, or this size was measured before; nothing is drawn then.
        PlanError
            If the measurement is anything else, whose charge nobody has proven, or the coefficients have no such size; nothing
            is spent then.
        """
        if type(measurement) is not ListCounts:
            raise PlanError(f"found a {type(measurement).__name__}; expected counts of lists")
        if measurement.size > self._coefficients.largest_size:
            raise PlanError(
                f"found conjunctions of {measurement.size} literals; the coefficients end at {self._coefficients.largest_size}"
            )
        if measurement.size in self._measured:
            raise BudgetError(f"{measurement.name!r} was measured before, and no draw is repeated")
        if not self._counts:
            self.count()
        charge = self._charged(measurement.charge(self._coefficients, self._relation))
        self._measured.add(measurement.size)
        answers = with_noise(
            self._counts[measurement.size],
            measurement,
            charge,
            self._noise,
            threads=self._threads,
            progress=self._progress,
        )
        return self._released(answers, answers.to_json())
