"""Which bins of the nearest non-negative tree are positive. Compiled; importing this module imports numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel


@kernel
def add_curves(
    starts: tuple[int, int],
    counts: tuple[int, int],
    bases: tuple[float, float],
    curves: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]],
    space: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.int32]],
) -> int:
    """Replace the first of two curves by the sum of both, and return how many breakpoints it has.

    A curve t(price) begins with its base and has a slope from each breakpoint (price, t) on; an infinite slope ends it.
    """
    prices, sizes, slopes, owners = curves
    one, other = starts
    stop_one, stop_other = one + counts[0], other + counts[1]
    base_one, price_one, slope_one = bases[0], 0.0, 0.0
    base_other, price_other, slope_other = bases[1], 0.0, 0.0
    place = starts[0]
    while one < stop_one or other < stop_other:
        if other >= stop_other or (one < stop_one and prices[one] <= prices[other]):
            base_one, price_one, slope_one = sizes[one], prices[one], slopes[one]
            price, owner = price_one, owners[one]
            size = base_one + base_other + slope_other * (price - price_other)
            one += 1
        else:
            base_other, price_other, slope_other = sizes[other], prices[other], slopes[other]
            price, owner = price_other, owners[other]
            size = base_other + base_one + slope_one * (price - price_one)
            other += 1
        space[0][place] = price
        space[1][place] = size
        space[2][place] = slope_one + slope_other
        space[3][place] = owner
        place += 1
        if space[2][place - 1] == np.inf:
            break
    for copied in range(starts[0], place):
        prices[copied] = space[0][copied]
        sizes[copied] = space[1][copied]
        slopes[copied] = space[2][copied]
        owners[copied] = space[3][copied]
    return place - starts[0]


@kernel
def positive_bins(
    children: NDArray[np.int64],
    first_child: NDArray[np.int64],
    starts: NDArray[np.int64],
    values: NDArray[np.float64],
    variances: NDArray[np.float64],
    tolerance: float,
    positive: NDArray[np.bool_],
) -> int:
    """Mark the bins (n,) above 0, and return -1, or a node whose exact value the nodes below it cannot reach.

    Price: the derivative of a subtree's least cost (halved) in its total t; the curve of a node is t as a function of it.
    """
    bins, nodes = positive.size, children.size
    curves = (np.empty(bins), np.empty(bins), np.empty(bins), np.empty(bins, dtype=np.int32))
    space = (np.empty(bins), np.empty(bins), np.empty(bins), np.empty(bins, dtype=np.int32))
    prices, sizes, slopes, owners = curves
    counts, bases = np.zeros(nodes, dtype=np.int64), np.zeros(nodes)
    for node in range(nodes - 1, -1, -1):
        place, variance, value = starts[node], variances[node], values[node]
        if children[node] == 0:
            if variance == 0.0:
                if value < -tolerance:
                    return node
                bases[node] = value
                continue
            prices[place] = 0.0 if variance == np.inf else -value / variance
            sizes[place] = 0.0
            slopes[place] = variance
            owners[place] = place
            counts[node] = 1
            continue
        first, number, width = first_child[node], children[node], 1
        while width < number:
            for child in range(first, first + number - width, 2 * width):
                pair = child + width
                counts[child] = add_curves(
                    (starts[child], starts[pair]),
                    (counts[child], counts[pair]),
                    (bases[child], bases[pair]),
                    curves,
                    space,
                )
                bases[child] += bases[pair]
            width *= 2
        count, base = counts[first], bases[first]
        if variance == 0.0:
            margin = tolerance * (1.0 + abs(value) + abs(base))
            if value < base - margin or (count == 0 and value > base + margin):
                return node
            for i in range(place, place + count):
                positive[owners[i]] = sizes[i] < value
            count, base = 0, value
        elif variance < np.inf:
            for i in range(place, place + count):
                prices[i] += (sizes[i] - value) / variance
                slope = slopes[i]
                slopes[i] = variance if slope == np.inf else slope * (variance / (variance + slope))
        counts[node] = count
        bases[node] = base
    for i in range(counts[0]):
        positive[owners[i]] = prices[i] < 0.0
    return -1
