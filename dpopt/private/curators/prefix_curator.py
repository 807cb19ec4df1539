"""The curators of sums that are measured in order, all paid for first: prefixes that grow, and rounds."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.arrays import freeze
from dpopt.constraints import constrain
from dpopt.errors import BudgetError, PlanError, PrivateDataError
from dpopt.private.curators.door import Door
from dpopt.private.measurements.bin_measurement import SumsInRounds
from dpopt.private.measurements.noisy_counts import Scale, noise_charge
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.transcript.released import NoisyAnswers

LARGEST_WEIGHT, MOST_STEPS, MOST_RECORDS = 2**16, 2**14, 2**46
"""Sums of weights stay below 2^62; steps are limited by time, which grows with their square."""


@dataclass(frozen=True, slots=True, eq=False)
class PrefixRows:
    """Weighted sums over the bins so far: a record counts weights[t] in the row of its bin and t later ones."""

    name: str
    """The name of the counts."""
    scale: Scale
    """sigma of the discrete Gaussian noise of each row, in units of the weights."""
    weights: NDArray[np.int64]
    """Shape (T,). From 0 to 2^16, one for each bin of the whole horizon."""
    gaussian: bool = field(default=True, init=False)

    def __post_init__(self) -> None:
        constrain(self, PlanError)
        weights = self.weights
        if not 1 <= weights.size <= MOST_STEPS or weights.min() < 0 or weights.max() > LARGEST_WEIGHT:
            raise PlanError(
                f"{self.name}: expected 1 to {MOST_STEPS:,} weights from 0 to {LARGEST_WEIGHT:,}, found "
                f"{weights.size:,}"
            )

    def charge(self, bins_of_a_record: int, relation: NeighbouringRelation) -> Charge:
        """Return the charge of all rows of the horizon together.

        **Sensitivity.** A record lies in one bin and moves the rows by a column of the triangular matrix: a beginning
        of the weights, so by sum weights^2 at most in squared L2, under add-remove. **Theorem.**
        `dpopt.accounting.measurements.measurement_charge`. Privacy: C1, C16 in docs/privacy. Test:
        `tests/private/test_wave_sums.py`.

        Raises PlanError for a graph, or under replace-one.
        """
        if bins_of_a_record != 1 or relation is not NeighbouringRelation.ADD_REMOVE:
            raise PlanError("prefixes that grow count records that come: neighbours are add-remove, and no graphs")
        return noise_charge(self, sum(one * one for one in self.weights.tolist()), relation)

    def exact(self, counts: BinCounts, first: int, last: int) -> NDArray[np.int64]:
        """Return rows first, ..., last - 1. Private; nothing depends on later bins.

        Raises PrivateDataError if there is not one weight for each bin, or there are too many records.
        """
        if counts._counts.size != self.weights.size or counts._rows > MOST_RECORDS:
            raise PrivateDataError(
                f"{self.name}: expected {self.weights.size:,} bins with at most {MOST_RECORDS:,} records"
            )
        return np.convolve(counts._counts[:last], self.weights[:last])[first:last]


class PrefixCurator(Door[BinCounts]):
    """Measures rows in order, each once; parameters as for `Door`."""

    _measured = 0
    _charge_of_all: Charge | None = None

    def recall_rows(self, charge: Charge, measured: int) -> None:
        """Take note of the charge on file, and of how many rows were drawn for it. Privacy: A5, C16 in docs/privacy."""
        self.recall(charge, drawn=False)
        self._charge_of_all, self._measured = charge, measured

    def measure_to(self, rows: PrefixRows, last: int) -> NoisyAnswers:
        """Charge all rows of the horizon unless they are paid, then draw those that were not drawn, up to `last`.

        Neighbouring relation, sensitivity and theorem: see `PrefixRows.charge`. Privacy: A3, A5, C16 in docs/privacy.

        Raises BudgetError if the rows were drawn before, the charge on file is another one, or is not reserved, before
        anything is drawn; PrivateDataError as `PrefixRows.exact`.
        """
        first = self._measured
        if not first < last <= rows.weights.size:
            raise BudgetError(
                f"{first:,} of {rows.weights.size:,} steps were measured, and none is measured again; found the first "
                f"{last:,}"
            )
        charge = rows.charge(self._dataset._public, self._relation)
        exact = rows.exact(self._dataset, first, last)
        if self._charge_of_all is None:
            self._charge_of_all = self._charged(charge)
        elif self._charge_of_all != charge:
            raise BudgetError(f"the charge on file is not that of {rows.name!r}")
        self._measured = last
        return self._noisy(exact, rows, charge, first=first)


class RoundsCurator(Door[BinCounts]):
    """Measures rounds in order, each once; parameters as for `Door`."""

    _rounds: SumsInRounds | None = None
    _measured = 0
    _open: NDArray[np.bool_]  # (n,): which bins may be measured once more

    def measure_round(
        self, rounds: SumsInRounds, groups: NDArray[np.int64], last: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Charge all rounds unless they are paid, then draw the next one; return the noisy sum of each group, (m,).

        `groups` (n,) has the group of each bin, -1 for bins that are in none; `last` (m,) says which groups have their
        last time. Both are public: functions of released values. Neighbouring relation, sensitivity and theorem: see
        `SumsInRounds.charge`. Privacy: A3, C5, C20 in docs/privacy.

        Raises BudgetError if no round is left, a bin had its last time before, or the charge is not reserved, before
        anything is drawn; PlanError or PrivateDataError if groups and bins do not fit together; nothing is drawn then.
        """
        place = self._measured
        if place == len(rounds.scales) or self._rounds not in (None, rounds):
            raise BudgetError(f"{place:,} of {len(rounds.scales):,} rounds were measured; found another one")
        if groups.size and not -1 <= groups.min() <= groups.max() < last.size:
            raise PlanError(f"groups are numbered 0 to {last.size - 1:,}, and -1 is none")
        still = self._open if self._measured else np.ones(groups.size, dtype=np.bool_)
        if groups.shape != still.shape or (groups[~still] >= 0).any():
            raise BudgetError("found bins in a round that were measured for the last time before")
        chosen = rounds.sums(place, groups, last)
        exact = [sums.exact(self._dataset) for _, sums in chosen]
        charge = rounds.charge(self._dataset._public, self._relation)
        if place == 0:
            self._paid_once(charge)
        self._rounds, self._measured = rounds, place + 1
        self._open = still & ~np.append(last, False)[groups]
        values = np.zeros(last.size, dtype=np.int64)
        for (own, sums), counts in zip(chosen, exact, strict=True):
            values[own] = self._noisy(counts, sums, charge, round=place + 1).values
        return freeze(values)
