"""The curator of interval releases: finds where intervals end by noisy comparisons, and measures sums of bins."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.ledger import Ledger
from dpopt.errors import BudgetError, PlanError, PrivateDataError
from dpopt.private.curators.bin_curator import BinCurator
from dpopt.private.curators.interval_search import IntervalSearch, comparisons_needed
from dpopt.private.mechanisms.noise import DISCRETE_GAUSSIAN, DISCRETE_LAPLACE, Noise
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.transcript.journal import Journal
from dpopt.transcript.noisy_search import NoisySearch


class SearchingCurator(BinCurator):
    """A curator of bins that also searches; a run ends with `spend_the_rest`."""

    def spend_the_rest(self) -> None:
        """Charge what is reserved and unspent, and draw nothing.

        How many searches are made, and of how many comparisons, depends on the table through noisy outcomes, so that all that
        were reserved are charged. Privacy: D3 in docs/privacy.md.
        """
        for charge in self._ledger.unspent:
            self._charged(charge)

    def _new_name(self, name: str) -> str:
        if name in self._names:
            raise BudgetError(f"{name!r} were made before, and no draw is repeated")
        return name

    def _with_noise(self, exact: NDArray[np.int64], scale: float, *, gaussian: bool) -> NDArray[np.int64]:
        """Return exact numbers with noise of their own each; the charge was spent and is on file."""
        add_noise = self._noise.discrete_gaussian if gaussian else self._noise.discrete_laplace
        return add_noise(exact, scale)


class IntervalCurator(SearchingCurator):
    """Answers a driver with ends of intervals and noisy sums only.

    Parameters as for `BinCurator`, and

    Parameters
    ----------
    bins : int
        How many bins the plan was made for.

    Raises
    ------
    PrivateDataError
        If another number of bins was counted.
    """

    def __init__(
        self,
        counts: BinCounts,
        ledger: Ledger,
        journal: Journal,
        *,
        bins: int,
        size: int,
        noise: Noise | None = None,
        threads: int = 2,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        if counts._counts.size != bins:
            raise PrivateDataError(
                f"the plan was made for {bins:,} bins, and {counts._counts.size:,} were counted"
            )
        super().__init__(counts, ledger, journal, size=size, noise=noise, threads=threads, progress=progress)

    def search(self, what: IntervalSearch) -> NoisySearch:
        """Charge all comparisons of a search, then make it; returns where the interval ends.

        Binary search for the first bin e with count(start, ..., e) + noise >= threshold, a comparison with fresh noise at each
        step; the last bin of the domain if no comparison says so. A function of the outcomes alone.

        Neighbouring relation, sensitivity and theorem: `dpopt.private.curators.interval_search.search_charge`. The charge is
        computed here, from what is searched. Privacy: D1 in docs/privacy.md.

        Raises
        ------
        BudgetError
            If the ledger has no reservation left for this charge, or the search was made before; nothing is drawn then.
        PlanError
            If this is no search, or it cannot end with so many comparisons; nothing is spent then.
        """
        if type(what) is not IntervalSearch:
            raise PlanError(f"found a {type(what).__name__}; expected a search for the end of an interval")
        bins = int(self._dataset._counts.size)
        if self._dataset._bins_of_a_record != 1:
            raise PlanError("ranges of nodes are not searched; an edge may count twice in one")
        needed = comparisons_needed(bins - what.start) if what.start < bins else 0
        if what.start >= bins or needed > what.comparisons:
            raise PlanError(
                f"{what.name}: found a search from bin {what.start:,} of {bins:,} with {what.comparisons} comparisons; it may "
                f"need {needed}"
            )
        name = self._new_name(what.name)
        charge = self._charged(what.charge(self._relation))
        self._names.add(name)
        before = self._counts_before
        low, high = what.start, bins - 1
        while low < high:
            middle = (low + high) // 2
            exact = before[middle + 1 : middle + 2] - before[what.start]
            noisy = self._with_noise(exact, what.scale, gaussian=what.gaussian)
            low, high = (low, middle) if noisy[0] >= what.threshold else (middle + 1, high)
        law = DISCRETE_GAUSSIAN if what.gaussian else DISCRETE_LAPLACE
        found = NoisySearch(name, np.array([low], dtype=np.int64), law, what.scale, charge)
        return self._released(found, found.to_json())

    @cached_property
    def _counts_before(self) -> NDArray[np.int64]:
        """How many records lie before each bin, (bins + 1,). Private."""
        return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(self._dataset._counts)))
