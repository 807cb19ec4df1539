"""The master problem of column generation: its columns, which are records kept sparsely, and their best weights.

Columns: column x of A is q(x), the answers 0 or 1 of all queries to record x. A record lies in one cell of each
marginal, so M numbers hold its part over all cells; for clauses there is one bit each. Dense answers exist once, as the
slopes of f, whatever the number of columns.

Best weights, the problem (models/projection, PJ-1 to PJ-3, over the records so far): minimize 1/2 w'Kw - b'w subject to
sum w = 1, w >= 0, where K = sum_g weight_g A_g'A_g and b = sum_g weight_g A_g'values_g; A_g has one column for each
record.

Method. Pairwise steps shift weight from the worst record that has any to the best one, each step exactly; they find
which records matter. Then Newton steps on those alone: the equality-constrained problem is solved, and the way to its
solution is gone as far as no weight turns negative; weights that reach 0 leave, records that could lower f enter. A
small proximal term keeps the systems regular where columns depend on one another; it vanishes at the solution, which is
the exact one.

A named solver gets the same problem as a model (`Answers.master`).

For more records than `MATRIX_UP_TO` no matrix of products is kept: sweeps of pairwise steps on the answers themselves.

Source: Lacoste-Julien and Jaggi (2015), "On the global linear convergence of Frank-Wolfe optimization variants"
(pairwise steps); Lawson and Hanson (1974), "Solving least squares problems", chapter 23 (the active set).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.inference.records.layouts import ClauseTerms, MarginalTerms, clause_literals
from dpopt.inference.records.problem import FitProblem, FitTerm
from dpopt.models.model import Model
from dpopt.models.records.projection import projection

if TYPE_CHECKING:
    from dpopt.inference.records.columns.column_kernels import Held

WORD = 64
MOST_CELLS = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """r records as columns."""

    records: NDArray[np.int32]
    cells: NDArray[np.int32]
    """Shape (r, M). Cell of each marginal in the flat order of all terms' cells, -1 where the record lies in none."""
    bits: NDArray[np.uint64]
    """Shape (r, words). Truth of the clauses; every term begins a word of its own."""

    def __len__(self) -> int:
        """Return the number of columns r."""
        return len(self.records)

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Columns:
        """Return these columns."""
        return Columns(self.records[rows], self.cells[rows], self.bits[rows])

    def joined(self, others: Columns) -> Columns:
        """Return these columns and others after them."""
        return Columns(
            np.concatenate((self.records, others.records)),
            np.concatenate((self.cells, others.cells)),
            np.concatenate((self.bits, others.bits)),
        )


class Answers:
    """The queries of a problem as rows of the master problem: cells of M marginals, then clauses in 64-bit words."""

    def __init__(self, problem: FitProblem) -> None:
        self.problem = problem
        self._marginals, self._clauses = MarginalTerms.of(problem.terms), ClauseTerms.of(problem.terms)
        self.number_of_cells = int(self._marginals.cells.sum())
        if self.number_of_cells > MOST_CELLS:
            raise ProgramError(
                f"{self.number_of_cells:,} cells; column generation takes up to {MOST_CELLS:,}: fit with rounds=0"
            )
        self._literals, self._accepted, words = _padded(problem, self._clauses)
        self.marginal_weights = self._marginals.weights
        self.word_weights = np.repeat(self._clauses.weights, words)

    def columns(self, records: NDArray[np.int32]) -> Columns:
        """Return records (r, d) as columns."""
        from dpopt.inference.records.columns.column_kernels import write_bits
        from dpopt.queries.counting.marginal_kernels import cells_of_records

        rows = np.ascontiguousarray(records, dtype=np.int32)
        cells = np.empty((len(rows), len(self._marginals)), dtype=np.int32)
        begin = 0
        for first, one in zip(self._marginals.firsts.tolist(), self._marginals.sets, strict=False):
            found = cells_of_records(one, rows)
            cells[:, first : first + len(one)] = np.where(found >= 0, found + begin, -1)
            begin += one.number_of_cells
        bits = np.zeros((len(rows), self.word_weights.size), dtype=np.uint64)
        if bits.size:
            write_bits(self._literals, self._accepted, self.problem.offsets(), rows, bits)
        return Columns(rows, cells, bits)

    def held(self, columns: Columns) -> Held:
        """Return columns as the kernels take them."""
        from dpopt.inference.records.columns.column_kernels import Held

        return Held(columns.cells, columns.bits, self.marginal_weights, self.word_weights)

    def slopes(self, columns: Columns, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return weight * (A p - value) for every cell, then for every clause (padded to whole words)."""
        from dpopt.inference.records.columns.column_kernels import add_columns

        result = np.zeros(self.number_of_cells + WORD * self.word_weights.size)
        for begin, end, term in self._parts():
            result[begin:end] = -term.weight * term.values
        add_columns(self.held(columns), weights, result)
        return result

    def objective(self, slopes: NDArray[np.float64]) -> float:
        """Return f where its gradient with respect to the answers is this."""
        return sum(
            0.5 * float(slopes[begin:end] @ slopes[begin:end]) / term.weight for begin, end, term in self._parts()
        )

    def along(self, columns: Columns, slopes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the slope of f along each column, <slopes, q(x)>, (r,)."""
        from dpopt.inference.records.columns.column_kernels import column_slopes

        result = np.empty(len(columns))
        column_slopes(columns.cells, columns.bits, slopes, result)
        return result

    def master(self, columns: Columns, scale: float) -> Model:
        """Return the master problem, f over `scale`; queries that are true of no column, which add a constant, are left out."""
        from scipy.sparse import csr_array

        values = np.zeros(self.number_of_cells + WORD * self.word_weights.size)
        weights = np.zeros(values.size)
        for begin, end, term in self._parts():
            values[begin:end], weights[begin:end] = term.values, term.weight / scale
        in_marginal, marginal = np.nonzero(columns.cells >= 0)
        truth = np.unpackbits(columns.bits.view(np.uint8), axis=1, bitorder="little")
        in_clause, clause = np.nonzero(truth)
        query = np.concatenate((columns.cells[in_marginal, marginal], self.number_of_cells + clause))
        record = np.concatenate((in_marginal, in_clause))
        used, row = np.unique(query, return_inverse=True)
        shape = (used.size, len(columns))
        answers = csr_array((np.ones(row.size, dtype=np.bool_), (row, record)), shape=shape)
        return projection(answers, values[used], weights[used])

    def by_term(self, slopes: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Return the slopes of each term of the problem, in its order."""
        parts = {id(term): slopes[begin:end] for begin, end, term in self._parts()}
        return [parts[id(term)] for term in self.problem.terms]

    def _parts(self) -> list[tuple[int, int, FitTerm]]:
        """Return where the slopes of each term begin and end, and the term."""
        parts, begin = [], 0
        for term in self._marginals.terms:
            parts.append((begin, begin + term.number_of_queries, term))
            begin += term.number_of_queries
        for term in self._clauses.terms:
            parts.append((begin, begin + term.number_of_queries, term))
            begin += -(-term.number_of_queries // WORD) * WORD
        return parts


def _padded(
    problem: FitProblem, clauses: ClauseTerms
) -> tuple[NDArray[np.int32], NDArray[np.uint32], NDArray[np.int64]]:
    """Return literals and masks with each term padded to whole words by false clauses, and words per term."""
    words = -(-np.diff(clauses.starts) // WORD)
    literals, accepted = clause_literals(problem, clauses, clauses.width)
    starts = np.repeat(WORD * (np.cumsum(words) - words), np.diff(clauses.starts))
    place = starts + np.arange(len(clauses)) - np.repeat(clauses.starts[:-1], np.diff(clauses.starts))
    padded = np.full((WORD * int(words.sum()), clauses.width), problem.offsets()[-1], dtype=np.int32)
    masks = np.zeros(len(padded), dtype=np.uint32)
    padded[place], masks[place] = literals, accepted
    return padded, masks, words


MATRIX_UP_TO = 3000
"""Records for which the matrix of products is kept: 72 MB."""

LEAST_WEIGHT = 1e-9
SWEEPS = 20  # of pairwise steps, for more records
NEWTON_STEPS = 200
PROXIMAL = 1e-10  # of the mean diagonal entry
SOLVED = 1e-12  # violation of optimality relative to the scale of the slopes


class Matrix:
    """The products K of columns, kept as columns come and go."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._gram = np.zeros((64, 64))
        self._number = 0

    def of(self, columns: Columns) -> NDArray[np.float64]:
        """Return K (r, r) of columns, where the known ones come first."""
        from dpopt.inference.records.columns.column_kernels import products

        if len(columns) > len(self._gram):
            grown = np.zeros((max(len(columns), 2 * len(self._gram)),) * 2)
            grown[: self._number, : self._number] = self._gram[: self._number, : self._number]
            self._gram = grown
        products(self._answers.held(columns), self._number, self._gram)
        self._number = len(columns)
        return self._gram[: self._number, : self._number]

    def keep(self, rows: NDArray[np.int64]) -> None:
        """Keep these columns alone, in this order."""
        self._gram[: rows.size, : rows.size] = self._gram[np.ix_(rows, rows)]
        self._number = rows.size


def best_weights(
    gram: NDArray[np.float64], pull: NDArray[np.float64], start: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weights that minimize 1/2 w'Kw - b'w on the simplex: K is (r, r), positive semidefinite, and b (r,).

    `start` (r,) are weights on the simplex to start from.
    """
    from dpopt.inference.records.columns.column_kernels import pairwise_steps

    weights = start.copy()
    gradient = gram @ weights - pull
    scale = max(float(np.abs(gradient).max()), float(np.diag(gram).max()) * 1e-6)
    pairwise_steps(np.ascontiguousarray(gram), gradient, weights, 20 * weights.size, 1e-6 * scale)
    active = weights > LEAST_WEIGHT
    weights[~active] = 0.0
    weights /= weights.sum()
    entered = np.zeros(0, dtype=np.int64)
    for _ in range(NEWTON_STEPS):
        weights, active, whole = _newton(gram, pull, weights, active)
        if not whole:
            entered = entered[:0]
            continue
        gradient = gram @ weights - pull
        level = float(gradient @ weights)
        lower = np.flatnonzero(~active & (gradient < level - SOLVED * scale))
        if not lower.size:
            break
        most = 1 if entered.size else max(1, int(active.sum()) // 10)
        entered = lower[np.argsort(gradient[lower], kind="stable")[:most]]
        active[entered] = True
    weights[weights < LEAST_WEIGHT] = 0.0
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def _newton(
    gram: NDArray[np.float64], pull: NDArray[np.float64], weights: NDArray[np.float64], active: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.bool_], bool]:
    """Go towards the best weights of the active columns; return where it ended, and whether it went all the way."""
    chosen = np.flatnonzero(active)
    part = gram[np.ix_(chosen, chosen)]
    current = weights[chosen]
    step = _constrained_step(part, pull[chosen] - part @ current)
    # A column that has just entered and would be pushed below 0 at once leaves again, without a step.
    stuck = (current <= 0.0) & (step < 0.0)
    if stuck.any():
        left = active.copy()
        left[chosen[stuck]] = False
        return weights, left, False
    falling = step < 0.0
    ratios = np.where(falling, current / np.where(falling, -step, 1.0), np.inf)
    length = min(1.0, float(ratios.min(initial=np.inf)))
    result, still = weights.copy(), active.copy()
    moved = np.maximum(current + length * step, 0.0)
    if length < 1.0:
        gone = ratios <= length * (1 + 1e-12)
        moved[gone] = 0.0
        still[chosen[gone]] = False
    result[chosen] = moved / moved.sum()
    return result, still, length >= 1.0


def _constrained_step(part: NDArray[np.float64], fall: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the step that minimizes 1/2 step'K step - fall'step with sum 0, K made regular in place by the proximal term.

    With K = LL' it is K^-1 fall less the multiple of K^-1 1 that makes the sum 0.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    number = len(part)
    ridge = PROXIMAL * max(float(np.trace(part)) / number, 1e-300)
    for _ in range(8):
        part[np.arange(number), np.arange(number)] += ridge
        try:
            factor = cho_factor(part, lower=True, check_finite=False)
        except LinAlgError:  # rounding left K + ridge indefinite
            ridge *= 100.0
            continue
        both = cho_solve(factor, np.stack((fall, np.ones(number)), axis=1), check_finite=False)
        step: NDArray[np.float64] = both[:, 0] - both[:, 1] * (both[:, 0].sum() / both[:, 1].sum())
        return step
    raise ProgramError(
        "the products of the records' answers are not positive semidefinite; the counts may be too large"
    )


def improved_weights(
    answers: Answers, columns: Columns, weights: NDArray[np.float64], slopes: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return better weights by sweeps of pairwise steps, and the slopes there; for many records."""
    from dpopt.inference.records.columns.column_kernels import pairwise_sweep

    weights, slopes = weights.copy(), slopes.copy()
    for _ in range(SWEEPS):
        gradient = answers.along(columns, slopes)
        order = np.argsort(gradient, kind="stable")
        pairwise_sweep(answers.held(columns), order, slopes, weights)
    weights /= weights.sum()
    return weights, answers.slopes(columns, weights)
