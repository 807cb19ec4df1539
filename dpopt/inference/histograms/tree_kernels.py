"""The compiled loops over trees: variances of ranges and their mean; division from the root.

Importing this module imports numba.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import heap, kernel, take_largest


@kernel
def sibling_sums(
    children: NDArray[np.int64],
    first_child: NDArray[np.int64],
    variances: NDArray[np.float64],
    shares: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Write the sums over the siblings before and after each node, (4, v): variances before, after, shares before, after.

    Summed from both ends, so that a small sum beside a large one keeps its digits.
    """
    sums[:, 0] = 0.0
    for node in range(children.size):
        first, stop = first_child[node], first_child[node] + children[node]
        variance, share = 0.0, 0.0
        for child in range(first, stop):
            sums[0, child] = variance
            sums[2, child] = share
            variance += variances[child]
            share += shares[child]
        variance, share = 0.0, 0.0
        for child in range(stop - 1, first - 1, -1):
            sums[1, child] = variance
            sums[3, child] = share
            variance += variances[child]
            share += shares[child]


@kernel
def climb_ranges(
    parent: NDArray[np.int64],
    leaf_of_bin: NDArray[np.int64],
    variances: NDArray[np.float64],
    shares: NDArray[np.float64],
    sums: NDArray[np.float64],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    found: NDArray[np.float64],
) -> None:
    """Write the variance of each range.

    The part of a range below node u is b x_u plus something of variance c. With s the sibling shares of what the range
    covers, b_parent = sum_u s_u b_u and c_parent = sum_u c_u + sum_u V_u (b_u - b_parent)^2.
    """
    for query in range(starts.size):
        if starts[query] == stops[query]:
            continue
        left, right = leaf_of_bin[starts[query]], leaf_of_bin[stops[query] - 1]
        slope, rest = 1.0, 0.0
        if left != right:
            slope_left, rest_left, slope_right, rest_right = 1.0, 0.0, 1.0, 0.0
            # Children have larger numbers than parents, and each level larger ones than the level above: the larger of two
            # nodes is never above the other, and climbing it ends at two siblings.
            while parent[left] != parent[right]:
                if left > right:  # what comes after it, below the same parent, is covered
                    mean = shares[left] * slope_left + sums[3, left]
                    rest_left += variances[left] * (slope_left - mean) ** 2
                    rest_left += sums[1, left] * (1.0 - mean) ** 2 + sums[0, left] * mean**2
                    slope_left = mean
                    left = parent[left]
                else:
                    mean = shares[right] * slope_right + sums[2, right]
                    rest_right += variances[right] * (slope_right - mean) ** 2
                    rest_right += sums[0, right] * (1.0 - mean) ** 2 + sums[1, right] * mean**2
                    slope_right = mean
                    right = parent[right]
            between, share = 0.0, 0.0
            if right > left + 1:
                between = max(sums[0, right] - sums[0, left] - variances[left], 0.0)
                share = max(sums[2, right] - sums[2, left] - shares[left], 0.0)
            mean = shares[left] * slope_left + shares[right] * slope_right + share
            rest = rest_left + rest_right + between * (1.0 - mean) ** 2
            rest += variances[left] * (slope_left - mean) ** 2 + variances[right] * (slope_right - mean) ** 2
            rest += (sums[0, left] + sums[1, right]) * mean**2
            slope = mean
            left = parent[left]
        while left > 0:
            mean = shares[left] * slope
            rest += variances[left] * (slope - mean) ** 2 + (sums[0, left] + sums[1, left]) * mean**2
            slope = mean
            left = parent[left]
        found[query] = rest + slope**2 * variances[0]


@kernel
def climb_and_return(
    parent: NDArray[np.int64],
    leaf_of_bin: NDArray[np.int64],
    variances: NDArray[np.float64],
    shares: NDArray[np.float64],
    sums: NDArray[np.float64],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    weights: NDArray[np.float64],
    by_variance: NDArray[np.float64],
    by_share: NDArray[np.float64],
    by_sum: NDArray[np.float64],
    deepest: int,
) -> float:
    """Return the weighted sum of the ranges' variances; add its derivatives by variances, shares (v,) and sums (4, v).

    Each range climbs as in `tree_kernels.climb_ranges`, which has the formulas. What every step began and ended with is
    kept, and the derivatives go back down the same way: `at` is that by the slope of the node just reached.
    """
    nodes, sides = np.empty(2 * deepest, dtype=np.int64), np.empty(2 * deepest, dtype=np.int64)
    before, after = np.empty(2 * deepest), np.empty(2 * deepest)
    total = 0.0
    for query in range(starts.size):
        weight = weights[query]
        left, right = leaf_of_bin[starts[query]], leaf_of_bin[stops[query] - 1]
        steps, rest, slope = 0, 0.0, 1.0
        met_left, met_right, between, slope_left, slope_right = -1, -1, 0.0, 1.0, 1.0
        if left != right:
            while parent[left] != parent[right]:
                if left > right:
                    node, side, old = left, 0, slope_left
                    mean = shares[node] * old + sums[3, node]
                    rest += sums[1, node] * (1.0 - mean) ** 2 + sums[0, node] * mean**2
                    slope_left, left = mean, parent[left]
                else:
                    node, side, old = right, 1, slope_right
                    mean = shares[node] * old + sums[2, node]
                    rest += sums[0, node] * (1.0 - mean) ** 2 + sums[1, node] * mean**2
                    slope_right, right = mean, parent[right]
                rest += variances[node] * (old - mean) ** 2
                nodes[steps], sides[steps], before[steps], after[steps] = node, side, old, mean
                steps += 1
            share = 0.0
            if right > left + 1:
                between = max(sums[0, right] - sums[0, left] - variances[left], 0.0)
                share = max(sums[2, right] - sums[2, left] - shares[left], 0.0)
            met_left, met_right = left, right
            slope = shares[left] * slope_left + shares[right] * slope_right + share
            rest += between * (1.0 - slope) ** 2
            rest += variances[left] * (slope_left - slope) ** 2
            rest += variances[right] * (slope_right - slope) ** 2
            rest += (sums[0, left] + sums[1, right]) * slope**2
            left = parent[left]
        met, met_at = slope, steps
        while left > 0:
            mean = shares[left] * slope
            rest += variances[left] * (slope - mean) ** 2 + (sums[0, left] + sums[1, left]) * mean**2
            nodes[steps], before[steps], after[steps] = left, slope, mean
            steps += 1
            slope, left = mean, parent[left]
        total += weight * (rest + slope**2 * variances[0])

        at = 2.0 * weight * slope * variances[0]
        by_variance[0] += weight * slope**2
        for step in range(steps - 1, met_at - 1, -1):
            node, old, mean = nodes[step], before[step], after[step]
            apart = 2.0 * weight * variances[node] * (old - mean)
            inner = at - apart + 2.0 * weight * (sums[0, node] + sums[1, node]) * mean
            by_variance[node] += weight * (old - mean) ** 2
            by_sum[0, node] += weight * mean**2
            by_sum[1, node] += weight * mean**2
            by_share[node] += inner * old
            at = apart + inner * shares[node]
        if met_left < 0:
            continue
        left, right = met_left, met_right
        apart_left = 2.0 * weight * variances[left] * (slope_left - met)
        apart_right = 2.0 * weight * variances[right] * (slope_right - met)
        beside = sums[0, left] + sums[1, right]
        inner = at - apart_left - apart_right + 2.0 * weight * (beside * met - between * (1.0 - met))
        by_variance[left] += weight * (slope_left - met) ** 2
        by_variance[right] += weight * (slope_right - met) ** 2
        by_sum[0, left] += weight * met**2
        by_sum[1, right] += weight * met**2
        by_share[left] += inner * slope_left
        by_share[right] += inner * slope_right
        if right > left + 1:
            covered = weight * (1.0 - met) ** 2
            by_sum[0, right] += covered
            by_sum[0, left] -= covered
            by_variance[left] -= covered
            by_sum[2, right] += inner
            by_sum[2, left] -= inner
            by_share[left] -= inner
        at_left = apart_left + inner * shares[left]
        at_right = apart_right + inner * shares[right]
        for step in range(met_at - 1, -1, -1):
            node, old, mean = nodes[step], before[step], after[step]
            outside = sides[step]  # the row of siblings that the range does not cover
            inside = 1 - outside
            at = at_left if sides[step] == 0 else at_right
            apart = 2.0 * weight * variances[node] * (old - mean)
            inner = at - apart
            inner += 2.0 * weight * (sums[outside, node] * mean - sums[inside, node] * (1.0 - mean))
            by_variance[node] += weight * (old - mean) ** 2
            by_sum[inside, node] += weight * (1.0 - mean) ** 2
            by_sum[outside, node] += weight * mean**2
            by_sum[2 + inside, node] += inner
            by_share[node] += inner * old
            if sides[step] == 0:
                at_left = apart + inner * shares[node]
            else:
                at_right = apart + inner * shares[node]
    return total


@kernel
def return_from_siblings(
    children: NDArray[np.int64],
    first_child: NDArray[np.int64],
    by_variance: NDArray[np.float64],
    by_share: NDArray[np.float64],
    by_sum: NDArray[np.float64],
) -> None:
    """Add the contribution of the sums over earlier and later siblings to the derivatives of each node."""
    for node in range(children.size):
        first, stop = first_child[node], first_child[node] + children[node]
        variance, share = 0.0, 0.0
        for child in range(first, stop):  # `after` sums of earlier siblings hold this one
            by_variance[child] += variance
            by_share[child] += share
            variance += by_sum[1, child]
            share += by_sum[3, child]
        variance, share = 0.0, 0.0
        for child in range(stop - 1, first - 1, -1):  # `before` sums of later ones
            by_variance[child] += variance
            by_share[child] += share
            variance += by_sum[0, child]
            share += by_sum[2, child]


@kernel
def divide(
    children: NDArray[np.int64],
    first_child: NDArray[np.int64],
    best: NDArray[np.float64],
    variances: NDArray[np.float64],
    least: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return each node's value (v,), at least `least`: the root's own, below it each node's part of its parent's."""
    result = np.zeros(children.size)
    result[0] = max(best[0], least[0])
    for node in range(children.size):
        if children[node]:
            start = first_child[node]
            stop = start + children[node]
            over, held = best[start:stop] - least[start:stop], 0.0
            for child in range(start, stop):
                held += least[child]
            project(over, variances[start:stop], result[node] - held, result[start:stop])
            for child in range(start, stop):
                result[child] += least[child]
    return result


@kernel
def project(
    best: NDArray[np.float64], variances: NDArray[np.float64], total: float, result: NDArray[np.float64]
) -> None:
    """Write the point of the simplex of this total that is nearest to `best`, each square over its variance.

    A child that is known exactly (variance 0) keeps its value; what is left goes to the others. One that nothing is
    known of (variance inf) gets what the others leave.
    """
    left, spread = total, 0
    chosen = np.empty(best.size, dtype=np.int64)
    unknown = -1
    for child in range(best.size):
        if variances[child] == 0.0:
            result[child] = max(best[child], 0.0)
            left -= result[child]
        elif np.isinf(variances[child]):
            unknown = child
        else:
            chosen[spread] = child
            spread += 1
    left = max(left, 0.0)
    if unknown >= 0:
        taken = 0.0
        for place in range(spread):
            taken += max(best[chosen[place]], 0.0)
        if taken <= left:
            for place in range(spread):
                result[chosen[place]] = max(best[chosen[place]], 0.0)
            result[unknown] = left - taken
            return
        result[unknown] = 0.0
    # x_u = z_u - price V_u where that is above 0: bins leave in the order of z_u / V_u.
    turns, order = np.empty(spread), np.empty(spread, dtype=np.int64)
    for place in range(spread):
        turns[place] = best[chosen[place]] / variances[chosen[place]]
    heap(turns, order)
    gathered, width, price = 0.0, 0.0, 0.0
    for place in range(spread):
        child = chosen[take_largest(turns, order, spread - place)]
        if place and best[child] <= price * variances[child]:
            break
        gathered += best[child]
        width += variances[child]
        price = (gathered - left) / width
    for place in range(spread):
        child = chosen[place]
        result[child] = max(best[child] - price * variances[child], 0.0)
