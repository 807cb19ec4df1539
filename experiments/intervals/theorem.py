"""Theorem 4.3 of Blum, Ligett and Roth as printed and corrected: how many records an error needs, and its plan.

With d comparisons to a search (2^d bins), error alpha for all ranges with probability 1 - delta, and pure epsilon:

    printed      alpha' = alpha / 6,  n >= 8 d / (epsilon alpha) ln(8 d / (delta alpha))
    its proof    noise of all comparisons <= alpha'^2:  n >= 288 d / (epsilon alpha^3) ln(8 d / (alpha delta))
    corrected    alpha' = alpha / 3,  K = ceil(4 / alpha),  tau = alpha^2 / (12 + 6 alpha):
                 n >= 48 (1 + alpha / 2) d / (epsilon alpha^3) ln(4 d / (delta alpha))

The corrected one: noise of at most tau n makes a range wrong by at most K tau + 2 (alpha' + tau), which is
(4 / alpha + 2) tau + 2 alpha / 3 = alpha where 4 / alpha is whole. Where a bin holds a > 1 records, (K + 2) a
comes on top. The weights are the paper's: T records for each interval that was found; dpopt measures them instead. At the
printed size the error is not kept: experiments/intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.budget import Budget
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.measurements import measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.curators.searching_curator import IntervalSearch, SearchingCurator, comparisons_needed, search_charge
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.synopses.histograms.counts_plan import is_gaussian, whole_amount
from dpopt.synopses.intervals.partition_plan import check_unit
from dpopt.transcript.journal import MemoryJournal

_STEPS = 200


@dataclass(frozen=True, slots=True)
class TheoremPlan:
    """What the theorem does, with searches as dpopt makes them; the scale is that of the noise of a comparison, in records."""

    bins: int
    relation: NeighbouringRelation
    budget: Budget
    gaussian: bool
    size: int
    intervals: int
    threshold: int
    scale: float


def printed_records(alpha: float, epsilon: float, comparisons: int, delta: float) -> int:
    """Return the number of records that Theorem 4.3 asks for as it is printed; it is too small."""
    return ceil(8 * comparisons / (epsilon * alpha) * log(8 * comparisons / (delta * alpha)))


def records_of_its_proof(alpha: float, epsilon: float, comparisons: int, delta: float) -> int:
    """Return the number of records that the proof of Theorem 4.3 uses, with alpha' = alpha / 6."""
    return ceil(288 * comparisons / (epsilon * alpha**3) * log(8 * comparisons / (alpha * delta)))


def corrected_records(alpha: float, epsilon: float, comparisons: int, delta: float) -> int:
    """Return a number of distinct records that is enough for the error alpha, with alpha' = alpha / 3."""
    return ceil(48 * (1 + alpha / 2) * comparisons / (epsilon * alpha**3) * log(4 * comparisons / (delta * alpha)))


def corrected_error(records: int, epsilon: float, comparisons: int, delta: float) -> float | None:
    """Return the least alpha below 1 for which so many records are enough; None if there is none."""
    if corrected_records(1.0, epsilon, comparisons, delta) > records:
        return None
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        enough = middle > 0 and corrected_records(middle, epsilon, comparisons, delta) <= records
        low, high = (low, middle) if enough else (middle, high)
    return high


def theorem_plan(
    bins: int,
    budget: Budget,
    size: int,
    alpha: float,
    *,
    relation: NeighbouringRelation = NeighbouringRelation.REPLACE_ONE,
    divisor: int = 3,
) -> TheoremPlan:
    """Return the plan of the theorem: alpha' = alpha / divisor, ceil(4 divisor / (3 alpha)) intervals.

    Parameters
    ----------
    bins : int
    size : int
        n.
    alpha : float
        The wanted error, as a share of n; it is what the plan states, whether or not n is enough.
    divisor : int
        3 as corrected, 6 as printed.
    """
    check_unit("alpha", alpha)
    amount, gaussian = whole_amount(budget), is_gaussian(budget)
    intervals = min(ceil(4 * divisor / (3 * alpha)), bins)
    tests = (intervals - 1) * comparisons_needed(bins)
    scale = measurement_scale(1, amount=amount / tests, gaussian=gaussian)
    threshold = max(1, ceil(alpha / divisor * size))
    return TheoremPlan(bins, relation, budget, gaussian, size, intervals, threshold, scale)


def printed_density(counts: BinCounts, plan: TheoremPlan) -> NDArray[np.float64]:
    """Return the records of each bin, (bins,): each interval that was found has T of them, the last one the rest.

    Where the found ones would have more than all records, they share these equally and the last has none.
    """
    ledger, comparisons = Ledger(plan.budget, plan.relation), comparisons_needed(plan.bins)
    ledger.reserve(
        [
            search_charge(number, comparisons, plan.scale, gaussian=plan.gaussian, relation=plan.relation)
            for number in range(1, plan.intervals)
        ]
    )
    curator = SearchingCurator(counts, ledger, MemoryJournal(keep=False), shape=(plan.bins,), size=plan.size)
    places = [0]
    while places[-1] < plan.bins and len(places) < plan.intervals:
        search = IntervalSearch(len(places), comparisons, plan.scale, plan.gaussian, places[-1], plan.threshold)
        places.append(int(curator.search(search).ends[0]) + 1)
    if places[-1] == plan.bins:  # the last search found nothing
        places.pop()
    found = len(places) - 1
    each = min(float(plan.threshold), plan.size / found) if found else 0.0
    weights, sides = np.array([each] * found + [plan.size - each * found]), np.diff([*places, plan.bins])
    return np.repeat(weights / sides, sides)
