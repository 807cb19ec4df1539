"""Exact counts of a table behind their door: the records of each value of a declared column, or counts made already."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dpopt.errors import PlanError, SchemaError
from dpopt.private.readers.read_numbers import read_counts
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import OnInvalid, TableReading
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.releases.job import refuse_unreviewed
from dpopt.releases.progress import Progress, stage
from dpopt.schema.attribute import Attribute
from dpopt.schema.schema import Schema
from dpopt.synopses.histograms.histogram_settings import HistogramSettings

if TYPE_CHECKING:
    from dpopt.private.readers.open_table import AnyTable


def declared_attribute(
    schema: Schema | str | os.PathLike[str], column: str, settings: HistogramSettings
) -> Attribute:
    """Return what a schema declares of a column.

    Raises
    ------
    SchemaError
        If the schema cannot be read, is an unreviewed draft, or lacks the column.
    """
    declared = schema if isinstance(schema, Schema) else Schema.read(schema)
    refuse_unreviewed(declared, accepted=settings.accept_draft)
    if column not in declared.names:
        raise SchemaError(f"found no attribute {column!r}; the schema has {', '.join(declared.names)}")
    return declared.attributes[declared.names.index(column)]


def count_column(
    table: AnyTable, attribute: Attribute, settings: HistogramSettings, told: Progress
) -> BinCounts:
    """Return how many records of a table have each code of an attribute. Private.

    Raises
    ------
    PrivateDataError
        If the table cannot be read, or does not follow the declaration; the message may quote it.
    """
    settings.reading.check_relation(settings.relation)
    with stage(told, "reading the table"):
        dataset = read_table(table, Schema((attribute,)), settings.reading)
    return BinCounts.of_column(dataset, attribute.name)


def given_counts(table: AnyTable, column: str, reading: TableReading, told: Progress) -> BinCounts:
    """Return counts that were made already, one row for each bin. Private; errors as for `count_column`.

    Raises
    ------
    PlanError
        If `reading` is about the rows of records.
    """
    if reading.on_invalid is not OnInvalid.ERROR or reading.person is not None:
        raise PlanError(
            "--on-invalid and --person are about records, and counts that were made already have a row for each bin; leave "
            "them out, or give the table of records with --column and --schema"
        )
    with stage(told, "reading the table"):
        return read_counts(table, column, reading)
