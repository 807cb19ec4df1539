"""The plan of an interval release: how many intervals, which threshold, how much noise; made from public numbers alone.

Writing T for the threshold, t for what the noise of no comparison exceeds with probability 1 - beta, n for the number of
records and K for the largest number of intervals, of which the last one is not searched for but holds what is left:

    an interval that was found holds at least T - t records, and any without its last bin at most T - 1 + t       (1)
    T = ceil((n + 1 + (K - 2) t) / K), so that what K - 1 found intervals leave is at most T - 1 + t               (2)

Printed weights (T records for each found interval, the rest for the last): a range is off by at most
K (t + a) + 2 (T + t + a) records, where no bin holds more than a. Measured weights: each interval's last bin is an interval
of its own, the sums of all are measured, and a range is off by at most 2 (T - 1 + t) + r, where the noise of no run of
sums exceeds r: however many records are equal.

Source: Blum, Ligett and Roth 2011, section 4 (`interval_theorem` has its corrected statement).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError, PlanError
from dpopt.files.codec import decode, encode
from dpopt.private.curators.searching_curator import comparisons_needed, search_charge
from dpopt.private.mechanisms.noise import DISCRETE_GAUSSIAN, DISCRETE_LAPLACE
from dpopt.synopses.histograms.counts_plan import check_scales, gaussian_noise, node_sensitivity
from dpopt.synopses.intervals.limits import check_domain, check_records, check_unit

MASSES = "records in each interval"
"""What is measured of the intervals; the label of its charge."""
KIND = "intervals"


@dataclass(frozen=True, slots=True)
class IntervalPlan:
    """What an interval release does.

    Attributes
    ----------
    bins : int
        Of the domain, at least 2.
    relation : NeighbouringRelation
    budget : Budget
    gaussian : bool
    size : int
        The public number of records: n under replace-one, n0 under add-remove.
    intervals : int
        K, the most that are found, the last one included; K - 1 searches are reserved.
    threshold : int
        T, in records.
    scale : float
        Of the noise of each comparison, in records.
    mass_scale : float or None
        Of the noise of the sums of intervals; None for printed weights.
    atom : int
        a: with printed weights, the most records that one bin holds, as far as the stated error counts on it.
    beta : float
        With which probability the stated error may be exceeded.
    error : float
        The stated error, in records: of all ranges together.
    """

    bins: int
    relation: NeighbouringRelation
    budget: Budget
    gaussian: bool
    size: int
    intervals: int
    threshold: int
    scale: float
    mass_scale: float | None
    atom: int
    beta: float
    error: float

    def __post_init__(self) -> None:
        check_domain(self.bins)
        check_records(self.size)
        check_unit("beta", self.beta)
        if not 2 <= self.intervals <= self.bins:
            raise PlanError(
                f"found {self.intervals:,} intervals for {self.bins:,} bins; expected 2 to {self.bins:,}"
            )
        if self.threshold < 1 or self.atom < 1:
            raise PlanError(f"found the threshold {self.threshold} and atom {self.atom}; expected 1 or more")
        if not 0 <= self.error < inf:
            raise PlanError(f"found the stated error {self.error!r}; expected a number of records from 0 on")
        check_scales((self.scale,) if self.mass_scale is None else (self.scale, self.mass_scale))

    @property
    def comparisons(self) -> int:
        """How many comparisons a search may make."""
        return comparisons_needed(self.bins)

    @property
    def searches(self) -> int:
        """How many searches are reserved."""
        return self.intervals - 1

    @property
    def total_is_public(self) -> bool:
        """Whether the number of records is public."""
        return self.relation is NeighbouringRelation.REPLACE_ONE

    def charges(self) -> list[Charge]:
        """Return what everything costs: all searches, then the sums of the intervals."""
        found = [
            search_charge(
                number, self.comparisons, self.scale, gaussian=self.gaussian, relation=self.relation
            )
            for number in range(1, self.searches + 1)
        ]
        if self.mass_scale is not None:
            found.append(
                measurement_charge(
                    MASSES,
                    node_sensitivity(self.relation),
                    self.mass_scale,
                    gaussian=self.gaussian,
                    relation=self.relation,
                )
            )
        return found

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        return {
            "kind": KIND,
            "bins": self.bins,
            "relation": self.relation.value,
            "neighbours": self.budget.neighbours(self.relation),
            "budget": encode(self.budget),
            "noise": DISCRETE_GAUSSIAN if self.gaussian else DISCRETE_LAPLACE,
            "size": self.size,
            "intervals": self.intervals,
            "comparisons_of_a_search": self.comparisons,
            "threshold": self.threshold,
            "scale": self.scale,
            "mass_scale": self.mass_scale,
            "atom": self.atom,
            "beta": self.beta,
            "error": self.error,
        }

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> IntervalPlan:
        """Read what `to_json` gave."""
        mass_scale = given["mass_scale"]
        return cls(
            bins=int(given["bins"]),
            relation=NeighbouringRelation(given["relation"]),
            budget=decode(Budget, given["budget"], "a budget", AccountingError),
            gaussian=gaussian_noise(given["noise"]),
            size=int(given["size"]),
            intervals=int(given["intervals"]),
            threshold=int(given["threshold"]),
            scale=float(given["scale"]),
            mass_scale=None if mass_scale is None else float(mass_scale),
            atom=int(given["atom"]),
            beta=float(given["beta"]),
            error=float(given["error"]),
        )
