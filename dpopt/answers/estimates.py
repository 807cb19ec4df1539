"""Unbiased estimates of sums over records, and their covariances, from residuals that were measured.

A sum over the records of a group g of some columns B ("by"), each counted u(c) by its codes c of columns R, is linear in the
marginal over W = B + R, and so in the residuals r_A of all A within W (`dpopt.queries.residuals`):

    S_g(u) = sum over A of <P_A w_A, r_A>,    w_A = [g] u summed over W - A, over N(W - A)          (BL-3)

With y_A = r_A + noise of variance s_A^2 along each direction, independent of all others,

    Cov(S_g(u), S_g(v)) = sum over A1 in B - R - R', A2 in W - A1 and W' - A1 of
        s_A^2 prod_{i in A1} (1 - 1 / n_i) <P u_A2, P v_A2> / (N(W - A) N(W' - A)),  A = A1 + A2     (BL-4)

where u and v are 0 outside g along the columns of B that R or R' hold: the same for every group of the others. For A = {} it
is the variance of the number of records; 0 where that is public. These are the estimates of least variance among the unbiased
ones that are linear in what was measured (models/best_linear_answer).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.measured_residuals import MeasuredResiduals, Numbers
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.domains import Domains


class AnswersOfCells(Protocol):
    """Where the shares of records in cells come from, as `RecordAnswers`."""

    def on(self, marginals: MarginalSet, sizes: NDArray[np.integer], /) -> Numbers:
        """Return the share of records in each cell."""


@dataclass(frozen=True, slots=True, eq=False)
class RowTables:
    """Marginals of the rows, scaled to the number of records."""

    rows: AnswersOfCells
    domains: Domains
    sizes: NDArray[np.integer]
    size: float
    """The number of records that the rows stand for."""

    def table(self, attributes: Sequence[int]) -> Numbers:
        """Return the marginal over attributes, one axis for each, in their order."""
        if not attributes:
            return np.array(self.size)
        marginal = MarginalSet(self.domains, np.array([attributes], dtype=np.int32))
        shape = tuple(int(self.domains.counts[attribute]) for attribute in attributes)
        return self.size * self.rows.on(marginal, self.sizes).reshape(shape)


@dataclass(frozen=True, slots=True, eq=False)
class CountedCells:
    """Unbiased estimates of all cells of a table, whose noise has a known covariance: those of a histogram."""

    domains: Domains
    cells: Numbers
    """One axis for each attribute."""
    covariance: Numbers
    """Shape (cells, cells), in C order."""
    gaussian: bool

    @property
    def size(self) -> float:
        """The estimate of the number of records."""
        return float(self.cells.sum())

    def missing(self, attributes: Sequence[int]) -> tuple[int, ...] | None:
        """Return that no set was left out."""
        return None

    def shape(self, attributes: Sequence[int]) -> tuple[int, ...]:
        """Return how many codes these attributes have."""
        return tuple(self.cells.shape[one] for one in attributes)

    def table(self, attributes: Sequence[int]) -> Numbers:
        """Return the estimate of the marginal over attributes, one axis for each, in their order."""
        return _summed(self.cells, range(self.cells.ndim), attributes)


Measured = MeasuredResiduals | CountedCells


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums over the records of each group, of several values that each record counts by its codes."""

    by: tuple[int, ...]
    """The attributes B whose codes make groups."""
    others: tuple[int, ...]
    """The attributes R that values depend on; some of B may be among them."""
    values: Numbers
    """Shape (k, *codes of R). u, for k sums."""

    @property
    def attributes(self) -> tuple[int, ...]:
        """W, the attributes that these sums need."""
        return tuple(dict.fromkeys((*self.by, *self.others)))

    def estimates(self, tables: Measured | RowTables) -> Numbers:
        """Return the estimates (BL-3), (*codes of B, k)."""
        return _summed(
            tables.table(self.attributes), self.attributes, self.values, ("k", *self.others), (*self.by, "k")
        )


@np.errstate(over="ignore", invalid="ignore")  # squares of numbers beyond 1e154: intervals are unbounded then
def covariances(measured: Measured, first: Sums, second: Sums) -> Numbers:
    """Return the covariances of two lots of sums over the same group (BL-4), (*codes of B, k, k').

    B is the same for both; of a column of B on which neither depends there is one code, unless cells were counted.
    """
    if isinstance(measured, CountedCells):
        every = tuple(range(measured.cells.ndim))
        one, two = (_in_groups(sums, first.by, every, measured) for sums in (first, second))
        one, two = (each.reshape(*each.shape[: len(first.by) + 1], -1) for each in (one, two))
        return np.asarray(one @ measured.covariance @ two.swapaxes(-1, -2))
    within = [one for one in first.by if one in (*first.others, *second.others)]
    free = [one for one in first.by if one not in within]
    columns = [(*within, *(one for one in sums.others if one not in within)) for sums in (first, second)]
    blocks = [_in_groups(sums, within, own, measured) for sums, own in zip((first, second), columns, strict=True)]
    result = np.zeros((*measured.shape(within), len(first.values), len(second.values)))
    for inside in _subsets([one for one in columns[0] if one in columns[1]]):
        ends = [centred(block, own, inside) for block, own in zip(blocks, columns, strict=True)]
        one, two = (end.reshape(*result.shape[: len(within)], end.shape[len(within)], -1) for end in ends)
        result += (
            one @ two.swapaxes(-1, -2) * sum(_spread(measured, part, inside, first, second) for part in _subsets(free))
        )
    return result.reshape(*(measured.shape([one])[0] if one in within else 1 for one in first.by), *result.shape[-2:])


def sampling_covariances(measured: Measured, rows: RowTables | None, first: Sums, second: Sums) -> Numbers:
    """Return the covariances that sampling gives two lots of sums over the same group, (*codes of B, k, k').

    n independent records have the covariance sum u v - (sum u) (sum v) / n, estimated as other sums are.
    """
    others = tuple(dict.fromkeys((*first.others, *second.others)))
    products = _summed(first.values, ("k", *first.others), second.values, ("l", *second.others), ("k", "l", *others))
    both = Sums(first.by, others, products.reshape(-1, *products.shape[2:]))
    tables = measured if rows is None or measured.missing(both.attributes) is None else rows
    totals = [one.estimates(tables) for one in (first, second)]
    found = both.estimates(tables)
    apart = totals[0][..., :, None] * totals[1][..., None, :] / measured.size
    return np.asarray(found.reshape(apart.shape) - apart)


@np.errstate(over="ignore", invalid="ignore")
def _summed(*given: Numbers | Sequence[object]) -> Numbers:
    """Return np.einsum of arrays, each followed by the names of its axes; those that the result keeps stand last."""
    places: dict[object, int] = {}
    parts = [
        one if isinstance(one, np.ndarray) else [places.setdefault(name, len(places)) for name in one] for one in given
    ]
    return np.asarray(np.einsum(*parts, optimize=True))  # type: ignore[arg-type]  # of alternating types


def _subsets(attributes: Sequence[int]) -> list[tuple[int, ...]]:
    return [one for width in range(len(attributes) + 1) for one in combinations(attributes, width)]


def _in_groups(sums: Sums, within: Sequence[int], columns: tuple[int, ...], measured: Measured) -> Numbers:
    """Return u of the records of each group alone, (*codes of `within`, k, *codes of `columns`)."""
    groups = [(f"group of {one}", one) for one in within]
    own: list[Any] = [
        part for names, count in zip(groups, measured.shape(within), strict=True) for part in (np.eye(count), names)
    ]
    for one in columns:
        if one not in (*sums.others, *within):
            own += [np.ones(measured.shape([one])), (one,)]
    return _summed(sums.values, ("k", *sums.others), *own, (*(name for name, _ in groups), "k", *columns))


def centred(values: Numbers, columns: Sequence[int], inside: Sequence[int]) -> Numbers:
    """Return P u_A2, (..., *codes of A2 in its order), of values (..., *codes of columns)."""
    first, left = values.ndim - len(columns), [one for one in columns if one in inside]
    block = values.sum(axis=tuple(first + place for place, one in enumerate(columns) if one not in inside))
    block = block.transpose(*range(first), *(first + left.index(one) for one in inside))
    for axis in range(first, block.ndim):
        block = block - block.mean(axis=axis, keepdims=True)
    return np.asarray(block, dtype=np.float64)


def _spread(
    measured: MeasuredResiduals, part: tuple[int, ...], inside: tuple[int, ...], first: Sums, second: Sums
) -> float:
    """Return s_A^2 prod (1 - 1 / n_i) / (N(W - A) N(W' - A)) of BL-4."""
    around = [
        prod(measured.shape([one for one in sums.attributes if one not in (*part, *inside)]))
        for sums in (first, second)
    ]
    kept = prod(1 - 1 / count for count in measured.shape(part))
    variance = measured.variance((*part, *inside)) if kept else 0.0
    return variance * kept / prod(around)
