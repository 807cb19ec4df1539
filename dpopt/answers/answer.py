"""From a question to answers with intervals: the sums that it needs, and the figures from their estimates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import nan, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpopt.answers.estimates import Measured, RowTables, Sums, covariances, sampling_covariances
from dpopt.answers.intervals import SURE, Interval, deviations_of, of_count, of_quantile, of_ratio, of_sum
from dpopt.answers.questions import COUNT, MEAN, QUANTILE, SHARE, Question
from dpopt.errors import QuestionError
from dpopt.inference.measured_residuals import Numbers
from dpopt.queries.condition import cells_where, codes_of_cells
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.domains import Domains
from dpopt.schema.rules.formula import literals_of
from dpopt.schema.schema import Schema

MEASURED, BY_ROWS = "measured", "by the rows: no interval"
NAMES = ("question", "term", "value")
SHRUNKEN = ("shrunken", "shrunken_low", "shrunken_high")
FIGURES = ("estimate", "low", "high", "standard_error", "least", "greatest", *SHRUNKEN, "real", "held", "how")
"""Columns of answers besides those of groups: first those that name a figure, then its values, in this order."""
Within = tuple[float, float] | None
"""Of a mean: ends of an interval of the mean itself, whatever values of their bins the numbers have."""
Row = dict[str, Any]
"""One figure, by the names of columns: "question"; each column that makes groups with the group's value as the schema writes
it, and "value", that whose share it is, or "term", that of a coefficient; then those of `FIGURES`."""


@dataclass(frozen=True, slots=True, eq=False)
class _Figure:
    """A figure as a function of the sums of a question; shares and means are divided by the last sum."""

    measure: str
    place: int = 0
    """The sum that is counted; of a mean that by representatives, and two more by least and greatest numbers."""
    value: str | None = None
    edges: Numbers | None = None
    """Edges of the bins of a quantile; each edge has a sum."""

    def interval(self, sums: Numbers, covariance: Numbers, z: float) -> tuple[Interval, Within]:
        """Return it with its interval, and for a mean the ends of that of the numbers themselves."""
        if self.edges is not None:
            return of_quantile(sums, np.diag(covariance), self.edges, z), None
        public = self.measure == SHARE and covariance[-1, -1] == 0 < sums[-1]
        if self.measure == COUNT or public:
            unit = float(sums[-1]) if public else 1.0
            return of_count(float(sums[self.place]), float(covariance[self.place, self.place]), z, unit), None
        both = [[own, -1] for own in range(self.place, self.place + (3 if self.measure == MEAN else 1))]
        found, *ends = [of_ratio(sums[one], covariance[np.ix_(one, one)], z) for one in both]
        return found, (ends[0].low, ends[1].high) if ends else None

    def tangent(self, sums: Numbers) -> Numbers:
        """Return its derivative by each sum; of a quantile NaN."""
        result = np.zeros(sums.size) if self.edges is None else np.full(sums.size, nan)
        if self.measure == COUNT:
            result[0] = 1.0
        elif sums[-1] != 0:
            result[self.place], result[-1] = 1 / sums[-1], -sums[self.place] / sums[-1] ** 2
        return result

    def is_sure(self, sums: Numbers, covariance: Numbers) -> bool:
        """Return whether the noise cannot make the denominator 0."""
        return self.edges is None and (self.measure == COUNT or bool(sums[-1] > SURE * np.sqrt(covariance[-1, -1])))


@dataclass(frozen=True, slots=True, eq=False)
class Estimated:
    """The figures of a question, before a confidence is chosen."""

    groups: list[Row]
    """The labels of each group, in the order of the estimates."""
    sides: list[tuple[_Figure, ...]]
    """The figures of a group, each with the one subtracted from it."""
    parts: list[slice]
    """Which sums each side has."""
    sums: Numbers
    """Shape (*groups, K). Estimates of sums."""
    noise: Numbers
    """Shape (*groups, K, K). Their covariances."""
    how: str
    gaussian: bool

    def __len__(self) -> int:
        """Return the number of figures."""
        return len(self.groups) * len(self.sides)

    def answers(self, confidence: float = 0.95, together: int = 1) -> list[Row]:
        """Return the figures with their intervals, at this confidence for all of them together (Bonferroni)."""
        z, z_of_both = (
            deviations_of(confidence, gaussian=self.gaussian, together=together * n) for n in (1, len(self.parts))
        )
        answers = []
        for names, group in zip(self.groups, np.ndindex(self.sums.shape[:-1]), strict=True):
            for sides in self.sides:
                interval, within = self._interval(sides, self.sums[group], self.noise[group], z, z_of_both)
                if self.how != MEASURED:
                    interval, within = Interval(interval.estimate, nan, nan, nan), None
                value = {} if sides[0].value is None else {"value": sides[0].value}
                answers.append(row_of({**names, **value}, interval, within, self.how))
        return answers

    def _interval(
        self, sides: Sequence[_Figure], sums: Numbers, covariance: Numbers, z: float, z_of_both: float
    ) -> tuple[Interval, Within]:
        """Return a figure, or the difference of two.

        Where no noise can hide a denominator, a difference has the variance of its tangent; else it lies between the ends of
        both intervals, which are then those of a confidence that holds for both.
        """
        own = [(side, sums[part], covariance[part, part]) for side, part in zip(sides, self.parts, strict=True)]
        sure = all(side.is_sure(some, spread) for side, some, spread in own)
        reach = z if sure else z_of_both
        (first, one), *others = (side.interval(some, spread, reach) for side, some, spread in own)
        if not others:
            return first, one
        second, two = others[0]
        tangent = np.concatenate([sides[0].tangent(own[0][1]), -sides[1].tangent(own[1][1])])
        found = of_sum(first.estimate - second.estimate, float(np.maximum(tangent @ covariance @ tangent, 0.0)), z)
        if not sure:
            found = replace(found, low=first.low - second.high, high=first.high - second.low)
        return found, None if one is None or two is None else (one[0] - two[1], one[1] - two[0])


def row_of(names: Row, interval: Interval, within: Within, how: str) -> Row:
    """Return a figure: its labels, its interval, and how it was found."""
    figures = (interval.estimate, interval.low, interval.high, interval.deviation)
    ends = {} if within is None else dict(zip(("least", "greatest"), within, strict=True))
    return {**names, **dict(zip(FIGURES, figures, strict=False)), **ends, "how": how}


def answers_of(
    question: Question, schema: Schema, measured: Measured, rows: RowTables | None, *, population: bool = False
) -> Estimated:
    """Return the answer to a question, one figure for each group and value; a confidence adds the intervals.

    `rows` answer what was not measured; None where nothing can. With `population`, intervals are those of the
    population that the records were drawn from, one by one and independently.
    """
    by, domains = tuple(map(schema.index, question.by)), measured.domains
    asked = [question, question.minus] if question.minus else [question]
    sums, figures = zip(*(_sums(one, schema, domains, by) for one in asked), strict=True)
    stops = np.cumsum([len(one.values) for one in sums]).tolist()
    if len({tuple(one.value for one in found) for found in figures}) > 1:
        raise QuestionError(
            f"{question.text!r}: both sides of a difference are shares of the same values, or of conditions"
        )
    how = how_found(schema, (measured.missing(one.attributes) for one in sums))
    known = how == MEASURED
    estimates = np.concatenate([one.estimates(measured if known or rows is None else rows) for one in sums], axis=-1)
    number = estimates.shape[-1]
    noise = np.zeros((number, number))
    if known:
        noise = _blocks(sums, lambda one, two: covariances(measured, one, two))
    if known and population:
        noise = noise + _positive(_blocks(sums, lambda one, two: sampling_covariances(measured, rows, one, two)))
    labels = [[schema.attributes[one].label(int(code)) for code in domains.codes_of(one)] for one in by]
    names = ["question", *(_column_of(one) for one in question.by)]
    return Estimated(
        [dict(zip(names, (question.text, *group), strict=True)) for group in product(*labels)],
        list(zip(*figures, strict=True)),
        list(map(slice, [0, *stops], stops)),
        estimates,
        np.broadcast_to(noise, (*estimates.shape, number)),
        how,
        measured.gaussian,
    )


def _column_of(name: str) -> str:
    """Return the column of answers that names a group; another than those that all answers have."""
    return f"{name} (group)" if name in NAMES or name in FIGURES else name


def how_found(schema: Schema, missing: Iterable[tuple[int, ...] | None]) -> str:
    """Return how a figure is found, given for each table that it needs a set of attributes that was not measured, if any."""
    lacking = next((one for one in missing if one is not None), None)
    if lacking is None:
        return MEASURED
    names = " and ".join(schema.names[one] for one in lacking)
    return f"{BY_ROWS} ({names} {'was not measured' if len(lacking) == 1 else 'were not measured together'})"


def _blocks(sums: Sequence[Sums], of: Callable[[Sums, Sums], Numbers]) -> Numbers:
    """Return the covariances of all sums, (*codes of B, K, K), given those of two lots."""
    blocks = [[of(one, two) for two in sums] for one in sums]
    groups = np.broadcast_shapes(*(block.shape[:-2] for row in blocks for block in row))
    return np.block([[np.broadcast_to(block, (*groups, *block.shape[-2:])) for block in row] for row in blocks])


def _positive(covariances: Numbers) -> Numbers:
    """Return symmetric matrices without the directions in which noise made variances negative."""
    values, vectors = np.linalg.eigh((covariances + covariances.swapaxes(-1, -2)) / 2)
    return np.asarray((vectors * np.maximum(values, 0.0)[..., None, :]) @ vectors.swapaxes(-1, -2))


def _sums(question: Question, schema: Schema, domains: Domains, by: tuple[int, ...]) -> tuple[Sums, list[_Figure]]:
    """Return the sums of a question without the subtracted one, and its figures."""
    columns = tuple(map(schema.index, question.columns))
    shape = tuple(int(domains.counts[one]) for one in columns)
    codes = codes_of_cells(question.text, domains, columns, by)
    among = np.ones(prod(shape), dtype=np.bool_)
    if question.condition is not None:
        among = cells_where(question.condition, question.text, schema, codes)
    rows: Sequence[NDArray[np.bool_] | Numbers] = [among]
    figures = [_Figure(COUNT)]
    if question.column is not None:
        column = schema.index(question.column)
        rows, figures = _of_column(question, schema.attributes[column], codes[column], among)
    elif question.event is not None:
        named = list(literals_of(question.event))
        values = [value for one in named for value in (one.value if isinstance(one.value, tuple) else (one.value,))]
        if None not in values and all(one.relation != "is" for one in named):  # nobody asks for missing values
            for one in {schema.index(one.attribute) for one in named}:
                among = among & (codes[one] != _missing(schema.attributes[one]))
        rows = [cells_where(question.event, question.text, schema, codes) & among, among]
        figures = [_Figure(SHARE)]
    return Sums(by, columns, np.array(rows, dtype=np.float64).reshape(-1, *shape)), figures


def _of_column(
    question: Question, attribute: Attribute, codes: NDArray[np.int32], among: NDArray[np.bool_]
) -> tuple[Sequence[NDArray[np.bool_] | Numbers], list[_Figure]]:
    """Return the contribution of each cell, given its code of the column, to every sum, and the figures of these sums."""
    among = among & (codes != _missing(attribute))
    shown = [code for code in np.unique(codes).tolist() if code != _missing(attribute)]
    if question.measure == SHARE:
        figures = [_Figure(SHARE, place, attribute.label(code)) for place, code in enumerate(shown)]
        return [*(among & (codes == code) for code in shown), among], figures
    numbers = numbers_of(attribute)
    if numbers is None:
        what, instead = "not numbers", "shares, or declare it as numeric"
        if attribute.date_format is not None:
            what = attribute.quantity
            instead = f"shares of its bins, or before an edge: 'share of {attribute.name} < EDGE'"
        raise QuestionError(
            f"{question.text!r}: the values of {attribute.name!r} are {what}, and have no {question.measure}; ask for {instead}"
        )
    if question.measure == MEAN:
        return [*(among * numbers[:, codes]), among], [_Figure(MEAN)]
    edges = np.append(numbers[1, shown[:1]], numbers[2, shown])
    below = [(among & (codes <= code)) - question.level * among for code in (-1, *shown)]
    return below, [_Figure(QUANTILE, edges=edges)]


def numbers_of(attribute: Attribute) -> Numbers | None:
    """Return the number of each code, and the least and the greatest in its bin, (3, codes); 0 for a missing value.

    None where its values are no numbers, and of dates.
    """
    if attribute.date_format is not None:
        return None
    rows: list[list[float]] = [[float(one) for one in attribute.values if isinstance(one, int | float)]] * 3
    if attribute.kind is AttributeKind.NUMERIC:
        rows = [list(attribute.representatives), list(attribute.edges[:-1]), list(attribute.edges[1:])]
    elif attribute.kind is not AttributeKind.CATEGORICAL or len(rows[0]) < len(attribute.values):
        return None
    return np.array([[*row, *[0.0] * (attribute.size - len(row))] for row in rows], dtype=np.float64)


def _missing(attribute: Attribute) -> int:
    return -1 if attribute.missing_code is None else attribute.missing_code
