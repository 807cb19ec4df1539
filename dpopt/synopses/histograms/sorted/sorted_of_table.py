"""Sorted counts of columns, of counts and of graphs: from what a user says to what is released."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dpopt.accounting.ledger import Account
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.private.readers.read_edges import read_degrees
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.private.tables.public_facts import public_number_of_bins, public_size
from dpopt.releases.ledgers import open_account
from dpopt.releases.progress import Progress, Silent, stage
from dpopt.schema.schema import Schema
from dpopt.synopses.histograms.counted_table import count_column, declared_attribute, given_counts
from dpopt.synopses.histograms.histogram_settings import HistogramSettings
from dpopt.synopses.histograms.sorted.release_sorted import plan_sorted, release_sorted
from dpopt.synopses.histograms.sorted.sorted_counts import SortedCountsRelease
from dpopt.transcript.budget_ledger import BudgetLedger

if TYPE_CHECKING:
    from dpopt.private.readers.open_table import AnyTable


def sorted_counts_of_column(
    table: AnyTable,
    schema: Schema | str | os.PathLike[str],
    column: str,
    settings: HistogramSettings,
    *,
    progress: Progress | None = None,
    budget: BudgetLedger | None = None,
) -> SortedCountsRelease:
    """Release how many values of a column have how many records, and not which values.

    Parameters
    ----------
    table : path or DataFrame
        CSV (also .gz), Parquet, or a pandas DataFrame. Private.
    schema : Schema or path
        Declares the column's values or bins, in any order; their number is public.
    column : str
    settings : HistogramSettings
        Ranges and hierarchies do not count here.
    progress : Progress, optional
    budget : BudgetLedger, optional
        The owner's budget over many releases, from which this one is paid.

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.
    """
    told = progress or Silent()
    attribute = declared_attribute(schema, column, settings)
    _refuse(attribute.size, settings, graph=False)
    account = _account(budget, settings, graph=False)
    counts = count_column(table, attribute, settings, told)
    return _released(counts, attribute.size, settings, told, account, graph=False)


def sorted_counts_of_counts(
    table: AnyTable,
    column: str,
    settings: HistogramSettings,
    *,
    progress: Progress | None = None,
    budget: BudgetLedger | None = None,
) -> SortedCountsRelease:
    """Release in order counts that were made already: one row for each bin; a record is in one bin.

    Parameters as for `sorted_counts_of_column`; the number of rows is public.

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.
    """
    told = progress or Silent()
    _refuse(1, settings, graph=False)
    account = _account(budget, settings, graph=False)
    counts = given_counts(table, column, settings.reading, told)
    return _released(counts, public_number_of_bins(counts), settings, told, account, graph=False)


def degrees_of_edges(
    edges: AnyTable,
    nodes: int | None,
    settings: HistogramSettings,
    *,
    columns: tuple[str, str] | None = None,
    progress: Progress | None = None,
    budget: BudgetLedger | None = None,
) -> SortedCountsRelease:
    """Release the degree sequence of an undirected graph; a record is an edge.

    Parameters
    ----------
    edges : path or DataFrame
        Edges, each once (`dpopt.private.readers.read_edges`). Private.
    nodes : int or None
        The declared number of nodes, those without an edge included; None buys the number of nodes with an edge with 5 % of the
        budget. It is never read off the file.
    settings : HistogramSettings
        Ranges and hierarchies do not count here.
    columns : tuple of str, optional
        The two columns of a table that has names.
    progress : Progress, optional
    budget : BudgetLedger, optional
        The owner's budget over many releases, from which this one is paid.

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the edges.
    """
    told = progress or Silent()
    _refuse(nodes, settings, graph=True)
    settings.reading.check_relation(settings.relation)
    if settings.reading.person is not None:
        raise PlanError(
            "--person: a record of degrees is an edge, which belongs to two nodes; ask for an epsilon that is small enough for "
            "all edges of a node together, or release a histogram of a table with a row for each person"
        )
    account = _account(budget, settings, graph=True)
    with stage(told, "reading the edges"):
        counts = read_degrees(edges, columns, settings.reading)
    return _released(counts, nodes, settings, told, account, graph=True)


def _refuse(length: int | None, settings: HistogramSettings, *, graph: bool) -> None:
    """Refuse what cannot be planned, before a table is read."""
    plan_sorted(length, settings.budget(), graph=graph, relation=settings.relation)


def _account(budget: BudgetLedger | None, settings: HistogramSettings, *, graph: bool) -> Account | None:
    command = "degrees" if graph else "sorted"
    return open_account(budget, command, settings.budget(), settings.relation, settings.reading)


def _released(
    counts: BinCounts,
    length: int | None,
    settings: HistogramSettings,
    told: Progress,
    account: Account | None,
    *,
    graph: bool,
) -> SortedCountsRelease:
    relation = settings.relation
    size = public_size(counts, relation, None) if relation is NeighbouringRelation.REPLACE_ONE else None
    plan = plan_sorted(length, settings.budget(), graph=graph, relation=relation, size=size)
    return release_sorted(counts, plan, progress=told, account=account)
