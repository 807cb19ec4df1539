"""How wide intervals are: beside the best linear unbiased estimate by dense least squares, and a figure measured alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, compress
from math import prod
from statistics import median
from typing import Any

import numpy as np

from dpopt.algorithms.measured.known import Known
from dpopt.answers.answer import numbers_of
from dpopt.inference.measured_residuals import MeasuredResiduals, Numbers
from dpopt.schema.schema import Schema
from dpopt.synopses.release_answers import Answering
from experiments.answers_cover.measuring import Draws, is_measured, questions_of
from experiments.answers_cover.questions import COUNTS, MEANS, Text, rows_of, schema_of
from experiments.experiment import Result
from experiments.one_estimator.tables import load

MOST_CELLS = 300
"""Cells of the columns of a question that dense least squares is tried on."""
PUBLIC = 1e-6
"""Variance that stands for that of the number of records, which is public."""
BESIDE = ("used", "all", "alone")


def widths(setting: tuple[str, float, int]) -> Result:
    """Return the deviation of answers over that of three others, for one play of the measuring stages.

    "used": dense least squares on the measurements that answers use; "all": on repeated and coarse ones too, as if their
    precision had been fixed beforehand; "alone": the table over the columns of the question, measured alone for the whole
    budget.
    """
    name, epsilon, seed = setting
    table, schema = load(name), schema_of(name)
    questions = [one for one in questions_of(name) if one.of.kind in (COUNTS, MEANS)]
    draws = Draws.of(table, epsilon, questions)
    known, found, _ = draws.play(np.random.default_rng([seed, *name.encode()]))
    exact = MeasuredResiduals(found.sets, draws.exact, found.variances, found.records, found.records_variance)
    rows, single = rows_of(schema, table.codes), (2 * draws.job.plan.budget.amount) ** -0.5
    ratios: dict[str, list[list[float]]] = {kind: [] for kind in (COUNTS, MEANS)}
    for one in questions:
        columns = tuple(sorted(one.columns))
        shape = exact.shape(columns)
        if " where " in one.of.text or not is_measured(one, exact) or prod(shape) > MOST_CELLS:
            continue
        spreads = [covariance(shape, rows) for rows in (used(exact, columns), everything(known, columns))]
        answers = one.answers(Answering(schema, exact, rows, persons=False))
        weights = _weights(one.of, schema, columns, exact.table(columns))
        for own, weight in compress(zip(answers.deviations.tolist(), weights, strict=True), one.large):
            dense = [float(np.sqrt(weight @ spread @ weight)) for spread in spreads]
            ratios[one.of.kind].append([own / each for each in (*dense, single * float(np.sqrt(weight @ weight)))])
    found_ratios = {kind: _spread(each) for kind, each in ratios.items() if each}
    return {"table": name, "epsilon": epsilon, "seed": seed, "ratios": found_ratios}


def _spread(ratios: list[list[float]]) -> dict[str, Any]:
    """Return the number of figures, and the median and the largest of each ratio."""
    columns = dict(zip(BESIDE, np.array(ratios).T.tolist(), strict=True))
    texts = {title: f"{median(column):.4g} {max(column):.4g}" for title, column in columns.items()}
    return {"figures": len(ratios), **texts}


def _weights(asked: Text, schema: Schema, columns: tuple[int, ...], table: Numbers) -> Iterator[Numbers]:
    """Yield of each group what its figure weighs each cell of the table, near the truth: its derivative."""
    by = [columns.index(schema.index(name)) for name in asked.by]
    places = np.indices(table.shape)
    for group in np.ndindex(*(table.shape[axis] for axis in by)):
        within = np.all([places[axis] == code for axis, code in zip(by, group, strict=True)], axis=0).astype(np.float64)
        if asked.number is not None:
            column = schema.index(asked.number)
            numbers = numbers_of(schema.attributes[column])
            assert numbers is not None
            value = numbers[0][places[columns.index(column)]]
            within *= places[columns.index(column)] != (schema.attributes[column].missing_code or -1)
            total = (within * table).sum()
            within *= (value - (within * table * value).sum() / total) / total if total else 0
        yield within.ravel()


Measured = tuple[Numbers, float]
"""What was measured of the cells, one row for each direction, and the variance of its noise."""


def used(measured: MeasuredResiduals, columns: tuple[int, ...]) -> list[Measured]:
    """Return the measurements that answers about these columns use."""
    return list(_residuals(measured.shape(columns), columns, measured.variance))


def everything(known: Known, columns: tuple[int, ...]) -> list[Measured]:
    """Return all measurements about these columns."""
    places = {known.sets.attributes_of(place): place for place in range(len(known.sets))}
    shape = tuple(int(known.sets.domains.counts[one]) for one in columns)
    found = list(_residuals(shape, columns, lambda part: 1 / float(known.precision[places[part]])))
    if known.coarse is not None and known.parts is not None:
        pairs = [known.sets.attributes_of(int(place)) for place in known.of_order(2)]
        for axes in combinations(range(len(columns)), 2):
            variance = float(known.coarse[1][pairs.index(tuple(columns[axis] for axis in axes))])
            if np.isfinite(variance):
                maps = [_parts(known, columns[axis]) if axis in axes else None for axis in range(len(columns))]
                found.append((_directions(shape, axes, maps), variance))
    return found


def _parts(known: Known, column: int) -> Numbers:
    """Return which part each code of a column is in, (parts, codes)."""
    assert known.parts is not None
    start, count = (int(each[column]) for each in (known.sets.domains.starts, known.sets.domains.counts))
    own = known.parts[start : start + count]
    return np.asarray(own == np.arange(own.max() + 1)[:, None], dtype=np.float64)


def _residuals(
    shape: tuple[int, ...], columns: tuple[int, ...], variance: Callable[[tuple[int, ...]], float]
) -> Iterator[Measured]:
    for width in range(len(columns) + 1):
        for axes in combinations(range(len(columns)), width):
            if all(shape[axis] > 1 for axis in axes):
                part = tuple(columns[axis] for axis in axes)
                yield _directions(shape, axes, [None] * len(shape)), variance(part) if part else PUBLIC


def _directions(shape: tuple[int, ...], axes: Sequence[int], maps: Sequence[Numbers | None]) -> Numbers:
    """Return an orthonormal basis of the residual over some axes, after codes were put together, as rows over all cells."""
    rows: Numbers = np.ones((1, 1))
    for axis, size in enumerate(shape):
        together = np.eye(size) if maps[axis] is None else maps[axis]
        assert together is not None
        own = np.ones((1, size))
        if axis in axes:
            number = len(together)
            own = np.linalg.svd(np.eye(number) - 1 / number)[2][: number - 1] @ together
        rows = np.asarray(np.kron(rows, own))
    return rows


def covariance(shape: tuple[int, ...], measured: Sequence[Measured]) -> Numbers:
    """Return the covariance of least squares for all cells, (cells, cells), by dense normal equations."""
    precision = np.zeros((prod(shape), prod(shape)))
    for rows, variance in measured:
        precision += rows.T @ rows / variance
    return np.asarray(np.linalg.inv(precision))
