"""Exact draws from the net mechanism: from a list of distances, and over multisets by branch and bound, none listed.

Every multiset lies in exactly one of a set of boxes, low <= n <= high. Of each box a lower bound on the distances in it
is known, so an upper bound on the weights. One round:

1. draw a box with probability proportional to its number of multisets times its bound on their weight;
2. draw one of its multisets uniformly;
3. accept it with probability weight / bound, and end; else cut the box in two, bound both parts, and begin again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from math import ceil

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.private.mechanisms.net.net_distribution import Multisets, NetDistribution, whole_below
from dpopt.private.mechanisms.randomness import RandomWords
from dpopt.private.tables.closed import StaysHere

MOST_BOXES = 1 << 21

FIRST_STEPS, STEPS = 50, 12

_LARGEST_SCALE, _LARGEST_SUM = 2.0**24, 2**60

_Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Box:
    low: _Counts
    high: _Counts
    multipliers: NDArray[np.float64]
    bound: int


class BoxSampler(StaysHere):
    """Draws a multiset with probability exactly proportional to its weight.

    **Distribution.** Given all earlier rounds, a round ends with multiset n with probability proportional to weight(n),
    so the multiset has that distribution exactly, whatever boxes and bounds the earlier rounds led to: they decide how
    long it takes. All figures are whole numbers, and no logarithm is taken of a random number. Privacy: E9 in
    docs/privacy.

    This is A* sampling (Maddison, Tarlow and Minka 2014) without Gumbels. There, the keys are a Poisson process seen
    from its end: the box with the largest bound plus Gumbel is the next one whose exponential clock rings, at a rate of
    its number of multisets times its bound. Clocks have no memory, so which box rings next can as well be drawn afresh,
    in proportion to the rates; the differences of Gumbels, which a machine would have to round, disappear (Dymetman,
    Bouchard and Carter 2012).

    **Bounds.** SD-5 and SD-6 of models/small_database, in exact integers; any multipliers give a valid bound. A bound
    that were wrong would change the distribution: a distance below its bound is an error, never a silent draw.

    **Time.** The number of rounds depends on the records, and is not hidden (known limits). It is never limited: a
    limit would have to change what is released. After 2^21 boxes none is cut any more, so memory stays below a public
    amount.

    Checked by `tests/private/test_net_boxes.py` (every output of every script of words, on a tiny net), and
    `tests/statistics/test_draws.py` (chi-square against enumeration).

    Source of the bounds: weak duality; of the draw: Dymetman, Bouchard and Carter 2012, "The OS* algorithm".

    The `targets` (k,), private, are m times the exact count of each query, and `size` is public: the distance of a
    multiset n is max_q |targets_q - size (answers n)_q|. How many `rounds` were played and `boxes` are held is private,
    too: they depend on the records.
    """

    def __init__(
        self, multisets: Multisets, targets: _Counts, *, size: int, distribution: NetDistribution, source: RandomWords
    ) -> None:
        from dpopt.private.mechanisms.net.net_kernels import Net

        elements, records = multisets.elements, multisets.records
        self._net = Net(multisets.answers, targets, size, records)
        self._distribution, self._source = distribution, source
        largest = max(int(np.abs(targets).max()), size * records, 1)
        self._scale = min(_LARGEST_SCALE, float(_LARGEST_SUM // (2 * largest)))
        self._table = np.empty((elements + 1, records + 1), dtype=np.uint64)
        self._boxes: list[_Box] = []
        self._sums = _Sums()
        self.rounds = 0
        low, high = np.zeros(elements, dtype=np.int64), np.full(elements, records, dtype=np.int64)
        whole = self._bounded(low, high, np.zeros(len(targets)), 0, FIRST_STEPS)
        self._boxes.append(whole)
        self._sums.set(0, self._rate(whole))

    @property
    def boxes(self) -> int:
        """How many boxes are held. Private."""
        return len(self._boxes)

    @property
    def total(self) -> int:
        """Sum over the boxes of multisets times bound on their weight; a round ends at odds of weights to it. Private."""
        return self._sums.total

    @property
    def top(self) -> int:
        """The best bound on a weight. Private."""
        return max(self._distribution.weight(box.bound) for box in self._boxes)

    def draw(self) -> _Counts:
        """Return the counts (A,) of the drawn multiset."""
        from dpopt.private.mechanisms.net.net_kernels import distance, member, sizes

        found = np.empty(len(self._boxes[0].low), dtype=np.int64)
        while True:
            self.rounds += 1
            place = self._sums.find(whole_below(self._sums.total, self._source))
            box = self._boxes[place]
            number = int(sizes(box.low, box.high, self._net.total, self._table))
            member(box.low, box.high, self._net.total, self._table, whole_below(number, self._source), found)
            reached = int(distance(self._net, found))
            if reached < box.bound:
                raise ProgramError("a bound of the net mechanism does not hold; please report this")
            if whole_below(self._distribution.weight(box.bound), self._source) < self._distribution.weight(reached):
                return found
            if number > 1 and len(self._boxes) < MOST_BOXES:
                self._cut(place)

    def _cut(self, place: int) -> None:
        """Replace a box by two, cut where about half of its multisets lie on either side."""
        from dpopt.private.mechanisms.net.net_kernels import cut

        box = self._boxes[place]
        along = cut(box.low, box.high, self._net.answers, box.multipliers)
        middle = self._middle(box, int(along))
        high, low = box.high.copy(), box.low.copy()
        high[along], low[along] = middle, middle + 1
        lower = self._bounded(box.low.copy(), high, box.multipliers, box.bound, STEPS)
        upper = self._bounded(low, box.high.copy(), box.multipliers, box.bound, STEPS)
        self._boxes[place] = lower
        self._boxes.append(upper)
        self._sums.set(place, self._rate(lower))
        self._sums.set(len(self._boxes) - 1, self._rate(upper))

    def _middle(self, box: _Box, along: int) -> int:
        """Return about the mean count of an element in a box: its part of the records that the lower ends leave over."""
        low, high = int(box.low[along]), int(box.high[along])
        least, most = int(box.low.sum()), int(box.high.sum())
        return min(high - 1, low + (self._net.total - least) * (high - low) // (most - least))

    def _bounded(self, low: _Counts, high: _Counts, multipliers: NDArray[np.float64], parent: int, steps: int) -> _Box:
        """Return a box with the best bound known: its parent's, that of one query, and that of multipliers."""
        from dpopt.private.mechanisms.net.net_kernels import certified_bound, improve, interval_bound, tighten

        tighten(low, high, self._net.total)
        box, moved = (low, high, self._net), multipliers.copy()
        improve(*box, moved, steps)
        bound = max(parent, int(interval_bound(*box)), int(certified_bound(*box, moved, self._scale)))
        return _Box(low, high, moved, bound)

    def _rate(self, box: _Box) -> int:
        """Return the number of multisets of a box times the bound on their weight."""
        from dpopt.private.mechanisms.net.net_kernels import sizes

        return int(sizes(box.low, box.high, self._net.total, self._table)) * self._distribution.weight(box.bound)


class _Sums:
    """Whole numbers at places 0, 1, ...; their total, and the place at which a running sum passes a number."""

    def __init__(self) -> None:
        self._capacity = 1
        self._nodes = [0, 0]

    @property
    def total(self) -> int:
        return self._nodes[1]

    def set(self, place: int, value: int) -> None:
        while place >= self._capacity:
            self._grow()
        node = place + self._capacity
        self._nodes[node] = value
        while node > 1:
            node //= 2
            self._nodes[node] = self._nodes[2 * node] + self._nodes[2 * node + 1]

    def find(self, number: int) -> int:
        node = 1
        while node < self._capacity:
            node *= 2
            if number >= self._nodes[node]:
                number -= self._nodes[node]
                node += 1
        return node - self._capacity

    def _grow(self) -> None:
        leaves = [*self._nodes[self._capacity :], *[0] * self._capacity]
        self._capacity *= 2
        nodes = [0] * self._capacity + leaves
        for node in range(self._capacity - 1, 0, -1):
            nodes[node] = nodes[2 * node] + nodes[2 * node + 1]
        self._nodes = nodes


MOST_LISTED = 1 << 17
"""Up to this number of multisets all are listed, with a running time that hardly depends on the records."""

_AT_ONCE = 1 << 14


def draw_listed(distances: NDArray[np.int64], weight: Callable[[int], int], source: RandomWords) -> int:
    """Return the place of a candidate, with probability exactly proportional to the weight of its distance.

    `distances` (K,) are private; `weight` gives whole numbers.
    """
    values, places, numbers = np.unique(distances, return_inverse=True, return_counts=True)
    weights = [weight(value) for value in values.tolist()]
    ends = list(accumulate(each * number for each, number in zip(weights, numbers.tolist(), strict=True)))
    point = whole_below(ends[-1], source)
    group = bisect_right(ends, point)
    rank = (point - (ends[group - 1] if group else 0)) // weights[group]
    return int(np.flatnonzero(places == group)[rank])


def draw_multiset(
    multisets: Multisets, targets: NDArray[np.int64], *, size: int, distribution: NetDistribution, source: RandomWords
) -> NDArray[np.int64]:
    """Return the counts (A,) of a multiset, with probability exactly proportional to the weight of its distance.

    Up to 2^17 multisets are listed, more are searched by branch and bound; which of the two depends on public numbers,
    and the distribution is the same. Privacy: E8, E9 in docs/privacy.
    """
    if multisets.number > MOST_LISTED:
        return BoxSampler(multisets, targets, size=size, distribution=distribution, source=source).draw()
    return multiset_of(multisets, draw_listed(all_distances(multisets, targets, size), distribution.weight, source))


def all_distances(multisets: Multisets, targets: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return the distance max_q |targets_q - size (answers n)_q| of every multiset n, in their order."""
    from dpopt.private.mechanisms.net.net_kernels import Net, distances, sizes

    low, high, table = _whole(multisets)
    sizes(low, high, multisets.records, table)
    found, net = np.empty(multisets.number, dtype=np.int64), Net(multisets.answers, targets, size, multisets.records)
    for part in range(ceil(len(found) / _AT_ONCE)):
        first = part * _AT_ONCE
        distances(net, table, first, found[first : first + _AT_ONCE])
    return found


def multiset_of(multisets: Multisets, rank: int) -> NDArray[np.int64]:
    """Return the counts (A,) of the multiset of a rank, from 0."""
    from dpopt.private.mechanisms.net.net_kernels import member, sizes

    low, high, table = _whole(multisets)
    sizes(low, high, multisets.records, table)
    counts = np.empty(multisets.elements, dtype=np.int64)
    member(low, high, multisets.records, table, rank, counts)
    return counts


def _whole(multisets: Multisets) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]:
    """Return the box of all multisets, and room for its table of sizes."""
    elements, records = multisets.elements, multisets.records
    return (
        np.zeros(elements, dtype=np.int64),
        np.full(elements, records, dtype=np.int64),
        np.empty((elements + 1, records + 1), dtype=np.uint64),
    )
