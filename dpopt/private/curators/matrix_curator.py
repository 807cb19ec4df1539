"""The curator of one count: drawn once, from the row of a public matrix that belongs to the exact one."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.matrices import matrix_charges
from dpopt.private.curators.door import Door
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.mechanisms.selection_distribution import draw_candidate
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.condition import Condition
from dpopt.transcript.released import SelectedCandidate


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
