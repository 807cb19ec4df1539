"""Reading a table into a PrivateDataset: every value is matched against the public schema, or the table is refused."""

from __future__ import annotations

from collections.abc import Sequence

from dpopt.errors import PrivateDataError, SchemaError
from dpopt.private.dataset import PrivateDataset
from dpopt.private.on_unknown import OnUnknown, parse_on_unknown
from dpopt.private.open_table import AnyTable, open_table
from dpopt.private.table_problems import ColumnProblems
from dpopt.private.table_sources import Progress, TableSource, column_positions
from dpopt.queries.schema import Schema

__all__ = ["OnUnknown", "parse_on_unknown", "read_table", "refuse_what_does_not_fit", "unused_columns"]


def read_table(
    table: AnyTable,
    schema: Schema,
    *,
    on_unknown: OnUnknown = OnUnknown.ERROR,
    column_names: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> PrivateDataset:
    """Read a table and encode it by a public schema. All of it fits, or nothing is returned.

    Parameters
    ----------
    table
        Path of a CSV file (UTF-8, commas; also gzip) or a Parquet file, of a folder of such files of one kind, or a pandas
        DataFrame or pyarrow Table. Columns that the schema does not name are not read. Blank lines of a CSV file are
        skipped.
    schema
        The public schema. Values of categorical and boolean attributes are matched by their text, then by their
        number; numbers go to their bins. Null, NaN, an empty cell and the missing text are missing values.
    on_unknown
        What to do with values that are not declared; by default they are errors.
    column_names
        Names of all columns of the table, in order. Needed for a CSV file whose first line is a record already;
        replaces the names that other tables have.
    progress
        Told the fraction of the table that has been read, from 0 to 1.

    Returns
    -------
    PrivateDataset
        At least one record.

    Raises
    ------
    PrivateDataError
        If the table cannot be read, lacks a column, has no rows, or holds values that do not fit. The message names
        columns, lines and values: it is for the owner of the table only.
    SchemaError
        If the schema is that of a wide table (`Schema.binary`).
    """
    from dpopt.private.encode import ColumnEncoder

    if schema.is_binary:
        raise SchemaError(
            "the schema declares a wide table of zeros and ones; such tables are read by read_binary_table, and by "
            "synthesize, plan, release, resume and evaluate"
        )
    source = open_table(table, column_names)
    positions = column_positions(source, schema.names)
    encoders = [ColumnEncoder(attribute, on_unknown) for attribute in schema.attributes]
    for index, array in source.pieces(positions, progress):
        encoders[index].add(array)
    refuse_what_does_not_fit(source, [encoder.problems for encoder in encoders])
    if encoders[0].rows == 0:
        raise PrivateDataError(f"{source.title} has no rows; expected at least one record")
    return PrivateDataset.from_codes(schema, [encoder.codes() for encoder in encoders])


def unused_columns(
    table: AnyTable,
    schema: Schema,
    *,
    column_names: Sequence[str] | None = None,
) -> tuple[str, ...]:
    """Return the columns of a table that the schema does not name, in the order of the table. No records are read.

    Raises
    ------
    PrivateDataError
        If the table cannot be read.
    """
    used = set(schema.names)
    return tuple(name for name in open_table(table, column_names).names if name not in used)


def refuse_what_does_not_fit(
    source: TableSource, columns: Sequence[ColumnProblems], faults: Sequence[str] | None = None
) -> None:
    """Refuse a table that was read to its end, if rows or values of its columns did not fit.

    Parameters
    ----------
    faults
        What is wrong with whole rows, where others than `source` have read them.

    Raises
    ------
    PrivateDataError
        The message names columns, lines and values.
    """
    faults = source.faults() if faults is None else list(faults)
    problems = [column for column in columns if column]
    if not faults and not problems:
        return
    rows = sorted({row for problem in problems for row in problem.example_rows()})
    places = source.places(rows) if rows else {}
    blocks = [*faults] + [problem.message(places) for problem in problems]
    text = "\n".join(f"  {line}" for block in blocks for line in block.splitlines())
    raise PrivateDataError(f"{source.title} does not fit the schema\n{text}")
