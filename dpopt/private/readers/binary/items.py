"""Items as they stand in text files, to numbers of columns; what is no item is told to the owner with its line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError, SchemaError
from dpopt.private.readers.binary.fields import Fields
from dpopt.private.readers.table_problems import shown
from dpopt.schema.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

_EXAMPLES = 3
_MARK = r"\ufeff"


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """What stands for the columns in a text file: numbers from `first`, or names.

    Attributes
    ----------
    width : int
        Number of columns d.
    first : int
        Number of the first column.
    names : tuple of str or None
        The columns' names, without blanks around them, where items are written by name.
    """

    width: int
    first: int = 0
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, schema: Schema, first_item: int | None) -> Items:
        """Return the items of a schema: by name where it was given names, unless `first_item` says that they are numbers.

        Raises
        ------
        SchemaError
            If two names are the same without the blanks around them.
        """
        given = schema.to_json()["binary_attributes"]
        if first_item is not None or "names" not in given:  # type: ignore[operator]
            return cls(len(schema), first_item or 0)
        names = tuple(name.strip() for name in schema.names)
        if any(name.startswith("\ufeff") for name in names):
            raise SchemaError(
                "a name of a column begins with a byte order mark (U+FEFF), which does not show; remove it"
            )
        if len(set(names)) < len(names):
            raise SchemaError(
                "two names of columns differ in the blanks around them only; make them different"
            )
        return cls(len(schema), 0, names)

    def columns(self, fields: Fields) -> NDArray[np.int32]:
        """Return the column of each field, -1 where it is no item."""
        from dpopt.private.readers.binary.text_kernels import numbers_of_fields

        if self.names is None:
            return numbers_of_fields(fields.data, fields.ends, self.first, self.width).astype(np.int32)
        return self.columns_of_names(fields.arrow())

    def columns_of_names(self, texts: pa.Array) -> NDArray[np.int32]:
        """Return the column of each name, -1 where there is none of that name."""
        import pyarrow as pa
        import pyarrow.compute as pc

        known = pa.array([name.encode() for name in self.names or ()], pa.binary())
        found = pc.fill_null(pc.index_in(texts, value_set=known), -1)
        return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int32)

    def separators(self) -> str:
        """Return the signs that separate items in a basket: blanks, commas and tabs, but for those that stand in a name.

        Raises
        ------
        SchemaError
            If every one of them stands in a name.
        """
        used: set[str] = set().union(*self.names) if self.names is not None else set()
        separators = "".join(sign for sign in " ,\t" if sign not in used)
        if not separators:
            raise SchemaError(
                "names of columns hold blanks, commas and tabs, so that nothing is left to separate items of a "
                "basket by; leave one of these signs out of all names"
            )
        return separators

    def expected(self) -> str:
        """Return what is accepted, in a few words."""
        if self.names is None:
            return f"whole numbers from {self.first:,} to {self.first + self.width - 1:,}"
        listed = ", ".join(map(shown, self.names[:_EXAMPLES])) + (", ..." if self.width > _EXAMPLES else "")
        return f"one of {self.width:,} names: {listed}"

    def remedy(self) -> str:
        """Return what to do about something that is no item."""
        if self.names is None:
            return (
                "correct the file; declare as many columns as there can be items; say by --first-item what number the first "
                "column has; and leave --no-header out if the first line holds the names of columns"
            )
        return "correct the file or the names; or give --first-item if the file has numbers in place of names"


class Unknown:
    """Fields that are no items, collected over a file."""

    def __init__(self, title: str, items: Items) -> None:
        self._title, self._items = title, items
        self._examples: list[str] = []
        self._number = 0

    def add(self, fields: Fields, places: NDArray[np.int64]) -> None:
        """Add the fields at these places."""
        self._number += places.size
        wanted = places[: _EXAMPLES - len(self._examples)]
        lines = fields.lines_of(wanted)
        self._examples += [
            f"line {line:,}: {shown(fields.text(int(place)))} is no item"
            if fields.text(int(place))
            else f"line {line:,}: no item"
            for line, place in zip(lines.tolist(), wanted.tolist(), strict=True)
        ]

    def refuse(self) -> None:
        """Refuse the file if there were any.

        Raises
        ------
        PrivateDataError
            With lines and texts, for the owner.
        """
        if not self._number:
            return
        told = list(self._examples)
        if self._number > len(told):
            told.append(f"and {self._number - len(told):,} more")
        remedy = self._items.remedy()
        if any(_MARK in repr(example) for example in told):
            remedy = "remove the byte order mark (U+FEFF), which does not show: files in UTF-8 were joined"
        told += [f"expected: {self._items.expected()}", f"what to do: {remedy}"]
        raise PrivateDataError(
            f"{self._title} does not fit the declared columns\n" + "\n".join(f"  {line}" for line in told)
        )
