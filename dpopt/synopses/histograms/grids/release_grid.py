"""From exact counts of cells behind their door to a histogram of several columns."""

from __future__ import annotations

from math import prod

from dpopt.accounting.ledger import Account
from dpopt.algorithms.statement import privacy_statement
from dpopt.errors import PlanError
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.private.measurements.bin_measurement import GroupSums
from dpopt.private.mechanisms.noise import Noise
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.grids import block_of_cells, blocks_shape
from dpopt.releases.ledgers import reserved_ledger
from dpopt.releases.progress import Progress, Silent, stage
from dpopt.synopses.histograms.grids.grid_histogram import GridHistogram
from dpopt.synopses.histograms.grids.grid_plan import GridPlan, blocks_name
from dpopt.transcript.journal import MemoryJournal


def release_grid(
    counts: BinCounts,
    plan: GridPlan,
    axes: tuple[Bins, ...] | None = None,
    *,
    noise: Noise | None = None,
    progress: Progress | None = None,
    account: Account | None = None,
) -> GridHistogram:
    """Measure the levels of a plan and return the histogram that they agree on.

    Everything is charged before it is drawn. If the run ends before it returns, nothing has left the private side.

    Parameters
    ----------
    counts : BinCounts
        The exact counts of the cells, the last column's bins fastest. Private.
    plan : GridPlan
    axes : tuple of Bins, optional
        What the bins of each column are; positions 0, 1, ... if left out.
    noise : Noise, optional
        Anything but the default marks the histogram as not private.
    progress : Progress, optional
    account : Account, optional
        From where it is paid besides (`dpopt.releases.ledgers.open_account`).

    Raises
    ------
    PlanError
        If plan and axes have different numbers of bins.
    PrivateDataError
        If the counts do not have the plan's number of cells, or under replace-one another number of records.
    BudgetError
        If the plan costs more than its budget.
    """
    told = progress or Silent()
    named = (
        tuple(Bins(f"column {place}", bins) for place, bins in enumerate(plan.shape))
        if axes is None
        else axes
    )
    if tuple(bins.number for bins in named) != plan.shape:
        raise PlanError(
            f"found columns of {[bins.number for bins in named]} bins for a plan of {list(plan.shape)}"
        )
    ledger = reserved_ledger(plan.budget, plan.relation, plan.charges(), account)
    with stage(told, "measuring"):
        curator = CountingCurator(
            counts, ledger, MemoryJournal(keep=False), size=plan.size or 0, noise=noise, progress=told.share
        )
        noisy = []
        for level, scale in zip(plan.levels, plan.scales, strict=True):
            blocks = blocks_shape(plan.shape, level)
            sums = GroupSums(
                blocks_name(level), scale, plan.gaussian, block_of_cells(plan.shape, level), prod(blocks)
            )
            noisy.append(curator.measure(sums).values.reshape(blocks))
    with stage(told, "making the counts consistent"):
        privacy = privacy_statement(plan, ledger)
        released = GridHistogram(named, plan, tuple(noisy), privacy)
        _ = released.counts
    return released
