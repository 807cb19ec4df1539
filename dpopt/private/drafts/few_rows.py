"""Which keys of a drafted column fewer than five rows decide: the column is drafted again without them, and compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dpopt.private.drafts.column_values import ColumnValues
from dpopt.private.drafts.guess_attribute import Guess, Limits, guess_attribute
from dpopt.schema.schema import attribute_to_json

FEW = 5
"""Rows from which a key is taken to be of the table as a whole."""
_REMARKED = {"name", "edges", "values", "occurring"}  # their ends and rare members have remarks of their own
_LETTER, _DIGIT, _WHOLE = re.compile(r"[^\W\d_]"), re.compile(r"\d"), re.compile(r"^[+-]?[9,' ]+(?=\.|$)")


def decided_by_few(column: ColumnValues, limits: Limits, guess: Guess) -> tuple[str, ...]:
    """Return a remark with the keys that a draft without at most four rows has otherwise; none in a table of few rows."""
    rows = int(column.counts.sum()) + column.missing_rows
    if guess.attribute is None or rows < 2 * FEW:
        return ()
    drafted, changed = attribute_to_json(guess.attribute), set()
    for other in _without_few(column, limits):
        again = guess_attribute(other, limits).attribute
        found = {} if again is None else attribute_to_json(again)
        if found.get("type") != drafted["type"]:
            changed.add("type")
            continue
        changed |= {key for key in drafted.keys() | found if drafted.get(key) != found.get(key)}
    named = sorted(changed - _REMARKED)
    keys = ", ".join(f'"{name}"' for name in named)
    return (f"fewer than {FEW} rows decide {keys}: check that the public knows it",) if named else ()


def _without_few(column: ColumnValues, limits: Limits) -> Iterator[ColumnValues]:
    """Yield the column without missing values, without forms of writing, and without values, that fewer than five rows have."""
    import pyarrow as pa

    if 0 < column.missing_rows < FEW:
        yield replace(column, missing_rows=0)
    forms = np.unique(_forms(column.values.to_pylist(), limits.decimal), return_inverse=True)[1]
    rows_of_forms = np.bincount(forms, weights=column.counts)
    dropped = [_rarest(rows_of_forms)[forms]]
    if len(column.values) <= limits.max_values:
        dropped.append(_rarest(column.counts))
    for gone in dropped:
        if gone.any() and not gone.all():
            yield replace(column, values=column.values.filter(pa.array(~gone)), counts=column.counts[~gone])


def _rarest(rows: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which ones have fewer than five rows together, the rarest first."""
    order, gone = np.argsort(rows, kind="stable"), np.zeros(len(rows), dtype=np.bool_)
    gone[order[np.cumsum(rows[order]) < FEW]] = True
    return gone


def _forms(values: list[object], decimal: str) -> list[str]:
    """Return how each value is written, with a 9 for each digit after the point and an "a" for each letter."""
    plain = [str(value).removesuffix(".0") if isinstance(value, float) else str(value) for value in values]
    texts = [_DIGIT.sub("9", _LETTER.sub("a", text)).replace(decimal, ".") for text in plain]
    return [_WHOLE.sub("9", text) for text in texts]
