"""From exact counts behind their door to sorted counts: degrees of a graph, or counts of bins without their names."""

from __future__ import annotations

import os
from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, Unpack

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.models.model_size import ModelSize
from dpopt.private.measurements.bin_measurement import BinsInUse, SortedCounts
from dpopt.private.readers.read_edges import read_degrees
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.schema.schema import Schema
from dpopt.synopses.histograms.counts_plan import is_gaussian, whole_amount
from dpopt.synopses.histograms.sorted.sorted_counts import (
    COUNTS,
    DEGREES,
    SortedCountsRelease,
    sorted_model_sizes,
)
from dpopt.synopses.histograms.tree_plan import LARGEST_DOMAIN
from dpopt.synopses.release import AskedOfModels, Request, Reserved, Running

if TYPE_CHECKING:
    from dpopt.private.readers.open_table import AnyTable

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

    def __post_init__(self) -> None:
        if self.what == DEGREES and self.length is not None and self.size is not None:
            needed = nodes_needed(self.size)
            if self.length < needed:
                raise PlanError(
                    f"found {self.size:,} edges among {self.length:,} nodes; expected at least {needed:,} nodes in a graph "
                    "without loops and double edges"
                )

    @property
    def what(self) -> str:
        """What is counted."""
        return DEGREES if self.bins_of_a_record == 2 else COUNTS

    @property
    def total(self) -> int | None:
        """What the counts add up to, if that is public."""
        return None if self.size is None else self.bins_of_a_record * self.size

    @property
    def length_measurement(self) -> BinsInUse | None:
        """What is asked of the curator about the number of nodes, where that is measured."""
        return None if self.length_scale is None else BinsInUse(IN_USE, self.length_scale, self.gaussian)

    def measurement(self, length: int | None) -> SortedCounts:
        """Return what is asked of the curator about so many counts."""
        return SortedCounts(SORTED, self.scale, self.gaussian, length or 1)

    def model_sizes(self) -> dict[str, ModelSize]:
        """Return kind and size of the models of a release; the least where the number of counts is measured."""
        return sorted_model_sizes(self.length or self.possible_length(0))

    def charges(self) -> list[Charge]:
        """Return what is measured costs, in order."""
        asked = (self.length_measurement, self.measurement(self.length))
        return [one.charge(self.bins_of_a_record, self.relation) for one in asked if one is not None]

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
        raise PlanError("the number of bins is declared by the schema; only that of nodes can be measured")
    gaussian, bins = is_gaussian(budget), 2 if graph else 1
    amount = whole_amount(budget)
    sensitivity = bins if relation is NeighbouringRelation.ADD_REMOVE else 2 * bins
    shares = (1.0, None) if length is not None else (1.0 - LENGTH_SHARE, LENGTH_SHARE)
    scale = measurement_scale(sensitivity, amount=amount * shares[0], gaussian=gaussian)
    length_scale = None
    if shares[1] is not None:
        length_scale = measurement_scale(
            bins * bins if gaussian else bins, amount=amount * shares[1], gaussian=gaussian
        )
    return SortedPlan(relation, budget, gaussian, bins, length, scale, length_scale, size)


def sorted_counts(
    table: AnyTable,
    schema: Schema | str | os.PathLike[str] | None = None,
    column: str | None = None,
    *,
    counts: str | None = None,
    **asked: Unpack[AskedOfModels],
) -> SortedCountsRelease:
    """Release how many values of a column have how many records, and not which values.

    Parameters
    ----------
    table : path or DataFrame
        CSV (also .gz), Parquet, or a pandas DataFrame. Private.
    schema : Schema or path, optional
        Declares the column's values or bins, in any order; their number is public.
    column : str, optional
        The column that is counted.
    counts : str, optional
        In place of schema and column: the table has one row for each bin, with its count in this column. A record is in one
        bin, and the number of rows is public.
    **asked
        epsilon (alone: Laplace noise), or epsilon and delta, or rho (Gaussian noise); neighbours, reading, accept_draft,
        progress, budget: see `dpopt.synopses.release.Asked`;
        solver, seconds: see `dpopt.synopses.release.AskedOfModels`.

    Returns
    -------
    SortedCountsRelease
        `counts` are the estimate, and `answer(10)` gives how many values have at least 10 records; kept by `write(path)`.

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.

    Examples
    --------
    >>> import dpopt, pandas
    >>> towns = dpopt.Attribute("town", dpopt.AttributeKind.CATEGORICAL, values=("A", "B", "C"))
    >>> table = pandas.DataFrame({"town": ["A"] * 300 + ["B"] * 100})
    >>> released = dpopt.sorted_counts(table, dpopt.Schema((towns,)), "town", epsilon=1)
    >>> released.answer(50)
    2
    """
    request = Request(**asked)
    return request.release_bins(
        "sorted",
        table,
        schema,
        () if column is None else (column,),
        counts=counts,
        plan=lambda axes, budget, size: plan_sorted(
            axes[0].number, budget, graph=False, relation=request.relation, size=size
        ),
        measure=lambda _: release_sorted,
        ordered=True,
    )


def degrees(
    edges: AnyTable,
    nodes: int | None,
    *,
    columns: tuple[str, str] | None = None,
    **asked: Unpack[AskedOfModels],
) -> SortedCountsRelease:
    """Release the degree sequence of an undirected graph; a record is an edge.

    Parameters
    ----------
    edges : path or DataFrame
        Edges, each once (`dpopt.private.readers.read_edges`). Private.
    nodes : int or None
        The declared number of nodes, those without an edge included; None: the number of nodes with an edge is measured with
        5 % of the budget. It is never read off the file.
    columns : tuple of str, optional
        The two columns of a table that has names.
    **asked
        epsilon (alone: Laplace noise), or epsilon and delta, or rho (Gaussian noise); neighbours, reading, progress, budget:
        see `dpopt.synopses.release.Asked`;
        solver, seconds: see `dpopt.synopses.release.AskedOfModels`.

    Returns
    -------
    SortedCountsRelease
        `counts` are the estimate, and `answer(10)` gives how many nodes have at least 10 edges; kept by `write(path)`.

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the edges.

    Examples
    --------
    >>> import dpopt, pandas
    >>> ring = pandas.DataFrame({"from": range(100), "to": [(node + 1) % 100 for node in range(100)]})
    >>> released = dpopt.degrees(ring, 100, columns=("from", "to"), epsilon=1)
    >>> bool(50 <= released.counts.sum() <= 350)
    True
    """
    request = Request(**asked)
    if request.reading.person is not None:
        raise PlanError(
            "--person: a record of degrees is an edge, which belongs to two nodes; ask for an epsilon that is small enough for "
            "all edges of a node together, or release a histogram of a table with a row for each person"
        )
    return request.release(
        "degrees",
        lambda budget, size: plan_sorted(nodes, budget, graph=True, relation=request.relation, size=size),
        lambda: read_degrees(edges, columns, request.reading),
        release_sorted,
        tried=None,
    )


def release_sorted(counts: BinCounts, plan: SortedPlan, **how: Unpack[Running]) -> SortedCountsRelease:
    """Measure sorted counts as planned, and as `dpopt.synopses.release.Measure` says."""
    run = Reserved.of(plan, how)
    curator, length = run.curator(counts), plan.length
    with run.stage("measuring"):
        if plan.length_measurement is not None:
            length = plan.possible_length(int(curator.measure(plan.length_measurement).values[0]))
        measured = curator.measure(plan.measurement(length))
    privacy = run.privacy()
    if plan.relation is NeighbouringRelation.ADD_REMOVE and plan.what == DEGREES:
        privacy["neighbours"] = "one edge more or less (add-remove)"
    with run.stage("making the counts consistent"):
        released = SortedCountsRelease(
            what=plan.what,
            noisy=measured.values,
            gaussian=plan.gaussian,
            scale=plan.scale,
            largest=plan.largest(length or 1),
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
