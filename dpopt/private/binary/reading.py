"""How a file with a wide table of zeros and ones is read. Public: a release keeps it, so that the table can be read again."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, replace

from dpopt.errors import SchemaError
from dpopt.queries.json_files import shown


class Layout(enum.StrEnum):
    """What a file of a wide table looks like."""

    NPZ = "npz"
    """A sparse matrix of SciPy (CSR, CSC or COO), as `scipy.sparse.save_npz` writes it."""
    MTX = "mtx"
    """A Matrix Market file of coordinates; also gzip."""
    BASKETS = "baskets"
    """Text, a record on each line: its items. Also gzip."""
    PAIRS = "pairs"
    """Text, a user and an item on each line; a record for each user. Also gzip."""
    BITS = "bits"
    """Bits column by column, as `write_bit_file` writes them."""

    @classmethod
    def named(cls, name: object) -> Layout:
        """Return the layout of a name.

        Raises
        ------
        SchemaError
            If there is none; the message lists them.
        """
        try:
            return cls(str(name))
        except ValueError:
            names = ", ".join(layout.value for layout in cls)
            raise SchemaError(f"the layout of a wide table is one of {names}; found {shown(name)}") from None


LARGEST_FIRST_ITEM = 10**15
"""Numbers of items are read digit by digit in 64 bits; ten times this one is far from their end."""

_TAKERS: Mapping[str, tuple[Layout, ...]] = {
    "first_item": (Layout.BASKETS, Layout.PAIRS),
    "pair_columns": (Layout.PAIRS,),
    "header": (Layout.PAIRS,),
}


@dataclass(frozen=True, slots=True)
class BinaryReading:
    """How a file with a wide table is read.

    Parameters
    ----------
    layout
        npz, mtx, baskets, pairs or bits; None where the file's first bytes tell (npz, mtx, bits).
    first_item
        baskets, pairs: the number of the first column, 0 or more (at most 10^15), where items are numbers. None stands for 0;
        and where the schema has names, for items that are written by name.
    pair_columns
        pairs: which columns of the file, from 1, hold user and item. None where there are two.
    header
        pairs: whether the first line holds the names of the file's columns.

    Raises
    ------
    SchemaError
        If one of them is none of what is expected, or the layout does not take it.
    """

    layout: Layout | str | None = None
    first_item: int | None = None
    pair_columns: tuple[int, int] | None = None
    header: bool = True

    def __post_init__(self) -> None:
        if self.layout is not None:
            object.__setattr__(self, "layout", Layout.named(self.layout))
        first = self.first_item
        if first is not None and (
            isinstance(first, bool) or not isinstance(first, int) or not 0 <= first <= LARGEST_FIRST_ITEM
        ):
            raise SchemaError(
                f"the first item is a whole number such as 0 or 1, at most {LARGEST_FIRST_ITEM:,}; found {shown(first)}"
            )
        if self.pair_columns is not None:
            object.__setattr__(self, "pair_columns", _two_columns(self.pair_columns))
        if not isinstance(self.header, bool):
            raise SchemaError(f"'header' is true or false, found {shown(self.header)}")
        for name, takers in _TAKERS.items():
            if self.layout is not None and self.layout not in takers and getattr(self, name) != _USUAL[name]:
                raise SchemaError(
                    f"{_OPTIONS[name]} is for the layout {' or '.join(takers)}, and the layout here is "
                    f"{self.layout}; leave it out"
                )

    def as_layout(self, layout: Layout) -> BinaryReading:
        """Return the same with a layout that was found.

        Raises
        ------
        SchemaError
            If that layout does not take what the user says.
        """
        return replace(self, layout=layout)

    def to_json(self) -> dict[str, object]:
        """Return it as a JSON object."""
        return {
            "layout": None if self.layout is None else str(self.layout),
            "first_item": self.first_item,
            "pair_columns": None if self.pair_columns is None else list(self.pair_columns),
            "header": self.header,
        }

    @classmethod
    def from_json(cls, obj: object) -> BinaryReading:
        """Return what a JSON object says.

        Raises
        ------
        SchemaError
            If it has another form.
        """
        known = ("layout", "first_item", "pair_columns", "header")
        if not isinstance(obj, Mapping) or not set(obj) <= set(known):
            raise SchemaError(
                f"how the table was read is an object with {', '.join(known)}; found {shown(obj)}"
            )
        pair = obj.get("pair_columns")
        if pair is not None and not isinstance(pair, list | tuple):
            raise SchemaError(f"'pair_columns' are two numbers, found {shown(pair)}")
        return cls(
            obj.get("layout"),
            obj.get("first_item"),
            None if pair is None else tuple(pair),
            obj.get("header", True),
        )


_USUAL: Mapping[str, object] = {"first_item": None, "pair_columns": None, "header": True}
_OPTIONS = {
    "first_item": "the number of the first item (--first-item)",
    "pair_columns": "a choice of two columns (--pair-columns)",
    "header": "a file without a header line (--no-header)",
}


def _two_columns(given: object) -> tuple[int, int]:
    fits = (
        isinstance(given, tuple)
        and len(given) == 2
        and all(isinstance(one, int) and not isinstance(one, bool) and one >= 1 for one in given)
        and given[0] != given[1]
    )
    if not fits:
        raise SchemaError(
            f"the columns of user and item are two different numbers from 1, such as 1 and 2; found {shown(given)}"
        )
    return given  # type: ignore[return-value]
