"""Weighted records as a number of rows without weights: whole copies, and rows that are searched.

Problem (models/projection, PJ-7): of multiplicities m_x of feasible records x, whole numbers of sum N, find those that
minimize 1/2 sum_j (sum_x m_x q_j(x) - N a_j)^2, where a_j are the answers of the weighted records.

Method: a record of weight w gets floor(N w) rows. The others, fewer than the distinct records, stand at first where
systematic resampling puts them, and are then replaced by best responses to each other (`fit_records`), so that they may
become records of which there was none. No rows come closer than `least_distance` (PJ-8).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.inference.records.problem import FitProblem, FitSettings, FitTerm, KeptMarginals
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import places_of
from dpopt.schema.domains import Domains
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit

SWEEPS, IMPROVEMENT = 10, 0.02
"""Rows are replaced so often, unless that lowers the squared distance by less than this share of it."""


def whole_copies(multiplicities: NDArray[np.int64], number: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the whole parts of number * weight of every record, (r,), and remainders, (r,), in multiples of 1 / sum.

    Examples
    --------
    >>> whole_copies(np.array([3, 1]), 6)
    (array([4, 1]), array([2, 2]))
    """
    total = int(multiplicities.sum())
    copies = number * multiplicities // total
    return copies, number * multiplicities - copies * total


def systematic_multiplicities(multiplicities: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """Return how many of `number` rows each record gets: floor or ceil of number * weight, `number` in all.

    Row j stands at (j + 1/2) / number of the total weight. Records that stand together share what is rounded, so sort
    them first where neighbours should be alike. Weights (r,) are whole multiples of one over their sum.

    Examples
    --------
    >>> systematic_multiplicities(np.array([3, 1]), 6)
    array([4, 2])
    """
    if number < 1:
        raise ProgramError(f"the number of rows must be at least 1, found {number}")
    if (multiplicities < 0).any() or not multiplicities.any():
        raise ProgramError("weights of records must not be negative, and not all of them 0")
    edges = np.cumsum(multiplicities)
    total = int(edges[-1])
    upper = (2 * number * edges + total - 1) // (2 * total)  # rows with (2 j + 1) total < 2 number edge
    upper[1:] -= upper[:-1].copy()
    return upper


def rows_problem(
    queries: MarginalSet | Clauses,
    records: NDArray[np.int32],
    multiplicities: NDArray[np.int64],
    sizes: NDArray[np.int32],
    rules: ThresholdCircuit,
    number: int,
) -> FitProblem:
    """Return the problem of choosing `number` rows that answer queries as weighted records do; f is in squared rows.

    Rows have codes that the records (r, d) have, and obey the rules. Weights (r,) are whole multiples of one over their sum.
    """
    from dpopt.queries.counting.kernels import shares_on_records

    answers = shares_on_records(queries, records, sizes, multiplicities.astype(np.float64))
    term = FitTerm(queries, answers, float(number) ** 2)
    return FitProblem(sizes, (term,), rules, codes_of(records, sizes))


def spared_copies(
    kept: KeptMarginals, records: NDArray[np.int32], copies: NDArray[np.int64], number: int
) -> NDArray[np.int64]:
    """Return how many whole copies of records (r, d) not to make, (r,): no cell has more of them than its share of all rows."""
    spared, most = np.zeros_like(copies), np.floor(number * kept.values + 1e-6)
    for cells in kept.cells_of(records):
        left = copies - spared
        excess = np.bincount(cells, left, most.size) - most
        for cell in np.flatnonzero(excess > 0).tolist():  # a loop over few cells
            spared += systematic_multiplicities(np.where(cells == cell, left, 0), int(excess[cell]))
    return spared


def codes_of(records: NDArray[np.int32], sizes: NDArray[np.int32]) -> Domains:
    """Return the codes that occur in records (r, d), attribute by attribute."""
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes, dtype=np.int64)))
    occurs = np.zeros(int(offsets[-1]), dtype=np.bool_)
    occurs[records + offsets[:-1]] = True
    columns = np.flatnonzero(occurs)
    counts = np.add.reduceat(occurs, offsets[:-1], dtype=np.int64)
    codes = (columns - np.repeat(offsets[:-1], counts)).astype(np.int32)
    return Domains(counts, np.cumsum(counts) - counts, codes)


def searched_rows(problem: FitProblem, start: NDArray[np.int32], seed: int) -> NDArray[np.int32]:
    """Return rows (number, d) that answer more nearly as a problem of `rows_problem` asks than those given."""
    from dpopt.inference.records.fit import fit_records  # a replay searches nothing, and loads no solver

    settings = FitSettings(records=len(start), sweeps=SWEEPS, improvement=IMPROVEMENT, seed=seed)
    uniform = problem.allowed_columns() / np.repeat(problem.domains.counts, problem.sizes)  # is not read
    return fit_records(problem, settings, start=start, one_way=uniform).records


def least_distance(queries: MarginalSet | Clauses, answers: NDArray[np.float64], number: int) -> float:
    """Return a lower bound on sum_j (c_j - number a_j)^2 over the counts c of any `number` rows (PJ-8).

    Counts are whole: each clause is rounded by itself. Those of a marginal whose answers sum to 1 sum to the number of
    rows as well, so its largest fractions are rounded up. `answers` (m,) are the a, shares from 0 to 1.
    """
    fractions = number * answers
    fractions -= np.floor(fractions)
    if isinstance(queries, Clauses):
        return float((np.minimum(fractions, 1 - fractions) ** 2).sum())
    cells, least = queries.cells(), 0.0
    for size in np.unique(cells).tolist():
        places = places_of(queries.starts[:-1][cells == size], size)
        falling = -np.sort(-fractions[places], axis=1)
        sums = falling.sum(axis=1)
        ups = np.rint(sums)
        whole = (np.abs(answers[places].sum(axis=1) - 1) < 1e-9) & (np.abs(sums - ups) < 1e-3)
        up = np.where(whole[:, None], np.arange(size) < ups[:, None], falling > 0.5)
        least += float((np.where(up, 1 - falling, falling) ** 2).sum())
    return least
