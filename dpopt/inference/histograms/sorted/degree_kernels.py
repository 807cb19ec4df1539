"""A graph with given degrees. Compiled; importing this module imports numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel


@kernel
def join_largest(degrees: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return edges (m, 2) of a graph with these falling degrees; fewer than half their sum where there is none.

    The last node, of smallest degree d, is joined to the d largest and taken away (Havel and Hakimi, for any node). Where
    those of equal degree are not all needed, the last of them are taken, so that the rest stays in order; number[c] nodes have
    degree c or more.
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
