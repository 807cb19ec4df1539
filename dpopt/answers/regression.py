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
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations
from math import nan

import numpy as np

from dpopt.answers.answer import MEASURED, Answer, how_found, numbers_of
from dpopt.answers.estimates import RowTables, Sums
from dpopt.answers.intervals import Interval, deviations_of
from dpopt.errors import QuestionError, SchemaError
from dpopt.inference.measured_residuals import MeasuredResiduals, Numbers
from dpopt.schema.attribute import Attribute
from dpopt.schema.rules.condition_text import unquoted
from dpopt.schema.schema import Schema

MOST_TERMS = 60
"""Terms of a regression, at most."""
_STEPS, _FARTHEST = 60, 1e3


@dataclass(frozen=True, slots=True, eq=False)
class _Terms:
    """The terms that records have by their code of one column; the constant by none."""

    names: tuple[str, ...]
    column: tuple[int, ...]
    values: Numbers
    """Shape (terms, codes); (1, 1) of the constant."""

    def products(self, other: _Terms) -> Sums:
        """Return the sums of products with each of the other terms, (terms * terms)."""
        if self.column and other.column and self.column != other.column:
            values = self.values[:, None, :, None] * other.values[None, :, None, :]
            return Sums((), (*self.column, *other.column), values.reshape(-1, *values.shape[2:]))
        values = self.values[:, None] * other.values[None]
        columns = self.column or other.column
        return Sums((), columns, values.reshape(-1, values.shape[-1]) if columns else values.ravel())


@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """The moment equations of a regression, and their solution."""

    formula: str
    terms: tuple[str, ...]
    columns: tuple[str, ...]
    """The column of each term; "" of the constant."""
    matrix: Numbers
    right: Numbers
    beta: Numbers
    noise: Numbers | None
    """Shape (p, p + 1, p, p + 1). The covariances of the entries of A, b in the last column; None: by the rows."""
    how: str
    gaussian: bool
    unexplained: float = nan
    """Sum of squares that the terms leave of the outcome."""

    def __len__(self) -> int:
        """Return the number of coefficients."""
        return len(self.terms)

    def answers(self, confidence: float = 0.95, together: int = 1) -> list[Answer]:
        """Return the coefficients, each with its interval: of this confidence for so many together."""
        z, how = deviations_of(confidence, gaussian=self.gaussian, together=together), self.how
        found = [self.interval(at, z) for at in range(len(self))]
        if _is_open(found) and (weak := self._weak(z)):
            how += f"; leave out {' or '.join(weak)}, which noise hides beside the others"
        names = [(("question", self.formula), ("term", term)) for term in self.terms]
        return [Answer(name, interval, None, how) for name, interval in zip(names, found, strict=True)]

    def sampling_errors(self) -> Numbers:
        """Return the standard errors of the coefficients over random samples of independent records, (p,)."""
        freedom = max(float(self.matrix[0, 0]) - self.beta.size, 1.0)
        return np.sqrt(np.maximum(np.diag(np.linalg.inv(self.matrix)) * self.unexplained / freedom, 0.0))

    def _weak(self, z: float) -> list[str]:
        """Return the columns without any one of which all other coefficients have ends."""
        some = {name: self._without(name) for name in self.columns if name}
        return [name for name, one in some.items() if not _is_open(one.interval(at, z) for at in range(len(one)))]

    def _without(self, column: str) -> Regression:
        kept = np.array([at for at, name in enumerate(self.columns) if name != column])
        matrix, right, both = self.matrix[np.ix_(kept, kept)], self.right[kept], np.append(kept, self.beta.size)
        terms, columns = (tuple(all_[at] for at in kept) for all_ in (self.terms, self.columns))
        beta = np.linalg.lstsq(matrix, right, rcond=None)[0]
        noise = None if self.noise is None else self.noise[np.ix_(kept, both, kept, both)]
        return replace(self, terms=terms, columns=columns, matrix=matrix, right=right, beta=beta, noise=noise)

    def covariance(self, beta: Numbers) -> Numbers:
        """Return V(beta), (p, p)."""
        weights = np.append(-beta, 1.0)
        return np.asarray(np.tensordot(self.noise @ weights, weights, (1, 0)))

    def interval(self, at: int, z: float) -> Interval:
        """Return the interval of one coefficient; by the rows it has none."""
        if self.noise is None:
            return Interval(float(self.beta[at]), nan, nan, nan)
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


def _is_open(intervals: Iterable[Interval]) -> bool:
    """Return whether noise leaves an end of one of them open."""
    return any(np.isinf([one.low, one.high]).any() for one in intervals)


def regress(formula: str, schema: Schema, measured: MeasuredResiduals, rows: RowTables) -> Regression:
    """Return a linear regression such as "income ~ age + sex + education"."""
    terms = _terms(formula, schema, measured)
    columns = [one for each in terms for one in each.column]
    how = how_found(schema, map(measured.missing, combinations(columns, 2)))
    known = how == MEASURED
    tables, sizes = measured if known else rows, [len(one.names) for one in terms]
    products = [[one.products(two) for two in terms] for one in terms]
    moments = np.block(
        [[one.estimates(tables).reshape(-1, n) for one, n in zip(row, sizes, strict=True)] for row in products]
    )
    matrix, right = moments[:-1, :-1], moments[:-1, -1]
    try:
        beta = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        raise QuestionError(f"{formula!r}: the terms depend on each other; leave one of them out") from None
    noise, width = np.zeros((right.size * len(moments),) * 2) if known else None, len(moments)
    for part in [one for number in range(3) for one in combinations(columns, number)] if noise is not None else []:
        cells = int(np.prod(measured.shape(part)))
        added = [
            [
                one.noise(measured, part).reshape(-1, n, cells)
                if set(part) <= set(one.others)
                else np.zeros((len(one.values) // n, n, cells))
                for one, n in zip(row, sizes, strict=True)
            ]
            for row in products
        ]
        entries = np.concatenate([np.concatenate(row, axis=1) for row in added])[:-1].reshape(-1, cells)
        noise += entries @ entries.T
    names = tuple(name for one in terms[:-1] for name in one.names)
    owners = tuple(schema.names[one.column[0]] if one.column else "" for one in terms[:-1] for _ in one.names)
    shaped = None if noise is None else noise.reshape(right.size, width, right.size, width)
    unexplained = float(moments[-1, -1] - right @ beta)
    return Regression(formula, names, owners, matrix, right, beta, shaped, how, measured.gaussian, unexplained)


def _terms(formula: str, schema: Schema, measured: MeasuredResiduals) -> list[_Terms]:
    """Return the terms of a formula, the constant first, and its outcome last."""
    sides = formula.split("~")
    if len(sides) != 2 or not all(side.strip() for side in sides):
        raise QuestionError(f"found the regression {formula!r}; expected OUTCOME ~ COLUMN + COLUMN")
    given = [one.strip() for one in sides[1].split("+")]
    plain = [re.sub(r"^factor\(\s*(.*?)\s*\)$", r"\1", one) for one in given]
    try:
        places = [schema.index(unquoted(one)) for one in [sides[0].strip(), *plain]]
    except SchemaError as problem:
        raise QuestionError(f"{formula!r}: {problem}") from None
    if len(set(places)) < len(places):
        raise QuestionError(f"{formula!r} names a column twice; name each once")
    outcome = schema.attributes[places[0]]
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
    counted = np.array([0.0, 1.0]) if numbers is None else numbers[0]
    terms = [
        _Terms(("constant",), (), np.ones((1, 1))),
        *(
            _terms_of(schema.attributes[place], place, measured, factor=one != name)
            for place, one, name in zip(places[1:], given, plain, strict=True)
        ),
        _Terms((outcome.name,), (places[0],), counted[None, measured.domains.codes_of(places[0])]),
    ]
    if (many := sum(len(one.names) for one in terms) - 1) > MOST_TERMS:
        raise QuestionError(f"{formula!r} has {many} terms; at most {MOST_TERMS}: name columns of fewer values")
    return terms


def _terms_of(attribute: Attribute, column: int, measured: MeasuredResiduals, *, factor: bool) -> _Terms:
    """Return the terms of a column: its number, or an indicator of each value but the first; of a missing value one too.

    Of a factor numbers are values like others, such as codes of categories.
    """
    codes, numbers = measured.domains.codes_of(column), None if factor else numbers_of(attribute)
    indicated = codes.tolist()[1:]
    names, values = [], []
    if numbers is not None:
        names, values = [attribute.name], [numbers[0][codes]]
        indicated = [code for code in indicated if code == attribute.missing_code]
    names += [f"{attribute.name} = {attribute.label(code)}" for code in indicated]
    if not names:
        raise QuestionError(f"{attribute.name!r} has one value, which says nothing in a regression; leave it out")
    return _Terms(
        tuple(names), (column,), np.array([*values, *((codes == code).astype(np.float64) for code in indicated)])
    )
