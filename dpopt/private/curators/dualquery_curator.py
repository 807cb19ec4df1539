"""The curator of DualQuery: it holds the records, draws queries and gets synthetic records."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.dualquery import draw_charge
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.measurements import ONE_WAY
from dpopt.errors import WorkloadError
from dpopt.private.curators.door import Door, Use
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.measurements.measurement import Measurement
from dpopt.private.mechanisms.randomness import SystemWords
from dpopt.private.selections.query_weights import ExactSampler, QueryWeights
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Schema
from dpopt.transcript.journal import Journal
from dpopt.transcript.released import NoisyAnswers, SampledQueries


class Curator(Door[PrivateDataset]):
    """Answers the driver of DualQuery with released values only.

    Parameters as for `Door`, and the base queries over the attributes of the data set, whose class is closed under
    negation; the step eta; and the marginals whose cells are these clauses, in this order, if there are any: they are
    counted by one pass over the records each.

    Raises WorkloadError if the marginals have another number of cells than there are clauses.
    """

    def __init__(
        self,
        dataset: PrivateDataset,
        clauses: Clauses,
        ledger: Ledger,
        journal: Journal,
        *,
        step: Decimal,
        marginals: MarginalSet | None = None,
        **use: Unpack[Use],
    ) -> None:
        sampler = use.get("sampler")
        self._sampler = ExactSampler(SystemWords()) if sampler is None else sampler
        use["sampler"] = self._sampler  # what draws is what the door looks at
        super().__init__(dataset, ledger, journal, **use)
        self._step = step
        if marginals is not None and marginals.number_of_cells != len(clauses):
            raise WorkloadError(
                f"the marginals have {marginals.number_of_cells:,} cells, and there are {len(clauses):,} clauses"
            )
        self._queries = clauses if marginals is None else marginals
        counts = exact_counts(dataset, self._queries, threads=self._threads, progress=self._progress)
        self._weights = QueryWeights(counts, rows=dataset._rows, size=self._size, step=step, threads=self._threads)

    def draw_queries(self, draws: int) -> SampledQueries:
        """Charge, then draw the queries of the next round.

        Neighbouring relation, sensitivity and theorem: see `dpopt.private.selections.query_weights.QueryWeights`. The
        charge is computed here from the number of records observed, never taken from the caller. Privacy: F1 in
        docs/privacy.

        Raises BudgetError if the ledger has no reservation left for this charge; nothing is drawn then.
        """
        return self._draw(draws, self._charged(self._next_charge(draws), round=self._round))

    def complete_draw(self) -> SampledQueries:
        """Make the draw of the charge that was recalled without one; nothing had left the curator.

        Privacy: A5, F1 in docs/privacy.

        Raises BudgetError if no such charge was recalled, or it is not that of the next round.
        """
        draws = 1 if self._paid is None else self._paid.count
        return self._draw(draws, self._recalled(self._next_charge(draws), "the next round"))

    def repeat_draw(self, draws: int, *, given_up: Charge, given_up_round: int) -> SampledQueries:
        """Draw again for a round whose draw was torn on file, and pay by giving up a later round.

        Part of the torn draw may have been seen, so the round is charged a second time. `given_up` is a reserved charge
        that will never be spent; the ledger refuses unless the total stays within the budget. Privacy: A5, F1 in
        docs/privacy.
        """
        charge = self._next_charge(draws)
        self._exchanged(charge, given_up, round=self._round, given_up=given_up_round)
        return self._draw(draws, charge)

    def measure_one_way(self, *, scale: float, gaussian: bool, again: bool = False) -> NoisyAnswers:
        """Charge, then measure all one-way marginals with integer noise, where the plan says so.

        Neighbouring relation and sensitivity: over d attributes one record added or removed moves the counts by d in L1
        and sqrt(d) in L2; replacing one, by at most 2 d and sqrt(2 d). Privacy: A3, A5, C1, C4 in docs/privacy. Test:
        `tests/private/test_one_way.py`.
        """
        planned = Measurement(ONE_WAY, one_way_marginals(self._dataset._schema), scale, gaussian)
        expected = planned.charge(self._dataset._public, self._relation)
        charge = self._paid_once(expected, "the planned measurement", again=again, round=0)
        exact = planned.exact(self._dataset, self._relation, self._threads)
        return self._noisy(exact, planned, charge)

    def observe(self, record: NDArray[np.int32]) -> None:
        """Take note of a synthetic record; nothing comes back."""
        from dpopt.queries.counting.kernels import satisfied

        self._weights.observe(satisfied(self._queries, record))

    @property
    def _round(self) -> int:
        return self._weights.observed + 1

    def _next_charge(self, draws: int) -> Charge:
        return draw_charge(self._round, draws, float(self._step), self._size, self._ledger.relation)

    def _draw(self, draws: int, charge: Charge) -> SampledQueries:
        """Draw the queries of the next round; `charge` is on file. Privacy: A3, F1 in docs/privacy."""
        return self._drawn(SampledQueries, self._round, partial(self._sampler.draw, self._weights, draws), charge)


def one_way_marginals(schema: Schema) -> MarginalSet:
    """Return the histogram of every attribute of a schema, over all of its codes."""
    attributes = np.arange(len(schema), dtype=np.int32)[:, None]
    return MarginalSet(Domains.of(schema, occurring=False), attributes)
