"""Baskets: a text file with one record on each line, its items separated by blanks, commas or tabs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dpopt.errors import PrivateDataError
from dpopt.private.binary.fields import Separation, fields_of
from dpopt.private.binary.items import Items, Unknown
from dpopt.private.binary.listing import Part, columns_of_records
from dpopt.queries.binary_columns import MOST_ROWS, SparseColumns


def read_baskets(path: Path, items: Items) -> SparseColumns:
    """Return the columns of baskets. Every line is a record: an empty line is one without items.

    Items are numbers or names; a sign that stands in a name does not separate. The same item twice in a basket counts once.

    Raises
    ------
    PrivateDataError
        If the file holds no line or is damaged, or something in it is no item. The message quotes lines, for the owner.
    """
    parts: list[Part] = []
    unknown = Unknown(path.name, items)
    rows = 0
    for fields in fields_of(path, Separation(items.separators(), runs=True)):
        columns = items.columns(fields)
        bad = np.flatnonzero(columns < 0)
        if bad.size:
            unknown.add(fields, bad)
        starts = np.zeros(fields.counts.size + 1, dtype=np.int32)
        np.cumsum(fields.counts, out=starts[1:])
        parts.append((starts, columns))
        rows += fields.counts.size
    unknown.refuse()
    if not 1 <= rows <= MOST_ROWS:
        raise PrivateDataError(
            f"{path.name} has {rows:,} lines; expected 1 to {MOST_ROWS:,}, a record on each"
        )
    return columns_of_records(parts, items.width)
