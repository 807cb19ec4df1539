"""Partitions of columns and of counts: from what a user says to what is released, on file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dpopt.accounting.ledger import Account
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.private.readers.read_table import read_table
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.private.tables.public_facts import public_number_of_bins
from dpopt.queries.ranges.bins import Bins
from dpopt.releases.ledgers import open_account
from dpopt.releases.measured_size import MARGIN, size_of, with_size_measured
from dpopt.releases.progress import Progress, Silent, stage
from dpopt.schema.schema import Schema
from dpopt.synopses.histograms.counted_table import count_column, declared_attribute, given_counts
from dpopt.synopses.histograms.grids.grid_of_table import declared_axes
from dpopt.synopses.histograms.histogram_files import read_released
from dpopt.synopses.histograms.histogram_of_table import declared_bins
from dpopt.synopses.intervals.interval_plan import IntervalPlan
from dpopt.synopses.intervals.interval_settings import IntervalSettings
from dpopt.synopses.intervals.partition_release import PartitionRelease
from dpopt.synopses.intervals.release_intervals import release_intervals
from dpopt.synopses.intervals.release_split import release_split
from dpopt.transcript.budget_ledger import BudgetLedger

if TYPE_CHECKING:
    from dpopt.private.readers.open_table import AnyTable

_TRIED_SIZE = 10_000_000
"""What cannot be planned for so many records is refused before the table is read, where their number is to be measured."""


def declared_columns(
    schema: Schema | str | os.PathLike[str], columns: tuple[str, ...], settings: IntervalSettings
) -> tuple[Bins, ...]:
    """Return the bins that a schema declares for each of these columns, one or several.

    Raises
    ------
    DpoptError
        As `declared_bins` and `declared_axes`.
    """
    if len(columns) == 1:
        return (declared_bins(schema, columns[0], settings.counts),)
    return declared_axes(schema, columns, settings.counts)


def partition_of_columns(
    table: AnyTable,
    schema: Schema | str | os.PathLike[str],
    columns: tuple[str, ...],
    settings: IntervalSettings,
    *,
    progress: Progress | None = None,
    budget: BudgetLedger | None = None,
) -> PartitionRelease:
    """Release intervals of a column of a table, or boxes of several.

    Parameters
    ----------
    table : path or DataFrame
        CSV (also .gz), Parquet, or a pandas DataFrame. Private.
    schema : Schema or path
        Declares the columns' bins or values. Public; other attributes are not looked at.
    columns : tuple of str
        Different ones; at most 4,194,304 cells together.
    settings : IntervalSettings
    progress : Progress, optional
    budget : BudgetLedger, optional
        The owner's budget over many releases, from which this one is paid.

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.
    """
    told = progress or Silent()
    axes = declared_columns(schema, columns, settings)
    _check_before(axes, settings)
    account = _account(budget, settings)
    if len(columns) == 1:
        attribute = declared_attribute(schema, columns[0], settings.counts)
        return _released(count_column(table, attribute, settings.counts, told), axes, settings, told, account)
    attributes = tuple(declared_attribute(schema, column, settings.counts) for column in columns)
    settings.counts.reading.check_relation(settings.counts.relation)
    with stage(told, "reading the table"):
        dataset = read_table(table, Schema(attributes), settings.counts.reading)
    return _released(BinCounts.of_columns(dataset, columns), axes, settings, told, account)


def partition_of_counts(
    table: AnyTable,
    column: str,
    settings: IntervalSettings,
    *,
    progress: Progress | None = None,
    budget: BudgetLedger | None = None,
) -> PartitionRelease:
    """Release intervals of counts that were made already: one row for each bin, in order; a record is in one bin.

    Parameters as for `partition_of_columns`; the number of rows is public.

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.
    """
    told = progress or Silent()
    account = _account(budget, settings)
    counts = given_counts(table, column, settings.counts.reading, told)
    axes = (Bins(column, public_number_of_bins(counts)),)
    return _released(counts, axes, settings, told, account)


def _check_before(axes: tuple[Bins, ...], settings: IntervalSettings) -> None:
    """Refuse what cannot be planned before the table is read; under replace-one for one record, as n is not known yet.

    Raises
    ------
    PlanError
        As `IntervalSettings.plan`.
    """
    replaced = settings.counts.relation is NeighbouringRelation.REPLACE_ONE
    if replaced and settings.n is not None:
        raise PlanError(
            "--n belongs to add-remove; under replace the number of records is read off the table"
        )
    shape = tuple(bins.number for bins in axes)
    if settings.n is not None:
        settings.plan(shape, settings.n)
    elif not replaced:
        settings.plan(shape, _TRIED_SIZE, with_size_measured(settings.counts.budget()))


def _account(budget: BudgetLedger | None, settings: IntervalSettings) -> Account | None:
    counts = settings.counts
    return open_account(budget, "intervals", counts.budget(), counts.relation, counts.reading)


def _released(
    counts: BinCounts,
    axes: tuple[Bins, ...],
    settings: IntervalSettings,
    told: Progress,
    account: Account | None,
) -> PartitionRelease:
    _check_before(axes, settings)
    shape = tuple(bins.number for bins in axes)
    relation = settings.counts.relation
    public = size_of(counts, relation, settings.n, settings.counts.budget(), margin=MARGIN, account=account)
    plan = settings.plan(shape, public.number, public.budget)
    if isinstance(plan, IntervalPlan):
        return release_intervals(counts, plan, axes[0], progress=told, account=account)
    return release_split(counts, plan, axes, progress=told, account=account)


def read_partition(path: str | os.PathLike[str]) -> PartitionRelease:
    """Read a release that `write_histogram` wrote.

    Raises
    ------
    ReleaseFolderError
        If the file is missing or no JSON.
    TranscriptError
        If it is no such release, or damaged.
    """
    return PartitionRelease.from_json(read_released(path))
