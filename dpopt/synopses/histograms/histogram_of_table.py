"""Histograms of columns and of counts: from what a user says to what is released."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from dpopt.accounting.ledger import Account
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.private.tables.public_facts import public_number_of_bins, public_size
from dpopt.queries.ranges.bins import Bins
from dpopt.queries.ranges.hierarchy import read_hierarchy
from dpopt.releases.ledgers import open_account
from dpopt.releases.progress import Progress, Silent
from dpopt.schema.schema import Schema
from dpopt.synopses.histograms.counted_table import count_column, declared_attribute, given_counts
from dpopt.synopses.histograms.hierarchy_plan import plan_hierarchy
from dpopt.synopses.histograms.hierarchy_ranges import NODES
from dpopt.synopses.histograms.histogram import Histogram
from dpopt.synopses.histograms.histogram_plan import plan_histogram
from dpopt.synopses.histograms.histogram_settings import HistogramSettings
from dpopt.synopses.histograms.range_workload import ALL
from dpopt.synopses.histograms.release_histogram import release_histogram
from dpopt.synopses.histograms.tree_plan import TreePlan
from dpopt.transcript.budget_ledger import BudgetLedger

if TYPE_CHECKING:
    from dpopt.private.readers.open_table import AnyTable


def declared_bins(schema: Schema | str | os.PathLike[str], column: str, settings: HistogramSettings) -> Bins:
    """Return the bins that a schema declares for a column.

    Raises
    ------
    DpoptError
        If the schema cannot be read, is an unreviewed draft, lacks the column, or does not say that its values are ordered.
    """
    return Bins.of_attribute(declared_attribute(schema, column, settings), ordered=settings.ordered)


def planned(bins: Bins, settings: HistogramSettings, size: int | None = None) -> TreePlan:
    """Return the plan for these bins; made from public values alone.

    Parameters
    ----------
    size : int, optional
        The number of records, under replace-one.

    Raises
    ------
    DpoptError
        For whatever cannot be planned.
    """
    budget, relation = settings.budget(), settings.relation
    if settings.hierarchy is None:
        return plan_histogram(bins, budget, ranges=settings.ranges or ALL, relation=relation, size=size)
    hierarchy = read_hierarchy(settings.hierarchy, bins)
    return plan_hierarchy(
        hierarchy, budget, bins=bins, ranges=settings.ranges or NODES, relation=relation, size=size
    )


def histogram_of_column(
    table: AnyTable,
    schema: Schema | str | os.PathLike[str],
    column: str,
    settings: HistogramSettings,
    *,
    progress: Progress | None = None,
    budget: BudgetLedger | None = None,
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
    budget : BudgetLedger, optional
        The owner's budget over many releases, from which this one is paid.

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.
    """
    told = progress or Silent()
    attribute = declared_attribute(schema, column, settings)
    bins = Bins.of_attribute(attribute, ordered=settings.ordered)
    plan = _without_size(bins, settings)  # refuses what cannot be planned before the table is read
    account = _account(budget, settings)
    return _released(count_column(table, attribute, settings, told), bins, plan, told, account)


def histogram_of_counts(
    table: AnyTable,
    column: str,
    settings: HistogramSettings,
    *,
    progress: Progress | None = None,
    budget: BudgetLedger | None = None,
) -> Histogram:
    """Release the histogram of counts that were made already: one row for each bin, in order; a record is in one bin.

    Parameters as for `histogram_of_column`; the number of rows is public.

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.
    """
    told = progress or Silent()
    account = _account(budget, settings)
    counts = given_counts(table, column, settings.reading, told)
    bins = Bins(column, public_number_of_bins(counts))
    return _released(counts, bins, _without_size(bins, settings), told, account)


def _without_size(bins: Bins, settings: HistogramSettings) -> TreePlan:
    """Return the plan; under replace-one with 0 in place of the number of records, on which nothing else of it depends."""
    return planned(bins, settings, 0 if settings.relation is NeighbouringRelation.REPLACE_ONE else None)


def _account(budget: BudgetLedger | None, settings: HistogramSettings) -> Account | None:
    return open_account(budget, "histogram", settings.budget(), settings.relation, settings.reading)


def _released(
    counts: BinCounts, bins: Bins, plan: TreePlan, told: Progress, account: Account | None
) -> Histogram:
    if plan.size is not None:
        plan = replace(plan, size=public_size(counts, plan.relation, None))
    return release_histogram(counts, plan, bins, progress=told, account=account)
