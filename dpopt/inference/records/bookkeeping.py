"""The counters of a problem: tables of marginals, sums over conditions of narrow clauses, and lists of all other clauses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.records.layouts import (
    WIDTH,
    ClauseTerms,
    MarginalTerms,
    are_worthwhile,
    clause_error,
    lay_out_clauses,
    lay_out_monomials,
    lay_out_tables,
    marginal_error,
    new_place,
    new_sight,
    new_truth,
)
from dpopt.inference.records.problem import FitProblem
from dpopt.threads import in_threads

if TYPE_CHECKING:
    from dpopt.inference.records.sweep_kernels import Counters


class Bookkeeping:
    """The counters of N records, empty at first."""

    def __init__(self, problem: FitProblem, records: int) -> None:
        from dpopt.inference.records.sweep_kernels import Counters

        self._problem, self._records = problem, records
        self.marginals = MarginalTerms.of(problem.terms)
        narrow = WIDTH if are_worthwhile(problem) else -1
        self.narrow = ClauseTerms.of(problem.terms, 0, narrow)
        self.wide = ClauseTerms.of(problem.terms, narrow + 1)
        tables = lay_out_tables(problem, self.marginals, records)
        # Two variants of the kernels are compiled, with and without clauses: one for each kind of clause would take longer.
        without = self.has_marginals_only
        listed = None if without else lay_out_clauses(problem, self.wide, records)
        monomials = None if without else lay_out_monomials(problem, self.narrow, records)
        # Clauses, the number kept for each, what a record adds to it, and what it is where the count is as it should be.
        self._counted: list[tuple[ClauseTerms, NDArray[np.int32], int, int]] = []
        if monomials is not None and len(self.narrow):
            self._counted.append((self.narrow, monomials.residuals, monomials.scale, 0))
        if listed is not None and len(self.wide):
            self._counted.append((self.wide, listed.prices, listed.scale, listed.scale // 2))
        self.counters = Counters(
            1, tables, new_place(tables), listed, new_truth(listed), monomials, new_sight(monomials)
        )

    @property
    def has_marginals_only(self) -> bool:
        """Whether no term holds clauses."""
        return not len(self.narrow) and not len(self.wide)

    def refresh(self) -> None:
        """Make the sums over conditions anew: they are sums of real numbers, and drift."""
        _gather(self.counters)

    def view(self, counters: Counters) -> Counters:
        """Return the same counts for another thread, with room of its own for the record that it visits."""
        from dpopt.inference.records.sweep_kernels import Counters

        tables, listed, monomials = counters.tables, counters.listed, counters.monomials
        place, truth, sight = new_place(tables), new_truth(listed), new_sight(monomials)
        return Counters(counters.own, tables, place, listed, truth, monomials, sight)

    def count(self, records: NDArray[np.int32], threads: int) -> None:
        """Enter records (N, d)."""
        from dpopt.inference.records.table_kernels import count_all

        counters, sizes, slots = self.counters, self._problem.sizes, self.counters.tables.firsts.size

        def enter(part: slice[int, int, int]) -> None:
            count_all(counters.tables, records, part.start, part.stop)

        in_threads(enter, slots, max(1, -(-slots // threads)), threads, None)
        for clauses, counted, scale, _ in self._counted:
            np.add(counted, scale * clauses.counts(records, sizes, threads), out=counted, casting="unsafe")
        _gather(counters)

    def objective(self) -> float:
        """Return f of the records that are entered, from their exact counts."""
        number = self._records
        return marginal_error(self.counters.tables, self.marginals, number) + sum(
            clause_error(counted.astype(np.int64) - offset, scale, clauses, number)
            for clauses, counted, scale, offset in self._counted
        )

    def priced(self, slopes: list[NDArray[np.float64]], unit: float) -> Counters:
        """Return counters in which a query has a price of its own, in whole multiples of `unit`; they count no records.

        `slopes` are the prices, for each term of the problem.
        """
        from dpopt.inference.records.table_kernels import write_prices

        by_term = {id(term): one for term, one in zip(self._problem.terms, slopes, strict=True)}
        counters, marginals = self.counters, self.marginals
        tables = counters.tables._replace(weights=np.full(counters.tables.weights.size, unit))
        for first, one, term in zip(marginals.firsts.tolist(), marginals.sets, marginals.terms, strict=False):
            shapes = marginals.shapes[first : first + len(one)]
            write_prices(tables, first, one.starts[:-1], shapes, by_term[id(term)], -1.0 / unit, 0)
        listed, monomials = counters.listed, counters.monomials
        if listed is not None:
            listed = listed._replace(weights=np.full(len(self.wide.terms), unit))
        if monomials is not None:
            monomials = monomials._replace(weights=np.full(len(self.narrow), unit))
        for clauses, target, _, _ in self._counted:
            for term, rows, first in zip(clauses.terms, clauses.rows, clauses.starts.tolist(), strict=False):
                target[first : first + rows.size] = np.rint(by_term[id(term)][rows] / unit)
        counters = counters._replace(own=0, tables=tables, listed=listed, monomials=monomials)
        _gather(counters)
        return counters


def _gather(counters: Counters) -> None:
    """Make the sums over conditions anew from the counts."""
    from dpopt.inference.records.clause_kernels import gather

    if counters.monomials is not None and counters.monomials.residuals.size:
        gather(counters.monomials)
