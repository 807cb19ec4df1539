"""The curator of splits: cuts all boxes of a partition at their noisy medians, and measures sums of bins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.measurements import LARGEST_SCALE, SMALLEST_SCALE, measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError, PrivateDataError
from dpopt.private.curators.interval_curator import SearchingCurator, comparisons_needed
from dpopt.private.mechanisms.noise import DISCRETE_GAUSSIAN, DISCRETE_LAPLACE, Noise
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.box_cells import cut_boxes, sums_before, sums_of_boxes, whole_box
from dpopt.transcript.journal import Journal
from dpopt.transcript.released import NoisySearch


@dataclass(frozen=True, slots=True)
class MedianCut:
    """A cut of all boxes of a partition along an axis, each at its noisy median.

    Attributes
    ----------
    number : int
        Which cut of the run, from 1; tells its charge from those of the others.
    axis : int
    comparisons : int
        How many comparisons each search may make at most; all are charged. 0 where boxes have two bins at most.
    scale : float
        sigma of the discrete Gaussian or b of the discrete Laplace noise of each difference, in records.
    gaussian : bool
        Which of the two.

    Raises
    ------
    PlanError
        If a number is out of range.
    """

    number: int
    axis: int
    comparisons: int
    scale: float
    gaussian: bool

    def __post_init__(self) -> None:
        if self.number < 1 or self.axis < 0 or self.comparisons < 0:
            raise PlanError(
                f"found cut {self.number} along axis {self.axis} with {self.comparisons} comparisons; expected numbers from 1, "
                "0 and 0 on"
            )
        if not SMALLEST_SCALE <= self.scale < LARGEST_SCALE:
            raise PlanError(
                f"{self.name}: the scale of the noise must be from {SMALLEST_SCALE:g} to below {LARGEST_SCALE:g} records, "
                f"found {self.scale!r}"
            )

    @property
    def name(self) -> str:
        """What is compared, in words."""
        return f"comparisons of cut {self.number}"

    def charge(self, relation: NeighbouringRelation) -> Charge | None:
        """Return what all comparisons cost; None where nothing is compared.

        **Sensitivity.** A step compares, for every box of a partition, the records below a place with those above it: the
        vector of all differences gets noise. Add-remove: 1 in L1, 1 in squared L2. Replace-one: 2 in L1, 4 in squared L2.

        **Theorem.** `dpopt.accounting.measurements.measurement_charge`; composition of the steps, each of which may depend on
        those before. Privacy: C1, D2 in docs/privacy.md. Test: `tests/boundary/test_exact_loss_of_intervals.py`.
        """
        if not self.comparisons:
            return None
        moved = 1 if relation is NeighbouringRelation.ADD_REMOVE else (4 if self.gaussian else 2)
        single = measurement_charge(self.name, moved, self.scale, gaussian=self.gaussian, relation=relation)
        return replace(single, count=self.comparisons)


class SplitCurator(SearchingCurator):
    """Answers a driver with places of cuts and noisy sums only.

    It holds the partition itself, from the whole grid on, so that boxes have no cell in common whatever the driver does.

    Parameters as for `BinCurator`, and

    Parameters
    ----------
    shape : tuple of int
        Bins of each axis; the counts are those of the cells in C order.

    Raises
    ------
    PrivateDataError
        If the counts are of another number of cells.
    """

    def __init__(
        self,
        counts: BinCounts,
        ledger: Ledger,
        journal: Journal,
        *,
        shape: tuple[int, ...],
        size: int,
        noise: Noise | None = None,
        threads: int = 2,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        if counts._counts.size != prod(shape):
            raise PrivateDataError(
                f"the plan was made for {prod(shape):,} cells, and {counts._counts.size:,} were counted"
            )
        super().__init__(counts, ledger, journal, size=size, noise=noise, threads=threads, progress=progress)
        self._shape = shape
        self._starts, self._stops = whole_box(shape)
        self._before = sums_before(counts._counts.reshape(shape))

    def cut(self, what: MedianCut) -> NoisySearch:
        """Charge all comparisons of a cut, then make it; returns behind which bin each box is cut.

        In each box with two bins or more along the axis, binary search for the first place at which
        records below - records above + noise >= 0, where at least one bin stays above; all boxes step by step together. A box
        with one bin along the axis stays whole.

        Neighbouring relation, sensitivity and theorem: see `MedianCut.charge`. The charge is computed here. Privacy: D2 in
        docs/privacy.md.

        Raises
        ------
        BudgetError
            If the ledger has no reservation left for this charge, or the cut was made before; nothing is drawn then.
        PlanError
            If this is no cut, or it cannot end with so many comparisons; nothing is spent then.
        """
        if type(what) is not MedianCut or what.axis >= len(self._shape):
            raise PlanError(f"found {what!r}; expected a cut along one of {len(self._shape)} axes")
        if self._dataset._bins_of_a_record != 1:
            raise PlanError("boxes of nodes are not cut; an edge may count twice in one")
        starts, stops = self._starts, self._stops
        places = np.maximum(stops[:, what.axis] - starts[:, what.axis] - 1, 1)
        needed = comparisons_needed(int(places.max()))
        if needed > what.comparisons:
            raise PlanError(f"{what.name}: found {what.comparisons} comparisons; it may need {needed}")
        name = self._new_name(what.name)
        charge = what.charge(self._relation)
        if charge is not None:
            self._charged(charge)
        self._names.add(name)
        low = starts[:, what.axis].copy()
        high = low + places - 1
        while (low < high).any():
            middle = (low + high) // 2
            exact = self._differences(what.axis, middle)
            noisy = self._with_noise(exact, what.scale, gaussian=what.gaussian)
            open_, below = low < high, noisy >= 0
            high = np.where(open_ & below, middle, high)
            low = np.where(open_ & ~below, middle + 1, low)
        self._starts, self._stops, _ = cut_boxes(starts, stops, what.axis, low)
        law = DISCRETE_GAUSSIAN if what.gaussian else DISCRETE_LAPLACE
        found = NoisySearch(name, low, law, what.scale, charge)
        return self._released(found, found.to_json())

    def _differences(self, axis: int, ends: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for each box the records up to the bin `ends` less those above it, (c,). Private."""
        middle = self._stops.copy()
        middle[:, axis] = ends + 1
        below = sums_of_boxes(self._before, self._starts, middle)
        return 2 * below - sums_of_boxes(self._before, self._starts, self._stops)
