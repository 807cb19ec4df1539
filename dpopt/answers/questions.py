"""Questions in text: counts, shares, means and quantiles, by groups and under conditions.

    question    measure [of VALUE] [where CONDITION] [by COLUMN, ...] [- question]
    measure     count | share of COLUMN | share of CONDITION | mean(COLUMN) | median(COLUMN) | quantile(COLUMN, NUMBER)

Conditions are those of `dpopt.schema.rules.condition_text`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from itertools import product

from dpopt.errors import QuestionError
from dpopt.files.reading import read_text
from dpopt.inference.measured_residuals import MeasuredResiduals
from dpopt.schema.attribute import AttributeKind
from dpopt.schema.rules.builders import all_of, literal
from dpopt.schema.rules.condition_text import QUOTED, ConditionReader, value_of
from dpopt.schema.rules.formula import Formula, literals_of
from dpopt.schema.schema import Schema

COUNT, SHARE, MEAN, QUANTILE = "count", "share", "mean", "quantile"
MEDIAN = 0.5


@dataclass(frozen=True, slots=True)
class Question:
    """The quantity that it asks for."""

    text: str
    measure: str
    """"count", "share", "mean" or "quantile"."""
    column: str | None = None
    """The column that a share, mean or quantile is of."""
    event: Formula | None = None
    """The condition that a share is of, where it is of no column."""
    level: float = MEDIAN
    """Of a quantile, above 0 and below 1."""
    condition: Formula | None = None
    """The records that are asked about; None: all."""
    by: tuple[str, ...] = ()
    """The columns whose values make groups."""
    minus: Question | None = None
    """The question that is subtracted, group by group."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the figures of a group depend on, each once."""
        named = [one.attribute for part in (self.condition, self.event) for one in literals_of(part)]
        return tuple(dict.fromkeys([*named, *([] if self.column is None else [self.column])]))


def read_questions(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Read questions from a file, one on each line; '#' begins a remark, at the start or behind a space.

    Raises QuestionError if it cannot be read.
    """
    text = read_text(path, f"questions {os.fspath(path)}", QuestionError)
    found = []
    for line in text.splitlines():
        remark = re.search(r"(^|\s)#", re.sub(QUOTED, lambda quoted: "x" * len(quoted[0]), line))
        found.append(line[: None if remark is None else remark.start()].strip())
    return tuple(filter(None, found))


def parse_question(text: str, schema: Schema) -> Question:
    """Read a question.

    Examples
    --------
    >>> import dpopt
    >>> job = dpopt.Attribute("job", dpopt.AttributeKind.CATEGORICAL, ("nurse", "cook"))
    >>> age = dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 20, 40, 60))
    >>> asked = parse_question("mean(age) by job where 20 <= age < 60", dpopt.Schema((job, age)))
    >>> asked.measure, asked.column, asked.by, asked.condition.describe()
    ('mean', 'age', ('job',), 'age >= 20 and age < 60')
    """
    reader = _QuestionReader(text, schema.attributes)
    question = reader.side()
    if reader.take(r"[-\u2212]\s"):
        other = reader.side()
        if reader.take(r"[-\u2212]\s"):
            raise QuestionError(f"{text!r}: a question holds one difference; ask for each by itself")
        if other.by != question.by:
            raise QuestionError(
                f"{text!r}: both sides of a difference have the same groups; found "
                f"by {', '.join(question.by) or 'nothing'} and by {', '.join(other.by) or 'nothing'}"
            )
        question = replace(question, text=text.strip(), minus=other)
    if reader.rest:
        raise reader.problem("'where', 'by', 'of', '- ' and another question, or the end")
    return question


class _QuestionReader(ConditionReader):
    """Reads questions."""

    def side(self) -> Question:
        """Take a question without the subtracted one."""
        start, found = self.at, self._measure()
        conditions: list[Formula] = []
        by: tuple[str, ...] = ()
        while True:
            if self.word("of"):
                conditions.append(self._of_value())
            elif self.word("where"):
                conditions.append(self.condition())
            elif not by and self.word("by"):
                by = tuple(map(str, self.listed(self.column)))
            else:
                break
        if len(set(by)) < len(by):
            raise QuestionError(f"{self.text!r} names a column of groups twice; name each once")
        condition = all_of(*conditions) if len(conditions) > 1 else next(iter(conditions), None)
        return replace(found, text=self.text[start : self.at].strip(), condition=condition, by=by)

    def _measure(self) -> Question:
        if self.word(COUNT):
            return Question("", COUNT)
        if self.word(SHARE):
            if not self.word("of"):
                raise self.problem("'of' and a column or a condition")
            start, name = self.at, self.longest(self.attributes)
            if name is not None and not self.take(r"[<>=!]|(in|is|not)\b"):
                return Question("", SHARE, name)
            self.at = start
            return Question("", SHARE, event=self.condition())
        if found := self.take(rf"({MEAN}|median|{QUANTILE})\b"):
            self.expect("(")
            column, word, level = self.column(), found[0].lower(), MEDIAN
            if word == QUANTILE:
                self.expect(",")
                level = self._level()
            self.expect(")")
            return Question("", MEAN if word == MEAN else QUANTILE, column, level=level)
        raise self.problem(
            "count, share of ..., mean(column), median(column), quantile(column, 0.9) or outcome ~ column"
        )

    def _level(self) -> float:
        start, found = self.at, self.take(r"\d*\.?\d+(e-?\d+)?")
        if found is None or not 0 < float(found[0]) < 1:
            self.at = start
            raise self.problem("the level of a quantile, a number above 0 and below 1")
        return float(found[0])

    def _of_value(self) -> Formula:
        """Take a value that one column alone has."""
        owners: dict[str, list[str]] = {}
        for attribute in self.attributes.values():
            if attribute.kind is AttributeKind.CATEGORICAL:
                for code in range(attribute.size):
                    owners.setdefault(attribute.label(code), []).append(attribute.name)
        label = self.longest(owners)
        if label is None:
            raise self.problem("a value of a categorical column; or write where COLUMN = VALUE", owners)
        name, *others = owners[label]
        if others:
            columns = " and ".join(map(repr, owners[label]))
            raise QuestionError(f"{self.text!r}: {label!r} is a value of {columns}; write where {name} = {label}")
        return literal(name, "=", value_of(self.attributes[name], label))


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
