"""The curator of DQRS: DualQuery's, except that drawn queries are kept from round to round where they can be."""

from __future__ import annotations

from decimal import Decimal
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.dqrs import dqrs_charge
from dpopt.accounting.ledger import Ledger
from dpopt.errors import BudgetError, TranscriptError
from dpopt.private.curators.door import Use
from dpopt.private.curators.dualquery_curator import Curator
from dpopt.private.selections.query_weights import KeptQueries
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.transcript.journal import Journal
from dpopt.transcript.released import SampledQueries


class Options(Use, total=False):
    """What DQRS hands on to `Curator` as it is."""

    marginals: MarginalSet | None
    record_clauses: Clauses | None


class DqrsCurator(Curator):
    """Answers a driver of DualQuery with queries of which many were drawn in the round before.

    Neighbouring relation: the ledger's. What a round releases is the multiset of its s signed queries: the net counts, and the
    pairs that cancel (`SampledQueries.pairs`). Each of the s queries of the round before, independently, is kept with
    probability a(q) = exp(eta (A - 1) - c), A = q(D) - q(x) taken as at most 1, or replaced by a draw of the round's
    distribution.

    Sensitivity: A moves by at most 1/n. Theorem and charge: `dpopt.accounting.dqrs`; a round that would be cheaper if all its
    queries were drawn afresh draws them afresh and is charged as a round of DualQuery. Privacy: F2, F3, F4 in docs/privacy.
    Test: `tests/private/test_dqrs_curator.py`.

    Parameters
    ----------
    margin : Decimal
        c, above 0: keeps the probability of drawing again away from 0.
    dataset, clauses, ledger, journal, step, more :
        As in `Curator`.
    """

    def __init__(
        self,
        dataset: PrivateDataset,
        clauses: Clauses,
        ledger: Ledger,
        journal: Journal,
        *,
        step: Decimal,
        margin: Decimal,
        **more: Unpack[Options],
    ) -> None:
        super().__init__(dataset, clauses, ledger, journal, step=step, **more)
        self._margin = margin
        self._kept = KeptQueries(step, margin, self._size, self._weights.table)
        self._held = np.empty(0, dtype=np.int64)
        self._distances = np.empty(0, dtype=np.int64)

    def remember(self, drawn: SampledQueries) -> None:
        """Take note of the draw on file of the next round: the round after it may keep what was drawn.

        Raises
        ------
        TranscriptError
            If they are not as many queries as were charged.
        """
        self._held = signed_queries(drawn)

    def observe(self, record: NDArray[np.int32]) -> None:
        """Take note of a synthetic record; nothing comes back."""
        from dpopt.queries.counting.kernels import satisfied

        answers = satisfied(self._record_clauses, record)
        changes = self._weights.changes(self._held, answers)
        # More records than n0 can take A above 1; such a query is kept like one with A = 1.
        self._distances = np.maximum(self._size - changes, 0)
        self._weights.observe(answers)

    def _next_charge(self, draws: int) -> Charge:
        return dqrs_charge(
            self._round, draws, float(self._step), float(self._margin), self._size, self._ledger.relation
        )

    def _draw(self, draws: int, charge: Charge) -> SampledQueries:
        """Keep or draw again, put the multiset on file, hand it out; `charge` is on file.

        Privacy: A3, F2 in docs/privacy.
        """
        kept = np.empty(0, dtype=np.int64)
        if charge.kind is ChargeKind.CONCENTRATED:
            if len(self._held) != draws:
                raise BudgetError(
                    f"round {self._round} keeps or redraws {len(self._held):,} queries, {draws:,} were charged; "
                    "transcript and plan do not fit together"
                )
            kept = self._held[self._kept.draw(self._distances, self._words)]
        fresh = self._sampler.draw(self._weights, draws - len(kept)) if len(kept) < draws else kept[:0]
        self._held = np.sort(np.concatenate([kept, fresh]))
        sampled = _netted(self._round, self._held, charge)
        return self._released(sampled, sampled.to_json())


def signed_queries(sampled: SampledQueries) -> NDArray[np.int64]:
    """Return the drawn signed queries in increasing order: 2 i for base query i, 2 i + 1 for its negation.

    Raises
    ------
    TranscriptError
        If they are not as many as were charged.
    """
    net = np.repeat(2 * sampled.queries + (sampled.counts < 0), np.abs(sampled.counts))
    signed = np.sort(np.concatenate([net, 2 * sampled.pairs, 2 * sampled.pairs + 1]))
    if len(signed) != sampled.charge.count:
        raise TranscriptError(
            f"round {sampled.round} holds {len(signed):,} queries, {sampled.charge.count:,} were charged; "
            "the transcript is damaged"
        )
    return signed


def _netted(number: int, signed: NDArray[np.int64], charge: Charge) -> SampledQueries:
    """Return signed queries, in order, as net counts and pairs."""
    queries, inverse = np.unique(signed // 2, return_inverse=True)
    negations = np.bincount(inverse, weights=signed % 2, minlength=len(queries)).astype(np.int64)
    drawn = np.bincount(inverse, minlength=len(queries))
    net = drawn - 2 * negations
    pairs = np.repeat(queries, np.minimum(negations, drawn - negations))
    return SampledQueries(number, queries[net != 0], net[net != 0], charge, pairs)
