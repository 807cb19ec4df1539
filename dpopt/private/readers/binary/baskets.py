"""Baskets: a text file with one record on each line, its items separated by blanks, commas or tabs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError
from dpopt.private.readers.binary.fields import Fields, Malformed, TextForm, fields_of
from dpopt.private.readers.binary.items import Items, Unknown
from dpopt.private.readers.binary.listing import Part, columns_of_records
from dpopt.private.readers.binary.text_blocks import is_packed
from dpopt.queries.counting.binary_columns import MOST_ROWS, SparseColumns


def read_baskets(path: Path, items: Items, form: TextForm, *, total: bool = False) -> SparseColumns:
    """Return the columns of baskets. Every line is a record: an empty line is one without items.

    Items are numbers or names. The same item twice in a basket counts once. A file is gzip if its name ends with .gz.

    Parameters
    ----------
    total
        Whether what is no item is left out of its record, and a line that cannot be read is a record without items. The file
        may then hold no line at all.

    Raises
    ------
    PrivateDataError
        If the file is damaged; and, unless `total`, if it holds no line or something in it is no item. The message quotes
        lines, for the owner.
    """
    parts: list[Part] = []
    unknown, malformed = Unknown(path.name, items), Malformed("items")
    rows = 0
    for fields in fields_of(path, form, packed=is_packed(path, public_start=False)):
        columns = items.columns(fields)
        rows += fields.bad.size
        if total:
            parts.append(known_items(fields, columns))
            continue
        malformed.add(fields, np.flatnonzero(fields.bad))
        bad = np.flatnonzero(columns < 0)
        if bad.size:
            unknown.add(fields, bad)
        parts.append((fields.firsts, columns))
    for fault in malformed.message():
        raise PrivateDataError(f"{path.name}:\n{fault}")
    unknown.refuse()
    if not (0 if total else 1) <= rows <= MOST_ROWS:
        raise PrivateDataError(
            f"{path.name} has {rows:,} lines; expected 1 to {MOST_ROWS:,}, a record on each"
        )
    return columns_of_records(parts, items.width)


def known_items(fields: Fields, columns: NDArray[np.int32]) -> Part:
    """Return records without what is no item; a record that cannot be divided has none.

    Parameters
    ----------
    columns : (fields,) int32
        The column of each field, negative where it is no item.
    """
    known = (columns >= 0) & np.repeat(fields.bad == 0, fields.counts)
    before = np.concatenate([[0], np.cumsum(known)])
    return before[fields.firsts], columns[known]
