"""From exact counts behind their door to sorted counts: degrees of a graph, or counts of bins without their names."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

from dpopt.accounting.budget import Budget
from dpopt.accounting.ledger import Account
from dpopt.accounting.measurements import measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.statement import privacy_statement
from dpopt.errors import PlanError
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.private.measurements.bin_measurement import BinMeasurement, BinsInUse, SortedCounts
from dpopt.private.mechanisms.noise import Noise
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.releases.ledgers import reserved_ledger
from dpopt.releases.progress import Progress, Silent, stage
from dpopt.synopses.histograms.counts_plan import is_gaussian, whole_amount
from dpopt.synopses.histograms.sorted.sorted_counts import COUNTS, DEGREES, SortedCountsRelease
from dpopt.synopses.histograms.tree_plan import LARGEST_DOMAIN
from dpopt.transcript.journal import MemoryJournal

LENGTH_SHARE = 0.05
"""Share of the budget for the number of nodes, where that is not declared."""
IN_USE, SORTED = "number of nodes with an edge", "sorted counts"


@dataclass(frozen=True, slots=True)
class SortedPlan:
    """What a release of sorted counts measures.

    Attributes
    ----------
    relation : NeighbouringRelation
    budget : Budget
    gaussian : bool
    bins_of_a_record : int
        1 for bins of a table, 2 for the ends of an edge.
    length : int or None
        How many counts there are, declared; None if their number is measured as well.
    scale : float
        Of the noise of the sorted counts.
    length_scale : float or None
        Of the noise of their number.
    size : int or None
        The public number of records under replace-one; the counts then add up to a public total, which estimates keep.
    """

    relation: NeighbouringRelation
    budget: Budget
    gaussian: bool
    bins_of_a_record: int
    length: int | None
    scale: float
    length_scale: float | None
    size: int | None

    @property
    def what(self) -> str:
        """What is counted."""
        return DEGREES if self.bins_of_a_record == 2 else COUNTS

    @property
    def total(self) -> int | None:
        """What the counts add up to, if that is public."""
        return None if self.size is None else self.bins_of_a_record * self.size

    def largest(self, length: int) -> int | None:
        """Return a public bound of every one of so many counts."""
        return length - 1 if self.what == DEGREES else self.size

    def possible_length(self, noisy: int) -> int:
        """Return the number of nodes that is nearest to a noisy one: not too few or too many for a public number of edges."""
        least, most = 2, LARGEST_DOMAIN
        if self.size is not None:
            least, most = max(least, nodes_needed(self.size)), min(most, 2 * self.size)
        return min(max(noisy, least), max(least, most))


def plan_sorted(
    length: int | None,
    budget: Budget,
    *,
    graph: bool,
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE,
    size: int | None = None,
) -> SortedPlan:
    """Return the plan that spends a budget on sorted counts, 5 % of it on their number where that is None.

    Parameters
    ----------
    length : int or None
        The declared number of bins or nodes, those without a record included.
    budget : Budget
        With the accountant `PURE`: Laplace noise; with `ZCDP`: Gaussian noise.
    graph : bool
        Whether records are edges, each of which counts in two nodes.
    relation, size
        As for `plan_histogram`.

    Raises
    ------
    PlanError
        If the length is out of range or too small for the public number of edges, or the accountant has no figure for either
        noise.
    AccountingError
        If the budget is too small for any noise.
    """
    if length is not None and not 1 <= length <= LARGEST_DOMAIN:
        raise PlanError(f"sorted counts number 1 to {LARGEST_DOMAIN:,}, found {length:,}")
    if length is None and not graph:
        raise PlanError(
            "the number of bins is declared by the schema; only that of nodes can be bought with budget"
        )
    if graph and length is not None and size is not None and length < nodes_needed(size):
        raise PlanError(
            f"found {size:,} edges among {length:,} nodes; expected at least {nodes_needed(size):,} nodes in a graph without "
            "loops and double edges"
        )
    gaussian, bins = is_gaussian(budget), 2 if graph else 1
    amount = whole_amount(budget)
    moved = bins if relation is NeighbouringRelation.ADD_REMOVE else 2 * bins
    shares = (1.0, None) if length is not None else (1.0 - LENGTH_SHARE, LENGTH_SHARE)
    scale = measurement_scale(moved, amount=amount * shares[0], gaussian=gaussian)
    length_scale = None
    if shares[1] is not None:
        length_scale = measurement_scale(
            bins * bins if gaussian else bins, amount=amount * shares[1], gaussian=gaussian
        )
    return SortedPlan(relation, budget, gaussian, bins, length, scale, length_scale, size)


def release_sorted(
    counts: BinCounts,
    plan: SortedPlan,
    *,
    noise: Noise | None = None,
    progress: Progress | None = None,
    account: Account | None = None,
) -> SortedCountsRelease:
    """Measure sorted counts as planned.

    Everything is charged before it is drawn. If the run ends before it returns, nothing has left the private side.

    Parameters
    ----------
    counts : BinCounts
        Private.
    plan : SortedPlan
        Of the same kind of records.
    noise, progress
        As for `release_histogram`.
    account : Account, optional
        From where it is paid besides (`dpopt.releases.ledgers.open_account`).

    Raises
    ------
    PrivateDataError
        Under replace-one, if there is another number of records than planned.
    """
    told = progress or Silent()
    length_measurement = (
        None if plan.length_scale is None else BinsInUse(IN_USE, plan.length_scale, plan.gaussian)
    )
    trial = SortedCounts(SORTED, plan.scale, plan.gaussian, plan.length or 1)
    planned: list[BinMeasurement] = [trial] if length_measurement is None else [length_measurement, trial]
    charges = [measurement.charge(plan.bins_of_a_record, plan.relation) for measurement in planned]
    ledger = reserved_ledger(plan.budget, plan.relation, charges, account)
    with stage(told, "measuring"):
        curator = CountingCurator(
            counts, ledger, MemoryJournal(keep=False), size=plan.size or 0, noise=noise, progress=told.share
        )
        length = plan.length
        if length is None and length_measurement is not None:
            found = int(curator.measure(length_measurement).values[0])
            length = plan.possible_length(found)
        measured = curator.measure(SortedCounts(SORTED, plan.scale, plan.gaussian, int(length or 1)))
    privacy = privacy_statement(plan, ledger)
    if plan.relation is NeighbouringRelation.ADD_REMOVE and plan.what == DEGREES:
        privacy["neighbours"] = "one edge more or less (add-remove)"
    with stage(told, "making the counts consistent"):
        released = SortedCountsRelease(
            what=plan.what,
            noisy=measured.values,
            gaussian=plan.gaussian,
            scale=plan.scale,
            largest=plan.largest(int(length or 1)),
            total=plan.total,
            privacy=privacy,
            noisy_length=plan.length is None,
        )
        _ = released.counts
    return released


def nodes_needed(edges: int) -> int:
    """Return how many nodes a graph without loops and double edges has at least: the least n with n (n - 1) / 2 >= edges."""
    below = (1 + isqrt(1 + 8 * edges)) // 2
    return below if below * (below - 1) // 2 >= edges else below + 1
