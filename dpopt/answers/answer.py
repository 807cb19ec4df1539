"""From a question to answers with intervals: the sums that it needs, and what follows from their estimates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan, prod

import numpy as np
from numpy.typing import NDArray

from dpopt.answers.estimates import RowTables, Sums, covariances
from dpopt.answers.intervals import SURE, Interval, deviations_of, of_difference, of_quantile, of_ratio, of_sum
from dpopt.answers.questions import COUNT, MEAN, QUANTILE, SHARE, Question
from dpopt.errors import QuestionError, SchemaError
from dpopt.inference.measured_residuals import MeasuredResiduals, Numbers
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.domains import Domains
from dpopt.schema.rules.compile_rules import compile_rules
from dpopt.schema.rules.formula import Formula, Literal, parts_of
from dpopt.schema.rules.rule import Rule
from dpopt.schema.schema import Schema

MOST_CELLS = 4_000_000
"""Cells of all columns of a question, at most."""
MEASURED, BY_ROWS = "measured", "by the rows: no interval"


@dataclass(frozen=True, slots=True)
class Answer:
    """One figure: of a group, and of a value where a share of each value is asked."""

    question: str
    group: tuple[tuple[str, str], ...]
    """The columns that make groups, each with its value as the schema writes it."""
    value: str | None
    """Whose share it is; None where it is no share of values."""
    interval: Interval
    within: tuple[float, float] | None
    """Of a mean: ends of an interval of the mean itself, whatever values of their bins the numbers have."""
    how: str
    """"measured", or "by the rows: no interval"."""


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """A question without what is subtracted: its sums, and which of them make a figure."""

    question: Question
    sums: Sums
    """Those of each group of the columns in `groups`, one group after the other."""
    groups: tuple[int, ...]
    """Columns that make groups, and that the sums depend on besides."""
    figures: tuple[tuple[str | None, int, int | None], ...]
    """Of each figure what it is of, and which sum is its numerator and which its denominator, if it has one."""
    width: int
    """Sums of one group."""
    edges: Numbers
    """Of the bins, for a quantile."""


def answers_of(
    question: Question,
    schema: Schema,
    measured: MeasuredResiduals,
    rows: RowTables,
    *,
    confidence: float = 0.95,
    together: int = 1,
    population: bool = False,
) -> list[Answer]:
    """Return the answers to a question: one for each group, and value.

    Parameters
    ----------
    measured
        What was measured, with the variance of its noise.
    rows
        The rows, for what was not measured.
    confidence
        Of each interval, above 0 and below 1; or of so many `together`, by Bonferroni's inequality.
    population
        Whether intervals are those of the population that the records were drawn from, one by one and independently.

    Raises
    ------
    QuestionError
        If the question has too many cells, or asks for numbers that a column does not have.
    """
    asked = [question] if question.minus is None else [question, question.minus]
    by = tuple(schema.index(name) for name in question.by)
    columns = [_columns(one, schema) for one in asked]
    shared = tuple(one for one in by if any(one in named for named in columns))
    domains = measured.domains
    sides = [_side(one, schema, domains, by, shared, named) for one, named in zip(asked, columns, strict=True)]
    known = all(measured.missing(side.sums.attributes) is None for side in sides)
    values = [_by_group(side, by, measured if known else rows) for side in sides]
    blocks = [[_blocks(measured, one, two) if known else None for two in sides] for one in sides]
    sampled = [[_sampling(one, two, by, measured, rows) for two in sides] for one in sides] if population else None
    z, z_of_both = (
        deviations_of(confidence, gaussian=measured.gaussian, together=together * number) for number in (1, len(sides))
    )
    found = []
    for group in np.ndindex(values[0].shape[:-1]):
        key = tuple(group[by.index(one)] for one in shared)
        sums = [one[group] for one in values]
        own = [[None if block is None else block[key] for block in row] for row in blocks]
        if sampled is not None:
            own = [
                [None if block is None else block + sampled[at][to][group] for to, block in enumerate(row)]
                for at, row in enumerate(own)
            ]
        named = tuple(
            (schema.names[one], schema.attributes[one].label(int(domains.codes[domains.starts[one] + code])))
            for one, code in zip(by, group, strict=True)
        )
        for place, (label, _, _) in enumerate(sides[0].figures):
            interval, within = (
                _figure(sides[0], sums[0], own[0][0], place, z)
                if len(sides) == 1
                else _subtracted(sides, sums, own, place, (z, z_of_both))
            )
            found.append(Answer(question.text, named, label, interval, within, MEASURED if known else BY_ROWS))
    return found


def _columns(question: Question, schema: Schema) -> tuple[int, ...]:
    """Return the columns that the sums of a question depend on."""
    named = [*_names(question.condition), *_names(question.event), *([question.column] if question.column else [])]
    return tuple(dict.fromkeys(schema.index(name) for name in named))


def _names(formula: Formula | None) -> Iterator[str]:
    if isinstance(formula, Literal):
        yield formula.attribute
    elif formula is not None:
        for part in parts_of(formula):
            yield from _names(part)


def _side(
    question: Question,
    schema: Schema,
    domains: Domains,
    by: tuple[int, ...],
    shared: tuple[int, ...],
    columns: tuple[int, ...],
) -> _Side:
    """Return the sums of a question; `columns` are those that they depend on, `shared` those of `by` among all sides'."""
    others = (*shared, *(one for one in columns if one not in shared))
    shape = tuple(int(domains.counts[one]) for one in others)
    if (many := prod(int(domains.counts[one]) for one in {*by, *others})) > MOST_CELLS:
        raise QuestionError(f"{question.text!r} needs {many:,} cells; at most {MOST_CELLS:,}: ask about fewer columns")
    places = np.indices(shape).reshape(len(others), prod(shape))
    codes = {one: domains.codes[domains.starts[one] + at] for one, at in zip(others, places, strict=True)}
    cells = np.stack([codes[one] for one in others], axis=1).astype(np.int32) if others else np.zeros((1, 0), np.int32)

    def holds(formula: Formula | None) -> NDArray[np.bool_]:
        if formula is None:
            return np.ones(len(cells), dtype=np.bool_)
        attributes = [schema.attributes[one] for one in others]
        try:
            circuit = compile_rules((Rule(formula),), attributes, lambda name: others.index(schema.index(name)))
        except SchemaError as problem:
            raise QuestionError(f"{question.text!r}: {problem.__cause__ or problem}") from None
        return np.asarray(~circuit.broken(cells)[:, 0])

    def given(names: Sequence[str]) -> NDArray[np.bool_]:
        found = np.ones(len(cells), dtype=np.bool_)
        for one in map(schema.index, names):
            found &= codes[one] != _missing(schema.attributes[one])
        return found

    among, edges = holds(question.condition), np.zeros(0)
    figures: list[tuple[str | None, int, int | None]] = [(None, 0, 1)]
    rows: list[Numbers] | list[NDArray[np.bool_]]
    if question.measure == COUNT:
        rows, figures = [among], [(None, 0, None)]
    elif question.column is None:
        known = among if _asks_for_missing(question.event) else among & given(list(_names(question.event)))
        rows = [holds(question.event) & known, known]
    else:
        column = schema.index(question.column)
        attribute, at = schema.attributes[column], codes[column]
        among = among & given([attribute.name])
        shown = [code for code in np.unique(at).tolist() if code != _missing(attribute)]
        if question.measure == SHARE:
            rows = [*(among & (at == code) for code in shown), among]
            figures = [(attribute.label(code), place, len(shown)) for place, code in enumerate(shown)]
        elif question.measure == MEAN:
            numbers = _numbers(attribute, question)
            rows, figures = [*(among * numbers[:, at]), among], [(None, 0, 3)]
        else:
            rows = [(among & (at <= code)) - question.level * among for code in shown] + [among.astype(np.float64)]
            _, low, high = _numbers(attribute, question)
            edges = np.append(low[shown[:1]], high[shown])
    values = np.asarray(rows, dtype=np.float64)
    if shared:
        own = np.ravel_multi_index(tuple(places[: len(shared)]), shape[: len(shared)])
        number = prod(shape[: len(shared)])
        values = (values[None] * (own == np.arange(number)[:, None])[:, None]).reshape(-1, len(cells))
    sums = Sums(tuple(one for one in by if one not in shared), others, values.reshape(-1, *shape))
    return _Side(question, sums, shared, tuple(figures), len(rows), edges)


def numbers_of(attribute: Attribute) -> Numbers | None:
    """Return what each code stands for, and the least and the greatest number in its bin, (3, codes); 0 for a missing value.

    None where its values are no numbers.
    """
    rows: list[list[float]] = [[float(one) for one in attribute.values if isinstance(one, int | float)]] * 3
    if attribute.kind is AttributeKind.NUMERIC:
        rows = [list(attribute.representatives), list(attribute.edges[:-1]), list(attribute.edges[1:])]
    elif attribute.kind is not AttributeKind.CATEGORICAL or len(rows[0]) < len(attribute.values):
        return None
    return np.array([[*row, *[0.0] * (attribute.size - len(row))] for row in rows], dtype=np.float64)


def _numbers(attribute: Attribute, question: Question) -> Numbers:
    found = numbers_of(attribute)
    if found is None:
        raise QuestionError(
            f"{question.text!r}: the values of {attribute.name!r} are no numbers, and have no {question.measure}; ask for "
            f"shares, or declare it as numeric"
        )
    return found


def _missing(attribute: Attribute) -> int:
    return -1 if attribute.missing_code is None else attribute.missing_code


def _asks_for_missing(formula: Formula | None) -> bool:
    if isinstance(formula, Literal):
        return formula.relation == "is"
    return formula is not None and any(map(_asks_for_missing, parts_of(formula)))


def _by_group(side: _Side, by: tuple[int, ...], tables: MeasuredResiduals | RowTables) -> Numbers:
    """Return the sums of each group, (*codes of `by`, k)."""
    sums = side.sums.estimates(tables)
    counts = [int(tables.domains.counts[one]) for one in side.groups]
    block = sums.reshape(*sums.shape[:-1], *counts, side.width)
    order = (*side.sums.by, *side.groups)
    return block.transpose(*(order.index(one) for one in by), len(by))


def _blocks(measured: MeasuredResiduals, first: _Side, second: _Side) -> Numbers:
    """Return the covariances of the sums of two sides for the same group, (*codes of `groups`, k, k')."""
    counts = [int(measured.domains.counts[one]) for one in first.groups]
    number = prod(counts)
    block = covariances(measured, first.sums, second.sums).reshape(number, first.width, number, second.width)
    own = np.arange(number)
    return block[own, :, own].reshape(*counts, first.width, second.width)


def _sampling(
    first: _Side, second: _Side, by: tuple[int, ...], measured: MeasuredResiduals, rows: RowTables
) -> Numbers:
    """Return the covariances that sampling gives the sums of two sides, (*codes of `by`, k, k').

    n independent records have the covariance sum u v - (sum u) (sum v) / n, estimated as other sums are.
    """
    others = (*first.sums.others, *(one for one in second.sums.others if one not in first.sums.others))
    values = [side.sums.values.reshape(-1, side.width, *side.sums.values.shape[1:]) for side in (first, second)]
    spread = [_over(one, side.sums.others, others) for one, side in zip(values, (first, second), strict=True)]
    products = spread[0][:, :, None] * spread[1][:, None]
    widths = first.width, second.width
    both = _Side(
        first.question,
        Sums(first.sums.by, others, products.reshape(-1, *products.shape[3:])),
        first.groups,
        (),
        widths[0] * widths[1],
        first.edges,
    )
    known = measured.missing(both.sums.attributes) is None
    found = _by_group(both, by, measured if known else rows)
    totals = [_by_group(side, by, measured if known else rows) for side in (first, second)]
    apart = totals[0][..., :, None] * totals[1][..., None, :] / measured.size
    result = found.reshape(*found.shape[:-1], *widths) - apart
    return result if first is not second else _positive(result)


def _over(values: Numbers, own: tuple[int, ...], others: tuple[int, ...]) -> Numbers:
    """Return values (..., *codes of `own`) with an axis for each of `others`, of one code where it is none of `own`."""
    lead = values.ndim - len(own)
    order = [lead + own.index(one) for one in others if one in own]
    block = values.transpose(*range(lead), *order)
    return np.expand_dims(block, tuple(lead + at for at, one in enumerate(others) if one not in own))


def _positive(covariances: Numbers) -> Numbers:
    """Return symmetric matrices without the directions in which noise made variances negative."""
    values, vectors = np.linalg.eigh((covariances + covariances.swapaxes(-1, -2)) / 2)
    return np.asarray((vectors * np.maximum(values, 0.0)[..., None, :]) @ vectors.swapaxes(-1, -2))


def _figure(
    side: _Side, sums: Numbers, covariance: Numbers | None, place: int, z: float
) -> tuple[Interval, tuple[float, float] | None]:
    """Return a figure of one group, and for a mean the ends of that of the numbers themselves."""
    if covariance is None:
        nothing = np.zeros((sums.size, sums.size))
        found, _ = _figure(side, sums, nothing, place, 0.0)
        return Interval(found.estimate, nan, nan, nan), None
    if side.question.measure == QUANTILE:
        return of_quantile(sums[:-1], np.diag(covariance)[:-1], side.edges, z), None
    _, own, under = side.figures[place]
    if under is None:
        return of_sum(float(sums[own]), float(covariance[own, own]), z), None

    def ratio(own: int) -> Interval:
        pair = [own, under]
        return of_ratio(sums[pair], covariance[np.ix_(pair, pair)], z)

    within = (ratio(1).low, ratio(2).high) if side.question.measure == MEAN else None
    return ratio(own), within


def _subtracted(
    sides: Sequence[_Side],
    sums: Sequence[Numbers],
    own: Sequence[Sequence[Numbers | None]],
    place: int,
    z: tuple[float, float],
) -> tuple[Interval, tuple[float, float] | None]:
    """Return the difference of the figures of two sides."""
    known = own[0][0] is not None
    tangents, sure = [], known
    for at, side in enumerate(sides):
        covariance, (_, number, under) = own[at][at], side.figures[place]
        tangent = np.zeros(side.width)
        tangent[number] = 1.0
        if side.question.measure == QUANTILE:
            sure = False
        elif under is not None and covariance is not None:
            total = float(sums[at][under])
            sure = sure and total > SURE * float(np.sqrt(covariance[under, under]))
            tangent = np.zeros(side.width) if total == 0 else tangent / total
            tangent[under] -= 0 if total == 0 else float(sums[at][number]) / total**2
        tangents.append(tangent)
    figures = [_figure(side, sums[at], own[at][at], place, z[0 if sure else 1]) for at, side in enumerate(sides)]
    (first, one), (second, two) = figures
    if not known:
        return Interval(first.estimate - second.estimate, nan, nan, nan), None
    variance = sum(
        sign * float(tangents[a] @ block @ tangents[b])
        for a, b, sign in ((0, 0, 1), (1, 1, 1), (0, 1, -2))
        if (block := own[a][b]) is not None
    )
    within = None if one is None or two is None else (one[0] - two[1], one[1] - two[0])
    return of_difference(first, second, variance, z[0], sure=sure), within
