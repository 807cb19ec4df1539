"""Values that do not fit the schema, collected column by column and shown to the owner in one message."""

from __future__ import annotations

import difflib
import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpopt.errors import PrivateDataError, counted
from dpopt.schema.schema import Attribute, AttributeKind, value_text

EXAMPLES = 3  # shown per kind of problem in a column
REMEMBERED = 1_000  # different values kept per column; the rows of further ones are only counted
LONGEST_TEXT = 60
NO_TEXT = "\ufdd0"
"""Begins the text that stands for a value without one, such as a list. It is no character, so no declared value begins
with it."""
ENDS = (
    "Take ends that are publicly known. If a few values lie beyond them, take --on-invalid clip, which counts those in "
    "the nearest bin. Do not take the table's smallest or largest value as an end: that publishes it"
)
"""Advice about the ends of a numeric column, for drafts and errors."""


class Problem(enum.IntEnum):
    """Why a value has no code. The numbers are negative so that they can stand among codes."""

    MISSING = -1
    UNKNOWN = -2
    NO_NUMBER = -3
    OUTSIDE = -4
    FRACTION = -5
    MALFORMED = -6  # its row cannot be read; the source shows the owner why


@dataclass(slots=True)
class Found:
    """One value that has no code: why, in which row first (from 0), and in how many rows."""

    problem: Problem
    text: str
    first_row: int
    rows: int


class ColumnProblems:
    """The values of one column that have no code."""

    def __init__(self, attribute: Attribute) -> None:
        self._attribute = attribute
        self._found: dict[str | None, Found] = {}
        self._rows = 0

    def __bool__(self) -> bool:
        return self._rows > 0

    def add(self, found: Iterable[tuple[str | None, Found]], rows: int) -> None:
        """Add the different values found in a batch, in which `rows` rows have no code. None is the null."""
        self._rows += rows
        for key, new in found:
            known = self._found.get(key)
            if known is not None:
                known.rows += new.rows
            elif len(self._found) < REMEMBERED:
                self._found[key] = new

    def join(self, later: ColumnProblems, rows_before: int) -> None:
        """Add the problems of a later part of the column; `rows_before` rows come before it."""
        moved = {
            key: Found(new.problem, new.text, new.first_row + rows_before, new.rows)
            for key, new in later._found.items()
        }
        self.add(moved.items(), later._rows)

    def example_rows(self) -> list[int]:
        """Rows (from 0) that the message names."""
        return [found.first_row for found in self._examples()]

    def message(self, places: Mapping[int, str]) -> str:
        """Return the text for the owner; `places` says where a row is, such as "line 7"."""
        attribute = self._attribute
        lines = [
            f"column {attribute.name!r}: {counted(self._rows, 'row')} {'does' if self._rows == 1 else 'do'} not fit"
        ]
        for found in self._examples():
            where = places.get(found.first_row, f"row {found.first_row + 1}")
            repeated = f" (and {counted(found.rows - 1, 'more row')})" if found.rows > 1 else ""
            lines.append(f"  {where}: {self._complaint(found)}{repeated}{self._hint(found)}")
        hidden = len(self._found) - len(self._examples())
        if hidden:
            more = "at least " if len(self._found) == REMEMBERED else ""
            lines.append(f"  and {more}{counted(hidden, 'other value')}")
        if any(row not in places for row in self.example_rows()):
            lines.append("  rows are counted from 1")
        lines.append(f"  expected: {expected(attribute)}")
        lines += [f"  what to do: {remedy}" for remedy in self._remedies()]
        return "\n".join(lines)

    def _examples(self) -> list[Found]:
        shown: list[Found] = []
        for problem in Problem:
            alike = [found for found in self._found.values() if found.problem is problem]
            shown += sorted(alike, key=lambda found: found.first_row)[:EXAMPLES]
        return sorted(shown, key=lambda found: found.first_row)

    def _complaint(self, found: Found) -> str:
        text = shown(found.text)
        if found.text.startswith(NO_TEXT):
            return f"{found.text.removeprefix(NO_TEXT)} has no text"
        match found.problem:
            case Problem.MISSING:
                return "the value is missing (empty, null or NaN), and no missing value is declared"
            case Problem.UNKNOWN:
                return f"{text} is not a declared value"
            case Problem.NO_NUMBER:
                form = self._attribute.date_format
                said = f"{text} is not a {'number' if form is None else f'date in the form {form}'}"
                return said if self._attribute.after is None else found.text  # what `read_lengths` says of it
            case Problem.OUTSIDE:
                low, high = self._attribute.edges[0], self._attribute.edges[-1]
                return f"{found.text} lies outside [{self._attribute.number_text(low)}, {self._attribute.number_text(high)}]"
            case _:
                return f"{found.text} is not a whole number, but the attribute is declared 'integer'"

    def _hint(self, found: Found) -> str:
        if found.problem is Problem.NO_NUMBER and self._attribute.date_format is None:
            try:
                float(found.text)
            except ValueError:
                return "; write numbers as 1234.5" if "," in found.text else ""
            return "; it is one without the blanks around it" if found.text != found.text.strip() else ""
        if found.problem is not Problem.UNKNOWN:
            return ""
        texts = [value_text(value) for value in self._attribute.values]
        texts += self._attribute.missing_texts
        stripped = found.text.strip()
        if stripped != found.text and stripped in texts:
            return f"; without the blanks around it, it would be {stripped!r}: strip the column"
        for text in texts:
            if text.casefold() == stripped.casefold():
                return f"; {text!r} is declared: write it the same way"
        near = difflib.get_close_matches(found.text, texts, n=1)
        return f"; did you mean {near[0]!r}?" if near else ""

    def _remedies(self) -> list[str]:
        attribute = self._attribute
        remedies = {
            Problem.UNKNOWN: "correct the table, or add the value under 'values' in the schema",
            Problem.OUTSIDE: ENDS,
            Problem.NO_NUMBER: "correct the table, or declare the text under 'missing' if it stands for no value (several "
            'as a list: "missing": ["NA", "n/a"])',
            Problem.FRACTION: "round the column, or remove 'integer' from the schema",
            Problem.MISSING: "declare the text of missing values under 'missing' in the schema (\"\" for empty cells)",
        }
        if attribute.kind is AttributeKind.CATEGORICAL:
            if attribute.other is None:
                remedies[Problem.UNKNOWN] += ", or declare one value as 'other' there and pass --on-invalid other"
            else:
                remedies[Problem.UNKNOWN] += f", or pass --on-invalid other (it counts as {attribute.other!r})"
        if attribute.after is not None:
            remedies[Problem.OUTSIDE] = f"Correct rows in which {attribute.after!r} is later. {ENDS}"
        found = {found.problem for found in self._found.values()}
        return [remedies[problem] for problem in Problem if problem in found]


def expected(attribute: Attribute) -> str:
    """Return the values that the schema accepts in a column, in a few words."""
    if attribute.kind is AttributeKind.NUMERIC:
        what = "a whole number" if attribute.integer else "a number"
        what = what if attribute.date_format is None else f"a date in the form {attribute.date_format}"
        what = what if attribute.duration is None else f"{what} of {attribute.duration}"
        counted = "more than" if attribute.unit is None else f"of {attribute.unit} after"
        what = what if attribute.after is None else f"{what} {counted} {attribute.after!r}"
        text = f"{what} in [{attribute.number_text(attribute.edges[0])}, {attribute.number_text(attribute.edges[-1])}]"
    else:
        texts = [repr(value_text(value)) for value in attribute.values[:8]]
        rest = len(attribute.values) - len(texts)
        text = ("one of " if len(texts) > 1 else "") + ", ".join(texts) + (f" and {rest} more" if rest > 0 else "")
    if attribute.missing is None:
        return text
    return f"{text}; missing: {' or '.join(repr(one) if one else 'an empty cell' for one in attribute.missing_texts)}"


def shown(text: str) -> str:
    """Return a text from the table, quoted and not too long."""
    return repr(text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 3] + "...")


def unreadable(path: Path, problem: OSError) -> PrivateDataError:
    """Return the error of a file that cannot be read."""
    return PrivateDataError(f"the file {str(path)!r} cannot be read: {problem.strerror or problem}")


def no_regular_file(path: Path) -> PrivateDataError:
    """Return the error of a pipe or a device."""
    return PrivateDataError(f"{str(path)!r} is not a regular file and can be read only once; save it as a file")


def refuse_faults(title: str, faults: Sequence[str]) -> None:
    """Refuse a table, by PrivateDataError, if something is wrong with whole rows."""
    if faults:
        raise PrivateDataError(f"{title}:\n" + "\n".join(faults))
