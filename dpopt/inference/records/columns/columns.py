"""The columns of the master problem: records, and which queries are true of them, kept sparsely.

Column x of A is q(x), the answers 0 or 1 of all queries to record x. A record lies in one cell of each marginal, so M
numbers hold its part over all cells; for clauses there is one bit each. Dense answers exist once, as the slopes of f,
whatever the number of columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.inference.records.clause_layout import ClauseTerms, clause_literals
from dpopt.inference.records.problem import FitProblem, FitTerm
from dpopt.inference.records.table_layout import MarginalTerms

WORD = 64
MOST_CELLS = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """r records as columns.

    Attributes
    ----------
    records : (r, d) int32
    cells : (r, M) int32
        Cell of each marginal in the flat order of all terms' cells, -1 where the record lies in none.
    bits : (r, words) uint64
        Truth of the clauses; every term begins a word of its own.
    """

    records: NDArray[np.int32]
    cells: NDArray[np.int32]
    bits: NDArray[np.uint64]

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
    """The queries of a problem as rows of the master problem.

    Attributes
    ----------
    marginal_weights : (M,) float64
        Weight of each marginal.
    word_weights : (words,) float64
        Weight of the clauses of each word.
    number_of_cells : int

    Raises
    ------
    ProgramError
        2^31 cells or more.
    """

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

    def slopes(self, columns: Columns, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return weight * (A p - value) for every cell, then for every clause (padded to whole words)."""
        from dpopt.inference.records.columns.column_kernels import add_columns

        result = np.zeros(self.number_of_cells + WORD * self.word_weights.size)
        for begin, end, term in self._parts():
            result[begin:end] = -term.weight * term.values
        add_columns(columns.cells, columns.bits, self.marginal_weights, self.word_weights, weights, result)
        return result

    def objective(self, slopes: NDArray[np.float64]) -> float:
        """Return f where its gradient with respect to the answers is this."""
        return sum(
            0.5 * float(slopes[begin:end] @ slopes[begin:end]) / term.weight
            for begin, end, term in self._parts()
        )

    def along(self, columns: Columns, slopes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the slope of f along each column, <slopes, q(x)>, (r,)."""
        from dpopt.inference.records.columns.column_kernels import column_slopes

        result = np.empty(len(columns))
        column_slopes(columns.cells, columns.bits, slopes, result)
        return result

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
    """Return literals and masks with each term padded to whole words by clauses that are never true, and words per term."""
    words = -(-np.diff(clauses.starts) // WORD)
    literals, accepted = clause_literals(problem, clauses, clauses.width)
    starts = np.repeat(WORD * (np.cumsum(words) - words), np.diff(clauses.starts))
    place = starts + np.arange(len(clauses)) - np.repeat(clauses.starts[:-1], np.diff(clauses.starts))
    padded = np.full((WORD * int(words.sum()), clauses.width), problem.offsets()[-1], dtype=np.int32)
    masks = np.zeros(len(padded), dtype=np.uint32)
    padded[place], masks[place] = literals, accepted
    return padded, masks, words
