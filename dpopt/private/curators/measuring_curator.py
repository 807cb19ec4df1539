"""The curator of algorithms that measure counts and select the next measurement."""

from __future__ import annotations

from functools import partial
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.ledger import Ledger
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.private.curators.door import Use
from dpopt.private.measurements.measurement import check_marginals
from dpopt.private.mechanisms.selection_distribution import clamp_of, draw_candidate, selection_weights
from dpopt.private.selections.selection import CandidateScores, Selection
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.transcript.journal import Journal
from dpopt.transcript.released import SelectedMarginal


class MeasuringCurator(CountingCurator):
    """Answers a driver with noisy counts and selected marginals only; parameters as for `Door`."""

    _dataset: PrivateDataset

    def __init__(self, dataset: PrivateDataset, ledger: Ledger, journal: Journal, **use: Unpack[Use]) -> None:
        super().__init__(dataset, ledger, journal, **use)
        self._scores = CandidateScores(dataset, size=self._size, threads=self._threads)

    def select(
        self, selection: Selection, records: NDArray[np.int32], multiplicity: NDArray[np.int64], *, again: bool = False
    ) -> SelectedMarginal:
        """Charge, then select a candidate by the exponential mechanism.

        Neighbouring relation and sensitivity: see `CandidateScores`. Theorem and the implemented distribution: see
        `dpopt.private.mechanisms.selection_distribution.selection_weights`. The charge is computed here from the
        selection, never taken from the caller. Privacy: A3, A5, E2, E4 in docs/privacy. Test:
        `tests/boundary/test_exact_loss.py`.

        The counts are compared with public records (r, d), of which each counts `multiplicity` (r,) times.

        Raises PlanError or WorkloadError if records or candidates do not fit; nothing is spent then.
        """
        sizes = self._dataset._schema.sizes
        check_marginals(selection.candidates, sizes, f"round {selection.round}")
        records, multiplicity = selection.check_records(records, multiplicity, sizes, self._size)
        clamp_of(selection.range, selection.spread(self._relation, int(multiplicity.sum())))
        draw, number = partial(self._candidate, selection, records, multiplicity), selection.round
        return self._select(SelectedMarginal, number, selection.range, draw, again=again, round=number)

    def _candidate(self, selection: Selection, records: NDArray[np.int32], multiplicity: NDArray[np.int64]) -> int:
        """Draw a candidate. Privacy: E4 in docs/privacy."""
        total = int(multiplicity.sum())
        scores = self._scores.of(selection.candidates, selection.score, records, multiplicity, progress=self._progress)
        penalized = [
            score - total * penalty for score, penalty in zip(scores, selection.penalties.tolist(), strict=True)
        ]
        spread = selection.spread(self._relation, total)
        weights = selection_weights(penalized, range_=selection.range, spread=spread)
        return draw_candidate(weights, self._words)
