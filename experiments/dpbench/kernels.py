"""The loops of the peers: the cheapest partition, greedy clusters, multiplicative updates. Importing this imports numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel

LONGEST = 2_000
"""Of a new cluster that is looked at before a count begins it: more change its cost by a millionth of the noise."""


@kernel
def cheapest_partition(costs: NDArray[np.float64], steps: NDArray[np.int64], before: NDArray[np.int64]) -> None:
    """Write where the last interval of the cheapest partition of the first j bins begins, (n + 1,).

    costs[k, i]: of the interval of 2^k bins from i * steps[k] on.
    """
    number = before.size - 1
    best = np.full(number + 1, np.inf)
    best[0] = 0.0
    for stop in range(1, number + 1):
        for k in range(steps.size):
            start = stop - (1 << k)
            if start < 0:
                break
            if start % steps[k]:
                continue
            cost = best[start] + costs[k, start // steps[k]]
            if cost < best[stop]:
                best[stop], before[stop] = cost, start


@kernel
def greedy_clusters(counts: NDArray[np.float64], noise: float, cluster: NDArray[np.int64]) -> None:
    """Write the cluster of each of the sorted counts: a count joins while that costs less than to begin a new cluster."""
    number = counts.size
    sums, squares = np.zeros(number + 1), np.zeros(number + 1)
    for place in range(number):
        sums[place + 1] = sums[place] + counts[place]
        squares[place + 1] = squares[place] + counts[place] ** 2
    start, last = 0, noise
    cluster[0] = 0
    for place in range(1, number):
        size = place + 1 - start
        own = squares[place + 1] - squares[start] - (sums[place + 1] - sums[start]) ** 2 / size + noise / size
        alone, before = np.inf, 0.0
        for stop in range(place + 1, min(place + LONGEST, number) + 1):
            length = stop - place
            off = (counts[place] - (sums[stop] - sums[place]) / length) ** 2
            alone = min(alone, off + noise / length**2)
            if length > 1 and off - before >= noise / (length - 1) ** 2 - noise / (number - place) ** 2:
                break
            before = off
        if own >= last + alone:
            start, own = place, noise
            cluster[place] = cluster[place - 1] + 1
        else:
            cluster[place] = cluster[place - 1]
        last = own


@kernel
def reweight(cells: NDArray[np.float64], corners: NDArray[np.int64], answers: NDArray[np.float64], passes: int) -> None:
    """Multiply the cells (r, c) of boxes (m, 4) until they have these answers, the total kept (MWEM)."""
    total = cells.sum()
    for _ in range(passes):
        for q in range(answers.size):
            top, bottom, left, right = corners[q]
            inside = cells[top:bottom, left:right].sum()
            ratio = np.exp((answers[q] - inside) / (2.0 * total))
            cells[top:bottom, left:right] *= ratio
            cells *= total / (total + (ratio - 1.0) * inside)
