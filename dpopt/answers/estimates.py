"""Unbiased estimates of sums over records, and their covariances, from residuals that were measured.

A sum over the records of a group g of some columns B ("by"), each counted u(c) by its codes c of other columns R, is linear
in the marginal over W = B + R, and so in the residuals r_A of all A within W (`dpopt.queries.residuals`):

    S_g(u) = sum over A of <P_A w_A, r_A>,    w_A = [g] u summed over W - A, over N(W - A)          (BL-3)

With y_A = r_A + noise of variance s_A^2 along each direction, independent of all others,

    Cov(S_g(u), S_g(v)) = sum over A1 in B, A2 in R and R' of
        s_A^2 prod_{i in A1} (1 - 1 / n_i) <P u_A2, P v_A2> / (N(W - A) N(W' - A)),  A = A1 + A2     (BL-4)

the same for every group. For A = {} it is the variance of the number of records; 0 where that is public. These are the
estimates of least variance among the unbiased ones that are linear in what was measured (models/best_linear_answer).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Protocol

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
class Sums:
    """Sums over the records of each group, of several values that each record counts by its codes."""

    by: tuple[int, ...]
    """The attributes B whose codes make groups."""
    others: tuple[int, ...]
    """The attributes R that values depend on; none of B."""
    values: Numbers
    """Shape (k, *codes of R). u, for k sums."""

    @property
    def attributes(self) -> tuple[int, ...]:
        """W, the attributes that these sums need."""
        return (*self.by, *self.others)

    def estimates(self, measured: MeasuredResiduals | RowTables) -> Numbers:
        """Return the estimates (BL-3), (*codes of B, k)."""
        table = measured.table(self.attributes)
        axes = list(range(len(self.others)))
        return np.asarray(np.tensordot(table, self.values, ([len(self.by) + a for a in axes], [1 + a for a in axes])))


def covariances(measured: MeasuredResiduals, first: Sums, second: Sums) -> Numbers:
    """Return the covariances of two lots of sums over the same group (BL-4), (k, k'); `by` is the same for both."""
    common = [one for one in first.others if one in second.others]
    by, result = first.by, np.zeros((len(first.values), len(second.values)))
    for width in range(len(common) + 1):
        for inside in combinations(common, width):
            ends = [_centred(one, inside) for one in (first, second)]
            products = np.tensordot(ends[0], ends[1], (list(range(1, width + 1)),) * 2)
            result += products * sum(_spread(measured, part, inside, first, second) for part in _subsets(by))
    return result


def _subsets(attributes: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [one for width in range(len(attributes) + 1) for one in combinations(attributes, width)]


def _centred(sums: Sums, inside: tuple[int, ...]) -> Numbers:
    """Return P u_A2, (k, *codes of A2 in its order)."""
    away = tuple(1 + place for place, one in enumerate(sums.others) if one not in inside)
    block, left = sums.values.sum(axis=away), [one for one in sums.others if one in inside]
    block = block.transpose(0, *(1 + left.index(one) for one in inside))
    for axis in range(1, block.ndim):
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
