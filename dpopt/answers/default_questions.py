"""The questions whose answers every release shows: chosen by the order of columns and by the measured sets."""

from __future__ import annotations

import re
from itertools import product

from dpopt.inference.measured_residuals import MeasuredResiduals
from dpopt.schema.attribute import AttributeKind
from dpopt.schema.schema import Schema

MOST_FIGURES, MOST_OF_COLUMNS, FEW_VALUES = 12, 8, 6
"""Figures of all questions, and of those about one column; values that have a share each."""
MOST_COLUMNS = 128
"""Columns that are looked at, the first ones."""


def default_questions(schema: Schema, measured: MeasuredResiduals) -> list[str]:
    """Return questions with at most 12 answers: a share or mean of each column, then a mean and a share within groups.

    Groups are the values of the last column with few ones that was measured with the other one. No estimate decides: who
    picks figures by looking at them needs intervals that hold together.
    """
    columns = schema.attributes[:MOST_COLUMNS]
    values = [_values(schema, measured, place) for place in range(len(columns))]
    names = [_quoted(one.name) for one in columns]
    asked: dict[int, str] = {}
    for place, one in enumerate(columns):
        if one.kind is AttributeKind.NUMERIC and one.date_format is None and one.after is None:
            asked[place] = f"mean({names[place]})"
        elif 2 <= len(values[place]) <= FEW_VALUES:
            asked[place] = f"share of {names[place]}" + (f" = {values[place][1]}" if len(values[place]) == 2 else "")
    found, figures = [], 0
    for place, text in asked.items():
        number = len(values[place]) if len(values[place]) > 2 else 1
        if figures + number <= MOST_OF_COLUMNS and measured.missing((place,)) is None:
            found.append(text)
            figures += number
    for two in (0, 2):  # means, then shares of one of two values
        for group, of in product(reversed(asked), asked):
            number = int(measured.domains.counts[group])
            fits = values[group] and group != of and len(values[of]) == two and figures + number <= MOST_FIGURES
            if fits and measured.missing((of, group)) is None:
                found.append(f"{asked[of]} by {names[group]}")
                figures += number
                break
    return found


def questions_about(target: str | None, schema: Schema) -> list[str]:
    """Return questions about the mean of a column, or the shares of its values, by each other column; None asks none."""
    if target is None:
        return []
    name, attribute = _quoted(target), schema.attributes[schema.index(target)]
    numbers = attribute.kind is AttributeKind.NUMERIC and attribute.date_format is None
    asked = f"mean({name})" if numbers else f"share of {name}"
    if len(attribute.values) == 2 and attribute.missing is None:  # the other share follows
        asked += f" = {_quoted(attribute.label(1))}"
    return [f"{asked} by {_quoted(other)}" for other in schema.names if other != target]


def _values(schema: Schema, measured: MeasuredResiduals, place: int) -> list[str]:
    """Return the values of a column that may occur, as questions have them; none of numbers, or of many."""
    attribute, codes = schema.attributes[place], measured.domains.codes_of(place).tolist()
    if attribute.kind is AttributeKind.NUMERIC or len(codes) > FEW_VALUES + 1:
        return []
    return [_quoted(attribute.label(code)) for code in codes if code != attribute.missing_code]


def _quoted(name: str) -> str:
    """Return a name or value, in quotes where it is no plain word or number."""
    mark = "" if re.fullmatch(r"[\w.]*\w", name) else next((one for one in "\"'`" if one not in name), "")
    return f"{mark}{name}{mark}"
