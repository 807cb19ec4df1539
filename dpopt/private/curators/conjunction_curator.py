"""The curator of summaries: measures how many records satisfy each conjunction of a number of literals."""

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
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.conjunctions.literals import LARGEST_SIZE, ChosenLiterals
from dpopt.transcript.journal import Journal
from dpopt.transcript.released import NoisyAnswers


@dataclass(frozen=True, slots=True)
class ConjunctionCounts:
    """All conjunctions of a number of literals, and the noise on each.

    Attributes
    ----------
    size : int
        How many literals; at least 1.
    scale : float
        sigma of the discrete Gaussian or b of the discrete Laplace law, in records.
    gaussian : bool
    """

    size: int
    scale: float
    gaussian: bool

    def __post_init__(self) -> None:
        if not 1 <= self.size <= LARGEST_SIZE:
            raise PlanError(f"conjunctions of {self.size} literals; expected 1 to {LARGEST_SIZE}")

    @property
    def name(self) -> str:
        """What is counted, in words."""
        return "single literals" if self.size == 1 else f"conjunctions of {self.size} literals"

    def charge(self, literals: ChosenLiterals, relation: NeighbouringRelation) -> Charge:
        """Return what it costs.

        **Sensitivity.** `LiteralGroups.moved`: so many counts differ between neighbours, each by 1 (L1; its root in L2).
        **Theorem.** `dpopt.accounting.measurements.measurement_charge`. Privacy: C1, C8 in docs/privacy.md. Test:
        `tests/private/test_conjunction_curator.py`.
        """
        moved = literals.groups.moved(self.size, replaced=relation is NeighbouringRelation.REPLACE_ONE)
        return measurement_charge(self.name, moved, self.scale, gaussian=self.gaussian, relation=relation)


class ConjunctionCurator(Door[PrivateDataset]):
    """Answers a driver with noisy counts of conjunctions only.

    Parameters
    ----------
    dataset : PrivateDataset
        The records, with the attributes of the literals and no others.
    literals : ChosenLiterals
    ledger : Ledger
        Holds the reservation of the whole plan; every charge is spent here before its draw is made.
    journal : Journal
        Gets charge, then draw, each before anything else sees it.
    size : int
        Under replace-one the number of records, which is public then; not used under add-remove.
    noise : Noise, optional
        Anything but the default marks the ledger as not private.
    threads : int
        Threads for counting and drawing.
    progress : callable, optional
        Called with the share of one measurement that is done; its timing depends on public sizes only.

    Raises
    ------
    PrivateDataError
        Under replace-one, if there are not exactly `size` records; or if the attributes are not those of the literals.
    """

    def __init__(
        self,
        dataset: PrivateDataset,
        literals: ChosenLiterals,
        ledger: Ledger,
        journal: Journal,
        *,
        size: int,
        noise: Noise | None = None,
        threads: int = 2,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        if dataset._schema.fingerprint() != literals.schema.fingerprint():
            raise PrivateDataError("the table was read with other attributes than those of the literals")
        noise = OpendpNoise() if noise is None else noise
        super().__init__(
            dataset,
            ledger,
            journal,
            size=size,
            noise=noise,
            trusted=is_trusted(None, noise),
            threads=threads,
            progress=progress,
        )
        self._literals = literals
        self._measured: set[int] = set()
        self._counts: list[NDArray[np.int64]] = []

    def count(self, most: int) -> None:
        """Count all conjunctions of 1, ..., `most` literals, for the measurements to come; nothing leaves."""
        from dpopt.queries.counting.packing_kernels import pack_columns
        from dpopt.queries.counting.subset_kernels import count_subsets

        packed = pack_columns(self._dataset._columns, self._dataset._schema.sizes)
        offsets = self._dataset._schema.offsets
        rows = [
            int(packed.positions[offsets[attribute] + code])
            for attribute, codes in enumerate(self._literals.codes)
            for code in codes
        ]
        self._counts = count_subsets(
            packed.words[rows], self._literals.groups, most, threads=self._threads, progress=self._progress
        )

    def measure(self, measurement: ConjunctionCounts) -> NoisyAnswers:
        """Charge, then add noise to the counts.

        Neighbouring relation, sensitivity and theorem: see `ConjunctionCounts.charge`, which is computed here, never taken from
        the caller. Privacy: C8 in docs/privacy.md.

        Raises
        ------
        BudgetError
            If the ledger has no reservation left for this charge, or this size was measured before; nothing is drawn then.
        PlanError
            If the measurement is anything else, whose charge nobody has proven; nothing is spent then.
        """
        if type(measurement) is not ConjunctionCounts:
            raise PlanError(f"found a {type(measurement).__name__}; expected counts of conjunctions")
        if measurement.size in self._measured:
            raise BudgetError(f"{measurement.name!r} was measured before, and no draw is repeated")
        if len(self._counts) < measurement.size:
            self.count(measurement.size)
        charge = self._charged(measurement.charge(self._literals, self._relation))
        self._measured.add(measurement.size)
        answers = with_noise(
            self._counts[measurement.size - 1],
            measurement,
            charge,
            self._noise,
            threads=self._threads,
            progress=self._progress,
        )
        return self._released(answers, answers.to_json())
