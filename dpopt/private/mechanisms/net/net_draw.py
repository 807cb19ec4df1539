"""Exact draws from the net mechanism: from a list of distances, and from all multisets, listed or not."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from math import ceil

import numpy as np
from numpy.typing import NDArray

from dpopt.private.mechanisms.net.net_boxes import BoxSampler
from dpopt.private.mechanisms.net.net_distribution import Multisets, NetDistribution, whole_below
from dpopt.private.mechanisms.randomness import RandomWords

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
    from dpopt.private.mechanisms.net.net_kernels import distances, sizes

    low, high, table = _whole(multisets)
    sizes(low, high, multisets.records, table)
    found = np.empty(multisets.number, dtype=np.int64)
    for part in range(ceil(len(found) / _AT_ONCE)):
        first = part * _AT_ONCE
        distances(multisets.answers, targets, size, multisets.records, table, first, found[first : first + _AT_ONCE])
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
