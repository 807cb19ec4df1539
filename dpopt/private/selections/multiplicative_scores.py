"""Which query, or which marginal, a public distribution answers worst: exact scores, and how a selection is distributed."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import score_range, units_per_range
from dpopt.errors import PlanError
from dpopt.private.mechanisms.randomness import RandomWords, uniform_below
from dpopt.private.mechanisms.selection_distribution import clamp_of, draw_candidate, selection_weights
from dpopt.private.selections.query_weights import SignedDraws, whole_of
from dpopt.private.tables.closed import StaysHere

UNITS = 1_024
"""Public answers are whole numbers of 1 / 1,024 record."""
LARGEST_SIZE = 2**40


def check_public(answers: NDArray[np.int64], queries: int, size: int) -> None:
    """Refuse, by PlanError, public answers that are not one for each query, or lie outside [0, size]."""
    if answers.shape != (queries,) or answers.dtype != np.int64:
        raise PlanError(f"{queries:,} queries need as many public answers, found an array of shape {answers.shape}")
    if int(answers.min()) < 0 or int(answers.max()) > UNITS * size:
        raise PlanError(f"public answers must lie between 0 and the public size of {size:,} records")


def _check_size(size: int) -> None:
    if size > LARGEST_SIZE:
        raise PlanError(f"a public size of {size:,} is beyond 64-bit scores (at most {LARGEST_SIZE:,})")


class SignedQueryDistribution(SignedDraws):
    """Selects a signed query with probability proportional to exp(eps0 score / units).

    **Score.** With a_i the public answer to base query i in units of 1/1,024 record: 1,024 count_i - a_i, and for its
    negation 1,024 (rows - size) less that. Exact 64-bit integers. Over both signs the larger score is that of |q(D) -
    <q, p>|, which the lecture's exponential mechanism takes; both signs are offered, since their scores move together
    where a record is added.

    **Neighbouring relation and sensitivity.** Replace-one: scores move within [-1,024, 1,024]. Add-remove with fixed
    public size: within [0, 1,024] or within [-1,024, 0]. `units` is the width of that interval, so the weights have
    range eps0. The public answers move nothing.

    **Theorem.** Exponential mechanism as bounded range (Dong, Durfee and Rogers 2020), with the implemented
    distribution and the slack of `dpopt.private.selections.query_weights.QueryWeights`. Privacy: E3, E6 in
    docs/privacy. Test: `tests/private/test_multiplicative_scores.py`.

    Parameters
    ----------
    counts : (m,) int64 array
        How many records satisfy each base query. Private.
    rows : int
        Exact number of records. Private under add-remove.
    size : int
        Public size: n under replace-one (then equal to `rows`), n0 under add-remove.
    range_ : Decimal
        eps0, the range of one selection.
    """

    def __init__(
        self, counts: NDArray[np.int64], *, rows: int, size: int, range_: Decimal, relation: NeighbouringRelation
    ) -> None:
        super().__init__(len(counts), range_, units_per_range(UNITS, relation))
        _check_size(size)
        self._base = counts * UNITS
        self._offset = UNITS * (rows - size)
        self._size = size

    def draw(self, answers: NDArray[np.int64], source: RandomWords) -> int:
        """Return one signed query, 2 i for base query i and 2 i + 1 for its negation, given all public answers (m,)."""
        check_public(answers, len(self._base), self._size)
        scores = self._base - answers
        held = (scores, self._offset, max(int(scores.max()), self._offset - int(scores.min())))
        sums = self._sums(*held)
        return int(self._found(*held, sums, uniform_below(whole_of(sums[-1]), 1, source))[0])


class MarginalDistribution(StaysHere):
    """Selects a marginal by how far its exact counts lie from public answers.

    **Score.** With a_c the public answer on cell c: the sum ("l1") or the maximum ("max") over the cells of a marginal
    of |1,024 count_c - a_c|, less 1,024 times a public penalty.

    **Neighbouring relation and sensitivity.** Those of `dpopt.private.selections.candidate_scores.CandidateScores`, by
    `dpopt.accounting.selections.score_range` records, that is 1,024 times as many units. **Theorem** and distribution:
    `dpopt.private.mechanisms.selection_distribution.selection_weights`. Privacy: E2, E7 in docs/privacy. Test:
    `tests/private/test_multiplicative_scores.py`.

    Parameters
    ----------
    counts : (cells,) int64 array
        Exact counts of all cells, marginal by marginal. Private.
    starts : (M + 1,) int64 array
        First cell of each marginal. Public.
    size : int
        Public size.
    range_ : Decimal
        Range of one selection.
    """

    def __init__(
        self,
        counts: NDArray[np.int64],
        starts: NDArray[np.int64],
        *,
        size: int,
        range_: Decimal,
        relation: NeighbouringRelation,
    ) -> None:
        _check_size(size)
        self._base, self._starts = counts * UNITS, starts[:-1]
        self._size, self._range, self._relation = size, range_, relation
        for score in ("l1", "max"):
            clamp_of(range_, self._spread(score))

    def draw(self, answers: NDArray[np.int64], score: str, penalties: NDArray[np.int64], source: RandomWords) -> int:
        """Return one marginal, given the public answers on all cells (cells,) and penalties (M,) in records."""
        check_public(answers, len(self._base), self._size)
        distances = np.abs(self._base - answers)
        together = np.add if score == "l1" else np.maximum
        scores = together.reduceat(distances, self._starts) - UNITS * penalties
        weights = selection_weights(scores.tolist(), range_=self._range, spread=self._spread(score))
        return draw_candidate(weights, source)

    def _spread(self, score: str) -> int:
        return score_range(score, self._relation) * UNITS
