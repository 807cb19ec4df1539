"""The compiled loops of the net mechanism over multisets: sizes and members of boxes, distances, lower bounds on them.

A box holds the multisets of m elements, as counts n of A elements with low <= n <= high. All figures that decide about
the distribution are exact 64-bit integers; floating point chooses multipliers and where a box is cut, which cost time
only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import copy_into, heap, kernel, take_largest

Counts = NDArray[np.int64]


class Net(NamedTuple):
    """What multisets of `total` elements answer, (k, A), 0 or 1 each, the targets (k,) of the queries, the public size."""

    answers: NDArray[np.int8]
    targets: Counts
    size: int
    total: int


@kernel
def sizes(low: Counts, high: Counts, total: int, table: NDArray[np.uint64]) -> np.int64:
    """Fill table[i, c] with the number of ways to give elements i .. A - 1 c in all; return that of (0, total).

    `table` has the shape (A + 1, total + 1); the box must hold less than 2^63 multisets, as all boxes of a full one do.
    """
    elements = len(low)
    table[elements, :] = 0
    table[elements, 0] = 1
    for i in range(elements - 1, -1, -1):
        window = np.uint64(0)
        for c in range(total + 1):
            if c >= low[i]:
                window += table[i + 1, c - low[i]]
            if c > high[i]:
                window -= table[i + 1, c - high[i] - 1]
            table[i, c] = window
    return np.int64(table[0, total])


@kernel
def member(low: Counts, high: Counts, total: int, table: NDArray[np.uint64], rank: int, found: Counts) -> None:
    """Write the multiset of this rank (from 0) into `found`; `table` is that of `sizes` of the same box."""
    left, place = total, np.uint64(rank)
    for i in range(len(low)):
        for count in range(low[i], min(high[i], left) + 1):
            ways = table[i + 1, left - count]
            if place < ways:
                found[i] = count
                left -= count
                break
            place -= ways


@kernel
def tighten(low: Counts, high: Counts, total: int) -> bool:
    """Shrink a box to the counts that its members take, in place; return whether it has any."""
    least, most = np.int64(0), np.int64(0)
    for i in range(len(low)):
        if low[i] > high[i]:
            return False
        least += low[i]
        most += high[i]
    if least > total or most < total:
        return False
    for i in range(len(low)):
        highest = total - least + low[i]
        lowest = total - most + high[i]
        if high[i] > highest:
            most -= high[i] - highest
            high[i] = highest
        if low[i] < lowest:
            least += lowest - low[i]
            low[i] = lowest
    return True


@kernel
def distance(net: Net, counts: Counts) -> np.int64:
    """Return the largest |target - size * answer| over the queries, the answers on a multiset being whole counts."""
    answers, targets, size, _ = net
    largest = np.int64(0)
    for q in range(len(targets)):
        held = np.int64(0)
        for x in range(len(counts)):
            held += answers[q, x] * counts[x]
        largest = max(largest, abs(targets[q] - size * held))
    return largest


@kernel
def distances(net: Net, table: NDArray[np.uint64], first: int, found: Counts) -> None:
    """Write the distances of the multisets of ranks first, first + 1, ... of the full box into `found`."""
    elements, total = net.answers.shape[1], net.total
    low, high = np.zeros(elements, dtype=np.int64), np.full(elements, total, dtype=np.int64)
    counts = np.empty(elements, dtype=np.int64)
    for place in range(len(found)):
        member(low, high, total, table, first + place, counts)
        found[place] = distance(net, counts)


@kernel
def interval_bound(low: Counts, high: Counts, net: Net) -> np.int64:
    """Return a lower bound on the distances in a box: the best by one query alone (SD-5). Exact for one multiset."""
    answers, targets, size, total = net
    least, most = low.sum(), high.sum()
    bound = np.int64(0)
    for q in range(len(targets)):
        inside_low, inside_high = np.int64(0), np.int64(0)
        for x in range(len(low)):
            if answers[q, x]:
                inside_low += low[x]
                inside_high += high[x]
        highest = min(inside_high, total - least + inside_low)
        lowest = max(inside_low, total - most + inside_high)
        bound = max(bound, targets[q] - size * highest, size * lowest - targets[q])
    return bound


@kernel
def _add_up(answers: NDArray[np.int8], multipliers: NDArray[np.number], reward: NDArray[np.number]) -> None:
    """Set reward (A,) to the sum of the answers on each element, each query's times its multiplier."""
    reward[:] = 0
    for q in range(len(multipliers)):
        if multipliers[q] != 0:
            for x in range(len(reward)):
                reward[x] += multipliers[q] * answers[q, x]


@kernel
def _fill(low: Counts, high: Counts, total: int, reward: NDArray[np.number], counts: Counts) -> None:
    """Set `counts` to a multiset of a box with the largest reward: the best elements are filled first."""
    copy_into(counts, low)
    left = total - low.sum()
    order = np.empty(reward.size, dtype=np.int64)
    heap(reward, order)
    for unfilled in range(reward.size, 0, -1):
        x = take_largest(reward, order, unfilled)
        taken = min(left, high[x] - low[x])
        counts[x] += taken
        left -= taken
        if left == 0:
            break


@kernel
def certified_bound(low: Counts, high: Counts, net: Net, multipliers: NDArray[np.float64], scale: float) -> np.int64:
    """Return a lower bound on the distances in a box by weak duality, for any multipliers; in exact integers (SD-6).

    With Y the multipliers times `scale`, rounded to whole numbers, and |Y| the sum of their sizes::

        max_q |t_q - size (Q n)_q|  >=  sum_q Y_q (t_q - size (Q n)_q) / |Y|  >=  (Y t - size max_box (Q' Y) n) / |Y|,

    and the maximum of a linear function over a box with a fixed sum is found by filling the best elements first.
    Nothing is rounded but the quotient, upwards, since distances are whole numbers.
    """
    answers, targets, size, total = net
    queries, elements = answers.shape
    whole = np.empty(queries, dtype=np.int64)
    value, norm = np.int64(0), np.int64(0)
    for q in range(queries):
        whole[q] = np.int64(np.rint(multipliers[q] * scale))
        norm += abs(whole[q])
        value += whole[q] * targets[q]
    if norm == 0:
        return np.int64(0)
    reward, counts = np.empty(elements, dtype=np.int64), np.empty(elements, dtype=np.int64)
    _add_up(answers, whole, reward)
    _fill(low, high, total, reward, counts)
    for x in range(elements):
        value -= size * reward[x] * counts[x]
    if value <= 0:
        return np.int64(0)
    return (value + norm - 1) // norm


@kernel
def improve(low: Counts, high: Counts, net: Net, multipliers: NDArray[np.float64], steps: int) -> None:
    """Move multipliers (k,), of l1 norm at most 1, by subgradient steps towards the best Lagrangian bound, in place.

    Maximizes min over the box of sum_q y_q (t_q - size (Q n)_q) over the l1 ball, with Polyak's step length towards
    halfway between the bound and the best distance met. Floating point: only the choice of multipliers depends on it.
    """
    answers, targets, size, total = net
    queries, elements = answers.shape
    current, kept = multipliers.copy(), multipliers.copy()
    reward = np.empty(elements, dtype=np.float64)
    residual = np.empty(queries, dtype=np.float64)
    counts = np.empty(elements, dtype=np.int64)
    best_value, best_distance = -1e300, 1e300
    for _ in range(steps):
        _add_up(answers, current, reward)
        _fill(low, high, total, reward, counts)
        value, norm, largest = 0.0, 0.0, 0.0
        for q in range(queries):
            held = np.int64(0)
            for x in range(elements):
                held += answers[q, x] * counts[x]
            residual[q] = np.float64(targets[q] - size * held)
            value += current[q] * residual[q]
            norm += residual[q] * residual[q]
            largest = max(largest, abs(residual[q]))
        best_distance = min(best_distance, largest)
        if value > best_value:
            best_value = value
            copy_into(kept, current)
        if norm == 0.0 or best_distance <= best_value:
            break
        target = 0.5 * (max(best_value, 0.0) + best_distance)
        current += (target - value) / norm * residual
        _onto_ball(current)
    copy_into(multipliers, kept)


@kernel
def _onto_ball(point: NDArray[np.float64]) -> None:
    """Project a point onto the l1 ball of radius 1, in place."""
    sizes_ = np.abs(point)
    if sizes_.sum() <= 1.0:
        return
    total, threshold = 0.0, 0.0
    order = np.empty(sizes_.size, dtype=np.int64)
    heap(sizes_, order)
    for place in range(sizes_.size):
        value = sizes_[take_largest(sizes_, order, sizes_.size - place)]
        total += value
        shift = (total - 1.0) / (place + 1)
        if value <= shift:
            break
        threshold = shift
    for q in range(len(point)):
        point[q] = np.sign(point[q]) * max(abs(point[q]) - threshold, 0.0)


@kernel
def _median(values: NDArray[np.float64]) -> float:
    order = np.empty(values.size, dtype=np.int64)
    heap(values, order)
    upper = lower = 0.0
    for place in range(values.size // 2 + 1):
        upper, lower = lower, values[take_largest(values, order, values.size - place)]
    return lower if values.size % 2 else (lower + upper) / 2


@kernel
def cut(low: Counts, high: Counts, answers: NDArray[np.int8], multipliers: NDArray[np.float64]) -> int:
    """Return the element along which to cut a box of more than one multiset: wide, and with a say in the bound."""
    elements = answers.shape[1]
    reward = np.empty(elements, dtype=np.float64)
    _add_up(answers, multipliers, reward)
    middle = _median(reward)
    chosen, best = 0, -1.0
    for x in range(elements):
        merit = (high[x] - low[x]) * (0.02 + abs(reward[x] - middle))
        if merit > best and high[x] > low[x]:
            chosen, best = x, merit
    return chosen
