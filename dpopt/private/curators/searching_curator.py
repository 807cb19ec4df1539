"""The curator of interval releases: finds by noisy comparisons where intervals end and boxes are cut, and measures counts.

`IntervalSearch` says what is searched in counts of bins: the end of an interval that holds a given number of records.
`MedianCut` says along which axis all boxes of a partition are cut, each at its noisy median.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Annotated, Unpack

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.measurements import measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.constraints import Whole, constrain
from dpopt.errors import PlanError, PrivateDataError
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.private.curators.door import Use
from dpopt.private.measurements.noisy_counts import Scale, noise_charge
from dpopt.private.mechanisms.noise import DISCRETE_GAUSSIAN, DISCRETE_LAPLACE
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.grids import cut_boxes, sums_before, sums_of_boxes, whole_box
from dpopt.transcript.journal import Journal
from dpopt.transcript.released import NoisySearch


@dataclass(frozen=True, slots=True)
class _Search:
    """A binary search of a run, and the noise of its comparisons.

    Raises PlanError if a number is out of range.
    """

    number: Annotated[int, Whole("the number of a search")]
    """Number of the search, or of the cut, in the run, from 1; part of the label of its charge."""
    comparisons: Annotated[int, Whole("the number of comparisons", least=0)]
    """How many comparisons each search may make at most; all of them are charged."""
    scale: Scale
    """sigma of the discrete Gaussian or b of the discrete Laplace noise of each comparison, in records."""
    gaussian: bool
    """Which of the two."""

    @property
    def name(self) -> str:
        """The name of the compared counts."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        constrain(self, PlanError)


@dataclass(frozen=True, slots=True)
class IntervalSearch(_Search):
    """A binary search for the first bin at which the noisy count from `start` on reaches a threshold."""

    start: Annotated[int, Whole("the first bin of an interval", least=0)]
    threshold: Annotated[int, Whole("the threshold of a search")]
    """In records."""

    @property
    def name(self) -> str:
        """The name of the compared counts."""
        return f"comparisons of search {self.number}"

    def charge(self, relation: NeighbouringRelation) -> Charge:
        """Return the charge; see `search_charge`. Privacy: D1 in docs/privacy."""
        return search_charge(self.number, self.comparisons, self.scale, gaussian=self.gaussian, relation=relation)


def search_charge(
    number: int, comparisons: int, scale: float, *, gaussian: bool, relation: NeighbouringRelation
) -> Charge:
    """Return the charge of all comparisons that a search may make.

    **Neighbouring relation and sensitivity.** A comparison shows whether the count of one range of bins, with noise of
    its own, reaches a public threshold: 1 in L1 and in L2 under both relations.

    **Theorem.** `dpopt.accounting.measurements.measurement_charge`, and composition of `comparisons` of them, each of
    which may depend on those before (Blum, Ligett and Roth 2013, Theorem 4.2, with the number of searches capped).
    Privacy: C1, D1 in docs/privacy. Test: `tests/boundary/test_exact_loss.py`.
    """
    single = measurement_charge(f"comparisons of search {number}", 1, scale, gaussian=gaussian, relation=relation)
    return replace(single, count=comparisons)


def comparisons_needed(bins: int) -> int:
    """Return the number of comparisons that find one of the bins: ceil(log2(bins))."""
    return (bins - 1).bit_length()


@dataclass(frozen=True, slots=True)
class MedianCut(_Search):
    """A cut of all boxes of a partition along an axis, each at its noisy median; boxes of two bins need no comparison."""

    axis: Annotated[int, Whole("the axis of a cut", least=0)]

    @property
    def name(self) -> str:
        """The name of the compared counts."""
        return f"comparisons of cut {self.number}"

    def charge(self, relation: NeighbouringRelation) -> Charge | None:
        """Return the charge of all comparisons; None if there are none.

        **Sensitivity.** A step compares, for every box of a partition, the records below a place with those above it:
        the vector of all differences gets noise. Add-remove: 1 in L1, 1 in squared L2. Replace-one: 2 in L1, 4 in
        squared L2.

        **Theorem.** `dpopt.accounting.measurements.measurement_charge`; composition of the steps, each of which may
        depend on those before. Privacy: C1, D2 in docs/privacy. Test: `tests/boundary/test_exact_loss.py`.
        """
        if not self.comparisons:
            return None
        sensitivity = 1 if relation is NeighbouringRelation.ADD_REMOVE else (4 if self.gaussian else 2)
        return replace(noise_charge(self, sensitivity, relation), count=self.comparisons)


class SearchingCurator(CountingCurator):
    """Answers a driver with ends of intervals, places of cuts and noisy sums only; a run ends with `spend_the_rest`.

    It holds the partition that is cut itself, from the whole grid on, so that boxes have no cell in common whatever the
    driver does. Parameters as for `Door`, and the `shape`, the bins of each axis that the plan was made for; the counts
    are those of the cells in C order.

    Raises PrivateDataError if another number of bins was counted.
    """

    _dataset: BinCounts

    def __init__(
        self, counts: BinCounts, ledger: Ledger, journal: Journal, *, shape: tuple[int, ...], **use: Unpack[Use]
    ) -> None:
        if counts._counts.size != prod(shape):
            raise PrivateDataError(
                f"the plan was made for {prod(shape):,} bins, and {counts._counts.size:,} were counted"
            )
        super().__init__(counts, ledger, journal, **use)
        self._shape = shape
        self._starts, self._stops = whole_box(shape)

    def search(self, what: IntervalSearch) -> NoisySearch:
        """Charge all comparisons of a search, then make it; returns where the interval ends.

        Binary search for the first bin e with count(start, ..., e) + noise >= threshold, a comparison with fresh noise
        at each step; the last bin of the domain if no comparison says so. A function of the outcomes alone.

        Neighbouring relation, sensitivity and theorem: `dpopt.private.curators.searching_curator.search_charge`. The
        charge is computed here, from what is searched. Privacy: D1 in docs/privacy.

        Raises BudgetError if the ledger has no reservation left for this charge, or the search was made before, before
        anything is drawn; PlanError if this is no search, or it cannot end with so many comparisons; nothing is spent
        then.
        """
        if type(what) is not IntervalSearch or len(self._shape) != 1:
            raise PlanError(f"found a {type(what).__name__}; expected a search for the end of an interval")
        (bins,) = self._shape
        if what.start >= bins:
            raise PlanError(f"{what.name}: found a search from bin {what.start:,} of {bins:,}")
        charge = self._charged_for(what, what.charge(self._relation), comparisons_needed(bins - what.start))
        before, start = self._before, np.array([what.start], dtype=np.int64)
        found = self._first(what, start, np.array([bins - 1]), lambda middle: before[middle + 1] - before[start])
        return self._found(what, found, charge)

    def cut(self, what: MedianCut) -> NoisySearch:
        """Charge all comparisons of a cut, then make it; returns behind which bin each box is cut.

        In each box with two bins or more along the axis, binary search for the first place at which records below -
        records above + noise >= 0, where at least one bin stays above; all boxes step by step together. A box with one
        bin along the axis stays whole.

        Neighbouring relation, sensitivity and theorem: see `MedianCut.charge`. The charge is computed here. Privacy: D2
        in docs/privacy.

        Raises BudgetError if the ledger has no reservation left for this charge, or the cut was made before, before
        anything is drawn; PlanError if this is no cut, or it cannot end with so many comparisons; nothing is spent
        then.
        """
        if type(what) is not MedianCut or what.axis >= len(self._shape):
            raise PlanError(f"found {what!r}; expected a cut along one of {len(self._shape)} axes")
        starts, stops = self._starts, self._stops
        places = np.maximum(stops[:, what.axis] - starts[:, what.axis] - 1, 1)
        charge = self._charged_for(what, what.charge(self._relation), comparisons_needed(int(places.max())))
        low = starts[:, what.axis].copy()
        found = self._first(what, low, low + places - 1, lambda middle: self._differences(what.axis, middle))
        self._starts, self._stops, _ = cut_boxes(starts, stops, what.axis, found)
        return self._found(what, found, charge)

    def spend_the_rest(self) -> None:
        """Charge the unspent rest of the reservation, and draw nothing.

        How many searches are made, and of how many comparisons, depends on the table through noisy outcomes, so that
        all that were reserved are charged. Privacy: D3 in docs/privacy.
        """
        for charge in self._ledger.unspent:
            self._charged(charge)

    def _charged_for(self, what: _Search, charge: Charge | None, needed: int) -> Charge | None:
        """Spend the charge of a search that can be made; None costs nothing, since nothing is compared.

        Privacy: A3, D1, D2 in docs/privacy.
        """
        if self._dataset._bins_of_a_record != 1:
            raise PlanError("ranges and boxes of nodes are not searched; an edge may count twice in one")
        if needed > what.comparisons:
            raise PlanError(f"{what.name}: found {what.comparisons} comparisons; it may need {needed}")
        if charge is not None:
            return self._paid_once(charge)
        self._not_drawn(what.name)
        self._labels.add(what.name)
        return None

    def _first(
        self,
        what: _Search,
        low: NDArray[np.int64],
        high: NDArray[np.int64],
        exact: Callable[[NDArray[np.int64]], NDArray[np.int64]],
    ) -> NDArray[np.int64]:
        """Return by binary search the first place of each range at which an exact number with noise reaches the threshold."""
        threshold = what.threshold if isinstance(what, IntervalSearch) else 0
        while (low < high).any():
            middle = (low + high) // 2
            reached = self._compared(exact(middle), what) >= threshold
            open_ = low < high
            high = np.where(open_ & reached, middle, high)
            low = np.where(open_ & ~reached, middle + 1, low)
        return low

    def _compared(self, exact: NDArray[np.int64], what: _Search) -> NDArray[np.int64]:
        """Return exact numbers with noise of their own each; the charge was spent and is on file."""
        add_noise = self._noise.discrete_gaussian if what.gaussian else self._noise.discrete_laplace
        return add_noise(exact, what.scale)

    def _found(self, what: _Search, places: NDArray[np.int64], charge: Charge | None) -> NoisySearch:
        """Write the result to the transcript, then return it. Privacy: A3, D1, D2 in docs/privacy."""
        distribution = DISCRETE_GAUSSIAN if what.gaussian else DISCRETE_LAPLACE
        found = NoisySearch(what.name, places, distribution, what.scale, charge)
        return self._released(found, found.to_json())

    @cached_property
    def _before(self) -> NDArray[np.int64]:
        """How many records lie before each cell, along all axes. Private."""
        return sums_before(self._dataset._counts.reshape(self._shape))

    def _differences(self, axis: int, ends: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each box the records up to the bin `ends` less those above it, (c,). Private."""
        middle = self._stops.copy()
        middle[:, axis] = ends + 1
        below = sums_of_boxes(self._before, self._starts, middle)
        return 2 * below - sums_of_boxes(self._before, self._starts, self._stops)
