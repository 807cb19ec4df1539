"""The query player of FEM: exact draws of one signed query by the exponential mechanism, however many queries there are.

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

    **Score.** For base query i, in units of 1/(n s): s count_i - n c_i, with c_i the number of synthetic records that
    satisfy it; for its negation, s (rows - n) less that. Exact 64-bit integers.

    **Neighbouring relation and sensitivity.** Replace-one: scores move within [-s, s], a range of 2 s. Add-remove with
    fixed public n0: all in one direction, by 0 or s, a range of s. `units` is that range, so weights exp(eps0 score /
    units) have a range of eps0.

    **Theorem.** Exponential mechanism as bounded range (Dong, Durfee and Rogers 2020), with the implemented
    distribution and the slack of `QueryWeights`; queries that are not held have the weight that they would have.
    Privacy: E3, E5 in docs/privacy.

    Checked by `tests/private/test_query_selection.py` (exact distribution, held or not; range over all neighbours).

    Parameters
    ----------
    held, counts : (h,) int64 arrays
        Base queries that at least one record satisfies, in increasing order, and by how many. Private. All other base
        queries have count 0.
    queries : int
        Number of base queries m.
    rows : int
        Exact number of records. Private under add-remove.
    size : int
        Public size: n under replace-one (then equal to `rows`), n0 under add-remove.
    records : int
        Number s of synthetic records that each selection compares with.
    range_ : Decimal
        eps0, the range of one selection.
    units : int
        `accounting.selections.units_per_range(s, relation)`.
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

        Parameters
        ----------
        satisfied, by : (r,) int64 arrays
            Base queries that at least one synthetic record satisfies, in increasing order, and by how many (c_i).
        """
        held, scores = self._with(satisfied, by)
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
