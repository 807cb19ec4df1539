"""The curators of one selection: of one of finitely many public databases, or of an output by a public matrix."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.ledger import Ledger
from dpopt.accounting.matrices import matrix_charges
from dpopt.accounting.selections import score_range
from dpopt.errors import PlanError
from dpopt.private.curators.door import Door, Use
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.mechanisms.net.net_boxes import draw_multiset
from dpopt.private.mechanisms.net.net_distribution import LARGEST_TARGET, Multisets, NetDistribution
from dpopt.private.mechanisms.selection_distribution import draw_candidate
from dpopt.private.tables.dataset import AnyQueries, PrivateDataset, number_of
from dpopt.queries.condition import Condition
from dpopt.transcript.journal import Journal
from dpopt.transcript.released import SelectedCandidate, SelectedDatabase

MOST_QUERIES = 1 << 20


class NetCurator(Door[PrivateDataset]):
    """Answers a driver with one selected database, once.

    **Mechanism.** Of the public candidates D', one is selected with probability proportional to exp(epsilon u / (2 /
    size)), u(D, D') = -max over Q in C of |count_Q(D) / size - Q(D')|.

    **Neighbouring relation and sensitivity.** With D' of m records, m size u is a whole number, the negative of a
    distance, which moves by at most m under both relations: a range of 2 m over the candidates (`score_range` of
    "max").

    **Theorem.** Blum, Ligett and Roth 2013 (journal version: Proposition 3.3, by McSherry and Talwar 2007): epsilon-DP;
    as a bounded-range mechanism also (epsilon^2 / 8)-zCDP. The charge is computed here from the range, never taken from
    the caller. Privacy: E8, E9 in docs/privacy. Test: `tests/boundary/test_exact_loss.py`.

    Parameters as for `Door`, and the k queries of the class C, and the `range_` epsilon of the selection.

    Raises PlanError if there are more than 2^20 queries.
    """

    def __init__(
        self,
        dataset: PrivateDataset,
        queries: AnyQueries,
        ledger: Ledger,
        journal: Journal,
        *,
        range_: Decimal,
        **use: Unpack[Use],
    ) -> None:
        number = number_of(queries)
        if number > MOST_QUERIES:
            raise PlanError(
                f"a net mechanism compares at most {MOST_QUERIES:,} answers, found {number:,} queries; ask fewer"
            )
        super().__init__(dataset, ledger, journal, **use)
        self._range = range_
        self._counts = exact_counts(dataset, queries, threads=self._threads, progress=self._progress)

    def select_database(self, multisets: Multisets, *, reach: Decimal, again: bool = False) -> SelectedDatabase:
        """Charge, then select a multiset: SmallDB.

        The net is public: all multisets of m elements, and the value of every query on each element. Errors above `reach`,
        public, weigh no less than it does; it bounds the figures, and should be well above the least error of a
        multiset of m elements. Privacy: A5, E8, E9 in docs/privacy.

        Raises PlanError if multisets and queries do not fit, or numbers are out of range; nothing is spent then.
        """
        distribution = self._distribution_of(multisets, reach)
        draw = partial(self._multiset, multisets, distribution)
        return self._select(SelectedDatabase, 1, self._range, draw, again=again)

    def _distribution_of(self, multisets: Multisets, reach: Decimal) -> NetDistribution:
        """Return the distribution of a selection that can be made, before anything is spent."""
        if len(multisets.answers) != len(self._counts):
            raise PlanError(
                f"the elements answer {len(multisets.answers):,} queries, and {len(self._counts):,} were counted"
            )
        if multisets.records * self._size > LARGEST_TARGET:
            raise PlanError(
                f"{multisets.records:,} records at a public size of {self._size:,} are beyond 64-bit distances; ask "
                f"for fewer"
            )
        spread = score_range("max", self._relation) * multisets.records
        return NetDistribution(self._range, spread, int(reach * multisets.records * self._size))

    def _multiset(self, multisets: Multisets, distribution: NetDistribution) -> NDArray[np.int64]:
        """Draw the counts of a multiset. Privacy: E9 in docs/privacy."""
        targets = self._counts * multisets.records
        return draw_multiset(multisets, targets, size=self._size, distribution=distribution, source=self._words)


class MatrixCurator(Door[PrivateDataset]):
    """Answers a driver with one drawn output; parameters as for `Door`."""

    def draw(self, condition: Condition, weights: NDArray[np.int64], *, epsilon: float) -> SelectedCandidate:
        """Charge, then draw an output with probability exactly proportional to its weight in the row of the count.

        **Neighbouring relation and sensitivity.** Both; the count of records that satisfy the condition, taken as N - 1
        where it is larger, moves by at most 1. **Theorem.** `dpopt.accounting.matrices.matrix_charges`, computed here
        from the weights that are sampled, never taken from a solver or the caller. The draw is exact
        (`draw_candidate`). Privacy: A3, E10 in docs/privacy. Test: `tests/private/test_matrix_curator.py`.

        The weights (N, R), one row for each count, are public. Where a ratio of probabilities is larger than e^epsilon,
        delta is charged at `epsilon`, from 0.001 to 40.

        Raises AccountingError if the weights are no matrix, before anything is spent; BudgetError if the ledger has no
        reservation left for the charges, or the count was drawn before.
        """
        charges = matrix_charges(weights, epsilon, self._relation)
        self._not_drawn(charges[0].label)
        count = int(exact_counts(self._dataset, condition.marginal, threads=self._threads)[condition.cells].sum())
        row = weights[min(count, len(weights) - 1)].tolist()
        for charge in charges[1:]:
            self._charged(charge)
        paid = self._paid_once(charges[0])
        return self._drawn(SelectedCandidate, 1, partial(draw_candidate, row, self._words), paid)
