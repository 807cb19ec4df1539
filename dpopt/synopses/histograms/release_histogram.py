"""From exact counts behind their door to a histogram."""

from __future__ import annotations

from dpopt.accounting.ledger import Account
from dpopt.algorithms.statement import privacy_statement
from dpopt.errors import PlanError
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.private.mechanisms.noise import Noise
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.bins import Bins
from dpopt.releases.ledgers import reserved_ledger
from dpopt.releases.progress import Progress, Silent, stage
from dpopt.synopses.histograms.histogram import Histogram
from dpopt.synopses.histograms.tree_plan import TreePlan
from dpopt.transcript.journal import MemoryJournal


def release_histogram(
    counts: BinCounts,
    plan: TreePlan,
    bins: Bins | None = None,
    *,
    noise: Noise | None = None,
    progress: Progress | None = None,
    account: Account | None = None,
) -> Histogram:
    """Measure the levels of a plan and return the histogram that they agree on.

    Everything is charged before it is drawn. If the run ends before it returns, nothing has left the private side.

    Parameters
    ----------
    counts : BinCounts
        The exact counts. Private.
    plan : TreePlan
    bins : Bins, optional
        What the bins are; positions 0, 1, ... if left out.
    noise : Noise, optional
        Anything but the default marks the histogram as not private.
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
    with stage(told, "measuring"):
        curator = CountingCurator(
            counts, ledger, MemoryJournal(keep=False), size=plan.size or 0, noise=noise, progress=told.share
        )
        noisy = tuple(curator.measure(plan.measurement(level)).values for level in plan.levels)
    with stage(told, "making the counts consistent"):
        privacy = privacy_statement(plan, ledger)
        released = Histogram(named, plan, noisy, privacy)
        _ = released.counts
    return released
