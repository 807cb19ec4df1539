"""How rules name values, and which names, words and numbers they refuse."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dpopt.errors import SchemaError
from dpopt.files.json_files import shown
from dpopt.schema.attribute import Value, is_number, number_text, value_text

SHOWN = 6
"""Values or conditions that a text lists; further ones are counted."""

_NOT_PRINTED = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories: control characters, invisible formats, halves of characters, line and paragraph separators."""


@dataclass(frozen=True, slots=True)
class Bin:
    """The bin of a numeric attribute with this number, from 0: a name for it as well as its label."""

    index: int

    def __post_init__(self) -> None:
        if isinstance(self.index, bool) or not isinstance(self.index, int) or self.index < 0:
            raise SchemaError(f"a bin is given by its number, 0, 1, ...; found {as_json(self.index)}")


Named: TypeAlias = Value | Bin | None
"""A value as a rule names it: a declared value, the label or the number of a bin, or a missing value (None)."""


def as_json(found: object) -> str:
    """Return part of a rule as short JSON, for a message; a bin is {"bin": 0}."""
    try:
        return shown(found, other=lambda one: {"bin": one.index} if isinstance(one, Bin) else repr(one))
    except (TypeError, ValueError, RecursionError):  # keys that are no text, a list that holds itself
        return repr(found)


def row_as_json(row: Sequence[object]) -> str:
    """Return a row of values as short JSON; several for one place stand in a list, a single one does not."""
    return as_json([one[0] if isinstance(one, list | tuple) and len(one) == 1 else one for one in row])


def require_name(found: object) -> None:
    """Raise SchemaError if something cannot be the name of an attribute."""
    if not isinstance(found, str):
        raise SchemaError(f"expected the name of an attribute, found {as_json(found)}")


def require_printable(name: str) -> None:
    """Raise SchemaError if the name of a rule, which reports print, has a control character or a line break."""
    bad = next((character for character in name if unicodedata.category(character) in _NOT_PRINTED), None)
    if bad is not None:
        raise SchemaError(
            f"the name of a rule is printed as it is, on one line; {name!a} has the control "
            f"character U+{ord(bad):04X}; leave it out"
        )


def require_value(found: object) -> None:
    """Raise SchemaError if something cannot be a value."""
    fits = found is None or isinstance(found, str | int | Bin) or is_number(found)
    if not fits:
        in_json = isinstance(found, dict) and list(found) == ["bin"]
        hint = f"; in Python a bin is {Bin.__name__}(number), from dpopt.queries" if in_json else ""
        raise SchemaError(
            f"values are text, finite numbers, true, false, null (missing) or a bin; found {as_json(found)}{hint}"
        )


def values_text(found: Named | tuple[Named, ...]) -> str:
    """Return a value, or several in braces, as people read them."""
    if isinstance(found, tuple):
        texts = [values_text(value) for value in found[:SHOWN]]
        more = f", ... {len(found)} in all" if len(found) > SHOWN else ""
        return f"{{{', '.join(texts)}{more}}}"
    if found is None:
        return "missing"
    if isinstance(found, Bin):
        return f"bin {found.index}"
    if isinstance(found, float):
        return number_text(found)
    return value_text(found) if found != "" else "''"
