"""The curator of interval releases: finds where intervals end by noisy comparisons, and measures sums of bins.

`IntervalSearch` says what is searched in counts of bins: the end of an interval that holds a given number of records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.measurements import LARGEST_SCALE, SMALLEST_SCALE, measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import BudgetError, PlanError, PrivateDataError
from dpopt.private.curators.bin_curator import BinCurator
from dpopt.private.mechanisms.noise import DISCRETE_GAUSSIAN, DISCRETE_LAPLACE, Noise
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.transcript.journal import Journal
from dpopt.transcript.released import NoisySearch


@dataclass(frozen=True, slots=True)
class IntervalSearch:
    """A binary search for the first bin at which the noisy count from `start` on reaches a threshold.

    Attributes
    ----------
    number : int
        Which search of the run, from 1; tells its charge from those of the others.
    start : int
        The first bin of the interval.
    threshold : int
        In records, at least 1.
    comparisons : int
        How many comparisons the search may make at most; all of them are charged.
    scale : float
        sigma of the discrete Gaussian or b of the discrete Laplace noise of each comparison, in records.
    gaussian : bool
        Which of the two.

    Raises
    ------
    PlanError
        If a number is out of range.
    """

    number: int
    start: int
    threshold: int
    comparisons: int
    scale: float
    gaussian: bool

    def __post_init__(self) -> None:
        if self.number < 1 or self.start < 0 or self.threshold < 1 or self.comparisons < 1:
            raise PlanError(
                f"found search {self.number} from bin {self.start} for {self.threshold} records with {self.comparisons} "
                "comparisons; expected numbers from 1 on, and a bin from 0 on"
            )
        if not SMALLEST_SCALE <= self.scale < LARGEST_SCALE:
            raise PlanError(
                f"{self.name}: the scale of the noise must be from {SMALLEST_SCALE:g} to below {LARGEST_SCALE:g} records, "
                f"found {self.scale!r}"
            )

    @property
    def name(self) -> str:
        """What is compared, in words."""
        return search_name(self.number)

    def charge(self, relation: NeighbouringRelation) -> Charge:
        """Return what it costs; see `search_charge`. Privacy: D1 in docs/privacy.md."""
        return search_charge(
            self.number, self.comparisons, self.scale, gaussian=self.gaussian, relation=relation
        )


def search_name(number: int) -> str:
    """Return the name of a search; it is the label of its charge."""
    return f"comparisons of search {number}"


def search_charge(
    number: int, comparisons: int, scale: float, *, gaussian: bool, relation: NeighbouringRelation
) -> Charge:
    """Return the charge of all comparisons that a search may make.

    **Neighbouring relation and sensitivity.** A comparison tells whether the count of one range of bins, with noise of its own,
    reaches a public threshold: 1 in L1 and in L2 under both relations.

    **Theorem.** `dpopt.accounting.measurements.measurement_charge`, and composition of `comparisons` of them, each of which may
    depend on those before (Blum, Ligett and Roth 2011, Theorem 4.2, with the number of searches capped). Privacy: C1, D1 in
    docs/privacy.md. Test: `tests/boundary/test_exact_loss_of_intervals.py`.
    """
    single = measurement_charge(search_name(number), 1, scale, gaussian=gaussian, relation=relation)
    return replace(single, count=comparisons)


def comparisons_needed(bins: int) -> int:
    """Return how many comparisons find one of so many bins: ceil(log2(bins))."""
    return (bins - 1).bit_length()


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

        Neighbouring relation, sensitivity and theorem: `dpopt.private.curators.interval_curator.search_charge`. The charge is
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
