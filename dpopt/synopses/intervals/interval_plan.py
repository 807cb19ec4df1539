"""Plans of interval releases, made from public numbers alone: how many intervals, which threshold, how much noise.

A plan is that of the least proven error for a number of records and a budget.

Writing T for the threshold, t for what the noise of no comparison exceeds with probability 1 - beta, n for the number
of records and K for the largest number of intervals, of which the last one is not searched for but holds what is left:

    an interval that was found holds at least T - t records, and any without its last bin at most T - 1 + t       (1)
    T = ceil((n + 1 + (K - 2) t) / K), so that what K - 1 found intervals leave is at most T - 1 + t               (2)

Each interval's last bin is an interval of its own, the sums of all are measured, and a range is off by at most 2 (T - 1
+ t) + r, where the noise of no run of sums exceeds r: however many records are equal.

Source: Blum, Ligett and Roth 2013, section 4 (its corrected statement: docs/research/intervals.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, inf
from typing import Literal, Self

import numpy as np

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.files.json_files import json_object
from dpopt.private.curators.searching_curator import comparisons_needed, search_charge
from dpopt.releases.plan import removed
from dpopt.synopses.histograms.counts_plan import is_gaussian, node_sensitivity, whole_amount
from dpopt.synopses.intervals.partition_plan import (
    LARGEST_RECORDS,
    PartitionPlan,
    check_domain,
    check_records,
    check_unit,
)
from dpopt.synopses.sufficient import sufficient_budget, sufficient_records
from dpopt.synopses.summaries.noise_bounds import noise_bound, one_sided_reach

MASSES = "records in each interval"
"""Name of the measurement of the intervals; the label of its charge."""


@dataclass(frozen=True, kw_only=True)
class IntervalPlan(PartitionPlan):
    """The plan of a release of intervals of the bins of one column, at least 2."""

    parts = "intervals"
    kind: Literal["intervals"] = "intervals"
    intervals: int
    """K, the most that are found, the last one included; K - 1 searches are reserved."""
    threshold: int
    """T, in records."""

    def __post_init__(self) -> None:
        if len(self.shape) != 1:
            raise PlanError(f"intervals are of one column, found {len(self.shape)}")
        check_domain(self.bins)
        super().__post_init__()
        if not 2 <= self.intervals <= self.bins:
            raise PlanError(f"found {self.intervals:,} intervals for {self.bins:,} bins; expected 2 to {self.bins:,}")
        if self.threshold < 1:
            raise PlanError(f"found the threshold {self.threshold}; expected 1 or more")
        if not 0 <= self.error < inf:
            raise PlanError(f"found the stated error {self.error!r}; expected a number of records from 0 on")
        if len(self.mass_scales) != 1:
            raise PlanError(f"found {len(self.mass_scales)} scales of sums; intervals are summed once")

    @classmethod
    def from_json(cls, given: object) -> Self:
        """Read the output of `to_json`, also of an earlier version."""
        stated = json_object(given, "the plan", PlanError)
        if stated.get("mass_scales") == []:
            raise removed("printed weights", "intervals, whose measured weights have less error")
        return super().from_json({key: part for key, part in stated.items() if key != "atom"})

    @property
    def bins(self) -> int:
        """Bins of the domain."""
        return self.shape[0]

    @property
    def comparisons(self) -> int:
        """How many comparisons a search may make."""
        return comparisons_needed(self.bins)

    @property
    def searches(self) -> int:
        """How many searches are reserved."""
        return self.intervals - 1

    def charges(self) -> list[Charge]:
        """Return the charges: all searches, then the sums of the intervals."""
        found = [
            search_charge(number, self.comparisons, self.scale, gaussian=self.gaussian, relation=self.relation)
            for number in range(1, self.searches + 1)
        ]
        return found + self.charges_of_sums([MASSES])

    def in_words(self) -> list[str]:
        """Return how intervals are searched and weighted."""
        searched = (
            f"at most {self.intervals:,} intervals of some {self.threshold:,} records: {self.searches:,} searches of "
            f"{self.comparisons} comparisons, each with {self.noise_in_words}"
        )
        return [searched, f"intervals are counted with noise of scale {self.mass_scales[0]:,.4g}"]


BETA = 0.05
MOST_INTERVALS = 4096
_SHARES = tuple(np.geomspace(0.005, 0.6, 9).tolist())  # of the budget, for the sums of intervals
_FAILURES = 0.5  # share of beta for the comparisons


def plan_intervals(
    bins: int,
    budget: Budget,
    size: int | None,
    *,
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE,
    intervals: int | None = None,
    error: float | None = None,
    beta: float = BETA,
) -> IntervalPlan:
    """Return the plan with the least proven error of the worst range (`interval_plan`).

    minimize 2 (T - 1 + t) + r over K and the share of the budget for sums

    by trying all K up to 64 and geometric steps above, unless the user fixes it (`intervals`). The comparisons share
    their part of the budget equally. A plan whose proven error is above `error`, a share of the public number of
    records, is refused.
    """
    check_domain(bins)
    records = check_records(size)
    check_unit("beta", beta)
    check_unit("the wanted error", error)
    if intervals is not None and not 2 <= intervals <= min(bins, MOST_INTERVALS):
        raise PlanError(f"found {intervals:,} intervals; expected 2 to {min(bins, MOST_INTERVALS):,}")

    def best(given: Budget, records: int) -> IntervalPlan:
        return _Known(bins, given, records, relation, beta, whole_amount(given)).best(intervals)

    found = best(budget, records)
    if error is not None and found.error > error * records:
        raise PlanError(_refusal(found, error, best))
    return found


@dataclass(frozen=True, slots=True)
class _Known:
    """The inputs, and the plans that they allow."""

    bins: int
    budget: Budget
    size: int
    relation: NeighbouringRelation
    beta: float
    amount: float

    @property
    def gaussian(self) -> bool:
        return is_gaussian(self.budget)

    def best(self, fixed: int | None) -> IntervalPlan:
        if fixed is not None:
            return self._of(fixed)
        most = min(self.bins, MOST_INTERVALS)
        tried = np.unique(
            np.concatenate((np.arange(2, min(most, 24) + 1), np.geomspace(2, most, 60).round().astype(int)))
        )
        best = min((self._of(int(number)) for number in tried), key=lambda plan: plan.error)
        near = range(max(2, int(best.intervals / 1.2)), min(most, int(best.intervals * 1.2)) + 1)
        near = near[:: max(1, len(near) // 24)]
        return min((best, *(self._of(number) for number in near)), key=lambda plan: plan.error)

    def _of(self, intervals: int) -> IntervalPlan:
        return min((self._with(intervals, share) for share in _SHARES), key=lambda plan: plan.error)

    def _with(self, intervals: int, share: float) -> IntervalPlan:
        """Return the plan with K intervals and this share of the budget for their sums."""
        tests = (intervals - 1) * comparisons_needed(self.bins)
        of_tests = self.amount * (1.0 - share) / tests
        scale = measurement_scale(1, amount=of_tests, gaussian=self.gaussian)
        failing = self.beta * _FAILURES
        reach = one_sided_reach(scale, failing / tests, gaussian=self.gaussian)
        threshold = max(1, ceil((self.size + 1 + (intervals - 2) * reach) / intervals))
        mass_scale = measurement_scale(
            node_sensitivity(self.relation), amount=self.amount * share, gaussian=self.gaussian
        )
        runs, parts = (
            2 * intervals * (2 * intervals + 1),
            np.array([2.0 * intervals]),
        )  # of consecutive sums, and all others
        of_sums = noise_bound(np.array([mass_scale]), parts, self.beta - failing, gaussian=self.gaussian, queries=runs)
        return IntervalPlan(
            shape=(self.bins,),
            relation=self.relation,
            budget=self.budget,
            gaussian=self.gaussian,
            size=self.size,
            intervals=intervals,
            threshold=threshold,
            scale=scale,
            mass_scales=(mass_scale,),
            beta=self.beta,
            error=2.0 * (threshold - 1 + reach) + of_sums,
        )


def _refusal(found: IntervalPlan, error: float, best: Callable[[Budget, int], IntervalPlan]) -> str:
    """Return why a wanted error is not proven, with sufficient numbers."""
    size, budget = found.size, found.budget
    note = f"an error of {error:g} of the records ({error * size:,.0f}) {found.not_proven}"
    records = sufficient_records(lambda n: best(budget, n).error <= error * n, size, LARGEST_RECORDS)
    larger = sufficient_budget(lambda given: best(given, size).error <= error * size, budget)
    sufficient = [*([] if records is None else [f"n = {records:,} records"]), *([] if larger is None else [larger])]
    if not sufficient:
        return f"{note}; no number of records up to {LARGEST_RECORDS:,} is sufficient. Ask for a larger error"
    return f"{note}; sufficient: {' or '.join(sufficient)}"
