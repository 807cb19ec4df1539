"""Columns that a schema declares as lengths after others: two values become one length, row by row, before encoding.

A length is a function of its own row alone: one record still gives one code for each attribute, and none changes how
another is read. So neighbouring relation and sensitivities are those of any other column. Test:
`tests/private/test_lengths.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.private.readers.table_reading import OnInvalid
from dpopt.private.readers.table_sources import TableSource
from dpopt.private.tables.dataset import Progress
from dpopt.schema.lengths import as_in_files, length, lengths
from dpopt.schema.schema import Attribute, Schema

if TYPE_CHECKING:
    import pyarrow as pa


def pieces_with_lengths(
    source: TableSource,
    positions: Sequence[int],
    schema: Schema,
    columns: Sequence[int],
    progress: Progress | None,
    *,
    batch_rows: int,
) -> Iterator[tuple[int, pa.Array]]:
    """Yield the pieces of `TableSource.pieces`, with lengths as texts of numbers in place of the columns' own values.

    `columns` are the places of all attributes of the schema.
    """
    every = schema.attributes
    found = {columns[place]: (place, base) for place, base in lengths(every) if columns[place] in positions}
    if not found:
        yield from source.pieces(positions, progress, batch_rows=batch_rows)
        return
    wanted = list(dict.fromkeys([*positions, *(columns[base] for _, base in found.values())]))
    held: list[pa.Array] = []
    for index, array in source.pieces(wanted, progress, batch_rows=batch_rows):
        held.append(array)
        if index < len(wanted) - 1:
            continue
        for number, position in enumerate(positions):
            values = held[number]
            if position in found:
                place, base = found[position]
                both = as_in_files(every, base), as_in_files(every, place)
                values = _lengths(held[wanted.index(columns[base])], values, every[place].unit, *both, source.decimal)
            yield number, values
        held = []


def _lengths(
    start: pa.Array, end: pa.Array, unit: str | None, first: Attribute, second: Attribute, decimal: str
) -> pa.Array:
    """Return the texts of lengths: empty where one of the two is missing, or the start is none; words where the end is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from dpopt.private.readers.encode import as_text, clean

    since, until = numbers_in_file(start, first, decimal), numbers_in_file(end, second, decimal)
    strange = np.isinf(until)
    since[np.isinf(since)] = until[strange] = np.nan
    texts = as_text(pa.array(length(since, until, first.date_format, unit)))
    texts = pc.fill_null(pc.replace_substring(texts, ".", decimal[0]), "")
    if strange.any():
        rows = pa.array(np.flatnonzero(strange))
        found = as_text(end.take(rows))
        found = clean(found.dictionary_decode() if pa.types.is_dictionary(found.type) else found)
        form = second.date_format
        what = "' is not a number" if form is None else f"' is not a date in the form {form}"
        problems = pc.binary_join_element_wise("'", pc.utf8_slice_codeunits(found, 0, 60), what, "")
        texts = pc.replace_with_mask(texts, pa.array(strange), problems)
    return pc.if_else(end.is_null(), pa.scalar(None, pa.string()), texts)


def numbers_in_file(array: pa.Array, attribute: Attribute, decimal: str) -> NDArray[np.float64]:
    """Return a column as numbers, or dates in seconds: NaN for a missing value, infinite for an invalid one."""
    from dpopt.private.readers.encode import FileEncoder

    dated = attribute.date_format is not None
    arrow = attribute.arrow if dated else None
    declared = replace(attribute, missing=attribute.missing or "", other=None, integer=dated, arrow=arrow)
    encoder = FileEncoder(declared, OnInvalid.OTHER, decimal=decimal)
    encoder.add(array)
    return np.array(encoder.known()[0, encoder.codes()], dtype=np.float64)
