"""Reading decision lists, disjunctions and conjunctions from a text file: one row on each line.

    x3:1, !x7:0, x1:1, else:0        if x3 then 1, else if not x7 then 0, else if x1 then 1, else 0
    x3 | !x7 | x9                    a disjunction
    x3 & !x7                         a conjunction

Empty lines, and lines that begin with #, hold no row.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError
from dpopt.private.readers.read_fields import nameless_rows, read_texts
from dpopt.private.readers.table_problems import shown
from dpopt.private.readers.table_reading import TableReading
from dpopt.private.readers.text_fields import EXAMPLES, Faults, TextForm
from dpopt.private.tables.list_table import PrivateLists
from dpopt.queries.decision_lists.families import ELSE, ListFamily, RowKind

if TYPE_CHECKING:
    import pyarrow as pa

AnyLists = str | os.PathLike[str] | Sequence[str]
"""A path, or one text for each row."""

_SEPARATORS = {RowKind.LISTS: ",", RowKind.DISJUNCTIONS: "|", RowKind.CONJUNCTIONS: "&"}
_FORMS = {RowKind.LISTS: "x3:1, !x7:0, else:1", RowKind.DISJUNCTIONS: "x3 | !x7", RowKind.CONJUNCTIONS: "x3 & !x7"}
_LITERAL = re.compile(r"(!?)\s*([^\s!:,|&]+)")
_WHOLE_LINES = TextForm(separators="", quotes=False)
_END = -1  # the number of "else" among variables


def read_lists(lists: AnyLists, family: ListFamily, encoding: str | None = None) -> PrivateLists:
    """Read rows. All of them fit the declaration, or nothing is returned.

    A literal that stands twice in a row is left out the second time; where its opposite stood before, the row ends
    there, since it is true whenever it is reached. A file may be gzip; its encoding is as `TableReading.encoding`.
    """
    import pyarrow.compute as pc

    title, lines = _lines(lists, encoding)
    texts = pc.utf8_trim_whitespace(lines)
    held = pc.and_(pc.not_equal(texts, ""), pc.invert(pc.starts_with(texts, "#")))
    numbers = np.flatnonzero(held.to_numpy(zero_copy_only=False)) + 1
    texts = texts.filter(held)
    if not len(texts):
        raise PrivateDataError(f"{title} holds no row; expected one on each line, as in {_FORMS[family.kind]}")
    parts = pc.split_pattern(texts, _SEPARATORS[family.kind])
    counts = pc.list_value_length(parts).to_numpy().astype(np.int64)
    coded = pc.utf8_trim_whitespace(parts.flatten()).dictionary_encode()
    different = coded.dictionary.to_pylist()
    codes: NDArray[np.int64] = coded.indices.to_numpy().astype(np.int64)
    known = {name: number for number, name in enumerate(family.variables)}
    meanings = np.array([_meaning(one, known, family.kind) for one in different], dtype=np.int64)
    rows = np.repeat(np.arange(len(counts)), counts)
    faults = _Rows(title, family, numbers, rows, codes, different)
    variables, positive, outputs = meanings[codes].T
    faults.refuse(variables < _END, "is not part of a row")
    if family.kind is RowKind.LISTS:
        lengths = counts - 1
        is_last = np.zeros(len(codes), dtype=np.bool_)
        is_last[np.cumsum(counts) - 1] = True
        faults.refuse((variables == _END) & ~is_last, "stands before the end; it is always true")
        faults.refuse((variables != _END) & is_last, f"is the end of a row, which is {ELSE}:0 or {ELSE}:1")
    else:
        lengths = counts
    faults.refuse((lengths > family.length)[rows], f"is in a row of more than {family.length} literals")
    arrays = _arrays(family, rows, counts, variables, positive, outputs)
    return PrivateLists.from_arrays(family, *arrays, lengths, lines=numbers)


def _arrays(
    family: ListFamily,
    rows: NDArray[np.int64],
    counts: NDArray[np.int64],
    variables: NDArray[np.int64],
    positive: NDArray[np.int64],
    outputs: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.bool_], NDArray[np.uint8]]:
    """Return variables (n, k), positive (n, k) and bits (n, k + 1); a conjunction by its literals negated, which give 0."""
    places = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    literal = variables != _END
    conjunction = family.kind is RowKind.CONJUNCTIONS
    end = 1 if conjunction else 0
    number = np.zeros((len(counts), family.length), dtype=np.int32)
    sign = np.zeros(number.shape, dtype=np.bool_)
    bits = np.full((len(counts), family.length + 1), end, dtype=np.uint8)
    number[rows[literal], places[literal]] = variables[literal]
    sign[rows[literal], places[literal]] = (positive[literal] == 1) != conjunction
    bits[rows, places] = outputs if family.kind is RowKind.LISTS else 1 - end
    return number, sign, bits


@dataclass(frozen=True, slots=True)
class _Rows:
    """The parts of all rows, as far as messages need them."""

    title: str
    family: ListFamily
    lines: NDArray[np.int64]  # of each row
    rows: NDArray[np.int64]  # of each part
    codes: NDArray[np.int64]  # of each part, among the different texts
    different: list[str]

    def refuse(self, bad: NDArray[np.bool_], reason: str) -> None:
        """Refuse the rows with these parts, named with line and text."""
        rows, firsts = np.unique(self.rows[bad], return_index=True)
        if not rows.size:
            return
        parts = np.flatnonzero(bad)[firsts]
        faults = Faults()
        faults.add(
            np.arange(rows.size),
            lambda some: self.lines[rows[some]],
            lambda one: f"{shown(self.different[self.codes[parts[one]]])} {reason}",
        )
        family = self.family
        names = ", ".join(family.variables[:EXAMPLES]) + (", ..." if len(family.variables) > EXAMPLES else "")
        raise PrivateDataError(
            f"{self.title} does not fit the declaration\n"
            + "\n".join(f"  {one}" for one in faults.examples())
            + f"\n  expected: up to {family.length} literals on the variables {names}, as in {_FORMS[family.kind]}"
        )


def _meaning(text: str, known: dict[str, int], kind: RowKind) -> tuple[int, int, int]:
    """Return variable, sign and output of a part of a row; a variable below -1 if it is none."""
    nothing = (_END - 1, 0, 0)
    literal, output = text, 0
    if kind is RowKind.LISTS:
        literal, _, given = (one.strip() for one in text.partition(":"))
        if given not in {"0", "1"}:
            return nothing
        output = int(given)
        if literal == ELSE:
            return (_END, 0, output)
    match = _LITERAL.fullmatch(literal)
    if match is None or match[2] not in known:
        return nothing
    return (known[match[2]], int(not match[1]), output)


def _lines(lists: AnyLists, encoding: str | None) -> tuple[str, pa.Array]:
    import pyarrow as pa

    if not isinstance(lists, str | os.PathLike):
        given = list(lists)
        wrong = next((place for place, one in enumerate(given) if not isinstance(one, str)), None)
        if wrong is not None:
            raise PrivateDataError(f"row {wrong + 1} is not text; expected one such as 'x3:1, !x7:0, else:1'")
        return "the rows", pa.array(given, pa.string())
    form = replace(_WHOLE_LINES, encoding=TableReading(encoding=encoding).pairs_form().encoding)
    source = nameless_rows(Path(lists), ("row",), form)
    return source.title, read_texts(source, ("row",))[0]
