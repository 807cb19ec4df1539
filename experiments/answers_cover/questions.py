"""The twelve tables with their columns as schemas declare them, and the questions that are asked of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dpopt.answers.answer import Answer, answers_of, numbers_of
from dpopt.answers.estimates import RowTables
from dpopt.answers.questions import Question, parse_question
from dpopt.answers.regression import Coefficient, regress
from dpopt.errors import QuestionError
from dpopt.inference.measured_residuals import MeasuredResiduals
from dpopt.queries.counting.answers import RecordAnswers
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from experiments.one_estimator.tables import CLASSES, FOLDER, KDD_COLUMNS, QUICK, Table, load
from experiments.tables import SCHEMAS, data_file

COUNTS, SHARES, MEANS, DIFFERENCES, QUANTILES, COEFFICIENTS = (
    "counts", "shares within groups", "means of bins within groups", "differences", "quantiles", "coefficients",
)  # fmt: skip
KINDS = (COUNTS, SHARES, MEANS, DIFFERENCES, QUANTILES, COEFFICIENTS)
OUTER = "means of the numbers themselves (outer)"
MOST_GROUPS, LEAST_GROUPS = 16, 3
LEAST_SHARE = 0.01
"""Groups of fewer records are shown apart."""
_FILES = {"adult": "adult/adult-train.csv.gz", **{name: f"tables/{name}.csv.gz" for name in FOLDER}}


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A question, or a regression, with what it needs and the figures that the table gives."""

    kind: str
    text: str
    columns: tuple[int, ...]
    question: Question | None
    """None for a regression."""
    truths: NDArray[np.float64]
    """Of each figure, by the rows of the table."""
    large: NDArray[np.bool_]
    """Which figures are of groups of at least `LEAST_SHARE` of the records."""
    outer: NDArray[np.float64] | None = None
    """Of a mean: that of the numbers themselves, where these are at hand."""

    def answers(
        self, schema: Schema, measured: MeasuredResiduals, rows: RowTables, *, confidence: float = 0.95
    ) -> list[Answer] | list[Coefficient]:
        """Return what is answered from measurements."""
        if self.question is None:
            return regress(self.text, schema, measured, rows, confidence=confidence)
        return answers_of(self.question, schema, measured, rows, confidence=confidence)


@cache
def schema_of(name: str) -> Schema:
    """Return the schema of a table with its bins; codes alone where no schema is on file."""
    if name == "kdd99":
        whole = Schema.read(SCHEMAS / "kdd99.json")
        return Schema(tuple(whole.attributes[whole.index(column)] for column in KDD_COLUMNS))
    if name in ("adult", "nist-acs", QUICK):
        return Schema.read(SCHEMAS / ("nist-acs.json" if name == "nist-acs" else "adult.json"))
    return Schema.read(data_file(f"tables/{name}.schema.json")) if name in FOLDER else load(name).schema


def rows_of(schema: Schema, codes: NDArray[np.int32]) -> RowTables:
    """Return the marginals of rows."""
    return RowTables(RecordAnswers(codes), Domains.of(schema, occurring=False), schema.sizes, len(codes))


def nothing(schema: Schema, size: int) -> MeasuredResiduals:
    """Return that nothing was measured, so that rows answer."""
    none = MarginalSet(Domains.of(schema, occurring=False), np.zeros((0, 1), dtype=np.int32))
    return MeasuredResiduals(none, np.zeros(0), np.zeros(0), float(size), float("inf"))


def asked_of(table: Table) -> list[Asked]:
    """Return the questions to a table, those of a seeded choice of its columns."""
    schema = schema_of(table.name)
    rows, none = rows_of(schema, table.codes), nothing(schema, len(table.codes))
    found = []
    for kind, text, names in _texts(schema, table):
        columns = tuple(schema.index(one) for one in names)
        if kind == COEFFICIENTS:
            try:
                made = regress(text, schema, none, rows)
            except QuestionError:  # a value that no record has: the table itself has no coefficients
                continue
            truths = np.array([one.interval.estimate for one in made])
            sizes = np.array([_size_of_term(one.term, schema, table) for one in made])
            question = None
        else:
            question = parse_question(text, schema)
            answers = answers_of(question, schema, none, rows)
            truths = np.array([one.interval.estimate for one in answers])
            sizes = _sizes(question, schema, none, rows)
            sizes = truths if kind == COUNTS else np.repeat(sizes, len(truths) // len(sizes))
        kept = np.isfinite(truths)
        large = (sizes >= LEAST_SHARE * len(table.codes)) & kept
        outer = _outer(question, schema, table) if kind == MEANS and question is not None else None
        found.append(Asked(kind, text, columns, question, truths, large, outer))
    return found


def _texts(schema: Schema, table: Table) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the kind of each question, its text, and the columns that it needs; conditions are on usual values."""
    draw, name = np.random.default_rng(sum(table.name.encode())), table.name
    target = CLASSES[name]
    counts = {one: np.bincount(codes, minlength=one.size) for one, codes in zip(schema.attributes, table.codes.T)}

    def usual(attribute: Attribute, place: int) -> str:
        shown = counts[attribute][: attribute.size - (attribute.missing_code is not None)]
        return _condition(attribute, int(np.argsort(-shown, kind="stable")[place]))

    numeric = [
        one for one in schema.attributes
        if one.name != target and one.size > 2 and (one.kind is AttributeKind.NUMERIC or name == "loans")
        and numbers_of(one) is not None
    ]  # fmt: skip
    numbers = [numeric[at] for at in draw.permutation(len(numeric))[:2]]
    few = [one for one in schema.attributes if one.name != target and 2 <= one.size <= MOST_GROUPS]
    groups = [one for one in few if one not in numeric]
    if len(groups) < LEAST_GROUPS:
        groups += [one for one in few if one in numeric and one not in numbers]
    groups = [groups[at] for at in draw.permutation(len(groups))[:3]]
    of = schema.attributes[schema.index(target)]
    event = usual(of, 1)
    for place, one in enumerate(groups):
        other = groups[place - 1]
        group, beside = _quoted(one.name), _quoted(other.name)
        yield COUNTS, f"count by {group}", [one.name]
        yield SHARES, f"share of {event} by {group}", [target, one.name]
        if place:
            yield COUNTS, f"count by {group}, {beside}", [one.name, other.name]
            yield SHARES, f"share of {group} by {beside}", [one.name, other.name]
        first, last = (f"where {usual(one, place)}" for place in (0, 1))
        yield DIFFERENCES, f"share of {event} {first} - share of {event} {last}", [target, one.name]
        for number in numbers:
            column = _quoted(number.name)
            yield MEANS, f"mean({column}) by {group}", [number.name, one.name]
            yield DIFFERENCES, f"mean({column}) {first} - mean({column}) {last}", [number.name, one.name]
            yield QUANTILES, f"median({column}) by {group}", [number.name, one.name]
            yield QUANTILES, f"quantile({column}, 0.9) by {group}", [number.name, one.name]
    condition = f"where {usual(groups[1], 0)}"
    yield COUNTS, f"count {condition} by {_quoted(groups[0].name)}, {_quoted(target)}", [
        groups[1].name, groups[0].name, target,
    ]  # fmt: skip
    yield SHARES, f"share of {event} {condition} by {_quoted(groups[0].name)}", [
        groups[1].name, groups[0].name, target,
    ]  # fmt: skip
    whole = [one for one in groups if counts[one].all()]
    terms = [one for one in (*numbers, *whole[:2]) if one.size <= MOST_GROUPS]
    for outcome in (of, *numbers):
        left = [one for one in terms if one is not outcome]
        if left and outcome.missing_code is None and (numbers_of(outcome) is not None or outcome.size == 2):
            text = f"{outcome.name} ~ {' + '.join(one.name for one in left)}"
            yield COEFFICIENTS, text, [outcome.name, *(one.name for one in left)]


def _quoted(name: str) -> str:
    return f'"{name}"'


def _condition(attribute: Attribute, code: int) -> str:
    """Return the condition that a column has this value, or lies in this bin."""
    name, label = _quoted(attribute.name), attribute.label(code)
    if attribute.kind is AttributeKind.NUMERIC:
        low, high = attribute.edges[code : code + 2]
        return f"{name} >= {low:g}" if code == len(attribute.edges) - 2 else f"{low:g} <= {name} < {high:g}"
    return f"{name} = {label}" if attribute.kind is AttributeKind.BOOLEAN else f'{name} = "{label}"'


def _sizes(question: Question, schema: Schema, none: MeasuredResiduals, rows: RowTables) -> NDArray[np.float64]:
    """Return the number of records in each group of a question; the smaller one of both sides of a difference."""
    sides = [question] if question.minus is None else [question, question.minus]
    counts = [
        [
            one.interval.estimate
            for one in answers_of(
                Question(side.text, "count", condition=side.condition, by=side.by), schema, none, rows
            )
        ]
        for side in sides
    ]
    return np.min(np.array(counts), axis=0)


def _size_of_term(term: str, schema: Schema, table: Table) -> float:
    """Return how many records have the value of a term; all of them for the constant and numbers."""
    for place, one in enumerate(schema.attributes):
        for code in range(one.size):
            if term == f"{one.name} = {one.label(code)}":
                return float((table.codes[:, place] == code).sum())
    return float(len(table.codes))


@cache
def _numbers(name: str, column: str) -> NDArray[np.float64]:
    """Return the numbers of a column as they were counted: clipped, NaN where missing."""
    import pandas as pd

    schema = schema_of(name)
    attribute = schema.attributes[schema.index(column)]
    found = pd.read_csv(data_file(_FILES[name]), usecols=[column], skipinitialspace=True)[column]
    numbers = pd.to_numeric(found, errors="coerce").to_numpy(np.float64)
    return np.clip(numbers, attribute.edges[0], attribute.edges[-1])


def _outer(question: Question, schema: Schema, table: Table) -> NDArray[np.float64] | None:
    """Return the mean of the numbers themselves in each group; None where they are not at hand, or of codes."""
    column = str(question.column)
    attribute = schema.attributes[schema.index(column)]
    if table.name not in _FILES or attribute.kind is not AttributeKind.NUMERIC:
        return None
    numbers, (by,) = _numbers(table.name, column), (schema.index(one) for one in question.by)
    codes = table.codes[:, by]
    known = np.isfinite(numbers) & (table.codes[:, schema.index(column)] != attribute.missing_code)
    counts = np.bincount(codes[known], minlength=int(schema.sizes[by]))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.bincount(codes[known], numbers[known], int(schema.sizes[by])) / counts)
