"""The query player of DualQuery: one exact integer score per query, and exact draws from the weights.

The draws are exact up to a charge of 2**-49; the distribution is in the docstring of `QueryWeights`. Privacy: E3 in
docs/privacy.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PlanError
from dpopt.private.mechanisms.randomness import RandomWords, SystemWords, uniform_below
from dpopt.private.mechanisms.selection_distribution import ExponentialTable
from dpopt.private.tables.closed import StaysHere
from dpopt.threads import USUAL, in_threads

if TYPE_CHECKING:
    from dpopt.private.selections.kernels import Weights


NORMAL_DEPTH, HALF_BITS = 50, 52
LARGE_DEPTH, LARGE_HALF_BITS = 46, 50
LARGE = 2**22  # base queries; with more, 2 m 2**104 would exceed 2**127
LARGEST = 2**26
MOST_ROWS = 2**40  # more than any table in memory
LARGEST_SCORE = 2**60


class SignedDraws(StaysHere):
    """Draws of signed queries with probability proportional to exp(step score / size), exact by E3 of docs/privacy.

    A base query has its score, and its negation an offset less that. Parameters as for `ExponentialTable`.
    """

    def __init__(self, queries: int, step: Decimal, size: int, threads: int = 1) -> None:
        if queries > LARGEST:
            raise PlanError(
                f"draws are from at most {LARGEST:,} queries, found {queries:,}; ask fewer, or smaller marginals"
            )
        large = queries > LARGE
        self._table = ExponentialTable(step, size, depth=LARGE_DEPTH if large else NORMAL_DEPTH)
        self._half_bits = LARGE_HALF_BITS if large else HALF_BITS
        self._threads = threads

    def _sums(self, scores: NDArray[np.int64], offset: int, top: int) -> NDArray[np.uint64]:
        """Return the running sums of the weights of blocks of queries, (blocks, 2); `top` is the largest score."""
        from dpopt.private.selections.kernels import BLOCK, accumulate, block_totals

        blocks = -(-len(scores) // BLOCK)
        sums, weights = np.empty((blocks, 2), dtype=np.uint64), self._weights(scores, offset, top)
        self._over(blocks, lambda part: block_totals(weights, sums, part.start, part.stop))
        accumulate(sums)
        return sums

    def _found(
        self, scores: NDArray[np.int64], offset: int, top: int, sums: NDArray[np.uint64], points: NDArray[np.uint64]
    ) -> NDArray[np.int64]:
        """Return the signed queries on whose intervals of weight the points (s, 2), in order, lie."""
        from dpopt.private.selections.kernels import find_draws

        found, weights = np.empty(len(points), dtype=np.int64), self._weights(scores, offset, top)
        self._over(len(points), lambda part: find_draws(weights, sums, points[part], found[part]))
        return found

    def _weights(self, scores: NDArray[np.int64], offset: int, top: int) -> Weights:
        from dpopt.private.selections.kernels import Weights

        table = self._table
        return Weights(scores, offset, top, table.clamp, table.bits, table.high, table.low, self._half_bits)

    def _over(self, items: int, work: Callable[[slice], None]) -> None:
        """Work on parts of 0 .. items - 1, in threads where there is enough to do."""
        parts = 1 if items * self._threads <= 256 else self._threads
        in_threads(work, items, max(1, -(-items // parts)), self._threads, None)


def whole_of(words: NDArray[np.uint64]) -> int:
    """Return the whole number of a high and a low word."""
    return (int(words[0]) << 64) + int(words[1])


class QueryWeights(SignedDraws):
    """Weights exp(eta sum over past rounds of (q(D) - q(x))) over a workload closed under negation.

    **Score.** Base query i has N_i = sum over observed records x of (count_i - n q_i(x)), its negation (t - 1)(rows -
    n) - N_i after t - 1 observed records, both exact 64-bit integers, in units of eta / n.

    **Neighbouring relation and sensitivity.** Replace-one: each count moves by at most 1 and `rows` stays, so the
    scores of the closed class move within [-(t-1), t-1], a range of 2 (t - 1). Add-remove with fixed public n0: the
    counts of a query and of its negation each move by 0 or 1 in one direction, a range of t - 1.

    **Theorem.** A draw with probability proportional to exp(eta / n * score) is a bounded-range mechanism of range
    eps_t = eta / n times that range (Gaboardi et al. 2014, section 4; Dong, Durfee and Rogers 2020). The implemented
    distribution: scores below max - clamp count as max - clamp, which needs no slack; a weight is a double, off by at
    most 3 * 2**-53 (1 + 2**-50) of itself, drawn with probability exactly proportional to it by integer arithmetic, for
    which 2**-49 is charged (`dpopt.accounting.dualquery.SAMPLER_SLACK`). Privacy: E3, F1 in docs/privacy.

    Checked by `tests/private/test_query_weights.py` (exact distribution against rational arithmetic, range over all
    neighbours) and `tests/statistics/test_draws.py` (chi-square with stated power).

    The exact `counts` (m,) of the base queries are private, and so is the number of `rows` under add-remove. `size` is the
    public n, equal to `rows`, or n0; `step` is eta, an exact decimal above 0.
    """

    def __init__(self, counts: NDArray[np.int64], *, rows: int, size: int, step: Decimal, threads: int = USUAL) -> None:
        super().__init__(len(counts), step, size, threads)
        self._counts = np.ascontiguousarray(counts, dtype=np.int64)
        self._rows = rows
        self._size = size
        self._scores = np.zeros(len(counts), dtype=np.int64)
        self._observed = 0
        self._top = 0

    @property
    def observed(self) -> int:
        """How many records have been observed."""
        return self._observed

    def observe(self, satisfied: NDArray[np.bool_]) -> None:
        """Add one record's answers to the scores: q_i(x) for each base query."""
        if (self._observed + 1) * (self._size + MOST_ROWS) > LARGEST_SCORE:
            raise PlanError(
                f"after {self._observed:,} records the scores are too large for public size {self._size:,}; "
                "plan fewer rounds or a smaller n0"
            )
        from dpopt.private.selections.kernels import update_scores

        bounds: list[tuple[int, int]] = []

        def update(part: slice) -> None:
            bounds.append(update_scores(self._scores, self._counts, satisfied, self._size, part.start, part.stop))

        self._over(len(self._scores), update)
        self._observed += 1
        largest, smallest = max(b[0] for b in bounds), min(b[1] for b in bounds)
        self._top = max(largest, self._offset() - smallest)

    def draw(self, draws: int, source: RandomWords) -> NDArray[np.int64]:
        """Return `draws` independent signed queries, sorted: 2 i for base query i, 2 i + 1 for its negation."""
        held = (self._scores, self._offset(), self._top)
        sums = self._sums(*held)
        points = uniform_below(whole_of(sums[-1]), draws, source)
        return self._found(*held, sums, np.ascontiguousarray(points[_order(points)]))

    def draw_at(self, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the signed queries at the shares `words` / 2^64 of the running sum of the weights, sorted; never private."""
        held = (self._scores, self._offset(), self._top)
        sums = self._sums(*held)
        places = np.sort(words).astype(object) * whole_of(sums[-1]) >> 64  # whole numbers of 128 bits
        points = np.stack([(places >> 64).astype(np.uint64), (places % 2**64).astype(np.uint64)], axis=1)
        return self._found(*held, sums, np.ascontiguousarray(points))

    def _offset(self) -> int:
        return self._observed * (self._rows - self._size)


def _order(points: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the order of (s, 2) two-word numbers; sorting by high words alone is faster and nearly always enough."""
    order = np.argsort(points[:, 0])
    high = points[order, 0]
    return np.lexsort((points[:, 1], points[:, 0])) if np.any(high[1:] == high[:-1]) else order


class QuerySampler(Protocol):
    """How the curator draws from the weights."""

    def draw(self, weights: QueryWeights, draws: int) -> NDArray[np.int64]:
        """Return `draws` signed queries, sorted."""
        ...


class CommonSampler:
    """Draws by common random numbers, so that runs differ by their records alone; never private.

    Draw i of round t is the query at the same place in [0, 1) of the running sum of the weights, whatever these are:
    `source` gives the words of a round, the same each time. With equal weights the draws are equal.
    """

    def __init__(self, source: Callable[[int], RandomWords]) -> None:
        self._source = source

    def draw(self, weights: QueryWeights, draws: int) -> NDArray[np.int64]:
        """Return `draws` signed queries, sorted."""
        return weights.draw_at(self._source(weights.observed + 1).words(draws))


class ExactSampler:
    """Draws from the weights exactly, with words from `source`."""

    def __init__(self, source: RandomWords) -> None:
        self._source = source

    @property
    def reads_the_system(self) -> bool:
        """Whether the source is the operating system's generator, by its exact type."""
        return type(self._source) is SystemWords

    def draw(self, weights: QueryWeights, draws: int) -> NDArray[np.int64]:
        """Return `draws` signed queries, sorted."""
        return weights.draw(draws, self._source)
