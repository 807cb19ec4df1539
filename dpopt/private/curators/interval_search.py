"""What is searched in counts of bins: the end of an interval that holds a given number of records, by noisy comparisons."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import LARGEST_SCALE, SMALLEST_SCALE, measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError


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
