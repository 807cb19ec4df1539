"""Answers by where they come from: records, the uniform distribution, or an array of them all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import frozen
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.binary_columns import BitRecords
from dpopt.queries.marginal_set import MarginalSet, over_named


@dataclass(frozen=True, slots=True, eq=False)
class SparseAnswers:
    """Answers on the cells of one marginal, most of which are equal."""

    cells: NDArray[np.int64]
    """Shape (c,). Cells with an answer of their own, increasing."""
    values: NDArray[np.float64]
    """Shape (c,). Their answers."""
    elsewhere: float = 0.0
    """The answer on all other cells."""

    def at(self, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the answers on these cells, (c',)."""
        answers = np.full(cells.size, self.elsewhere)
        if self.cells.size:
            place = np.minimum(np.searchsorted(self.cells, cells), self.cells.size - 1)
            found = self.cells[place] == cells
            answers[found] = self.values[place[found]]
        return answers


@dataclass(frozen=True, slots=True, eq=False)
class RecordAnswers:
    """The share of records, or of their weight, in each cell.

    `records` (r, d) are codes, one record per row, r >= 1, or bits. `weights` (r,) are nonnegative, not all zero, 1
    each if left out; they are divided by their sum.
    """

    records: NDArray[np.int32] | BitRecords
    weights: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.records, BitRecords):
            object.__setattr__(self, "records", frozen(self.records, np.int32))
        if self.weights is not None:
            object.__setattr__(self, "weights", frozen(self.weights, np.float64))

    def on(self, marginals: MarginalSet, sizes: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the answer on every cell."""
        from dpopt.queries.counting.kernels import shares_on_records

        return shares_on_records(marginals, self.records, sizes, self.weights)

    def sparsely_on(self, marginal: MarginalSet, sizes: NDArray[np.integer]) -> SparseAnswers:
        """Return the answers on the cells of one marginal; `sizes` is needed for bits alone."""
        from dpopt.queries.counting.marginal_kernels import cells_of_records

        records, cells = self.records, marginal
        if isinstance(records, BitRecords):
            attributes, cells = over_named(marginal, sizes)
            records = records.over(attributes).codes()
        return shares_of_cells(cells_of_records(cells, records)[:, 0], self.weights)


@dataclass(frozen=True, slots=True)
class UniformAnswers:
    """Each cell's probability when every record of the universe has the same one: attributes are independent."""

    def on(self, marginals: MarginalSet, sizes: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the answer on every cell."""
        return np.repeat(_uniform_shares(marginals, sizes), marginals.cells())

    def sparsely_on(self, marginal: MarginalSet, sizes: NDArray[np.integer]) -> SparseAnswers:
        """Return the answers on the cells of one marginal."""
        share = float(_uniform_shares(marginal, sizes)[0])
        return SparseAnswers(np.empty(0, dtype=np.int64), np.empty(0), share)


# an array: one answer for every query
Answers: TypeAlias = NDArray[np.float64] | RecordAnswers | UniformAnswers


def uniform_answers(clauses: Clauses, sizes: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return each clause's probability, (m,), under the uniform distribution over records: attributes are independent.

    The number of true literals of a clause is a sum of independent indicators with probability 1 / size or 1 - 1 /
    size; its distribution is built up literal by literal and summed over the accepted numbers.
    """
    width = clauses.width
    distribution = np.zeros((len(clauses), width + 1))
    distribution[:, 0] = 1.0
    for position in range(width):
        attributes = clauses.attributes[:, position]
        present = attributes >= 0
        share = 1.0 / sizes[np.where(present, attributes, 0)]
        true = np.where(present, np.where(clauses.signs[:, position], share, 1.0 - share), 0.0)
        distribution[:, 1:] = distribution[:, 1:] * (1.0 - true)[:, None] + distribution[:, :-1] * true[:, None]
        distribution[:, 0] *= 1.0 - true
    accepted = (clauses.accepted[:, None] >> np.arange(width + 1, dtype=np.uint32)) & np.uint32(1)
    return np.asarray((distribution * accepted).sum(axis=1))


def trivial_answers(queries: MarginalSet | Clauses, sizes: NDArray[np.int32]) -> dict[str, Answers]:
    """Return the answers of one record of first values, "zeros", and "uniform" ones; where they come from for marginals."""
    from dpopt.queries.counting.kernels import shares_on_records

    zeros = np.zeros((1, len(sizes)), dtype=np.int32)
    if isinstance(queries, MarginalSet):
        return {"zeros": RecordAnswers(zeros), "uniform": UniformAnswers()}
    return {"zeros": shares_on_records(queries, zeros, sizes), "uniform": uniform_answers(queries, sizes)}


def shares_of_cells(cells: NDArray[np.int64], weights: NDArray[np.float64] | None = None) -> SparseAnswers:
    """Return the share of records, or of their weight, in each cell, given the cell of each record.

    `cells` (r,) int64 has -1 for records in none; `weights` (r,) are 1 each if left out.
    """
    inside = cells >= 0
    found, places, counts = np.unique(cells[inside], return_inverse=True, return_counts=True)
    if weights is None:
        return SparseAnswers(found, counts / cells.size)
    held = np.bincount(places, weights=weights[inside], minlength=found.size)
    return SparseAnswers(found, np.minimum(held / float(weights.sum()), 1.0))


def _uniform_shares(marginals: MarginalSet, sizes: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the uniform probability of each cell of a marginal, (M,): literals are multiplied in order."""
    bounds, shares = np.asarray(sizes), np.ones(len(marginals))
    for column in marginals.attributes.T:
        shares *= np.where(column >= 0, 1.0 / bounds[column], 1.0)
    return shares
