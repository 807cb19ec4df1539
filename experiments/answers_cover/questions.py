"""The twelve tables with their columns as schemas declare them, and the questions that are asked of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dpopt.answers.answer import numbers_of
from dpopt.answers.estimates import RowTables
from dpopt.errors import QuestionError
from dpopt.inference.measured_residuals import MeasuredResiduals
from dpopt.queries.counting.answers import RecordAnswers
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from dpopt.synopses.release_answers import Answering
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
class Text:
    """A question, or a regression, and what it is about."""

    kind: str
    text: str
    names: tuple[str, ...]
    """Columns that it needs."""
    by: tuple[str, ...] = ()
    """Columns that make groups."""
    number: str | None = None
    """The column of a mean or quantile."""
    groups: tuple[str, ...] = ()
    """Questions for the numbers of records in its groups, two of a difference."""


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A question with the figures that the table gives."""

    of: Text
    columns: tuple[int, ...]
    truths: NDArray[np.float64]
    """Of each figure, by the rows of the table."""
    large: NDArray[np.bool_]
    """Which figures are of groups of at least `LEAST_SHARE` of the records."""
    outer: NDArray[np.float64] | None = None
    """Of a mean: that of the numbers themselves, where these are at hand."""

    def answers(self, answering: Answering, *, confidence: float = 0.95) -> Answers:
        """Return what is answered."""
        return answers(self.of, answering, confidence=confidence)


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Answers to a question, an array entry for each figure."""

    estimates: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    deviations: NDArray[np.float64]
    """Standard errors."""
    least: NDArray[np.float64]
    greatest: NDArray[np.float64]
    """Ends of means of the numbers themselves; NaN of other figures."""
    terms: tuple[str, ...]
    """Of a regression."""


def answers(asked: Text, answering: Answering, *, confidence: float = 0.95) -> Answers:
    """Return what is answered to a question."""
    rows = answering.answers([asked.text], confidence=confidence)

    def column(name: str) -> NDArray[np.float64]:
        return np.array([row.get(name, np.nan) for row in rows], dtype=np.float64)

    return Answers(
        column("estimate"),
        column("low"),
        column("high"),
        column("standard_error"),
        column("least"),
        column("greatest"),
        tuple(str(row.get("term", "")) for row in rows),
    )


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


def by_rows(schema: Schema, rows: RowTables) -> Answering:
    """Return what answers from rows alone, as nothing was measured."""
    none = MarginalSet(rows.domains, np.zeros((0, 1), dtype=np.int32))
    return Answering(schema, MeasuredResiduals(none, np.zeros(0), np.zeros(0), rows.size, np.inf), rows, persons=False)


def asked_of(table: Table) -> list[Asked]:
    """Return the questions to a table, those of a seeded choice of its columns."""
    schema, found = schema_of(table.name), []
    exact = by_rows(schema, rows_of(schema, table.codes))
    for one in _texts(schema, table):
        try:
            given = answers(one, exact)
        except QuestionError:  # of a regression with a value that no record has: the table itself has no coefficients
            if one.kind != COEFFICIENTS:
                raise
            continue
        truths = given.estimates
        if one.kind == COEFFICIENTS:
            sizes = np.array([_size_of_term(term, schema, table) for term in given.terms])
        else:
            counts = [answers(Text(COUNTS, text, ()), exact).estimates for text in one.groups]
            sizes = np.min(counts, axis=0)
            sizes = np.repeat(sizes, len(truths) // len(sizes))
        large = (sizes >= LEAST_SHARE * len(table.codes)) & np.isfinite(truths)
        columns = tuple(schema.index(name) for name in one.names)
        found.append(Asked(one, columns, truths, large, _outer(one, schema, table)))
    return found


def _texts(schema: Schema, table: Table) -> Iterator[Text]:
    """Yield questions; conditions are on usual values."""
    draw, name = np.random.default_rng(sum(table.name.encode())), table.name
    target = CLASSES[name]
    counts = {
        one: np.bincount(codes, minlength=one.size) for one, codes in zip(schema.attributes, table.codes.T, strict=True)
    }

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
        group, beside, own = _quoted(one.name), _quoted(other.name), f"count by {_quoted(one.name)}"
        first, last = (f"where {usual(one, at)}" for at in (0, 1))
        ends = (f"count {first}", f"count {last}")
        yield Text(COUNTS, own, (one.name,), (one.name,), groups=(own,))
        yield Text(SHARES, f"share of {event} by {group}", (target, one.name), (one.name,), groups=(own,))
        if place:
            both, names = f"count by {group}, {beside}", (one.name, other.name)
            yield Text(COUNTS, both, names, names, groups=(both,))
            yield Text(SHARES, f"share of {group} by {beside}", names, (other.name,), groups=(f"count by {beside}",))
        difference = f"share of {event} {first} - share of {event} {last}"
        yield Text(DIFFERENCES, difference, (target, one.name), groups=ends)
        for number in numbers:
            mean, names, by = f"mean({_quoted(number.name)})", (number.name, one.name), (one.name,)
            yield Text(MEANS, f"{mean} by {group}", names, by, number.name, (own,))
            yield Text(DIFFERENCES, f"{mean} {first} - {mean} {last}", names, (), number.name, ends)
            for quantile in (f"median({_quoted(number.name)})", f"quantile({_quoted(number.name)}, 0.9)"):
                yield Text(QUANTILES, f"{quantile} by {group}", names, by, number.name, (own,))
    (one, other), condition = groups[:2], f"where {usual(groups[1], 0)}"
    three = (other.name, one.name, target)
    cells = f"count {condition} by {_quoted(one.name)}, {_quoted(target)}"
    yield Text(COUNTS, cells, three, three[1:], groups=(cells,))
    own = f"count {condition} by {_quoted(one.name)}"
    yield Text(SHARES, f"share of {event} {condition} by {_quoted(one.name)}", three, (one.name,), groups=(own,))
    whole = [one for one in groups if counts[one].all()]
    terms = [one for one in (*numbers, *whole[:2]) if one.size <= MOST_GROUPS]
    for outcome in (of, *numbers):
        left = [one for one in terms if one is not outcome]
        if left and outcome.missing_code is None and (numbers_of(outcome) is not None or outcome.size == 2):
            text = f"{outcome.name} ~ {' + '.join(one.name for one in left)}"
            yield Text(COEFFICIENTS, text, (outcome.name, *(one.name for one in left)))


def _quoted(name: str) -> str:
    return f'"{name}"'


def _condition(attribute: Attribute, code: int) -> str:
    """Return the condition that a column has this value, or lies in this bin."""
    name, label = _quoted(attribute.name), attribute.label(code)
    if attribute.kind is AttributeKind.NUMERIC:
        low, high = attribute.edges[code : code + 2]
        return f"{name} >= {low:g}" if code == len(attribute.edges) - 2 else f"{low:g} <= {name} < {high:g}"
    return f"{name} = {label}" if attribute.kind is AttributeKind.BOOLEAN else f'{name} = "{label}"'


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
    return np.asarray(np.clip(numbers, attribute.edges[0], attribute.edges[-1]))


def _outer(asked: Text, schema: Schema, table: Table) -> NDArray[np.float64] | None:
    """Return the mean of the numbers themselves in each group; None where they are not at hand, and of codes."""
    if asked.kind != MEANS or asked.number is None or table.name not in _FILES:
        return None
    column, by = schema.index(asked.number), schema.index(asked.by[0])
    attribute, numbers = schema.attributes[column], _numbers(table.name, asked.number)
    if attribute.kind is not AttributeKind.NUMERIC:
        return None
    codes, known = table.codes[:, by], np.isfinite(numbers) & (table.codes[:, column] != attribute.missing_code)
    counts = np.bincount(codes[known], minlength=int(schema.sizes[by]))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.bincount(codes[known], numbers[known], int(schema.sizes[by])) / counts)
