"""Whole counts on a tree, the best partition of bins, and moments of boxes. Compiled; importing this module imports numba.

Counts: rounding, and moves of single ones. The partition into a number of intervals: by dynamic programming. A box: of a grid
that is halved at random.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel


class Counts(NamedTuple):
    """Whole counts on a tree of v nodes, and the best moves below each; nodes between have numbers from v on."""

    children: NDArray[np.int64]  # (v,)
    values: NDArray[np.float64]  # (v,)
    variances: NDArray[np.float64]  # (v,)
    whole: NDArray[np.int64]  # (v,)
    sides: NDArray[np.int32]  # (2, ...) as `pair_children` writes them
    above: NDArray[np.int32]  # (...)
    best: NDArray[np.float64]  # (..., 3) what one up, one down and one exchanged change


@kernel
def round_down_the_tree(
    children: NDArray[np.int64],
    first_child: NDArray[np.int64],
    values: NDArray[np.float64],
    least: NDArray[np.int64],
    fixed: NDArray[np.bool_],
    whole: NDArray[np.int64],
) -> bool:
    """Divide whole[0] down the tree by largest remainders; return False if exact values stand in the way.

    `least` holds what each node has at least (what is known below it), `fixed` the nodes that have exactly that.
    """
    for node in range(children.size):
        first, number = first_child[node], children[node]
        missing = whole[node]
        remainders = np.empty(number)
        for place in range(number):
            child = first + place
            whole[child] = least[child]
            if not fixed[child]:
                whole[child] = max(least[child], int(np.floor(values[child] + 1e-9)))
            remainders[place] = -(values[child] - whole[child])
            missing -= whole[child]
        if missing == 0 or number == 0:
            continue
        order = np.argsort(remainders)
        step = 1 if missing > 0 else -1
        changed = True
        while missing != 0:
            if not changed:
                return False
            changed = False
            for turn in range(number):
                child = first + order[turn if step > 0 else number - 1 - turn]
                if missing == 0:
                    break
                if not fixed[child] and (step > 0 or whole[child] > least[child]):
                    whole[child] += step
                    missing -= step
                    changed = True
    return True


@kernel
def pair_children(
    children: NDArray[np.int64],
    first_child: NDArray[np.int64],
    sides: NDArray[np.int32],
    above: NDArray[np.int32],
) -> int:
    """Write a binary tree: the nodes with their numbers and, where there are over two children, nodes between; their number.

    `sides` (2, ...) holds the two below each node, -1 for none; `above` the one above. Those between stand before the nodes
    above them, from number v on.
    """
    used = children.size
    sides[:] = -1
    above[:] = -1
    largest = 1
    for node in range(children.size):
        largest = max(largest, children[node])
    row = np.empty(largest, dtype=np.int32)
    for node in range(children.size - 1, -1, -1):
        number = children[node]
        for place in range(number):
            row[place] = first_child[node] + place
        while number > 2:
            half = number // 2
            for place in range(half):
                sides[0, used], sides[1, used] = row[2 * place], row[2 * place + 1]
                above[row[2 * place]], above[row[2 * place + 1]] = used, used
                row[place] = used
                used += 1
            if number % 2:
                row[half] = row[number - 1]
            number = half + number % 2
        for place in range(number):
            sides[place, node] = row[place]
            above[row[place]] = node
    return used


@kernel
def summarize(counts: Counts, node: int, is_bin: bool) -> None:
    """Write to best[node] what the best moves below it change, its own cost included.

    Its own cost of one more and of one less is inf where it may not change, and 0 for nodes between.
    """
    best, up, down = counts.best, 0.0, 0.0
    if node < counts.values.size:
        variance = counts.variances[node]
        if variance == 0.0:
            up, down = np.inf, np.inf
        else:
            if variance < np.inf:
                beyond = 2.0 * (counts.whole[node] - counts.values[node])
                up, down = (1.0 + beyond) / variance, (1.0 - beyond) / variance
            if is_bin and counts.whole[node] <= 0:
                down = np.inf
    if is_bin:
        best[node, 0], best[node, 1], best[node, 2] = up, down, np.inf
        return
    one, other = counts.sides[0, node], counts.sides[1, node]
    if other < 0:
        best[node, 0] = up + best[one, 0]
        best[node, 1] = down + best[one, 1]
        best[node, 2] = best[one, 2]
        return
    best[node, 0] = up + min(best[one, 0], best[other, 0])
    best[node, 1] = down + min(best[one, 1], best[other, 1])
    across = min(best[one, 0] + best[other, 1], best[other, 0] + best[one, 1])
    best[node, 2] = min(across, best[one, 2], best[other, 2])


@kernel
def summarize_all(counts: Counts) -> None:
    """Write `best` for every node, those between included, from below."""
    used = counts.children.size
    for node in range(counts.children.size - 1, -1, -1):
        for _ in range(counts.children[node] - 2):  # the nodes between, in the order in which they were made
            summarize(counts, used, False)
            used += 1
        summarize(counts, node, counts.children[node] == 0)


@kernel
def best_bin(counts: Counts, node: int, direction: int) -> int:
    """Return the leaf below a node at which one more (0) or one less (1) costs least."""
    sides, best = counts.sides, counts.best
    while sides[0, node] >= 0:
        one, other = sides[0, node], sides[1, node]
        node = one if other < 0 or best[one, direction] <= best[other, direction] else other
    return node


@kernel
def best_exchange(counts: Counts) -> tuple[int, int]:
    """Return the leaves that gain and lose one in the best exchange."""
    sides, best = counts.sides, counts.best
    node = 0
    while True:
        one, other = sides[0, node], sides[1, node]
        if other < 0:
            node = one
            continue
        across = min(best[one, 0] + best[other, 1], best[other, 0] + best[one, 1])
        if across <= best[one, 2] and across <= best[other, 2]:
            if best[one, 0] + best[other, 1] <= best[other, 0] + best[one, 1]:
                return best_bin(counts, one, 0), best_bin(counts, other, 1)
            return best_bin(counts, other, 0), best_bin(counts, one, 1)
        node = one if best[one, 2] <= best[other, 2] else other


@kernel
def move(counts: Counts, leaf: int, step: int) -> None:
    """Add a step to a bin and to all nodes above it, and bring their summaries up to date."""
    node = leaf
    while node >= 0:
        if node < counts.whole.size:
            counts.whole[node] += step
        summarize(counts, node, node == leaf)
        node = counts.above[node]


@kernel
def improve(counts: Counts, margin: float, most: int) -> int:
    """Make best moves until none improves by more than `margin`, or `most` were made; return how many."""
    best, moves = counts.best, 0
    while moves < most:
        gain = min(best[0, 0], best[0, 1], best[0, 2])
        if not gain < -margin:
            break
        if best[0, 2] == gain:
            up, down = best_exchange(counts)
            move(counts, up, 1)
            move(counts, down, -1)
        elif best[0, 0] == gain:
            move(counts, best_bin(counts, 0, 0), 1)
        else:
            move(counts, best_bin(counts, 0, 1), -1)
        moves += 1
    return moves


@kernel
def best_cuts(
    sums: NDArray[np.float64],
    squares: NDArray[np.float64],
    by_depth: bool,
    intervals: int,
    before: NDArray[np.int32],
) -> float:
    """Write where the last interval of the best k intervals of the first j bins begins, (intervals + 1, n + 1); return f_K(n).

    f_k(j) = min_i f_(k-1)(i) + w(i, j) (IV-6). Intervals are made longer from j down; w only grows with them (IV-5), so that
    the search ends where w alone is no better than the best sum.

    Parameters
    ----------
    sums, squares : (n + 1,) float64
        Sums over the bins before each place, of the values and of their squares.
    by_depth : bool
        Whether w is the squared sum (IV-4), and not the sum of squared differences to the mean (IV-3).
    """
    bins = sums.size - 1
    last = np.full(bins + 1, np.inf)
    last[0] = 0.0
    for number in range(1, intervals + 1):
        best = np.full(bins + 1, np.inf)
        for stop in range(number, bins + 1):
            least, place = np.inf, stop - 1
            for start in range(stop - 1, number - 2, -1):
                total = sums[stop] - sums[start]
                spread = squares[stop] - squares[start] - total * total / (stop - start)
                cost = total * total if by_depth else spread
                if cost > least:
                    break
                found = last[start] + cost
                if found < least:
                    least, place = found, start
            best[stop] = least
            before[number, stop] = place
        last = best
    return float(last[bins])


@kernel
def box_moments(
    axes: NDArray[np.int64],
    halves: NDArray[np.int64],
    heights: NDArray[np.int64],
    shares: NDArray[np.float64],
    variances: NDArray[np.float64],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    means: NDArray[np.float64],
    apart: NDArray[np.float64],
) -> None:
    """Write mean and variance of the share of all records in each box.

    Node i of the tree of halves has the children 2 i + 1 and 2 i + 2; step d halves axis axes[d], into 2^halves[d] bins each.
    With l and r the shares of the box in both halves, p the first half's share of the node: p l + (1 - p) r.
    """
    depth = axes.size
    sides = starts.shape[1]
    low = np.zeros((depth + 1, sides), dtype=np.int64)
    width = np.empty((depth + 1, sides), dtype=np.int64)
    for axis in range(sides):
        width[0, axis] = 1 << heights[axis]
    for step in range(depth):
        for axis in range(sides):
            width[step + 1, axis] = width[step, axis]
        width[step + 1, axes[step]] = 1 << halves[step]
    node, turn = np.zeros(depth + 1, dtype=np.int64), np.zeros(depth + 1, dtype=np.int64)
    first, first_spread = np.zeros(depth + 1), np.zeros(depth + 1)
    for box in range(starts.shape[0]):
        level, node[0], turn[0] = 0, 0, 0
        for axis in range(sides):
            low[0, axis] = 0
        while True:
            inside, beside = True, False
            for axis in range(sides):
                end = low[level, axis] + width[level, axis]
                beside |= stops[box, axis] <= low[level, axis] or end <= starts[box, axis]
                inside &= starts[box, axis] <= low[level, axis] and end <= stops[box, axis]
            if not beside and not inside:
                turn[level + 1], node[level + 1] = 0, 2 * node[level] + 1
                for axis in range(sides):
                    low[level + 1, axis] = low[level, axis]
                level += 1
                continue
            mean, spread = (0.0 if beside else 1.0), 0.0
            while level > 0 and turn[level] == 1:
                level -= 1
                p, v = shares[node[level]], variances[node[level]]
                spread = (
                    (p * p + v) * first_spread[level]
                    + ((1.0 - p) * (1.0 - p) + v) * spread
                    + v * (first[level] - mean) ** 2
                )
                mean = p * first[level] + (1.0 - p) * mean
            if level == 0:
                break
            first[level - 1], first_spread[level - 1] = mean, spread
            turn[level] = 1
            node[level] += 1
            low[level, axes[level - 1]] += width[level, axes[level - 1]]
        means[box], apart[box] = mean, spread
