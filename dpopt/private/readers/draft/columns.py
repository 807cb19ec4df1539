"""Guessing the declaration of one column from its different values; for drafts that the owner reviews."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.private.readers.domain_codes import has_leading_zero, parse_numbers
from dpopt.private.readers.draft.edges import readable_edges
from dpopt.private.readers.encode import as_text
from dpopt.private.readers.table_problems import counted, shown
from dpopt.schema.schema import Attribute, AttributeKind, Value

if TYPE_CHECKING:
    import pyarrow as pa

_TOKENS_AMONG_NUMBERS = ("?", "NA", "N", "N/A", "NULL", "null", "None", "none", "#N/A", "-", ".")
_TOKENS_AMONG_TEXTS = ("?", "NA")
_PAIRS = (("no", "yes"), ("n", "y"), ("f", "t"))
_IDENTIFIER_SHARE = 0.9  # different values per row from which a text column is taken for an identifier
_EXACT = 2.0**53
_LARGEST = 1e300


@dataclass(frozen=True, slots=True)
class Guess:
    """A declaration, or None if the column should be left out, and what the owner should know."""

    attribute: Attribute | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """The different values of a column (no nulls, no NaN) with their numbers of rows, and the rows without a value."""

    name: str
    values: pa.Array
    counts: NDArray[np.int64]
    missing_rows: int


def guess_attribute(column: ColumnValues, bins: int, max_values: int, decimal: str = ".") -> Guess:
    """Return a declaration that all values of the column fit, or none with the reason."""
    import pyarrow as pa

    kind = column.values.type
    missing = "" if column.missing_rows else None
    if not len(column.values):
        return _left_out(column.name, "holds no value at all")
    if pa.types.is_boolean(kind):
        return Guess(Attribute(column.name, AttributeKind.BOOLEAN, missing=missing))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        numbers = np.array([float(value) for value in column.values.to_pylist()])
        return _numeric(column.name, numbers, column.counts, missing, bins)
    return _text(column, bins, max_values, decimal)


def _text(column: ColumnValues, bins: int, max_values: int, decimal: str) -> Guess:
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = as_text(column.values)
    tokens = pc.is_in(texts, value_set=pa.array(["", *_TOKENS_AMONG_NUMBERS])).to_numpy(zero_copy_only=False)
    numbers, readable = parse_numbers(texts, decimal)
    absent = tokens | (readable & np.isnan(numbers))
    present = [text for text in texts.filter(pa.array(tokens)).to_pylist() if text]
    if readable[~absent].any() and readable[~absent].all() and not has_leading_zero(texts)[~absent].any():
        if len(present) > 1:
            named = " and ".join(map(shown, present))
            reason = f"holds numbers and several marks of missing values ({named}); use one mark in the table"
            return _left_out(column.name, reason)
        missing = present[0] if present else "" if absent.any() or column.missing_rows else None
        return _numeric(column.name, numbers[~absent], column.counts[~absent], missing, bins)
    return _categorical(column, texts.to_pylist(), max_values)


def _categorical(column: ColumnValues, texts: list[str], max_values: int) -> Guess:
    if column.missing_rows or "" in texts:
        missing: str | None = ""
    else:
        missing = next((token for token in _TOKENS_AMONG_TEXTS if token in texts), None)
    values = sorted(text for text in texts if text != missing)
    if not values:
        return _left_out(column.name, f"holds nothing but {shown(missing or '')}")
    rows = int(column.counts.sum())
    if len(values) > max_values:
        if len(values) >= _IDENTIFIER_SHARE * rows:
            return _left_out(
                column.name,
                f"has {len(values):,} different texts in {counted(rows, 'row')} and looks like an identifier or free "
                "text; drop the column",
            )
        return _left_out(
            column.name,
            f"has {len(values):,} different texts, more than {max_values}; group them, or allow more values",
        )
    pair = _truth_pair(values)
    if pair is not None:
        return Guess(Attribute(column.name, AttributeKind.BOOLEAN, values=pair, missing=missing))
    return _with_note_if_single(
        Attribute(column.name, AttributeKind.CATEGORICAL, values=tuple(values), missing=missing)
    )


def _truth_pair(values: list[str]) -> tuple[Value, ...] | None:
    """Return the values for false and true if the texts look like them."""
    if {value.lower() for value in values} <= {"true", "false"} and (
        set(values) <= {"true", "false"}
        or set(values) <= {"True", "False"}
        or set(values) <= {"TRUE", "FALSE"}
    ):
        return (False, True)
    if len(values) == 2:
        no, yes = values
        if (no.lower(), yes.lower()) in _PAIRS:
            return (no, yes)
    return None


def _numeric(
    name: str, numbers: NDArray[np.float64], counts: NDArray[np.int64], missing: str | None, bins: int
) -> Guess:
    if not (np.abs(numbers) <= _LARGEST).all():
        return _left_out(
            name, f"holds infinite numbers, or numbers beyond {_LARGEST:g}; replace them in the table"
        )
    values, places = np.unique(numbers + 0.0, return_inverse=True)  # "1" and "1.0" are one number, -0 is 0
    rows = np.bincount(places, weights=counts).astype(np.int64)
    integer = bool((values == np.floor(values)).all())
    if integer and np.abs(values).max() > _EXACT:
        return _left_out(
            name, "holds whole numbers beyond 2^53 and looks like an identifier; drop the column"
        )
    if integer and values.size <= bins:
        wholes = tuple(int(value) for value in values)
        kind = AttributeKind.BOOLEAN if wholes == (0, 1) else AttributeKind.CATEGORICAL
        return _with_note_if_single(Attribute(name, kind, values=wholes, missing=missing))
    notes: tuple[str, ...] = ()
    if integer and rows.max() == 1:
        if values[-1] - values[0] + 1 == values.size:
            return _left_out(name, "numbers the rows and looks like an identifier; drop the column")
        notes = (
            f"column {name!r}: no number occurs twice; if it is an identifier, remove it from the schema",
        )
    edges = readable_edges(values, rows, bins, integer=integer)
    return Guess(Attribute(name, AttributeKind.NUMERIC, edges=edges, integer=integer, missing=missing), notes)


def _with_note_if_single(attribute: Attribute) -> Guess:
    if len(attribute.values) > 1:
        return Guess(attribute)
    return Guess(
        attribute, (f"column {attribute.name!r}: a single value occurs; add the others that are possible",)
    )


def _left_out(name: str, reason: str) -> Guess:
    return Guess(None, (f"column {name!r} is left out: it {reason}",))
