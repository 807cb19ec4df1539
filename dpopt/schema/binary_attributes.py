"""The attributes of a wide table of zeros and ones: declared by their number and, where there are some, their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import overload

from dpopt.errors import SchemaError
from dpopt.files.json_files import json_object, refuse_unknown_keys, shown
from dpopt.schema.attribute import Attribute, AttributeKind

MOST_COLUMNS = 2**24
"""Columns at most: a run holds some numbers for each of them."""

PREFIX = "item"


class BinaryAttributes(Sequence[Attribute]):
    """d attributes with the values 0 and 1; none of them exists as an object before somebody asks for it.

    Their names are different texts that are not empty and hold no line break; "item0", "item1", ... if left out.
    """

    __slots__ = ("_count", "_names", "_positions")

    def __init__(self, count: int, names: Iterable[str] | None = None) -> None:
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_COLUMNS:
            raise SchemaError(
                f"the number of binary attributes is a whole number from 1 to {MOST_COLUMNS:,}, found {shown(count)}"
            )
        self._count = count
        self._names = None if names is None else _checked(tuple(names), count)
        self._positions: dict[str, int] | None = None

    def __len__(self) -> int:
        """Return the number of attributes d."""
        return self._count

    @overload
    def __getitem__(self, index: int) -> Attribute: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Attribute, ...]: ...
    def __getitem__(self, index: int | slice) -> Attribute | tuple[Attribute, ...]:
        """Return an attribute, or several."""
        if isinstance(index, slice):
            return tuple(self[position] for position in range(*index.indices(self._count)))
        position = index + self._count if index < 0 else index
        if not 0 <= position < self._count:
            raise IndexError(f"there are {self._count} attributes, numbered from 0")
        return Attribute(self.name(position), AttributeKind.BOOLEAN, values=(0, 1))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, BinaryAttributes):
            return self._count == other._count and self._names == other._names
        if isinstance(other, tuple):
            return len(other) == self._count and all(mine == its for mine, its in zip(self, other, strict=True))
        return NotImplemented

    def __hash__(self) -> int:
        return hash((self._count, self._names))

    def __repr__(self) -> str:
        return f"BinaryAttributes({self._count}{'' if self._names is None else ', names'})"

    def name(self, position: int) -> str:
        """Return the name of an attribute."""
        return f"{PREFIX}{position}" if self._names is None else self._names[position]

    def names(self) -> tuple[str, ...]:
        """Return all names, in order."""
        if self._names is not None:
            return self._names
        return tuple(f"{PREFIX}{position}" for position in range(self._count))

    def position(self, name: str) -> int | None:
        """Return where the attribute of this name is, None if there is none."""
        if self._names is not None:
            if self._positions is None:
                self._positions = {given: position for position, given in enumerate(self._names)}
            return self._positions.get(name)
        digits = name.removeprefix(PREFIX)
        plain = digits.isascii() and digits.isdigit() and name == f"{PREFIX}{digits}"
        if not plain or len(digits) > 10 or digits != str(int(digits)) or int(digits) >= self._count:
            return None
        return int(digits)

    def to_json(self) -> dict[str, object]:
        """Return number and names as a JSON object; all names are one text, a line each."""
        written: dict[str, object] = {"count": self._count}
        if self._names is not None:
            written["names"] = "\n".join(self._names)
        return written

    @classmethod
    def from_json(cls, obj: object) -> BinaryAttributes:
        """Return the attributes that a JSON object declares."""
        place = "schema: 'binary_attributes'"
        declared: Mapping[str, object] = json_object(obj, place, SchemaError)
        refuse_unknown_keys(declared, ("count", "names"), place, SchemaError)
        count, names = declared.get("count"), declared.get("names")
        if isinstance(count, bool) or not isinstance(count, int):
            raise SchemaError(f"{place}: 'count' is the number of columns, found {shown(count)}")
        if names is not None and not isinstance(names, str):
            raise SchemaError(f"{place}: 'names' is one text with a name on each line, found {shown(names)}")
        return cls(count, None if names is None else names.split("\n"))


def _checked(names: tuple[str, ...], count: int) -> tuple[str, ...]:
    if len(names) != count:
        raise SchemaError(
            f"{count:,} columns are declared, and {len(names):,} names were given; give one name for each column, in "
            f"order"
        )
    bad = next((n for n, name in enumerate(names) if not isinstance(name, str) or not name.strip()), None)
    if bad is not None:
        found = "is empty" if isinstance(names[bad], str) else f"is {shown(names[bad])}, no text"
        raise SchemaError(f"name number {bad + 1} {found}; every column needs a name")
    if any("\n" in name or "\r" in name for name in names):
        raise SchemaError("a name holds a line break; names have one line each")
    if len(set(names)) != count:
        name = Counter(names).most_common(1)[0][0]
        raise SchemaError(f"two columns are named {name!r}; names must be different")
    return names
