"""Sorted counts of columns, of counts and of graphs: from what a user says to what is released."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.histograms.counted_table import count_column, declared_attribute, given_counts
from dpopt.algorithms.histograms.histogram_settings import HistogramSettings
from dpopt.algorithms.histograms.release_sorted import plan_sorted, release_sorted
from dpopt.algorithms.histograms.sorted_counts import SortedCountsRelease
from dpopt.algorithms.progress import Progress, Silent, stage
from dpopt.private.bin_counts import BinCounts
from dpopt.private.public_facts import public_number_of_bins, public_size
from dpopt.private.read_edges import read_degrees
from dpopt.queries.schema import Schema

if TYPE_CHECKING:
    from dpopt.private.open_table import AnyTable


def sorted_counts_of_column(
    table: AnyTable,
    schema: Schema | str | os.PathLike[str],
    column: str,
    settings: HistogramSettings,
    *,
    progress: Progress | None = None,
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

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.
    """
    told = progress or Silent()
    attribute = declared_attribute(schema, column, settings)
    _refuse(attribute.size, settings, graph=False)
    counts = count_column(table, attribute, settings, told)
    return _released(counts, attribute.size, settings, told, graph=False)


def sorted_counts_of_counts(
    table: AnyTable, column: str, settings: HistogramSettings, *, progress: Progress | None = None
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
    counts = given_counts(table, column, told)
    return _released(counts, public_number_of_bins(counts), settings, told, graph=False)


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
        Ranges and hierarchies do not count here.
    columns : tuple of str, optional
        The two columns of a table that has names.
    progress : Progress, optional

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the edges.
    """
    told = progress or Silent()
    _refuse(nodes, settings, graph=True)
    with stage(told, "reading the edges"):
        counts = read_degrees(edges, columns)
    return _released(counts, nodes, settings, told, graph=True)


def _refuse(length: int | None, settings: HistogramSettings, *, graph: bool) -> None:
    """Refuse what cannot be planned, before a table is read."""
    plan_sorted(length, settings.budget(), graph=graph, relation=settings.relation)


def _released(
    counts: BinCounts, length: int | None, settings: HistogramSettings, told: Progress, *, graph: bool
) -> SortedCountsRelease:
    relation = settings.relation
    size = public_size(counts, relation, None) if relation is NeighbouringRelation.REPLACE_ONE else None
    plan = plan_sorted(length, settings.budget(), graph=graph, relation=relation, size=size)
    return release_sorted(counts, plan, progress=told)
