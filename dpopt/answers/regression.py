"""Linear regressions from measured pairs of columns, with intervals for the coefficients.

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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, product
from math import nan

import numpy as np
from numpy.typing import NDArray

from dpopt.answers.answer import MEASURED, Row, how_found, numbers_of, row_of
from dpopt.answers.estimates import RowTables, centred
from dpopt.answers.intervals import Interval, deviations_of
from dpopt.errors import QuestionError, SchemaError
from dpopt.inference.measured_residuals import MeasuredResiduals, Numbers
from dpopt.schema.attribute import Attribute
from dpopt.schema.domains import Domains
from dpopt.schema.rules.condition_text import unquoted
from dpopt.schema.schema import Schema

MOST_TERMS = 60
"""Terms of a regression, at most."""
_STEPS, _FARTHEST = 60, 1e3


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

    def answers(self, confidence: float = 0.95, together: int = 1) -> list[Row]:
        """Return the coefficients, each with its interval at this confidence for all of them together."""
        z, how = deviations_of(confidence, gaussian=self.gaussian, together=together), self.how
        found = [self.interval(at, z) for at in range(len(self))]
        if _is_open(found) and (weak := self._weak(z)):
            how += f"; leave out {' or '.join(weak)}, which noise hides beside the others"
        return [
            row_of({"question": self.formula, "term": term}, one, None, how)
            for term, one in zip(self.terms, found, strict=True)
        ]

    def sampling_errors(self) -> Numbers:
        """Return the standard errors of the coefficients over random samples of independent records, (p,)."""
        freedom = max(float(self.matrix[0, 0]) - self.beta.size, 1.0)
        return np.sqrt(np.maximum(np.diag(np.linalg.inv(self.matrix)) * self.unexplained / freedom, 0.0))

    def _weak(self, z: float) -> list[str]:
        """Return the columns each of whose removal gives all other coefficients finite intervals."""
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
    terms = _terms(formula, schema, measured.domains)
    names = ["constant", *(name for each in terms.values() for name in each)][:-1]
    owners = ["", *(schema.names[column] for column, each in terms.items() for _ in each)][:-1]
    values, start = dict[int, Numbers](), 1
    for column, each in terms.items():
        values[column] = np.zeros((len(names) + 1, *measured.shape([column])))
        values[column][start : start + len(each)] = list(each.values())
        start += len(each)
    how = how_found(schema, map(measured.missing, combinations(values, 2)))
    known = how == MEASURED
    moments = _moments(values, measured if known else rows)
    matrix, right = moments[:-1, :-1], moments[:-1, -1]
    try:
        beta = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        raise QuestionError(f"{formula!r}: the terms depend on each other; leave one of them out") from None
    noise = _noise(values, measured) if known else None
    unexplained = float(moments[-1, -1] - right @ beta)
    return Regression(
        formula, tuple(names), tuple(owners), matrix, right, beta, noise, how, measured.gaussian, unexplained
    )


def _moments(values: Mapping[int, Numbers], tables: MeasuredResiduals | RowTables) -> Numbers:
    """Return the sum of x x' over the records, (p + 1, p + 1).

    x is 1 in the first place, the outcome in the last; values (p + 1, codes) say what a code of each column adds to it.
    """
    totals: Numbers = np.sum([each @ tables.table((column,)) for column, each in values.items()], axis=0)
    moments = np.zeros((len(totals),) * 2)
    moments[0], moments[:, 0] = totals, totals
    moments[0, 0] = tables.table(())
    for one, two in product(values, repeat=2):
        cells = np.diag(tables.table((one,))) if one == two else tables.table((one, two))
        moments += values[one] @ cells @ values[two].T
    return moments


def _noise(values: Mapping[int, Numbers], measured: MeasuredResiduals) -> Numbers:
    """Return the covariances of the sums of x x' but for the outcome's own row, (p, p + 1, p, p + 1).

    By BL-3 a unit of noise along a direction of the residual of A adds the mean of x x' over all columns outside A, centred
    along A. Columns are independent there, so that this is the product of the means of x.
    """
    uniform = _moments(values, MeasuredResiduals.nothing(measured.domains, 1.0))[:-1]
    noise: Numbers = measured.records_variance * np.multiply.outer(uniform, uniform)
    means = {column: each.mean(axis=1, keepdims=True) for column, each in values.items()}
    for part in [one for number in (1, 2) for one in combinations(values, number)]:
        shape = measured.shape(part)
        codes = zip(part, np.indices(shape).reshape(len(part), -1), strict=True)
        x = sum(means.values()) + sum(values[column][:, own] - means[column] for column, own in codes)
        x[0] = 1.0
        moved = centred((x[:-1, None] * x).reshape(*uniform.shape, *shape), part, part).reshape(*uniform.shape, -1)
        noise += measured.variance(part) * np.tensordot(moved, moved, (2, 2))
    return noise


def _terms(formula: str, schema: Schema, domains: Domains) -> dict[int, dict[str, Numbers]]:
    """Return the terms of each column of a formula by name, a number for each of its codes, and last of its outcome."""
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
            f"{formula!r}: the outcome {outcome.name!r} can be missing, and its missing values were not measured together with "
            f"several other columns; expected a column that is never missing"
        )
    numbers = numbers_of(outcome)
    if numbers is None and outcome.size != 2:
        raise QuestionError(
            f"{formula!r}: the outcome {outcome.name!r} has {outcome.size} value{'s' * (outcome.size > 1)}, not numbers; "
            f"expected numbers, or two values"
        )
    counted = np.array([0.0, 1.0]) if numbers is None else numbers[0]
    terms = {
        place: _terms_of(schema.attributes[place], domains.codes_of(place), factor=one != name)
        for place, one, name in zip(places[1:], given, plain, strict=True)
    }
    if (many := 1 + sum(map(len, terms.values()))) > MOST_TERMS:
        raise QuestionError(f"{formula!r} has {many} terms; at most {MOST_TERMS}: name columns of fewer values")
    return {**terms, places[0]: {outcome.name: counted[domains.codes_of(places[0])]}}


def _terms_of(attribute: Attribute, codes: NDArray[np.int32], *, factor: bool) -> dict[str, Numbers]:
    """Return the terms of a column: its number, or an indicator of each value but the first; of a missing value one too.

    Of a factor numbers are values like others, such as codes of categories.
    """
    numbers = None if factor else numbers_of(attribute)
    terms = {} if numbers is None else {attribute.name: numbers[0][codes]}
    indicated = codes.tolist()[1:] if numbers is None else [code for code in codes if code == attribute.missing_code]
    terms |= {f"{attribute.name} = {attribute.label(code)}": (codes == code).astype(np.float64) for code in indicated}
    if not terms:
        raise QuestionError(f"{attribute.name!r} has one value, which says nothing in a regression; leave it out")
    return terms
