"""The plan of an interval release: how many intervals, which threshold, how much noise; made from public numbers alone.

Writing T for the threshold, t for what the noise of no comparison exceeds with probability 1 - beta, n for the number of
records and K for the largest number of intervals, of which the last one is not searched for but holds what is left:

    an interval that was found holds at least T - t records, and any without its last bin at most T - 1 + t       (1)
    T = ceil((n + 1 + (K - 2) t) / K), so that what K - 1 found intervals leave is at most T - 1 + t               (2)

Printed weights (T records for each found interval, the rest for the last): a range is off by at most
K (t + a) + 2 (T + t + a) records, where no bin holds more than a. Measured weights: each interval's last bin is an interval
of its own, the sums of all are measured, and a range is off by at most 2 (T - 1 + t) + r, where the noise of no run of
sums exceeds r: however many records are equal.

Source: Blum, Ligett and Roth 2011, section 4 (its corrected statement: docs/research/intervals.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal

from dpopt.accounting.charges import Charge
from dpopt.errors import PlanError
from dpopt.private.curators.searching_curator import comparisons_needed, search_charge
from dpopt.synopses.intervals.partition_plan import PartitionPlan, check_domain

MASSES = "records in each interval"
"""What is measured of the intervals; the label of its charge."""


@dataclass(frozen=True, kw_only=True)
class IntervalPlan(PartitionPlan):
    """What an interval release does.

    Attributes
    ----------
    shape : tuple of int
        The bins of the one column, at least 2.
    intervals : int
        K, the most that are found, the last one included; K - 1 searches are reserved.
    threshold : int
        T, in records.
    atom : int
        a: with printed weights, the most records that one bin holds, as far as the stated error counts on it.
    """

    parts = "intervals"
    kind: Literal["intervals"] = "intervals"
    intervals: int
    threshold: int
    atom: int

    def __post_init__(self) -> None:
        if len(self.shape) != 1:
            raise PlanError(f"intervals are of one column, found {len(self.shape)}")
        check_domain(self.bins)
        super().__post_init__()
        if not 2 <= self.intervals <= self.bins:
            raise PlanError(
                f"found {self.intervals:,} intervals for {self.bins:,} bins; expected 2 to {self.bins:,}"
            )
        if self.threshold < 1 or self.atom < 1:
            raise PlanError(f"found the threshold {self.threshold} and atom {self.atom}; expected 1 or more")
        if not 0 <= self.error < inf:
            raise PlanError(f"found the stated error {self.error!r}; expected a number of records from 0 on")
        if len(self.mass_scales) > 1:
            raise PlanError(
                f"found {len(self.mass_scales)} scales of sums; intervals are summed once at most"
            )

    @property
    def bins(self) -> int:
        """Bins of the domain."""
        return self.shape[0]

    @property
    def aim(self) -> int:
        """How many records each interval is searched to have: the threshold."""
        return self.threshold

    @property
    def comparisons(self) -> int:
        """How many comparisons a search may make."""
        return comparisons_needed(self.bins)

    @property
    def searches(self) -> int:
        """How many searches are reserved."""
        return self.intervals - 1

    def charges(self) -> list[Charge]:
        """Return what everything costs: all searches, then the sums of the intervals."""
        found = [
            search_charge(
                number, self.comparisons, self.scale, gaussian=self.gaussian, relation=self.relation
            )
            for number in range(1, self.searches + 1)
        ]
        return found + self.charges_of_sums([MASSES] * len(self.mass_scales))

    def in_words(self) -> list[str]:
        """Return how intervals are searched and weighted."""
        if self.mass_scales:
            weights = f"intervals are counted with noise of scale {self.mass_scales[0]:,.4g}"
        else:
            weights = "weights are printed ones: each interval has as many records as it was searched for"
        searched = (
            f"at most {self.intervals:,} intervals of some {self.threshold:,} records: {self.searches:,} searches of "
            f"{self.comparisons} comparisons, each with {self.noise_in_words}"
        )
        return [searched, weights]

    @property
    def proven_for(self) -> str:
        """For which tables the stated error holds: with printed weights it counts on small atoms."""
        return "" if self.mass_scales else f", if no bin holds more than {self.atom:,} of them"
