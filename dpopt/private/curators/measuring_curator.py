"""The curator of algorithms that measure counts, and select what to measure next."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.private.curators.counting_curator import CountingCurator
from dpopt.private.measurements.measurement import check_marginals
from dpopt.private.mechanisms.noise import Noise
from dpopt.private.mechanisms.randomness import RandomWords
from dpopt.private.mechanisms.selection_distribution import clamp_of, draw_candidate, selection_weights
from dpopt.private.selections.candidate_scores import CandidateScores
from dpopt.private.selections.selection import Selection
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.transcript.journal import Journal
from dpopt.transcript.released import SelectedMarginal


class MeasuringCurator(CountingCurator):
    """Answers a driver with noisy counts and selected marginals only.

    Parameters
    ----------
    dataset : PrivateDataset
        The records.
    ledger : Ledger
        Holds the reservation of the whole plan; every charge is spent here before its draw is made.
    journal : Journal
        Gets charge, then draw, each before anything else sees it.
    size : int
        Public size: n under replace-one, n0 under add-remove.
    noise, words :
        Sources of noise and of random words; anything but the defaults marks the ledger as not private.
    threads : int
        Threads for counting and scoring.
    progress : callable, optional
        Called with the share of one measurement or selection that is done. Its timing depends on public sizes only.

    Raises
    ------
    PrivateDataError
        Under replace-one, if the table does not have exactly `size` records.
    """

    _dataset: PrivateDataset

    def __init__(
        self,
        dataset: PrivateDataset,
        ledger: Ledger,
        journal: Journal,
        *,
        size: int,
        noise: Noise | None = None,
        words: RandomWords | None = None,
        threads: int = 2,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        super().__init__(
            dataset,
            ledger,
            journal,
            size=size,
            noise=noise,
            words=words,
            threads=threads,
            progress=progress,
        )
        self._scores = CandidateScores(dataset, size=size, threads=threads)

    def select(
        self, selection: Selection, records: NDArray[np.int32], multiplicity: NDArray[np.int64]
    ) -> SelectedMarginal:
        """Charge, then select a candidate by the exponential mechanism.

        Parameters
        ----------
        selection : Selection
            The candidates and how they are scored.
        records : (r, d) int32 array
            Public records that the counts are compared with.
        multiplicity : (r,) int64 array
            How often each of them counts.

        Notes
        -----
        Neighbouring relation and sensitivity: see `CandidateScores`. Theorem and the implemented distribution: see
        `dpopt.private.mechanisms.selection_distribution.selection_weights`. The charge is computed here from the selection,
        never taken from the caller. Privacy: E2, E4 in docs/privacy.md. Test:
        `tests/boundary/test_exact_loss.py`.

        Raises
        ------
        BudgetError
            If the ledger has no reservation left for this charge, or this round selected before; nothing is drawn then.
        PlanError, WorkloadError
            If records or candidates do not fit; nothing is spent then.
        """
        public = self._checked(selection, records, multiplicity)
        charge = self._paid_once(selection.charge(self._relation), round=selection.round)
        return self._select(selection, charge, *public)

    def complete_select(
        self, selection: Selection, records: NDArray[np.int32], multiplicity: NDArray[np.int64]
    ) -> SelectedMarginal:
        """Make the selection of a charge that was recalled without it; nothing had left the curator.

        Privacy: A5, E4 in docs/privacy.md.

        Raises
        ------
        BudgetError
            If no such charge was recalled, or it is another one.
        """
        public = self._checked(selection, records, multiplicity)
        what = f"the selection of round {selection.round}"
        charge = self._paid_once(selection.charge(self._relation), what, again=True)
        return self._select(selection, charge, *public)

    def _checked(
        self, selection: Selection, records: NDArray[np.int32], multiplicity: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return public records that can be scored against, before anything is spent."""
        sizes = self._dataset._schema.sizes
        check_marginals(selection.candidates, sizes, f"round {selection.round}")
        records, multiplicity = selection.check_records(records, multiplicity, sizes, self._size)
        clamp_of(selection.range, selection.spread(self._relation, int(multiplicity.sum())))
        return records, multiplicity

    def _select(
        self,
        selection: Selection,
        charge: Charge,
        records: NDArray[np.int32],
        multiplicity: NDArray[np.int64],
    ) -> SelectedMarginal:
        """Select, put it on file, hand it out; `charge` is on file. Privacy: A3, E4 in docs/privacy.md."""
        total = int(multiplicity.sum())
        scores = self._scores.of(
            selection.candidates, selection.score, records, multiplicity, progress=self._progress
        )
        penalized = [
            score - total * penalty
            for score, penalty in zip(scores, selection.penalties.tolist(), strict=True)
        ]
        spread = selection.spread(self._relation, total)
        weights = selection_weights(penalized, range_=selection.range, spread=spread)
        selected = SelectedMarginal(selection.round, draw_candidate(weights, self._words), charge)
        return self._released(selected, selected.to_json())
