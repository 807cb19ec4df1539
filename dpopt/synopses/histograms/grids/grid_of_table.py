"""Histograms of several columns of a table: from what a user says to what is released, on file."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import SchemaError
from dpopt.private.readers.read_table import read_table
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.private.tables.public_facts import public_size
from dpopt.queries.ranges.bins import Bins
from dpopt.releases.ledgers import open_account
from dpopt.releases.progress import Progress, Silent, stage
from dpopt.schema.attribute import Attribute
from dpopt.schema.schema import Schema
from dpopt.synopses.histograms.counted_table import declared_attribute
from dpopt.synopses.histograms.grids.grid_histogram import GridHistogram
from dpopt.synopses.histograms.grids.grid_plan import plan_grid
from dpopt.synopses.histograms.grids.release_grid import release_grid
from dpopt.synopses.histograms.histogram_files import read_released
from dpopt.synopses.histograms.histogram_settings import HistogramSettings
from dpopt.transcript.budget_ledger import BudgetLedger

if TYPE_CHECKING:
    from dpopt.private.readers.open_table import AnyTable


def declared_axes(
    schema: Schema | str | os.PathLike[str], columns: tuple[str, ...], settings: HistogramSettings
) -> tuple[Bins, ...]:
    """Return the bins that a schema declares for each of these columns.

    Raises
    ------
    DpoptError
        If the schema cannot be read, is an unreviewed draft, lacks a column, or does not say that its values are ordered; or
        if a column is named twice.
    """
    return tuple(
        Bins.of_attribute(attribute, ordered=settings.ordered)
        for attribute in _declared(schema, columns, settings)
    )


def histogram_of_columns(
    table: AnyTable,
    schema: Schema | str | os.PathLike[str],
    columns: tuple[str, ...],
    settings: HistogramSettings,
    *,
    shapes: str = "auto",
    progress: Progress | None = None,
    budget: BudgetLedger | None = None,
) -> GridHistogram:
    """Release the histogram of several columns of a table.

    Parameters
    ----------
    table : path or DataFrame
        CSV (also .gz), Parquet, or a pandas DataFrame. Private.
    schema : Schema or path
        Declares the columns' bins or values. Public; other attributes are not looked at.
    columns : tuple of str
        Different ones; at most 4,194,304 cells together.
    settings : HistogramSettings
        `ranges` as for `plan_grid`.
    shapes : str
        auto, cubes, rectangles or cells.
    progress : Progress, optional
    budget : BudgetLedger, optional
        The owner's budget over many releases, from which this one is paid.

    Raises
    ------
    DpoptError
        For whatever is wrong with the input; nothing has been spent then. `PrivateDataError` may quote the table.
    """
    told = progress or Silent()
    attributes = _declared(schema, columns, settings)
    axes = tuple(Bins.of_attribute(attribute, ordered=settings.ordered) for attribute in attributes)
    relation = settings.relation
    replaced = relation is NeighbouringRelation.REPLACE_ONE
    # Made before the table is read; nothing but the size depends on the number of records.
    plan = plan_grid(
        tuple(bins.number for bins in axes),
        settings.budget(),
        ranges=settings.ranges or "all",
        shapes=shapes,
        relation=relation,
        size=0 if replaced else None,
    )
    settings.reading.check_relation(relation)
    account = open_account(budget, "grid", settings.budget(), relation, settings.reading)
    with stage(told, "reading the table"):
        dataset = read_table(table, Schema(attributes), settings.reading)
    counts = BinCounts.of_columns(dataset, columns)
    if replaced:
        plan = replace(plan, size=public_size(counts, relation, None))
    return release_grid(counts, plan, axes, progress=told, account=account)


def _declared(
    schema: Schema | str | os.PathLike[str], columns: tuple[str, ...], settings: HistogramSettings
) -> tuple[Attribute, ...]:
    for place, column in enumerate(columns):
        if column in columns[:place]:
            raise SchemaError(f"found the column {column!r} twice; name different ones")
    return tuple(declared_attribute(schema, column, settings) for column in columns)


def read_grid(path: str | os.PathLike[str]) -> GridHistogram:
    """Read a histogram of several columns that `write_histogram` wrote.

    Raises
    ------
    ReleaseFolderError
        If the file is missing or no JSON.
    TranscriptError
        If it is no such histogram, or damaged.
    """
    return GridHistogram.from_json(read_released(path))
