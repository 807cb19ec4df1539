"""The curator of multiplicative weights: selects a query that the public distribution answers badly, and measures it."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import once_or_twice
from dpopt.accounting.selections import score_range
from dpopt.errors import PlanError
from dpopt.private.curators.door import Door, Use
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.measurements.noisy_counts import NamedNoise, noise_charge
from dpopt.private.mechanisms.selection_distribution import clamp_of, draw_candidate, selection_weights
from dpopt.private.selections.query_selection import QuerySelection
from dpopt.private.selections.selection import SCORES
from dpopt.private.tables.dataset import AnyQueries, PrivateDataset
from dpopt.queries.marginal_set import MarginalSet
from dpopt.transcript.journal import Journal
from dpopt.transcript.released import NoisyAnswers, SelectedMarginal, SelectedQuery

UNITS = 1_024
"""Public answers are whole numbers of 1 / 1,024 record."""
LARGEST_SIZE = 2**40


class MultiplicativeCurator(Door[PrivateDataset]):
    """Answers a driver of multiplicative weights with selections and noisy counts only.

    Each round t has two charges: one selection of range eps0, and one measurement, of the query or of the marginal
    selected.

    **Score.** Of a query: `QuerySelection`, with public answers in units of 1/1,024 record. Of a marginal, in these
    units, with a_c the public answer on cell c: the sum ("l1") or the maximum ("max") over its cells of |1,024 count_c -
    a_c|, less 1,024 times a public penalty.

    **Neighbouring relation and sensitivity.** Selections: `QuerySelection`, and 1,024 times
    `dpopt.accounting.selections.score_range`. Measurement of a query: 1 under both relations. Of a marginal: 1 under
    add-remove and 2 under replace-one, in L1 and in squared L2. **Theorem.** `selection_weights`, and as in
    `dpopt.private.measurements.measurement`. The charges are computed here from range, scale and relation, never taken
    from the caller. Privacy: C13, E2, E6, E7 in docs/privacy. Test: `tests/boundary/test_exact_loss.py`.

    Parameters as for `Door`, and the workload, the `range_` eps0 of a selection, and the noise of a measurement, its
    scale in records. With `whole_marginals`, marginals are selected and measured as wholes, else single queries.

    Raises PlanError if there are too many queries, or range and scale are out of range; nothing is spent then.
    """

    def __init__(
        self,
        dataset: PrivateDataset,
        queries: AnyQueries,
        ledger: Ledger,
        journal: Journal,
        *,
        range_: Decimal,
        scale: float,
        gaussian: bool,
        whole_marginals: bool,
        **use: Unpack[Use],
    ) -> None:
        super().__init__(dataset, ledger, journal, **use)
        self._range, self._scale, self._gaussian = range_, scale, gaussian
        self._counts = exact_counts(dataset, queries, threads=self._threads)
        self._starts: NDArray[np.int64] | None = None
        if whole_marginals:
            if not isinstance(queries, MarginalSet):
                raise PlanError("the workload has no marginals to select among; select queries")
            if self._size > LARGEST_SIZE:
                raise PlanError(f"a public size of {self._size:,} is beyond 64-bit scores (at most {LARGEST_SIZE:,})")
            self._starts = queries.starts
            for score in SCORES:
                clamp_of(range_, self._spread(score))
        else:
            self._queries = QuerySelection(
                np.arange(len(self._counts)),
                self._counts,
                queries=len(self._counts),
                rows=dataset._rows,
                size=self._size,
                records=UNITS,
                range_=range_,
                units=once_or_twice(UNITS, self._relation),
            )

    def select_query(self, answers: NDArray[np.int64], *, round: int, again: bool = False) -> SelectedQuery:  # noqa: A002
        """Charge, then select a query that these public answers (m,) miss.

        Privacy: E6 in docs/privacy.

        Raises PlanError if the answers do not fit; nothing is spent then.
        """
        if self._starts is not None:
            raise PlanError("this run selects marginals")
        self._check_public(answers)
        draw = partial(self._queries.draw_against, answers, self._words)
        return self._select(SelectedQuery, round, self._range, draw, again=again, round=round)

    def select_marginal(
        self,
        answers: NDArray[np.int64],
        *,
        score: str,
        penalties: NDArray[np.int64],
        round: int,  # noqa: A002
        again: bool = False,
    ) -> SelectedMarginal:
        """Charge, then select a marginal that these public answers (cells,) miss; see `select_query`.

        Privacy: E7 in docs/privacy.
        """
        if self._starts is None:
            raise PlanError("this run selects queries")
        self._check_public(answers)
        if score not in SCORES or penalties.shape != (len(self._starts) - 1,):
            raise PlanError(f"round {round}: an unknown score {score!r}, or not one penalty for each marginal")
        draw = partial(self._marginal, answers, score, penalties)
        return self._select(SelectedMarginal, round, self._range, draw, again=again, round=round)

    def measure(self, chosen: int, *, round: int, again: bool = False) -> NoisyAnswers:  # noqa: A002
        """Charge, then count the chosen query, or the cells of the chosen marginal, and add noise.

        Privacy: C13 in docs/privacy.

        Raises PlanError if there is no such query or marginal; nothing is spent then.
        """
        last = len(self._counts) if self._starts is None else len(self._starts) - 1
        if not 0 <= chosen < last:
            raise PlanError(f"round {round}: number {chosen} was to be measured; there are {last:,}, from 0 on")
        planned = NamedNoise(f"round {round}", self._scale, self._gaussian)
        charge = self._paid_once(self._measurement_charge(planned), again=again, round=round)
        first, last = (chosen, chosen + 1) if self._starts is None else self._starts[chosen : chosen + 2]
        return self._noisy(self._counts[first:last], planned, charge, round=round)

    def _marginal(self, answers: NDArray[np.int64], score: str, penalties: NDArray[np.int64]) -> int:
        """Draw a marginal. Privacy: E7 in docs/privacy."""
        distances = np.abs(UNITS * self._counts - answers)
        together = np.add if score == "l1" else np.maximum
        scores = together.reduceat(distances, self._starts[:-1]) - UNITS * penalties  # type: ignore[index]
        weights = selection_weights(scores.tolist(), range_=self._range, spread=self._spread(score))
        return draw_candidate(weights, self._words)

    def _spread(self, score: str) -> int:
        return UNITS * score_range(score, self._relation)

    def _check_public(self, answers: NDArray[np.int64]) -> None:
        """Refuse, by PlanError, public answers that are not one for each query, or lie outside [0, size]."""
        if answers.shape != self._counts.shape or answers.dtype != np.int64:
            raise PlanError(
                f"{len(self._counts):,} queries need as many public answers, found an array of shape {answers.shape}"
            )
        if int(answers.min()) < 0 or int(answers.max()) > UNITS * self._size:
            raise PlanError(f"public answers must lie between 0 and the public size of {self._size:,} records")

    def _measurement_charge(self, planned: NamedNoise) -> Charge:
        sensitivity = 1 if self._starts is None else once_or_twice(1, self._relation)
        return noise_charge(planned, sensitivity, self._relation)
