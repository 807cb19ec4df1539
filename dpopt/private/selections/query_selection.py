"""Exact draws of one signed query by the exponential mechanism, however many queries there are: FEM, and others.

Cells of marginals that no record of the table and none of the synthetic records lies in all have the same score; they
are never held, only counted. So time and memory grow with the records, not with the cells.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PlanError
from dpopt.private.mechanisms.randomness import RandomWords, uniform_below
from dpopt.private.selections.query_weights import LARGEST_SCORE, MOST_ROWS, SignedDraws, whole_of
from dpopt.threads import USUAL


class QuerySelection(SignedDraws):
    """Selects a signed query with probability proportional to exp(eps0 score / units).

    **Score.** For base query i, in units of 1/s record: s count_i - a_i, a_i the public answer; for its negation, s (rows -
    n) less that. Exact 64-bit integers. FEM's s is the number of synthetic records, of which c_i satisfy the query: a_i
    = n c_i. Over both signs the larger score is that of |q(D) - <q, p>|, which the lecture's exponential mechanism
    takes; both signs are offered, since their scores move together where a record is added.

    **Neighbouring relation and sensitivity.** Replace-one: scores move within [-s, s], a range of 2 s. Add-remove with
    fixed public n0: all in one direction, by 0 or s, a range of s. `units` is that range (`once_or_twice`), so weights
    exp(eps0 score / units) have a range of eps0. The public answers move nothing.

    **Theorem.** Exponential mechanism as bounded range (Dong, Durfee and Rogers 2020), with the implemented
    distribution and the slack of `QueryWeights`; queries that are not held have the weight that they would have.
    Privacy: E3, E5, E6 in docs/privacy.

    Checked by `tests/private/test_query_selection.py` (exact distribution, held or not; range over all neighbours).

    Of m base queries (`queries`) those `held` (h,), increasing, are satisfied by at least one record, by `counts` (h,):
    private, as is the exact number `rows` under add-remove. `size` is n, equal to `rows`, or n0; `records` s.
    """

    def __init__(
        self,
        held: NDArray[np.int64],
        counts: NDArray[np.int64],
        *,
        queries: int,
        rows: int,
        size: int,
        records: int,
        range_: Decimal,
        units: int,
        threads: int = USUAL,
    ) -> None:
        if records * (size + MOST_ROWS) > LARGEST_SCORE:
            raise PlanError(
                f"{records:,} records per round with a public size of {size:,} are beyond 64-bit scores; take fewer"
            )
        super().__init__(queries, range_, units, threads)
        self._held, self._queries = held, queries
        self._base = np.ascontiguousarray(counts, dtype=np.int64) * records
        self._size = size
        self._offset = records * (rows - size)

    def draw(self, satisfied: NDArray[np.int64], by: NDArray[np.int64], source: RandomWords) -> int:
        """Return one signed query: 2 i for base query i, 2 i + 1 for its negation.

        `satisfied` (r,) are the base queries that synthetic records satisfy, increasing, and `by` (r,) how many (c_i).
        """
        return self._selected(*self._with(satisfied, by), source)

    def draw_against(self, answers: NDArray[np.int64], source: RandomWords) -> int:
        """Return one signed query, given the public answers a_i to all queries, (m,), of which all are held."""
        return self._selected(self._held, self._base - answers, source)

    def _selected(self, held: NDArray[np.int64], scores: NDArray[np.int64], source: RandomWords) -> int:
        rest = self._queries - len(held)
        distribution = (scores, self._offset, self._top(scores, rest))
        top, sums = distribution[2], self._sums(*distribution)
        # Where every query is held, `top` leaves score 0 out, and its distances could be negative.
        weight, negation = (self._weight(top), self._weight(top - self._offset)) if rest else (0, 0)
        in_held = whole_of(sums[-1]) if len(scores) else 0
        words = uniform_below(in_held + rest * (weight + negation), 1, source)
        point = whole_of(words[0])
        if point < in_held:
            drawn = int(self._found(*distribution, sums, words)[0])
            return 2 * int(held[drawn // 2]) + drawn % 2
        rank, within = divmod(point - in_held, weight + negation)
        return 2 * _of_rank(held, rank) + int(within >= weight)

    def _with(self, satisfied: NDArray[np.int64], by: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the queries that records of either side satisfy, in increasing order, and their scores."""
        place = np.searchsorted(self._held, satisfied)
        known = place < len(self._held)
        known[known] = self._held[place[known]] == satisfied[known]
        scores = self._base.copy()
        scores[place[known]] -= self._size * by[known]
        if known.all():
            return self._held, scores
        new = ~known
        return (np.insert(self._held, place[new], satisfied[new]), np.insert(scores, place[new], -self._size * by[new]))

    def _top(self, scores: NDArray[np.int64], rest: int) -> int:
        ends = [0] if rest else []
        if len(scores):
            ends += [int(scores.max()), int(scores.min())]
        return max(*ends, self._offset - min(ends))

    def _weight(self, distance: int) -> int:
        """Return the integer weight of a score `distance` below the largest: exactly the weight that the kernels add."""
        table, near = self._table, min(distance, self._table.clamp)
        weight = Fraction(float(table.high[near >> table.bits] * table.low[near & ((1 << table.bits) - 1)]))
        return int(weight * 4**self._half_bits)


def _of_rank(held: NDArray[np.int64], rank: int) -> int:
    """Return the query of this rank (from 0) among those that are not held."""
    before = held - np.arange(len(held))  # how many queries below each held one are not held
    return rank + int(np.searchsorted(before, rank, side="right"))
