"""Isotonic regression with absolute differences. Compiled; importing this module imports numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel


@kernel
def least_medians(values: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the smallest of all nondecreasing s (n,) that minimize sum_k weights[k] |s_k - values[k]|.

    f_k(x), the least cost of the first k entries with s_k <= x, is convex, piecewise linear and falls to its minimum. Its
    bends, with the change of slope at each, are kept in a heap with the largest on top. Another value adds a bend of twice its
    weight; what then rises on the right, its weight, is cut off from the top. The top is where f_k begins to be least: s_k,
    unless s_(k+1) is smaller.
    """
    size = values.size
    bends, changes = np.empty(size), np.empty(size)
    tops = np.empty(size)
    length = 0
    for k in range(size):
        place = length
        length += 1
        while place > 0 and bends[(place - 1) // 2] < values[k]:
            above = (place - 1) // 2
            bends[place], changes[place] = bends[above], changes[above]
            place = above
        bends[place], changes[place] = values[k], 2.0 * weights[k]
        excess = weights[k]
        while excess >= changes[0]:
            excess -= changes[0]
            length -= 1
            bend, change = bends[length], changes[length]
            place = 0
            while True:
                below = 2 * place + 1
                if below >= length:
                    break
                if below + 1 < length and bends[below + 1] > bends[below]:
                    below += 1
                if bends[below] <= bend:
                    break
                bends[place], changes[place] = bends[below], changes[below]
                place = below
            bends[place], changes[place] = bend, change
        changes[0] -= excess
        tops[k] = bends[0]
    for k in range(size - 2, -1, -1):
        tops[k] = min(tops[k], tops[k + 1])
    return tops
