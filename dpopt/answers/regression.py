"""Linear regressions from what was measured of pairs of columns, with intervals for the coefficients.

With a row x of terms (the constant, numbers, an indicator of each value but the first) and an outcome y for every record,
the coefficients of least squares solve b - A beta = 0, A = sum x x', b = sum x y. Every entry is a sum over two columns, so
that b - A beta is linear in the residuals that were measured, for any beta. At the true beta it is noise, with a known
covariance V(beta). The interval of one coefficient t holds all values for which

    min over the others of (b - A beta)' V(beta)^-1 (b - A beta) <= z^2

(Fieller's way in several dimensions): what noise could have made of A is counted. Where that holds for ever larger values,
the coefficient is not identified, and an end is infinite.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from math import nan

import numpy as np

from dpopt.answers.answer import BY_ROWS, MEASURED, numbers_of
from dpopt.answers.estimates import RowTables
from dpopt.answers.intervals import Interval, deviations_of
from dpopt.errors import QuestionError
from dpopt.inference.measured_residuals import MeasuredResiduals, Numbers
from dpopt.schema.attribute import Attribute
from dpopt.schema.schema import Schema

MOST_TERMS = 60
"""Terms of a regression, at most."""
_STEPS, _FARTHEST = 60, 1e3


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One coefficient of a regression."""

    term: str
    interval: Interval
    how: str
    """"measured", or "by the rows: no interval"."""


@dataclass(frozen=True, slots=True, eq=False)
class _Term:
    """What a record counts for a term, by its code of one column; the constant has no column."""

    name: str
    column: int | None
    values: Numbers


def regress(
    formula: str, schema: Schema, measured: MeasuredResiduals, rows: RowTables, *, confidence: float = 0.95
) -> list[Coefficient]:
    """Return the coefficients of a linear regression such as "income ~ age + sex + education".

    Raises
    ------
    QuestionError
        If the text is no such formula, names a column twice, or its outcome is no number or can be missing.
    """
    terms, outcome = _terms(formula, schema, measured)
    columns = sorted({one.column for one in [*terms, outcome] if one.column is not None})
    pairs = [(one, two) for one in columns for two in columns if one < two]
    known = all(measured.missing(pair) is None for pair in pairs)
    both = [*terms, outcome]
    places = {pair: at for at, pair in enumerate(combinations_with_replacement(range(len(both)), 2))}
    tables = measured if known else rows
    sums = np.array([_sum(tables, both[one], both[two]) for one, two in places])
    index = np.array([[places[min(i, j), max(i, j)] for j in range(len(both))] for i in range(len(terms))])
    moments = sums[index]
    matrix, right = moments[:, :-1], moments[:, -1]
    try:
        beta = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        raise QuestionError(f"{formula!r}: the terms depend on each other; leave one of them out") from None
    if not known:
        return [Coefficient(one.name, Interval(b, nan, nan, nan), BY_ROWS) for one, b in zip(terms, beta, strict=True)]
    coefficients = np.array([_noise(measured, columns, both[one], both[two]) for one, two in places])
    solved = _Solved(matrix, right, beta, coefficients[index])
    z = deviations_of(confidence, gaussian=measured.gaussian)
    return [Coefficient(one.name, solved.interval(at, z), MEASURED) for at, one in enumerate(terms)]


def _terms(formula: str, schema: Schema, measured: MeasuredResiduals) -> tuple[list[_Term], _Term]:
    """Return the terms of a formula, the constant first, and its outcome."""
    sides = formula.split("~")
    if len(sides) != 2 or not all(side.strip() for side in sides):
        raise QuestionError(f"found the regression {formula!r}; expected OUTCOME ~ COLUMN + COLUMN")
    names = [schema.names[schema.index(one.strip())] for one in [sides[0], *re.split(r"\s*\+\s*", sides[1])]]
    if len(set(names)) < len(names):
        raise QuestionError(f"{formula!r} names a column twice; name each once")
    outcome = schema.attributes[schema.index(names[0])]
    if outcome.missing_code is not None:
        raise QuestionError(
            f"{formula!r}: the outcome {outcome.name!r} can be missing, and in which records it is was not measured together "
            f"with several others; expected a column that is never missing"
        )
    numbers = numbers_of(outcome)
    if numbers is None and outcome.size != 2:
        raise QuestionError(
            f"{formula!r}: the outcome {outcome.name!r} has {outcome.size} values that are no numbers; "
            f"expected numbers, or two values"
        )
    terms = [_Term("constant", None, np.ones(1))]
    for name in names[1:]:
        terms += _columns_of(schema.attributes[schema.index(name)], schema.index(name), measured)
    if len(terms) > MOST_TERMS:
        raise QuestionError(f"{formula!r} has {len(terms)} terms; at most {MOST_TERMS}: name columns of fewer values")
    values = np.array([0.0, 1.0]) if numbers is None else numbers[0]
    return terms, _Term(outcome.name, schema.index(names[0]), _of_domain(values, schema.index(names[0]), measured))


def _columns_of(attribute: Attribute, column: int, measured: MeasuredResiduals) -> list[_Term]:
    """Return the terms of a column: its number, or an indicator of each value but the first; of a missing value one too."""
    shown = list(range(attribute.size))
    terms = []
    if (numbers := numbers_of(attribute)) is not None:
        terms = [_Term(attribute.name, column, _of_domain(numbers[0], column, measured))]
        shown = [] if attribute.missing_code is None else [0, attribute.missing_code]
    occurring = _of_domain(np.arange(attribute.size, dtype=np.float64), column, measured)
    for code in [code for code in shown if code in occurring][1:]:
        label = f"{attribute.name} = {attribute.label(code)}"
        terms.append(_Term(label, column, (occurring == code).astype(np.float64)))
    return terms


def _of_domain(values: Numbers, column: int, measured: MeasuredResiduals) -> Numbers:
    domains = measured.domains
    return values[domains.codes[domains.starts[column] :][: domains.counts[column]]]


def _product(one: _Term, two: _Term) -> tuple[tuple[int, ...], Numbers]:
    """Return the columns that the product of two terms depends on, increasing, and its values."""
    if one.column is None or two.column is None or one.column == two.column:
        columns = tuple({one.column, two.column} - {None})
        return columns, np.asarray(one.values * two.values).reshape([-1] * len(columns))  # type: ignore[return-value]
    first, second = sorted((one, two), key=lambda term: term.column or 0)
    return (first.column, second.column), np.outer(first.values, second.values)  # type: ignore[return-value]


def _sum(tables: MeasuredResiduals | RowTables, one: _Term, two: _Term) -> float:
    columns, values = _product(one, two)
    return float((tables.table(columns) * values).sum())


def _noise(measured: MeasuredResiduals, columns: Sequence[int], one: _Term, two: _Term) -> Numbers:
    """Return what a unit of noise along each direction of each residual adds to the sum of a product, as one vector."""
    own, values = _product(one, two)
    shapes = {column: int(measured.domains.counts[column]) for column in columns}
    parts = [np.array([float(values.sum()) / max(1, values.size) * measured.records_variance**0.5])]
    for width in (1, 2):
        for part in combinations(columns, width):
            size = int(np.prod([shapes[column] for column in part]))
            if not set(part) <= set(own) or any(shapes[column] == 1 for column in part):
                parts.append(np.zeros(size))
                continue
            away = tuple(at for at, column in enumerate(own) if column not in part)
            block = values.mean(axis=away)
            for axis in range(block.ndim):
                block = block - block.mean(axis=axis, keepdims=True)
            parts.append(block.ravel() * measured.variance(part) ** 0.5)
    return np.concatenate(parts)


@dataclass(frozen=True, slots=True, eq=False)
class _Solved:
    """The moment equations and their solution."""

    matrix: Numbers
    right: Numbers
    beta: Numbers
    noise: Numbers
    """Shape (p, p + 1, directions). Of each entry of A, and of b in the last column."""

    def covariance(self, beta: Numbers) -> Numbers:
        """Return V(beta), (p, p)."""
        own = np.tensordot(np.append(-beta, 1.0), self.noise, (0, 1))
        return np.asarray(own @ own.T)

    def interval(self, at: int, z: float) -> Interval:
        """Return the interval of one coefficient."""
        inverse = np.linalg.inv(self.matrix)
        spread = inverse @ self.covariance(self.beta) @ inverse.T
        deviation = float(np.sqrt(max(spread[at, at], 0.0)))
        low, high = (self._end(at, z, sign * deviation) for sign in (-1.0, 1.0))
        return Interval(float(self.beta[at]), low, high, deviation)

    def _end(self, at: int, z: float, step: float) -> float:
        """Return the end of the interval to one side; infinite where there is none."""
        centre = float(self.beta[at])
        if step == 0:
            return centre
        low, high = 0.0, z
        while self._distance(at, centre + high * step) < z * z:
            low, high = high, 2 * high
            if high > _FARTHEST:
                return float(np.copysign(np.inf, step))
        for _ in range(_STEPS):
            middle = (low + high) / 2
            inside = self._distance(at, centre + middle * step) < z * z
            low, high = (middle, high) if inside else (low, middle)
            if high - low < 1e-6 * high:
                break
        return centre + high * step

    def _distance(self, at: int, value: float) -> float:
        """Return the least square over the other coefficients, whose V is taken at the solution that follows from it."""
        others = [one for one in range(self.beta.size) if one != at]
        beta = self.beta.copy()
        beta[at], result = value, 0.0
        for _ in range(4):
            covariance = self.covariance(beta)
            whitened = np.linalg.solve(
                np.linalg.cholesky(covariance + 1e-12 * np.trace(covariance) * np.eye(len(covariance))),
                np.column_stack((self.matrix[:, others], self.right - value * self.matrix[:, at])),
            )
            solution, *_ = np.linalg.lstsq(whitened[:, :-1], whitened[:, -1], rcond=None)
            beta[others] = solution
            left = whitened[:, -1] - whitened[:, :-1] @ solution
            result = float(left @ left)
        return result
