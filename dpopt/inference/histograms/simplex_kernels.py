"""The loop of `simplex_descent`. Compiled; importing this module imports numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel


@kernel
def divide(
    children: NDArray[np.int64],
    first_child: NDArray[np.int64],
    best: NDArray[np.float64],
    variances: NDArray[np.float64],
    least: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return each node's value (v,), at least `least`: the root's own, and below it each node's part of its parent's."""
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

    A child that is known exactly (variance 0) keeps its value; what is left goes to the others. One that nothing is known of
    (variance inf) gets what the others leave.
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
    chosen = chosen[:spread]
    # x_u = z_u - price V_u where that is above 0: bins leave in the order of z_u / V_u.
    order = chosen[np.argsort(-(best[chosen] / variances[chosen]))]
    gathered, width, price = 0.0, 0.0, 0.0
    for place in range(order.size):
        child = order[place]
        if place and best[child] <= price * variances[child]:
            break
        gathered += best[child]
        width += variances[child]
        price = (gathered - left) / width
    for place in range(order.size):
        child = order[place]
        result[child] = max(best[child] - price * variances[child], 0.0)
