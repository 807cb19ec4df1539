"""Histograms of columns and of counts, and degree sequences of edges: from what a user says to what is released, on file."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.folder_files import read_json, write_json
from dpopt.algorithms.histograms.histogram import Histogram
from dpopt.algorithms.histograms.histogram_plan import HistogramPlan, plan_histogram
from dpopt.algorithms.histograms.release_histogram import release_histogram
from dpopt.algorithms.histograms.release_sorted import plan_sorted, release_sorted
from dpopt.algorithms.histograms.sorted_counts import SortedCountsRelease
from dpopt.algorithms.plan_request import DEFAULT_DELTA
from dpopt.algorithms.progress import Progress, Silent, stage
from dpopt.algorithms.release import refuse_unreviewed
from dpopt.algorithms.settings import choice
from dpopt.errors import PlanError, ReleaseFolderError, SchemaError
from dpopt.private.bin_counts import BinCounts
from dpopt.private.on_unknown import parse_on_unknown
from dpopt.private.public_facts import public_number_of_bins, public_size
from dpopt.private.read_counts import read_counts
from dpopt.private.read_edges import read_degrees
from dpopt.private.read_table import read_table
from dpopt.queries.bins import Bins
from dpopt.queries.schema import Schema

if TYPE_CHECKING:
    from dpopt.private.open_table import AnyTable


@dataclass(frozen=True, slots=True)
class HistogramSettings:
    """What a user may say of a histogram.

    Attributes
    ----------
    epsilon, delta, rho :
        The budget: epsilon alone (Laplace noise), epsilon and delta, or rho of zCDP (Gaussian noise).
    ranges : str
        all, worst, or sizes:1,64,1024.
    neighbours : str
        add-remove or replace.
    ordered : bool
        Whether the declared values of a categorical column stand in their order.
    on_unknown : str
        error, clip, other, or clip,other.
    accept_draft : bool
        Whether a drafted, unreviewed schema may be used.
    """

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    ranges: str = "all"
    neighbours: str = "add-remove"
    ordered: bool = False
    on_unknown: str = "error"
    accept_draft: bool = False

    def budget(self) -> Budget:
        """Return the budget.

        Raises
        ------
        PlanError
            If there is none, or more than one.
        """
        if (self.epsilon is None) == (self.rho is None):
            found = "no budget" if self.epsilon is None else "two budgets"
            raise PlanError(f"found {found}: give --epsilon, --epsilon and --delta, or --rho")
        if self.rho is not None:
            return Budget(
                None, DEFAULT_DELTA if self.delta is None else self.delta, self.rho, Accountant.ZCDP
            )
        if self.delta is None:
            return Budget(self.epsilon, 0.0, None, Accountant.PURE)
        return Budget(self.epsilon, self.delta, None, Accountant.ZCDP)

    @property
    def relation(self) -> NeighbouringRelation:
        """The neighbouring relation."""
        relation: NeighbouringRelation = choice(NeighbouringRelation, self.neighbours, "neighbours")
        return relation


def histogram_of_column(
    table: AnyTable,
    schema: Schema | str | os.PathLike[str],
    column: str,
    settings: HistogramSettings,
    *,
    progress: Progress | None = None,
) -> Histogram:
    """Release the histogram of a column of a table.

    Parameters
    ----------
    table : path or DataFrame
        CSV (also .gz), Parquet, or a pandas DataFrame. Private.
    schema : Schema or path
        Declares the column's bins or values. Public; other attributes are not looked at.
    column : str
    settings : HistogramSettings
    progress : Progress, optional

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.
    """
    told = progress or Silent()
    declared = schema if isinstance(schema, Schema) else Schema.read(schema)
    refuse_unreviewed(declared, accepted=settings.accept_draft)
    if column not in declared.names:
        raise SchemaError(f"found no attribute {column!r}; the schema has {', '.join(declared.names)}")
    attribute = declared.attributes[declared.names.index(column)]
    bins = Bins.of_attribute(attribute, ordered=settings.ordered)
    plan = _planned(bins.number, settings)  # refuses what cannot be planned before the table is read
    with stage(told, "reading the table"):
        dataset = read_table(table, Schema((attribute,)), on_unknown=parse_on_unknown(settings.on_unknown))
    return _released(BinCounts.of_column(dataset, column), bins, plan, told)


def histogram_of_counts(
    table: AnyTable, column: str, settings: HistogramSettings, *, progress: Progress | None = None
) -> Histogram:
    """Release the histogram of counts that were made already: one row for each bin, in order; a record is in one bin.

    Parameters as for `histogram_of_column`; the number of rows is public.

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.
    """
    told = progress or Silent()
    settings.budget()
    with stage(told, "reading the table"):
        counts = read_counts(table, column)
    number = public_number_of_bins(counts)
    return _released(counts, Bins(column, number), _planned(number, settings), told)


def degrees_of_edges(
    edges: AnyTable,
    nodes: int | None,
    settings: HistogramSettings,
    *,
    columns: tuple[str, str] | None = None,
    progress: Progress | None = None,
) -> SortedCountsRelease:
    """Release the degree sequence of an undirected graph; a record is an edge.

    Parameters
    ----------
    edges : path or DataFrame
        Edges, each once (`dpopt.private.read_edges`). Private.
    nodes : int or None
        The declared number of nodes, those without an edge included; None buys the number of nodes with an edge with 5 % of the
        budget. It is never read off the file.
    settings : HistogramSettings
        Ranges do not count here.
    columns : tuple of str, optional
        The two columns of a table that has names.
    progress : Progress, optional

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the edges.
    """
    told = progress or Silent()
    relation, budget = settings.relation, settings.budget()
    plan_sorted(nodes, budget, graph=True)  # refuses what cannot be planned
    with stage(told, "reading the edges"):
        counts = read_degrees(edges, columns)
    size = public_size(counts, relation, None) if relation is NeighbouringRelation.REPLACE_ONE else None
    plan = plan_sorted(nodes, budget, graph=True, relation=relation, size=size)
    return release_sorted(counts, plan, what="degrees", progress=told)


def _planned(bins: int, settings: HistogramSettings) -> HistogramPlan:
    """Return the plan; under replace-one with 0 in place of the number of records, on which nothing else of it depends."""
    relation = settings.relation
    size = 0 if relation is NeighbouringRelation.REPLACE_ONE else None
    return plan_histogram(bins, settings.budget(), ranges=settings.ranges, relation=relation, size=size)


def _released(counts: BinCounts, bins: Bins, plan: HistogramPlan, told: Progress) -> Histogram:
    if plan.size is not None:
        plan = replace(plan, size=public_size(counts, plan.relation, None))
    return release_histogram(counts, plan, bins, progress=told)


def write_histogram(histogram: Histogram | SortedCountsRelease, path: str | os.PathLike[str]) -> None:
    """Write a histogram or sorted counts as JSON, whole or not at all; a file that is there is not replaced.

    Raises
    ------
    ReleaseFolderError
        If the file is there already, or cannot be written.
    """
    target = Path(path)
    check_new(target)
    try:
        write_json(target, histogram.to_json())
    except OSError as error:
        raise ReleaseFolderError(f"cannot write {target}: {error.strerror}") from error


def check_new(path: Path) -> None:
    """Refuse a file that is there, or whose folder is not.

    Raises
    ------
    ReleaseFolderError
        With what to do.
    """
    if path.exists():
        raise ReleaseFolderError(
            f"{path} exists already, and may hold a release that was paid for; choose another name"
        )
    if not path.parent.is_dir():
        raise ReleaseFolderError(f"there is no folder {path.parent}; make it, or choose another name")


def read_histogram(path: str | os.PathLike[str]) -> Histogram:
    """Read a histogram that `write_histogram` wrote.

    Raises
    ------
    ReleaseFolderError
        If the file is missing or no JSON.
    TranscriptError
        If it is no histogram, or damaged.
    """
    return Histogram.from_json(read_json(Path(path)))


def read_sorted_counts(path: str | os.PathLike[str]) -> SortedCountsRelease:
    """Read sorted counts that `write_histogram` wrote; errors as for `read_histogram`."""
    return SortedCountsRelease.from_json(read_json(Path(path)))
