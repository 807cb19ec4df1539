"""From exact counts behind their door to intervals: ReleaseIntervals of Blum, Ligett and Roth, corrected.

    lo = 1
    while lo <= bins and fewer than K - 1 intervals were found:
        b = the first bin at which the noisy count from lo on reaches T        (a binary search with noisy comparisons)
        lo = b + 1
    the last interval is what is left

against the printed pseudo-code: the next interval starts after the last bin of the one before, a search halves what is left
and ends, at most K - 1 searches are made and all are charged, and weights add up to all records.
"""

from __future__ import annotations

from dpopt.accounting.ledger import Account
from dpopt.algorithms.statement import privacy_statement
from dpopt.errors import PlanError
from dpopt.private.curators.searching_curator import IntervalSearch, SearchingCurator
from dpopt.private.measurements.bin_measurement import GroupSums
from dpopt.private.mechanisms.noise import Noise
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.grids import box_of_cells
from dpopt.releases.ledgers import reserved_ledger
from dpopt.releases.progress import Progress, Silent, stage
from dpopt.synopses.intervals.interval_plan import MASSES, IntervalPlan
from dpopt.synopses.intervals.partition import interval_partition
from dpopt.synopses.intervals.partition_release import PartitionRelease
from dpopt.transcript.journal import MemoryJournal


def release_intervals(
    counts: BinCounts,
    plan: IntervalPlan,
    bins: Bins | None = None,
    *,
    noise: Noise | None = None,
    progress: Progress | None = None,
    account: Account | None = None,
) -> PartitionRelease:
    """Find the intervals of a plan, measure them if it says so, and return them with weights.

    Everything is charged before it is drawn. If the run ends before it returns, nothing has left the private side.

    Parameters
    ----------
    counts : BinCounts
        The exact counts. Private.
    plan : IntervalPlan
    bins : Bins, optional
        What the bins are; positions 0, 1, ... if left out.
    noise : Noise, optional
        Anything but the default marks the release as not private.
    progress : Progress, optional
    account : Account, optional
        From where it is paid besides (`dpopt.releases.ledgers.open_account`).

    Raises
    ------
    PlanError
        If plan and bins have different numbers of bins.
    PrivateDataError
        If the counts do not have the plan's number of bins, or under replace-one another number of records.
    BudgetError
        If the plan costs more than its budget.
    """
    told = progress or Silent()
    named = Bins("bins", plan.bins) if bins is None else bins
    if named.number != plan.bins:
        raise PlanError(
            f"found {named.number:,} bins for a plan of {plan.bins:,}; plan for the bins that are there"
        )
    ledger = reserved_ledger(plan.budget, plan.relation, plan.charges(), account)
    with stage(told, "searching intervals"):
        curator = SearchingCurator(
            counts, ledger, MemoryJournal(keep=False), shape=(plan.bins,), size=plan.size, noise=noise
        )
        ends: list[int] = []
        start = 0
        while start < plan.bins and len(ends) < plan.searches:
            search = IntervalSearch(
                len(ends) + 1, start, plan.threshold, plan.comparisons, plan.scale, plan.gaussian
            )
            end = int(curator.search(search).ends[0])
            ends.append(end)
            start = end + 1
            told.share(len(ends) / plan.searches)
    with stage(told, "counting intervals"):
        measured = plan.mass_scale is not None
        found = [end for end in ends if end < plan.bins - 1]  # a search that ended there found nothing
        partition = interval_partition(plan.bins, found, last_bins_alone=measured, measured=measured)
        noisy = []
        if plan.mass_scale is not None:
            groups = box_of_cells(partition.shape, partition.starts, partition.stops)
            sums = GroupSums(MASSES, plan.mass_scale, plan.gaussian, groups, len(partition))
            noisy.append(curator.measure(sums).values)
        curator.spend_the_rest()
    privacy = privacy_statement(plan, ledger)
    released = PartitionRelease((named,), plan, partition, tuple(noisy), privacy)
    _ = released.weights
    return released
