"""Text files of items: baskets, a record on each line; pairs of user and item, a record for each user."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError, SchemaError, counted
from dpopt.private.readers.binary.sparse_columns import columns_of_pairs, columns_of_records
from dpopt.private.readers.table_problems import shown
from dpopt.private.readers.text_fields import COMMAS, Faults, Fields, Malformed, TextForm, fields_of, is_packed
from dpopt.queries.counting.binary_columns import MOST_ROWS, SparseColumns
from dpopt.schema.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

_LISTED = 3
_MARK = r"\ufeff"


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """Names of the columns in a text file: numbers from `first`, or texts."""

    width: int
    """Number of columns d."""
    first: int = 0
    """Number of the first column."""
    names: tuple[str, ...] | None = None
    """The columns' names, without blanks around them, where items are written by name."""

    @classmethod
    def of(cls, schema: Schema, first_item: int | None) -> Items:
        """Return the items of a schema: by name where it has names, unless `first_item` says that they are numbers."""
        given = schema.to_json()["binary_attributes"]
        if first_item is not None or "names" not in given:  # type: ignore[operator]
            return cls(len(schema), first_item or 0)
        names = tuple(name.strip() for name in schema.names)
        if any(name.startswith("\ufeff") for name in names):
            raise SchemaError(
                "a name of a column begins with a byte order mark (U+FEFF), which does not show; remove it"
            )
        if len(set(names)) < len(names):
            raise SchemaError("two names of columns differ in the blanks around them only; make them different")
        return cls(len(schema), 0, names)

    def columns(self, fields: Fields) -> NDArray[np.int32]:
        """Return the column of each field, -1 where it is no item."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from dpopt.private.readers.text_kernels import numbers_of_fields

        if self.names is None:
            return numbers_of_fields(fields.data, fields.ends, self.first, self.width).astype(np.int32)
        known = pa.array([name.encode() for name in self.names], pa.binary())
        found = pc.fill_null(pc.index_in(fields.arrow(), value_set=known), -1)
        return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int32)

    def separators(self) -> str:
        """Return the characters that separate items in a basket: blanks, commas and tabs, except those in a name."""
        used: set[str] = set().union(*self.names) if self.names is not None else set()
        separators = "".join(sign for sign in " ,\t" if sign not in used)
        if not separators:
            raise SchemaError(
                "names of columns hold blanks, commas and tabs, so that nothing is left to separate items of a "
                "basket by; leave one of these characters out of all names"
            )
        return separators

    def messages(self, faults: Faults) -> list[str]:
        """Return messages to the owner about fields that are no items: examples, accepted forms, what to do."""
        messages = faults.examples()
        if self.names is None:
            expected = f"whole numbers from {self.first:,} to {self.first + self.width - 1:,}"
            remedy = (
                "correct the file; declare as many columns as there can be items; say by --first-item what number the "
                "first column has; and leave --no-header out if the first line holds the names of columns"
            )
        else:
            listed = ", ".join(map(shown, self.names[:_LISTED])) + (", ..." if self.width > _LISTED else "")
            expected = f"one of {self.width:,} names: {listed}"
            remedy = "correct the file or the names; or give --first-item if the file has numbers in place of names"
        if any(_MARK in repr(example) for example in messages):
            remedy = "remove the byte order mark (U+FEFF), which does not show: files in UTF-8 were joined"
        return [*messages, f"expected: {expected}", f"what to do: {remedy}"]


class _Unknown(Faults):
    """Fields that are no items, collected over a file."""

    def __init__(self, title: str, items: Items) -> None:
        super().__init__()
        self._title, self._items = title, items

    def find(self, fields: Fields, places: NDArray[np.int64], columns: NDArray[np.int32]) -> None:
        """Add those of the fields at these places that have no column."""
        places = places[columns < 0]

        def text(place: int) -> str:
            found = fields.text(place)
            return f"{shown(found)} is not an item" if found else "no item"

        self.add(places, fields.lines_of, text)

    def refuse(self) -> None:
        """Refuse the file, by PrivateDataError, if there were any."""
        if self.number:
            messages = "\n".join(f"  {line}" for line in self._items.messages(self))
            raise PrivateDataError(f"{self._title} does not fit the declared columns\n{messages}")


def read_baskets(path: Path, items: Items, form: TextForm, *, total: bool = False) -> SparseColumns:
    """Return the columns of baskets. Every line is a record: an empty line is one without items.

    Items are numbers or names. The same item twice in a basket counts once. A file is gzip if its name ends with .gz.
    With `total`, what is no item is left out of its record, and a line that cannot be read is a record without items;
    the file may then hold no line at all.
    """
    upto, found = [np.zeros(1, dtype=np.int64)], [np.zeros(0, dtype=np.int32)]  # items up to each line; their columns
    unknown, malformed = _Unknown(path.name, items), Malformed("items")
    for fields in fields_of(path, form, packed=is_packed(path, public_start=False)):
        columns = items.columns(fields)
        if not total:
            malformed.add_records(fields, np.flatnonzero(fields.bad))
            unknown.find(fields, np.arange(columns.size), columns)
        known = (columns >= 0) & np.repeat(fields.bad == 0, fields.counts)  # a record that cannot be divided has none
        found.append(columns[known])
        upto.append(upto[-1][-1] + np.append(0, np.cumsum(known))[fields.firsts[1:]])
        del fields, columns, known
    malformed.refuse(path.name)
    unknown.refuse()
    starts = np.concatenate(upto)
    if not (0 if total else 1) <= starts.size - 1 <= MOST_ROWS:
        raise PrivateDataError(
            f"{path.name} has {starts.size - 1:,} lines; expected 1 to {MOST_ROWS:,}, a record on each"
        )
    return columns_of_records(starts, np.concatenate(found), items.width)


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

    `pair_columns` are the columns of the file, from 1, that hold user and item; None where there are two. If the first
    line holds the names of the columns (`header`), all lines have as many; else two, or with `pair_columns` at least
    those. With `total`, what is no item is left out of its record, and a line that cannot be read, or has no user, of
    all of them; there may then be no record at all.
    """
    import pyarrow as pa

    users: list[pa.Array] = []
    columns: list[NDArray[np.int32]] = []
    unknown, lines = _Unknown(path.name, items), _Lines(path.name, pair_columns, header=header)
    for fields in fields_of(path, form, packed=is_packed(path, public_start=header)):
        texts, places = lines.pairs(fields)
        found = items.columns(fields)[places]
        unknown.find(fields, places, found)
        users.append(texts.dictionary_encode())
        columns.append(found)
    if not total:
        lines.refuse()
        unknown.refuse()
    if not sum(map(len, columns)):
        if total:
            return columns_of_records(np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), items.width)
        raise PrivateDataError(f"{path.name} holds no pair of user and item; expected one on each line")
    merged = pa.chunked_array(users).unify_dictionaries()
    rows = len(merged.chunk(0).dictionary)
    if rows > MOST_ROWS:
        raise PrivateDataError(f"{path.name} has {rows:,} users; at most {MOST_ROWS:,} can be read")
    records = np.concatenate([chunk.indices.to_numpy() for chunk in merged.chunks])
    del merged, users
    found = np.concatenate(columns)
    known = found >= 0
    return columns_of_pairs(records[known], found[known], rows, items.width)


class _Lines:
    """The lines of a file of pairs, each validated by the declaration."""

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
        self._malformed.add_records(fields, np.flatnonzero(held & ~good))
        user, item = (1, 2) if self._pair is None else self._pair
        places = fields.firsts[:-1][good].astype(np.int64)
        named = fields.ends[places + user] != fields.ends[places + user - 1]
        if not named.all() and not self._nobody:
            self._nobody = int(fields.lines_of(places[~named][:1])[0])
        places = places[named]
        return fields.arrow().take(pa.array(places + user - 1)), places + item - 1

    def refuse(self) -> None:
        """Refuse the file if there were lines without a user and an item; name the first of them."""
        self._malformed.refuse(self._title)
        if self._nobody:
            raise PrivateDataError(
                f"{self._title}, line {self._nobody:,}: no user; every line needs a user and an item"
            )

    def _begin(self, width: int) -> None:
        """Take the number of columns from the line of their names, which is public."""
        self._header = False
        if self._pair is None and width != 2:
            raise PrivateDataError(
                f"{self._title} has {counted(width, 'column')} in its first line, the names of columns; say which hold "
                f"user and item, as in --pair-columns 1,2"
                if width > 2
                else f"{self._title} has one column in its first line, the names of columns; expected a user and an item; "
                "--separator says what stands between them, a comma if it is left out"
            )
        if self._pair is not None and max(self._pair) > width:
            raise PrivateDataError(
                f"{self._title} has {counted(width, 'column')} in its first line, the names of columns, and "
                f"--pair-columns names column {max(self._pair)}"
            )
        self._fewest, self._most = width, width
        self._malformed = Malformed(counted(width, "column"))
