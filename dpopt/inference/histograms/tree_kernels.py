"""Variances of ranges of a consistent tree. Compiled; importing this module imports numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel


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

    The part of a range below node u is b x_u plus something of variance c. With s the sibling shares of what the range covers,
    b_parent = sum_u s_u b_u and c_parent = sum_u c_u + sum_u V_u (b_u - b_parent)^2.
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
