"""The curator of sums in rounds: all are paid first, and a bin that was measured for the last time is measured no more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.errors import BudgetError, PlanError
from dpopt.private.curators.door import Door
from dpopt.private.measurements.bin_measurement import SumsInRounds
from dpopt.private.tables.bin_counts import BinCounts


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
