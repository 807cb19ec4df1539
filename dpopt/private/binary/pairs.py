"""Pairs: a text file with a user and an item on each line; every user is a record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError
from dpopt.private.binary.fields import Fields, Separation, fields_of
from dpopt.private.binary.items import Items, Unknown
from dpopt.private.binary.listing import columns_of_records, records_of_pairs
from dpopt.private.binary.text_blocks import first_line
from dpopt.private.table_problems import counted, shown
from dpopt.queries.binary_columns import MOST_ROWS, SparseColumns

if TYPE_CHECKING:
    import pyarrow as pa


def read_pairs(
    path: Path, items: Items, *, pair_columns: tuple[int, int] | None, header: bool
) -> SparseColumns:
    """Return the columns of pairs: one record for each user, whose items are those of all lines with that user.

    The columns of the file are separated by tabs, commas, semicolons, "::" or blanks: the first of these that stands in the
    first line. Users are any texts; items are numbers or names. Blank lines are skipped. A pair that stands there twice is one.

    Parameters
    ----------
    pair_columns
        Which columns of the file, from 1, hold user and item; None where there are two.
    header
        Whether the first line holds the names of the file's columns.

    Raises
    ------
    PrivateDataError
        If the file is damaged or holds no pair, lines have different numbers of columns, or something is no item. The message
        quotes lines, for the owner.
    """
    import pyarrow as pa

    users: list[pa.Array] = []
    columns: list[NDArray[np.int32]] = []
    unknown, table = Unknown(path.name, items), _Table(path.name, pair_columns)
    for number, fields in enumerate(fields_of(path, separation_of(first_line(path)))):
        known, texts, places = table.pairs(fields)
        found = items.columns(fields)[places]
        if number == 0 and known:
            refuse_header(path.name, header=header, item=int(found[0]), text=fields.text(int(places[0])))
            if header:
                texts, found, places = texts.slice(1), found[1:], places[1:]
        bad = np.flatnonzero(found < 0)
        if bad.size:
            unknown.add(fields, places[bad])
        users.append(texts.dictionary_encode())
        columns.append(found)
    unknown.refuse()
    if not sum(map(len, columns)):
        raise PrivateDataError(f"{path.name} holds no pair of user and item; expected one on each line")
    merged = pa.chunked_array(users).unify_dictionaries()
    rows = len(merged.chunk(0).dictionary)
    if rows > MOST_ROWS:
        raise PrivateDataError(f"{path.name} has {rows:,} users; at most {MOST_ROWS:,} can be read")
    records = np.concatenate([chunk.indices.to_numpy() for chunk in merged.chunks])
    del merged, users
    starts, grouped, _ = records_of_pairs(records, np.concatenate(columns), rows)
    return columns_of_records([(starts, grouped)], items.width)


def separation_of(line: str) -> Separation:
    """Return how the lines of a file are divided whose first line this is."""
    for sign in "\t,;":
        if sign in line:
            return Separation(sign, runs=False, quotes=True)
    return Separation(":", runs=True) if "::" in line else Separation(" \t", runs=True)


def refuse_header(title: str, *, header: bool, item: int, text: str) -> None:
    """Refuse a first line that is not what the user says: names of columns, or a pair.

    Raises
    ------
    PrivateDataError
        With what to do.
    """
    if header and item >= 0:
        raise PrivateDataError(
            f"{title} starts with a pair, the item {shown(text)}, where a line with the names of its columns is "
            "expected; give --no-header (header=False) if there is none"
        )
    if not header and item < 0:
        raise PrivateDataError(
            f"{title}, line 1: {shown(text)} is no item; leave --no-header (header=False) out if the first line holds the "
            "names of columns"
        )


class _Table:
    """The columns of a file of pairs: as many as its first line has, in every line."""

    def __init__(self, title: str, pair_columns: tuple[int, int] | None) -> None:
        self._title, self._pair = title, pair_columns
        self._width = 0

    def pairs(self, fields: Fields) -> tuple[int, pa.Array, NDArray[np.int64]]:
        """Return the number of lines with a pair, their users, and the places of their items among the fields."""
        import pyarrow as pa

        filled = fields.counts[fields.counts > 0]
        if not self._width and filled.size:
            self._begin(int(filled[0]))
        wrong = np.flatnonzero((fields.counts > 0) & (fields.counts != self._width))
        if wrong.size:
            line = int(wrong[0])
            raise PrivateDataError(
                f"{self._title}, line {fields.before + line + 1:,}: {counted(int(fields.counts[line]), 'column')}, and the "
                f"first line has {self._width}; every line must have the same number. A text that holds the "
                "separator is written in quotes"
            )
        user, item = (1, 2) if self._pair is None else self._pair
        places = np.arange(filled.size, dtype=np.int64) * self._width
        texts = fields.arrow().take(pa.array(places + user - 1))
        nobody = np.flatnonzero(fields.ends[places + user] == fields.ends[places + user - 1])
        if nobody.size:
            line = int(fields.lines_of(places[nobody[:1]])[0])
            raise PrivateDataError(
                f"{self._title}, line {line:,}: no user; every line needs a user and an item"
            )
        return filled.size, texts, places + item - 1

    def _begin(self, width: int) -> None:
        self._width = width
        if self._pair is None and width != 2:
            raise PrivateDataError(
                f"{self._title} has {counted(width, 'column')} in its first line; say which hold user and item, as in "
                "--pair-columns 1,2"
                if width > 2
                else f"{self._title} has one column in its first line; expected a user and an item, separated by a comma, a "
                "tab or blanks"
            )
        if self._pair is not None and max(self._pair) > width:
            raise PrivateDataError(
                f"{self._title} has {counted(width, 'column')} in its first line, and --pair-columns names column "
                f"{max(self._pair)}"
            )
