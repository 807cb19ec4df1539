"""Remarks on columns that a schema does not name, from their names alone."""

from dpopt.errors import visible
from dpopt.private.drafts.guess_attribute import names_persons
from dpopt.private.readers.open_table import AnyTable, open_table
from dpopt.private.readers.table_reading import TableReading
from dpopt.schema.schema import Schema


def unused_columns(table: AnyTable, schema: Schema, reading: TableReading | None = None) -> str:
    """Return which columns of a table the schema does not name, in words; "" if none. No records are read.

    Nor is a column named where the table lacks one of the schema: reading it says so.
    """
    how = (reading or TableReading()).for_schema(schema)
    names = [] if schema.is_binary else open_table(table, how).names
    unused = [name for name in names if {*schema.names} <= {*names} and name not in {*schema.names, how.person}]
    if not unused:
        return ""
    persons = [name for name in unused if how.person is None and names_persons(name)]
    protect = f"; if {persons[0]} names people with several rows, use --person and --rows-per-person" if persons else ""
    listed = ", ".join(name or "(no name)" for name in unused)
    return visible(f"ignored columns, which the schema does not name: {listed}{protect}")
