"""Reading a table into a PrivateDataset: every value is matched against the public schema, or the table is refused."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError, SchemaError
from dpopt.private.readers.open_table import AnyTable, named_by, open_table
from dpopt.private.readers.table_reading import MOST_ROWS_PER_PERSON, OnInvalid, TableReading
from dpopt.private.readers.table_sources import MemorySource, TableSource, WatchedFiles
from dpopt.private.tables.dataset import PrivateDataset, Progress
from dpopt.schema.schema import Schema

if TYPE_CHECKING:
    from dpopt.private.readers.batch_reader import BatchReader, KeptRows

_BOUNDS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Bounds on the rows of a person for which the owner sees the number of dropped rows."""


def read_table(
    table: AnyTable,
    schema: Schema | str | os.PathLike[str],
    reading: TableReading | None = None,
    *,
    progress: Progress | None = None,
) -> PrivateDataset:
    """Read a table and encode it by a public schema. Every value must fit, except where `reading` names a repair.

    Parameters
    ----------
    table
        Path of a CSV file (UTF-8, commas; also gzip) or a Parquet file, of a folder of such files of one kind; a
        DataFrame of pandas, polars or another library that supports Arrow, or a pyarrow Table; an array or a sparse
        matrix whose columns are the attributes in order. Columns that the schema does not name are not read. Empty
        lines of a CSV file are skipped where it has two or more columns, unless the reading is total: then they are
        malformed rows.
    schema
        The public schema, or its file. Values of categorical and boolean attributes are matched by their text, then by
        their number; numbers go to their bins. Null, NaN, an empty cell and the missing text are missing values.
    reading
        How it is read: what happens to what does not fit, whose rows are bounded, and names of columns where the file
        has none.
    progress
        Called with the fraction of the table that has been read, from 0 to 1.

    Returns
    -------
    PrivateDataset
        The records that are counted; there may be none.

    Raises
    ------
    PrivateDataError
        If the table cannot be read or lacks a column; and, unless the reading is total (`OnInvalid.is_total`), if it
        has no rows or holds what does not fit. The message names columns, lines and values: it is for the owner of the
        table only.
    SchemaError
        If the schema is that of a wide table (`Schema.binary`).

    Examples
    --------
    >>> import dpopt, pandas, tempfile
    >>> schema = dpopt.Schema((dpopt.Attribute("smoker", dpopt.AttributeKind.BOOLEAN),))
    >>> table = pandas.DataFrame({"smoker": [True, False] * 500})
    >>> type(dpopt.read_table(table, schema)).__name__
    'PrivateDataset'
    """
    declared = schema if isinstance(schema, Schema) else Schema.read(schema)
    return _read(table, declared, reading or TableReading(), progress)[0]


def _read(table: AnyTable, schema: Schema, how: TableReading, progress: Progress | None) -> tuple[PrivateDataset, int]:
    """Return the records that are counted, and the number of rows, counted or not."""
    from dpopt.private.readers.batch_reader import BatchReader

    if schema.is_binary:
        raise SchemaError(
            "the schema declares a wide table of zeros and ones; such tables are read by read_binary_table, and by "
            "plan, release, resume and evaluate"
        )
    how = named_by(table, how.for_schema(schema), schema.names)
    how.check_against(schema)
    source = open_table(table, how)
    files = WatchedFiles.of(source.files)
    reader = BatchReader.first_pass(source, schema, how)
    columns = reader.columns(progress)
    reader.refuse_what_does_not_fit()
    refuse_without_rows(source, reader.rows, how)
    held = source.held if isinstance(source, MemorySource) and not source.files else table  # a stream is read once
    again = ReadFrom(held, how, files, reader.kept_rows(), reader.rows)
    return PrivateDataset.from_codes(schema, columns)._with_source(again), reader.rows


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ReadFrom:
    """From which `table` records in memory were read, and `how`. Private.

    The `files` are as they were before the first row was read; `kept` says which of the `rows` are counted, None if all
    are.
    """

    table: AnyTable
    how: TableReading
    files: WatchedFiles
    kept: KeptRows | None
    rows: int

    @property
    def counted(self) -> int:
        """How many rows are counted."""
        return self.rows if self.kept is None else self.kept.number


def read_from(dataset: PrivateDataset) -> ReadFrom:
    """Return the source of a table and how it was read. Raises PrivateDataError if its records were encoded by hand."""
    if not isinstance(dataset._source, ReadFrom):
        raise PrivateDataError("these records were read from no table (`read_table`); hand over the table")
    return dataset._source


@dataclass(frozen=True, slots=True)
class NonPrivateFit:
    """How much of a table fits a schema, for its owner only; publishing it would reveal something about records.

    Of its `rows` a release counts so many (`counted`); `misfits` says which rows and values do not fit, a line each.
    """

    rows: int
    counted: int
    misfits: str
    bounds: tuple[tuple[int, int, int], ...] = ()
    """As `rows_dropped` returns them, where rows name persons."""


def fit_of_table(
    table: AnyTable, schema: Schema, reading: TableReading | None = None
) -> tuple[PrivateDataset, NonPrivateFit]:
    """Read a table as `read_table` does, again, and count values that do not fit: exact, for the owner only."""
    how = named_by(table, (reading or TableReading()).for_schema(schema), schema.names)
    dataset, rows = _read(table, schema, how, None)
    reader = _counting(table, schema, replace(how, on_invalid=OnInvalid.ERROR, person=None, rows_per_person=None))
    misfits = [reader.what_does_not_fit()]
    if rows > reader.rows:
        misfits.append(f"  {rows - reader.rows:,} empty lines, each a malformed row")
    bounds: tuple[tuple[int, int, int], ...] = ()
    if how.person is not None:
        every = _counting(table, schema, replace(how, rows_per_person=MOST_ROWS_PER_PERSON))
        bounds = rows_dropped(every.rows_of_persons())
    return dataset, NonPrivateFit(rows, dataset._rows, "\n".join(filter(None, misfits)), bounds)


def _counting(table: AnyTable, schema: Schema, how: TableReading) -> BatchReader:
    """Return a reader that has read a table to its end."""
    from dpopt.private.readers.batch_reader import BatchReader

    reader = BatchReader.first_pass(open_table(table, how), schema, how)
    reader.read_through()
    return reader


def rows_dropped(rows_of_each: NDArray[np.int64]) -> tuple[tuple[int, int, int], ...]:
    """Return bounds K on the rows of a person, the rows that each drops, and of how many persons; until one drops none."""
    beyond = [(most, np.maximum(rows_of_each - most, 0)) for most in _BOUNDS]
    dropped = [(most, int(rows.sum()), int(np.count_nonzero(rows))) for most, rows in beyond]
    return tuple(dropped[: 1 + next((place for place, one in enumerate(dropped) if not one[1]), len(dropped))])


def refuse_without_rows(source: TableSource, rows: int, how: TableReading) -> None:
    """Refuse, by PrivateDataError, a table without rows, unless the reading is total: that there are none is private then."""
    if rows == 0 and not how.repairs.is_total:
        raise PrivateDataError(f"{source.title} has no rows; expected at least one record")
