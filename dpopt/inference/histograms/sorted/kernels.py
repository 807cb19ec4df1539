"""Compiled kernels of sorted counts: graphs of given degrees, sums over paths.

Importing this module imports numba.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel


@kernel
def join_largest(degrees: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return edges (m, 2) of a graph with these falling degrees; fewer than half their sum where there is none.

    The last node, of smallest degree d, is joined to the d largest and taken away (Havel and Hakimi, for any node).
    Where those of equal degree are not all needed, the last of them are taken, so that the rest stays in order;
    number[c] nodes have degree c or more.
    """
    size = degrees.size
    left = degrees.copy()
    number = np.zeros(size + 1, dtype=np.int64)
    for i in range(size):
        number[left[i]] += 1
    for c in range(size - 1, -1, -1):
        number[c] += number[c + 1]
    edges = np.empty((degrees.sum() // 2, 2), dtype=np.int64)
    length = 0
    for node in range(size - 1, -1, -1):
        wanted = left[node]
        for c in range(wanted + 1):
            number[c] -= 1
        if wanted > node or length + wanted > len(edges) or (wanted > 0 and left[wanted - 1] == 0):
            return edges[:length]
        if wanted == 0:
            continue
        lowest = left[wanted - 1]
        whole = number[lowest + 1]  # nodes above the lowest degree that is touched
        end = number[lowest]
        first = end - (wanted - whole)
        for turn in range(wanted):
            other = turn if turn < whole else first + turn - whole
            number[left[other]] -= 1
            left[other] -= 1
            edges[length, 0], edges[length, 1] = node, other
            length += 1
    return edges[:length]


_TINY, _HUGE = 1e-100, 1e100


@kernel
def level_edges(
    least: NDArray[np.int64], most: NDArray[np.int64], spacing: NDArray[np.int64], share: float
) -> NDArray[np.int64]:
    """Return edges (c + 1,) of levels from least[0] to most[-1].

    A level that begins at v is as wide as the smallest spacing[k] of the bands that hold v; it ends where another band
    begins, and is no wider than `share` of v's distance from the start, 1 at least.
    """
    size = least.size
    found = [least[0]]
    found.pop()
    queue = np.empty(size, dtype=np.int64)  # bands that hold v, of rising spacing: the first is the smallest
    first, last, following = 0, 0, 0
    v = least[0]
    while v <= most[size - 1]:
        found.append(v)
        while following < size and least[following] <= v:
            while last > first and spacing[queue[last - 1]] >= spacing[following]:
                last -= 1
            queue[last] = following
            last += 1
            following += 1
        while first < last and most[queue[first]] < v:
            first += 1
        width = max(1, int(share * (v - least[0])))
        if first < last:
            width = min(width, spacing[queue[first]])
        v += width
        if following < size:
            v = min(v, least[following])
    found.append(most[size - 1] + 1)
    return np.array(found)


@kernel
def relative_distribution(gaussian: bool, scale: float, distance: float, nearest: float) -> float:
    """Return the probability of noise of this size, over that of the nearest."""
    if gaussian:
        return math.exp(-0.5 * (distance - nearest) * (distance + nearest) / (scale * scale))
    return math.exp(-(distance - nearest) / scale)


@kernel
def log_distribution(gaussian: bool, scale: float, distance: float) -> float:
    """Return ln of the probability of noise of this size, but for a constant."""
    return -0.5 * (distance / scale) ** 2 if gaussian else -distance / scale


@kernel
def forward_backward(
    values: NDArray[np.float64],
    gaussian: bool,
    scale: float,
    numbers: NDArray[np.float64],
    stay: NDArray[np.float64],
    climb: NDArray[np.float64],
    low: NDArray[np.int64],
    high: NDArray[np.int64],
    starts: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return how often each state is expected to be written (c,), the mean of every entry (n,), ln of the likelihood.

    States are the stages of the levels from the lowest; state i stands for numbers[i], is written and kept with
    probability stay[i], left for the next with climb[i]. Entry k has a state from low[k] to high[k] - 1, both
    nondecreasing; its forward sums are kept from starts[k] on. The likelihood lacks the constant of the noise.
    """
    size, states = values.size, numbers.size
    forward = np.empty(starts[size], dtype=np.float32)
    row, likelihood = np.empty(states), 0.0
    for k in range(size):
        # `carry` is the probability of standing at state i after k entries; states below low[k] can only be climbed through.
        before, past, behind = low[k], low[k], 0
        carry, unit = 1.0, 1.0
        if k > 0:
            before, past, behind = low[k - 1], high[k - 1], starts[k - 1]
            carry = 0.0
        nearest = math.inf
        for i in range(low[k], high[k]):
            nearest = min(nearest, abs(values[k] - numbers[i]))
        total, place = 0.0, starts[k]
        for i in range(before, high[k]):
            if i < past:
                carry += forward[behind + i - before] * unit
            if i >= low[k]:
                here = carry * stay[i] * relative_distribution(gaussian, scale, abs(values[k] - numbers[i]), nearest)
                row[i] = here
                total += here
            elif 0.0 < carry < _TINY and (unit == 1.0 or i >= past - 1):
                carry *= _HUGE  # only ratios matter, and nothing has been written yet
                unit *= _HUGE
                likelihood -= math.log(_HUGE)
            carry *= climb[i]
        if total > 0.0:
            for i in range(low[k], high[k]):
                forward[place + i - low[k]] = row[i] / total
            likelihood += math.log(total) + log_distribution(gaussian, scale, nearest)
        else:  # the path could not be here by any number that a double holds: begin anew
            for i in range(low[k], high[k]):
                forward[place + i - low[k]] = 1.0 / (high[k] - low[k])
            likelihood += math.log(1e-300)
    written, mean = np.zeros(states), np.empty(size)
    backward = np.ones(states)
    for k in range(size - 1, -1, -1):
        place = starts[k] - low[k]
        total = 0.0
        for i in range(low[k], high[k]):
            total += forward[place + i] * backward[i]
        if total <= 0.0:
            for i in range(low[k], high[k]):
                backward[i] = 1.0
                total += forward[place + i]
        mean[k] = 0.0
        for i in range(low[k], high[k]):
            share = forward[place + i] * backward[i] / total
            written[i] += share
            mean[k] += share * numbers[i]
        if k == 0:
            break
        nearest = math.inf
        for i in range(low[k], high[k]):
            nearest = min(nearest, abs(values[k] - numbers[i]))
        carry, unit, largest = 0.0, 1.0, 0.0
        for i in range(high[k] - 1, low[k - 1] - 1, -1):
            carry *= climb[i]
            if i >= low[k]:
                distribution = relative_distribution(gaussian, scale, abs(values[k] - numbers[i]), nearest)
                carry += stay[i] * distribution * backward[i] * unit
            if i < high[k - 1]:
                backward[i] = carry
                largest = max(largest, carry)
            elif 0.0 < carry < _TINY and (unit == 1.0 or i <= low[k]):
                carry *= _HUGE
                unit *= _HUGE
        for i in range(low[k - 1], high[k - 1]):
            backward[i] = backward[i] / largest if largest > 0.0 else 1.0
    return written, mean, likelihood
