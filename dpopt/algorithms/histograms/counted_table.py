"""Exact counts of a table behind their door: the records of each value of a declared column, or counts made already."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dpopt.algorithms.histograms.histogram_settings import HistogramSettings
from dpopt.algorithms.progress import Progress, stage
from dpopt.algorithms.release import refuse_unreviewed
from dpopt.errors import SchemaError
from dpopt.private.bin_counts import BinCounts
from dpopt.private.on_unknown import parse_on_unknown
from dpopt.private.read_counts import read_counts
from dpopt.private.read_table import read_table
from dpopt.queries.attribute import Attribute
from dpopt.queries.schema import Schema

if TYPE_CHECKING:
    from dpopt.private.open_table import AnyTable


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
    with stage(told, "reading the table"):
        dataset = read_table(table, Schema((attribute,)), on_unknown=parse_on_unknown(settings.on_unknown))
    return BinCounts.of_column(dataset, attribute.name)


def given_counts(table: AnyTable, column: str, told: Progress) -> BinCounts:
    """Return counts that were made already, one row for each bin. Private; errors as for `count_column`."""
    with stage(told, "reading the table"):
        return read_counts(table, column)
