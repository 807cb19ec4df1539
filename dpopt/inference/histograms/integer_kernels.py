"""Whole counts on a tree: rounding, and moves of single counts. Compiled; importing this module imports numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel

UP, DOWN, EXCHANGE = 0, 1, 2


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
def summarize(
    node: int,
    costs: NDArray[np.float64],
    is_bin: bool,
    sides: NDArray[np.int32],
    best: NDArray[np.float64],
) -> None:
    """Write to best[node] what the best moves below it change, its own cost included: one up, one down, one exchanged.

    `costs` (2,): what one more and one less change at the node itself.
    """
    if is_bin:
        best[node, 0], best[node, 1], best[node, 2] = costs[0], costs[1], np.inf
        return
    one, other = sides[0, node], sides[1, node]
    if other < 0:
        best[node, 0] = costs[0] + best[one, 0]
        best[node, 1] = costs[1] + best[one, 1]
        best[node, 2] = best[one, 2]
        return
    best[node, 0] = costs[0] + min(best[one, 0], best[other, 0])
    best[node, 1] = costs[1] + min(best[one, 1], best[other, 1])
    across = min(best[one, 0] + best[other, 1], best[other, 0] + best[one, 1])
    best[node, 2] = min(across, best[one, 2], best[other, 2])


@kernel
def own_costs(
    node: int,
    is_bin: bool,
    values: NDArray[np.float64],
    variances: NDArray[np.float64],
    whole: NDArray[np.int64],
    costs: NDArray[np.float64],
) -> None:
    """Write what one more and one less at a node change: inf where it may not change, 0 for nodes between (number >= v)."""
    costs[0], costs[1] = 0.0, 0.0
    if node < values.size:
        variance = variances[node]
        if variance == 0.0:
            costs[0], costs[1] = np.inf, np.inf
            return
        if variance < np.inf:
            beyond = 2.0 * (whole[node] - values[node])
            costs[0], costs[1] = (1.0 + beyond) / variance, (1.0 - beyond) / variance
        if is_bin and whole[node] <= 0:
            costs[1] = np.inf


@kernel
def summarize_all(
    children: NDArray[np.int64],
    values: NDArray[np.float64],
    variances: NDArray[np.float64],
    whole: NDArray[np.int64],
    sides: NDArray[np.int32],
    best: NDArray[np.float64],
) -> None:
    """Write `best` (..., 3) for every node, those between included, from below."""
    costs, used = np.zeros(2), children.size
    for node in range(children.size - 1, -1, -1):
        costs[:] = 0.0
        for _ in range(children[node] - 2):  # the nodes between, in the order in which they were made
            summarize(used, costs, False, sides, best)
            used += 1
        own_costs(node, children[node] == 0, values, variances, whole, costs)
        summarize(node, costs, children[node] == 0, sides, best)


@kernel
def best_bin(node: int, direction: int, sides: NDArray[np.int32], best: NDArray[np.float64]) -> int:
    """Return the leaf below a node at which one more (0) or one less (1) costs least."""
    while sides[0, node] >= 0:
        one, other = sides[0, node], sides[1, node]
        node = one if other < 0 or best[one, direction] <= best[other, direction] else other
    return node


@kernel
def best_exchange(sides: NDArray[np.int32], best: NDArray[np.float64]) -> tuple[int, int]:
    """Return the leaves that gain and lose one in the best exchange."""
    node = 0
    while True:
        one, other = sides[0, node], sides[1, node]
        if other < 0:
            node = one
            continue
        across = min(best[one, 0] + best[other, 1], best[other, 0] + best[one, 1])
        if across <= best[one, 2] and across <= best[other, 2]:
            if best[one, 0] + best[other, 1] <= best[other, 0] + best[one, 1]:
                return best_bin(one, 0, sides, best), best_bin(other, 1, sides, best)
            return best_bin(other, 0, sides, best), best_bin(one, 1, sides, best)
        node = one if best[one, 2] <= best[other, 2] else other


@kernel
def move(
    leaf: int,
    step: int,
    values: NDArray[np.float64],
    variances: NDArray[np.float64],
    whole: NDArray[np.int64],
    sides: NDArray[np.int32],
    above: NDArray[np.int32],
    best: NDArray[np.float64],
) -> None:
    """Add a step to a bin and to all nodes above it, and bring their summaries up to date."""
    costs, node = np.zeros(2), leaf
    while node >= 0:
        if node < whole.size:
            whole[node] += step
        own_costs(node, node == leaf, values, variances, whole, costs)
        summarize(node, costs, node == leaf, sides, best)
        node = above[node]


@kernel
def improve(
    values: NDArray[np.float64],
    variances: NDArray[np.float64],
    whole: NDArray[np.int64],
    sides: NDArray[np.int32],
    above: NDArray[np.int32],
    best: NDArray[np.float64],
    margin: float,
    most: int,
) -> int:
    """Make best moves until none improves by more than `margin`, or `most` were made; return how many."""
    moves = 0
    while moves < most:
        gain = min(best[0, 0], best[0, 1], best[0, 2])
        if not gain < -margin:
            break
        if best[0, 2] == gain:
            up, down = best_exchange(sides, best)
            move(up, 1, values, variances, whole, sides, above, best)
            move(down, -1, values, variances, whole, sides, above, best)
        elif best[0, 0] == gain:
            move(best_bin(0, 0, sides, best), 1, values, variances, whole, sides, above, best)
        else:
            move(best_bin(0, 1, sides, best), -1, values, variances, whole, sides, above, best)
        moves += 1
    return moves
