"""The curator of multiplicative weights: selects a query that the public distribution answers badly, and measures it."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.errors import PlanError
from dpopt.private.curators.door import Door, Use
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.measurements.noisy_counts import NamedNoise, noise_charge, once_or_twice
from dpopt.private.selections.multiplicative_scores import MarginalDistribution, SignedQueryDistribution, check_public
from dpopt.private.tables.dataset import AnyQueries, PrivateDataset
from dpopt.queries.marginal_set import MarginalSet
from dpopt.transcript.journal import Journal
from dpopt.transcript.released import NoisyAnswers, SelectedMarginal, SelectedQuery


class MultiplicativeCurator(Door[PrivateDataset]):
    """Answers a driver of multiplicative weights with selections and noisy counts only.

    Each round t has two charges: one selection of range eps0, and one measurement, of the query or of the marginal
    selected.

    **Neighbouring relation and sensitivity.** Selections: `dpopt.private.selections.multiplicative_scores`. Measurement
    of a query: 1 under both relations. Of a marginal: 1 under add-remove and 2 under replace-one, in L1 and in squared
    L2. **Theorem.** As in `dpopt.private.measurements.measurement`. The charges are computed here from range, scale and
    relation, never taken from the caller. Privacy: C13, E6, E7 in docs/privacy. Test:
    `tests/boundary/test_exact_loss.py`.

    Parameters as for `Door`, and

    Parameters
    ----------
    queries : MarginalSet or Clauses
        The workload.
    range_ : Decimal
        eps0: the range of a selection.
    scale : float
        Scale of the noise of a measurement, in records.
    gaussian : bool
        Discrete Gaussian noise; discrete Laplace noise otherwise.
    whole_marginals : bool
        Marginals are selected and measured as wholes; otherwise single queries.
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
            self._starts = queries.starts
            self._marginals = MarginalDistribution(
                self._counts, queries.starts, size=self._size, range_=range_, relation=self._relation
            )
        else:
            self._queries = SignedQueryDistribution(
                self._counts, rows=dataset._rows, size=self._size, range_=range_, relation=self._relation
            )

    def select_query(self, answers: NDArray[np.int64], *, round: int, again: bool = False) -> SelectedQuery:  # noqa: A002
        """Charge, then select a query that these public answers (m,) miss.

        Privacy: E6 in docs/privacy.

        Raises PlanError if the answers do not fit; nothing is spent then.
        """
        if self._starts is not None:
            raise PlanError("this run selects marginals")
        check_public(answers, len(self._counts), self._size)
        draw = partial(self._queries.draw, answers, self._words)
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
        check_public(answers, len(self._counts), self._size)
        if score not in {"l1", "max"} or penalties.shape != (len(self._starts) - 1,):
            raise PlanError(f"round {round}: an unknown score {score!r}, or not one penalty for each marginal")
        draw = partial(self._marginals.draw, answers, score, penalties, self._words)
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

    def _measurement_charge(self, planned: NamedNoise) -> Charge:
        sensitivity = 1 if self._starts is None else once_or_twice(1, self._relation)
        return noise_charge(planned, sensitivity, self._relation)
