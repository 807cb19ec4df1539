"""The curator of FEM: selects, round by round, the query that synthetic records answer badly."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import once_or_twice
from dpopt.errors import PlanError
from dpopt.private.curators.door import Door, Use
from dpopt.private.engines.exact_counts import exact_counts, runs_of
from dpopt.private.selections.query_selection import QuerySelection
from dpopt.private.tables.dataset import AnyQueries, PrivateDataset, number_of
from dpopt.queries.clauses import Clauses
from dpopt.transcript.journal import Journal
from dpopt.transcript.released import SelectedQuery

_CELLS_AT_ONCE = 1 << 23


class FemCurator(Door[PrivateDataset]):
    """Answers a driver of FEM with selected queries only.

    Neighbouring relation, sensitivity and theorem: see `dpopt.private.selections.query_selection.QuerySelection`; the
    charge of a round is that of one selection of range eps0 (`dpopt.accounting.selections`), whatever the records.
    Privacy: E5 in docs/privacy. Test: `tests/private/test_rounds_curator.py`.

    Parameters as for `Door`, and the base queries, whose class is closed under negation (marginals are never written out
    cell by cell); the `range_` eps0 of a selection; and the number s of synthetic `records` of each round.

    Raises PlanError if there are too many queries to select from.
    """

    def __init__(
        self,
        dataset: PrivateDataset,
        queries: AnyQueries,
        ledger: Ledger,
        journal: Journal,
        *,
        range_: Decimal,
        records: int,
        **use: Unpack[Use],
    ) -> None:
        super().__init__(dataset, ledger, journal, **use)
        self._queries, self._records, self._range = queries, records, range_
        held, counts = self._exact_counts()
        self._selection = QuerySelection(
            held,
            counts,
            queries=number_of(queries),
            rows=dataset._rows,
            size=self._size,
            records=records,
            range_=range_,
            units=once_or_twice(records, ledger.relation),
            threads=self._threads,
        )

    def select(self, records: NDArray[np.int32], *, round: int, again: bool = False) -> SelectedQuery:  # noqa: A002 (the journal's word)
        """Charge, then select a query that these synthetic records (s, d) answer badly.

        Privacy: A3, A5, E5 in docs/privacy.

        Raises PlanError if there are not s records.
        """
        satisfied, by = self._answers_of(records)
        draw = partial(self._selection.draw, satisfied, by, self._words)
        return self._select(SelectedQuery, round, self._range, draw, again=again, round=round)

    def _exact_counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the base queries that records satisfy, in increasing order, and by how many each."""
        if isinstance(self._queries, Clauses):
            counts = exact_counts(self._dataset, self._queries, threads=self._threads, progress=self._progress)
            held = np.flatnonzero(counts)
            return held, counts[held]
        marginals, found, numbers = self._queries, [], []
        for first, last in runs_of(marginals.starts, _CELLS_AT_ONCE):
            part = marginals.take(np.arange(first, last))
            cells = exact_counts(self._dataset, part, threads=self._threads)
            occupied = np.flatnonzero(cells)
            found.append(occupied + marginals.starts[first])
            numbers.append(cells[occupied])
            if self._progress is not None:
                self._progress(last / len(marginals))
        return np.concatenate(found), np.concatenate(numbers)

    def _answers_of(self, records: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the base queries that public records satisfy, in increasing order, and by how many each."""
        if len(records) != self._records:
            raise PlanError(f"{self._records:,} records per round were planned, found {len(records):,}")
        if isinstance(self._queries, Clauses):
            from dpopt.queries.counting.kernels import count_on_records

            counts = count_on_records(self._queries, records, self._dataset._schema.sizes)
            satisfied = np.flatnonzero(counts)
            return satisfied, counts[satisfied].astype(np.int64)
        from dpopt.queries.counting.marginal_kernels import cells_of_records

        cells = cells_of_records(self._queries, records)
        found, by = np.unique(cells[cells >= 0], return_counts=True)
        return found, by.astype(np.int64)
