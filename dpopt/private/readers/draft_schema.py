"""Drafting a schema from the table itself: a start for the owner to correct, marked as a draft, never used as it is."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import numpy as np

from dpopt.errors import PrivateDataError, SchemaError
from dpopt.private.readers.open_table import AnyTable, open_table
from dpopt.private.readers.table_problems import NO_TEXT, shown
from dpopt.private.readers.table_reading import TableReading
from dpopt.private.readers.table_sources import Progress
from dpopt.schema.schema import LARGEST_SIZE, Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from dpopt.private.readers.draft_columns import ColumnValues

_BASKETS = (
    "If each line lists the items of a record (baskets), there is no schema to draft: declare their number by "
    "--binary-columns, with --layout baskets"
)
_MERGED_AT = 32  # batches of value counts that are kept before they are added up


def draft_schema(
    table: AnyTable,
    *,
    bins: int = 20,
    max_values: int = 100,
    reading: TableReading | None = None,
    progress: Progress | None = None,
) -> tuple[Schema, list[str]]:
    """Guess a schema that the whole table fits.

    The result depends on private data (values that occur, ranges), so it is marked `draft=True` and is not private:
    the owner replaces what only the data show by what is publicly known, then removes the mark.

    Truth values, 0/1 and yes/no become boolean; texts and few different whole numbers categorical; other numbers
    numeric with readable edges, of equal width or, if most rows would share a bin, at rounded quantiles. Empty
    cells, "?" and "NA" become missing values; among numbers also "N", "N/A", "null", "-" and the like.

    Parameters
    ----------
    table, reading, progress
        As for `read_table`.
    bins
        Number of bins aimed at for a numeric column, and most whole numbers that make a categorical one.
    max_values
        Most texts that make a categorical attribute; columns with more are left out.

    Returns
    -------
    schema
        The draft.
    notes
        Columns that were left out and why, and what else to look at. Like the draft, for the owner only.

    Raises
    ------
    PrivateDataError
        If the table cannot be read, has no rows, or no column can be used.
    SchemaError
        If `bins` or `max_values` is out of range.
    """
    from dpopt.private.readers.draft_columns import guess_attribute

    for name, number in (("bins", bins), ("max_values", max_values)):
        if not 2 <= number < LARGEST_SIZE // 2:
            raise SchemaError(
                f"{name} is {number}; expected a whole number from 2 to {LARGEST_SIZE // 2 - 1:,}"
            )
    source = open_table(table, reading)
    from_file = isinstance(table, str | os.PathLike) and (reading is None or reading.column_names is None)
    single = source.names[0] if from_file and len(source.names) == 1 else None
    if single is not None and re.fullmatch(r"\d+([ \t]+\d+)+", single):
        raise PrivateDataError(
            f"{source.title} begins with {shown(single)} where names of columns are expected. {_BASKETS}"
        )
    counts = [_ValueCounts(name) for name in source.names]
    for index, array in source.pieces(range(len(counts)), progress):
        counts[index].add(array)
    faults = source.faults()
    if faults:
        raise PrivateDataError(f"{source.title} cannot be read\n" + "\n".join([*faults, f"  {_BASKETS}"]))
    if not counts or counts[0].rows == 0:
        raise PrivateDataError(f"{source.title} has no rows; a schema cannot be drafted from it")
    attributes, notes = [], [] if single is None else [f"there is one column, {shown(single)}. {_BASKETS}"]
    for number, column in enumerate(counts):
        if not column.name:
            notes.append(f"column number {number + 1} is left out: it has no name")
            continue
        guess = guess_attribute(column.result(), bins, max_values, source.decimal)
        notes.extend(guess.notes)
        if guess.attribute is not None:
            attributes.append(guess.attribute)
    if not attributes:
        raise PrivateDataError(f"{source.title} has no column for a schema:\n  " + "\n  ".join(notes))
    return Schema(tuple(attributes), draft=True), notes


class _ValueCounts:
    """Different values of one column and their numbers of rows, added up batch by batch."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows = 0
        self._parts: list[pa.Table] = []

    def add(self, array: pa.Array) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        try:
            counted = pc.value_counts(array)
            values = _plain_values(counted.field("values"))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as problem:
            raise PrivateDataError(
                f"column {self.name!r} has the type {array.type}, which cannot be read ({problem}); drop the column, "
                "or convert it to text, numbers or truth values"
            ) from problem
        self.rows += len(array)
        self._parts.append(pa.table({"value": values, "rows": counted.field("counts")}))
        if len(self._parts) == _MERGED_AT:
            self._merge()

    def result(self) -> ColumnValues:
        import pyarrow.compute as pc

        from dpopt.private.readers.draft_columns import ColumnValues

        self._merge()
        merged = self._parts[0].combine_chunks().sort_by("value")
        absent = pc.is_null(merged["value"])
        present = merged.filter(pc.invert(absent))
        return ColumnValues(
            self.name,
            present["value"].combine_chunks(),
            np.array(present["rows"].to_numpy(), dtype=np.int64),
            int(pc.sum(merged.filter(absent)["rows"]).as_py() or 0),
        )

    def _merge(self) -> None:
        import pyarrow as pa

        from dpopt.private.readers.encode import as_text

        if len({part.schema.field("value").type for part in self._parts}) > 1:
            self._parts = [
                part.set_column(0, "value", as_text(part["value"].combine_chunks())) for part in self._parts
            ]
        whole = (
            pa.concat_tables(self._parts).group_by("value", use_threads=False).aggregate([("rows", "sum")])
        )
        self._parts = [pa.table({"value": whole["value"], "rows": whole["rows_sum"]})]


def _plain_values(values: pa.Array) -> pa.Array:
    """Return values as truth values, whole numbers, floats (null instead of NaN) or texts.

    Raises pyarrow.ArrowInvalid or ArrowNotImplementedError if one has no text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from dpopt.private.readers.encode import as_text, clean

    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    kind = values.type
    if pa.types.is_floating(kind):
        return pc.if_else(pc.is_nan(values), pa.scalar(None, kind), values)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return values
    texts = clean(as_text(values))
    strange = texts.filter(pc.starts_with(texts, NO_TEXT))
    if len(strange):
        raise pa.ArrowInvalid(strange[0].as_py().removeprefix(NO_TEXT))
    return texts
