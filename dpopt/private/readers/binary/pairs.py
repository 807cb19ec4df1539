"""Pairs: a text file with a user and an item on each line; every user is a record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError
from dpopt.private.readers.binary.fields import COMMAS, Fields, Malformed, TextForm, fields_of
from dpopt.private.readers.binary.items import Items, Unknown
from dpopt.private.readers.binary.listing import columns_of_records, records_of_pairs
from dpopt.private.readers.binary.text_blocks import is_packed
from dpopt.private.readers.table_problems import counted
from dpopt.queries.counting.binary_columns import MOST_ROWS, SparseColumns

if TYPE_CHECKING:
    import pyarrow as pa


def read_pairs(
    path: Path,
    items: Items,
    *,
    pair_columns: tuple[int, int] | None = None,
    header: bool = True,
    form: TextForm = COMMAS,
    total: bool = False,
) -> SparseColumns:
    """Return the columns of pairs: one record for each user, whose items are those of all lines with that user.

    Users are any texts; items are numbers or names. Blank lines are skipped. A pair that stands there twice is one.

    Parameters
    ----------
    pair_columns
        Which columns of the file, from 1, hold user and item; None where there are two.
    header
        Whether the first line holds the names of the file's columns; all lines then have as many. Without one, all lines have
        two columns, or with `pair_columns` at least those.
    form
        How lines are divided.
    total
        Whether what is no item is left out of its record, and a line that cannot be read, or has no user, of all of them. There
        may then be no record at all.

    Raises
    ------
    PrivateDataError
        If the file is damaged; and, unless `total`, if it holds no pair, a line has another number of columns or no user, or
        something is no item. The message quotes lines, for the owner.
    """
    import pyarrow as pa

    users: list[pa.Array] = []
    columns: list[NDArray[np.int32]] = []
    unknown, lines = Unknown(path.name, items), _Lines(path.name, pair_columns, header=header)
    for fields in fields_of(path, form, packed=is_packed(path, public_start=header)):
        texts, places = lines.pairs(fields)
        found = items.columns(fields)[places]
        bad = np.flatnonzero(found < 0)
        if bad.size:
            unknown.add(fields, places[bad])
        users.append(texts.dictionary_encode())
        columns.append(found)
    if not total:
        lines.refuse()
        unknown.refuse()
    if not sum(map(len, columns)):
        if total:
            return columns_of_records([], items.width)
        raise PrivateDataError(f"{path.name} holds no pair of user and item; expected one on each line")
    merged = pa.chunked_array(users).unify_dictionaries()
    rows = len(merged.chunk(0).dictionary)
    if rows > MOST_ROWS:
        raise PrivateDataError(f"{path.name} has {rows:,} users; at most {MOST_ROWS:,} can be read")
    records = np.concatenate([chunk.indices.to_numpy() for chunk in merged.chunks])
    del merged, users
    found = np.concatenate(columns)
    known = found >= 0
    starts, grouped, _ = records_of_pairs(records[known], found[known], rows)
    return columns_of_records([(starts, grouped)], items.width)


class _Lines:
    """The lines of a file of pairs, each held against what is declared."""

    def __init__(self, title: str, pair: tuple[int, int] | None, *, header: bool) -> None:
        self._title, self._pair = title, pair
        self._header = header  # whether it is still to come
        self._fewest, self._most = (2, 2.0) if pair is None else (max(pair), np.inf)
        self._malformed = Malformed("a user and an item" if pair is None else f"at least {max(pair)} columns")
        self._nobody = 0

    def pairs(self, fields: Fields) -> tuple[pa.Array, NDArray[np.int64]]:
        """Return the users of the lines with a pair, and the places of their items among the fields."""
        import pyarrow as pa

        counts = fields.counts
        held = (counts > 0) | (fields.bad > 0)
        if self._header and held.any():
            first = int(np.flatnonzero(held)[0])
            self._begin(int(counts[first]))
            held[first] = False
        good = held & (fields.bad == 0) & (counts >= self._fewest) & (counts <= self._most)
        self._malformed.add(fields, np.flatnonzero(held & ~good))
        user, item = (1, 2) if self._pair is None else self._pair
        places = fields.firsts[:-1][good].astype(np.int64)
        named = fields.ends[places + user] != fields.ends[places + user - 1]
        if not named.all() and not self._nobody:
            self._nobody = int(fields.lines_of(places[~named][:1])[0])
        places = places[named]
        return fields.arrow().take(pa.array(places + user - 1)), places + item - 1

    def refuse(self) -> None:
        """Refuse the file if there were lines without a user and an item.

        Raises
        ------
        PrivateDataError
            With the first of them, for the owner.
        """
        faults = self._malformed.message()
        if faults:
            raise PrivateDataError(f"{self._title}:\n{faults[0]}")
        if self._nobody:
            raise PrivateDataError(
                f"{self._title}, line {self._nobody:,}: no user; every line needs a user and an item"
            )

    def _begin(self, width: int) -> None:
        """Take the number of columns from the line of their names, which is public."""
        self._header = False
        if self._pair is None and width != 2:
            raise PrivateDataError(
                f"{self._title} has {counted(width, 'column')} in its first line, the names of columns; say which hold user "
                "and item, as in --pair-columns 1,2"
                if width > 2
                else f"{self._title} has one column in its first line, the names of columns; expected a user and an item; "
                "--separator says what stands between them, a comma if it is left out"
            )
        if self._pair is not None and max(self._pair) > width:
            raise PrivateDataError(
                f"{self._title} has {counted(width, 'column')} in its first line, the names of columns, and --pair-columns "
                f"names column {max(self._pair)}"
            )
        self._fewest, self._most = width, width
        self._malformed = Malformed(counted(width, "column"))
