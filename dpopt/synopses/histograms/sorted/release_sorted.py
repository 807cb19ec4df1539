"""From exact counts behind their door to sorted counts: degrees of a graph, or counts of bins without their names."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from math import ceil, isqrt
from typing import TYPE_CHECKING, Any, Unpack

from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.measurements import measurement_scale
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.models.model_size import ModelSize
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.private.measurements.bin_measurement import BinsInUse, SortedCounts
from dpopt.private.readers.read_edges import read_degrees
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.schema.schema import Schema
from dpopt.synopses.histograms.counts_plan import is_gaussian, noise_variance, whole_amount
from dpopt.synopses.histograms.sorted.sorted_counts import COUNTS, DEGREES, SortedCountsRelease, sorted_model_sizes
from dpopt.synopses.histograms.tree_plan import LARGEST_DOMAIN
from dpopt.synopses.release import ModelKeywords, Request, Reserved, Running
from dpopt.synopses.synopsis import SynopsisPlan

if TYPE_CHECKING:
    from dpopt.private.readers.open_table import AnyTable

LENGTH_SHARE = 0.05
"""Share of the budget for the number of nodes, where that is not declared."""
RANKED = 10
"""How many of the largest degrees are measured one by one, in scales of the noise: chosen on three graphs, and not finely."""
IN_USE, SORTED = "number of nodes with an edge", "sorted counts"


@dataclass(frozen=True, slots=True)
class SortedPlan(SynopsisPlan):
    """The plan of a release of sorted counts."""

    relation: NeighbouringRelation
    budget: Budget
    gaussian: bool
    bins_of_a_record: int
    """1 for bins of a table, 2 for the ends of an edge."""
    length: int | None
    """How many counts there are, declared; None if their number is measured as well."""
    scale: float
    """Of the noise of the sorted counts."""
    length_scale: float | None
    """Of the noise of their number."""
    size: int | None
    """The public number of records under replace-one; the counts then add up to a public total, which estimates
    keep."""
    ranked: int | None = None
    """How many of the largest counts are measured one by one (`SortedCounts`); None for all."""

    def __post_init__(self) -> None:
        if self.what == DEGREES and self.length is not None and self.size is not None:
            needed = nodes_needed(self.size)
            if self.length < needed:
                raise PlanError(
                    f"found {self.size:,} edges among {self.length:,} nodes; expected at least {needed:,} nodes in a "
                    f"graph without loops and double edges"
                )

    def derived(self) -> dict[str, Any]:
        """Return the two tables between which the guarantee holds, in words."""
        if self.what == DEGREES and self.relation is NeighbouringRelation.ADD_REMOVE:
            return {"neighbours": "one edge more or less (add-remove)"}
        return {"neighbours": self.budget.neighbours(self.relation)}

    @property
    def what(self) -> str:
        """The counted objects."""
        return DEGREES if self.bins_of_a_record == 2 else COUNTS

    @property
    def total(self) -> int | None:
        """The sum of the counts, if that is public."""
        return None if self.size is None else self.bins_of_a_record * self.size

    @property
    def expected_error(self) -> float:
        """The variance of the noise of one count."""
        return noise_variance(self.scale, gaussian=self.gaussian)

    @property
    def length_measurement(self) -> BinsInUse | None:
        """The measurement of the number of nodes, if that is measured."""
        return None if self.length_scale is None else BinsInUse(IN_USE, self.length_scale, self.gaussian)

    def measurement(self, length: int | None) -> SortedCounts:
        """Return the measurement of this number of counts."""
        length = length or 1
        ranked = None if self.ranked is None else min(self.ranked, length)
        return SortedCounts(SORTED, self.scale, self.gaussian, length, ranked)

    def model_sizes(self) -> dict[str, ModelSize]:
        """Return kind and size of the models of a release; the least where the number of counts is measured."""
        length = self.length or self.possible_length(0)
        return sorted_model_sizes(length if self.ranked is None else length - 1 + min(self.ranked, length))

    def charges(self) -> list[Charge]:
        """Return the charges of the measurements, in order."""
        asked = (self.length_measurement, self.measurement(self.length))
        return [one.charge(self.bins_of_a_record, self.relation) for one in asked if one is not None]

    def largest(self, length: int) -> int | None:
        """Return a public bound on every one of this number of counts."""
        return length - 1 if self.what == DEGREES else self.size

    def possible_length(self, noisy: int) -> int:
        """Return the number of nodes that is nearest to a noisy one: possible for a public number of edges."""
        least, most = 2, LARGEST_DOMAIN
        if self.size is not None:
            least, most = max(least, nodes_needed(self.size)), min(most, 2 * self.size)
        return min(max(noisy, least), max(least, most))


def plan_sorted(
    length: int | None,
    budget: Budget,
    size: int | None = None,
    *,
    graph: bool,
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE,
    ranked: int | None = None,
) -> SortedPlan:
    """Return the plan that spends a budget on sorted counts, 5 % of it on their number where that is None.

    If records are edges (`graph`), each counts in two nodes. Of degrees the largest are measured one by one, as many as
    `ranked` (left out: ten times the scale of the noise, or all where that is more than half of them), and of the
    others how many have each number of edges at least. One without the other serves one question each: the sequence of
    degrees, and how many nodes have how many edges.
    """
    if length is not None and not 1 <= length <= LARGEST_DOMAIN:
        raise PlanError(f"sorted counts number 1 to {LARGEST_DOMAIN:,}, found {length:,}")
    if length is None and not graph:
        raise PlanError("the number of bins is declared by the schema; only that of nodes can be measured")
    if ranked is not None and ranked < 0:
        raise PlanError(f"found {ranked:,} degrees to measure one by one; expected 0 or more")
    gaussian, bins = is_gaussian(budget), 2 if graph else 1
    amount = whole_amount(budget)
    shares = (1.0, None) if length is not None else (1.0 - LENGTH_SHARE, LENGTH_SHARE)
    twice = 1 if relation is NeighbouringRelation.ADD_REMOVE else 2
    together = bins * bins if gaussian else bins  # both ends of an edge move one number

    def scale_of(sensitivity: int) -> float:
        return measurement_scale(twice * sensitivity, amount=amount * shares[0], gaussian=gaussian)

    scale = scale_of(bins)
    if graph:
        most = ceil(RANKED * scale_of(together)) if ranked is None else ranked
        if length is None or most < (length if ranked is not None else length / 2):
            scale, ranked = scale_of(together), most
        else:
            ranked = None
    length_scale = None
    if shares[1] is not None:
        length_scale = measurement_scale(together, amount=amount * shares[1], gaussian=gaussian)
    return SortedPlan(relation, budget, gaussian, bins, length, scale, length_scale, size, ranked if graph else None)


def sorted_counts(
    table: AnyTable,
    schema: Schema | str | os.PathLike[str] | None = None,
    column: str | None = None,
    *,
    counts: str | None = None,
    **keywords: Unpack[ModelKeywords],
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
        In place of schema and column: the table has one row for each bin, with its count in this column. A record is in
        one bin, and the number of rows is public.
    **keywords
        epsilon (delta=0: pure), or rho; neighbours, reading, accept_draft, progress, budget: see
        `dpopt.synopses.release.RequestKeywords`; solver, seconds: see `dpopt.synopses.release.ModelKeywords`.

    Returns
    -------
    SortedCountsRelease
        `counts` are the estimate, and `answer(10)` gives how many values have at least 10 records; kept by
        `write(path)`.
    Raises DpoptError for whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote
    the table.

    Examples
    --------
    >>> import dpopt, pandas
    >>> towns = dpopt.Attribute("town", dpopt.AttributeKind.CATEGORICAL, values=("A", "B", "C"))
    >>> table = pandas.DataFrame({"town": ["A"] * 300 + ["B"] * 100})
    >>> released = dpopt.sorted_counts(table, dpopt.Schema((towns,)), "town", epsilon=1)
    >>> released.answer(50)
    2
    """
    request = Request(**keywords)
    return request.release_bins(
        "sorted",
        table,
        schema,
        () if column is None else (column,),
        counts=counts,
        plan=lambda axes, *given: plan_sorted(axes[0].number, *given, graph=False, relation=request.relation),
        measure=lambda _: release_sorted,
        in_order=False,
    )


def degrees(
    edges: AnyTable,
    nodes: int | None,
    *,
    columns: tuple[str, str] | None = None,
    ranked: int | None = None,
    **keywords: Unpack[ModelKeywords],
) -> SortedCountsRelease:
    """Release the degree sequence of an undirected graph; a record is an edge.

    Parameters
    ----------
    edges : path or DataFrame
        Edges, each once (`dpopt.private.readers.read_edges`). Private.
    nodes : int or None
        The declared number of nodes, those without an edge included; None: the number of nodes with an edge is measured
        with 5 % of the budget. It is never read off the file.
    columns : tuple of str, optional
        The two columns of a table that has names.
    ranked : int, optional
        How many of the largest degrees are measured one by one; see `plan_sorted`. 0 measures only how many nodes have
        at least 1, 2, 3, ... edges; the number of nodes, only the degrees in order.
    **keywords
        epsilon (delta=0: pure), or rho; neighbours, reading, progress, budget: see `dpopt.synopses.release.RequestKeywords`;
        solver, seconds: see `dpopt.synopses.release.ModelKeywords`.

    Returns
    -------
    SortedCountsRelease
        `counts` are the estimate, and `answer(10)` gives how many nodes have at least 10 edges; kept by `write(path)`.
    Raises DpoptError for whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote
    the edges.

    Examples
    --------
    >>> import dpopt, pandas
    >>> ring = pandas.DataFrame({"from": range(100), "to": [(node + 1) % 100 for node in range(100)]})
    >>> released = dpopt.degrees(ring, 100, columns=("from", "to"), epsilon=1)
    >>> bool(50 <= released.counts.sum() <= 350)
    True
    """
    request = Request(**keywords)
    if request.reading.person is not None:
        raise PlanError(
            "--person: a record of degrees is an edge, which belongs to two nodes; ask for an epsilon that is small "
            "enough for all edges of a node together, or release a histogram of a table with a row for each person"
        )
    return request.release(
        "degrees",
        edges,
        partial(plan_sorted, nodes, graph=True, relation=request.relation, ranked=ranked),
        lambda: read_degrees(edges, columns, request.reading),
        release_sorted,
        tried=None,
    )


def release_sorted(counts: BinCounts, plan: SortedPlan, **how: Unpack[Running]) -> SortedCountsRelease:
    """Measure sorted counts as planned (`dpopt.synopses.release.Measure`)."""
    run = Reserved.of(plan, how)
    curator, length = run.curator(CountingCurator, counts), plan.length
    with run.stage("measuring"):
        if plan.length_measurement is not None:
            length = plan.possible_length(int(curator.measure(plan.length_measurement).values[0]))
        asked = plan.measurement(length)
        measured = curator.measure(asked)
    privacy = {**run.privacy(), **plan.derived()}
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
            ranked=asked.ranked,
        )
        _ = released.counts
    return released


def nodes_needed(edges: int) -> int:
    """Return the fewest nodes of a graph without loops and double edges: the least n with n (n - 1) / 2 >= edges."""
    below = (1 + isqrt(1 + 8 * edges)) // 2
    return below if below * (below - 1) // 2 >= edges else below + 1
