"""Compiled loops, exact, in whole numbers: sums of counts with weights, and the sides of directions on which points lie.

The weights are rounded products; by how much a record of each bin moves the sums is found as well. Points are
projected, one record at a time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel


@kernel
def weighted_sums(
    heights: NDArray[np.float64],
    norms: NDArray[np.float64],
    rows: NDArray[np.int64],
    first: int,
    apart: int,
    table: NDArray[np.float64],
    counts: NDArray[np.int64],
    sums: NDArray[np.int64],
    absolute: NDArray[np.int64],
    squares: NDArray[np.int64],
) -> None:
    """Add to each sum all counts, each times its weight, and to two norms of each bin those of its weights.

    The weight of bin i in sum k is the whole number nearest to heights_k table[p_k q_i mod period] norms_i, with q_i =
    first + apart i. It is the same one wherever it is used: a charge that is computed from these norms is right
    whatever rounding made of the weights.

    `heights` and `rows` (k,) are the factor and p of each sum, `norms` and `counts` (n,) the factor and count of each bin,
    `table` has the length of the period. Added to are `sums` (k,), and for each bin the sums of its weights' `absolute`
    values and of their `squares` (n,).
    """
    period = table.size
    for k in range(rows.size):
        total = np.int64(0)
        place = rows[k] * first % period
        step = rows[k] * apart % period
        for i in range(norms.size):
            weight = np.int64(np.rint(heights[k] * table[place] * norms[i]))
            total += weight * counts[i]
            absolute[i] += abs(weight)
            squares[i] += weight * weight
            place += step
            if place >= period:
                place -= period
        sums[k] += total


_BLOCK = 1024


def count_positive_sides(coordinates: NDArray[np.int32], normals: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each normal v how many points x have <x, v> > 0, (k,); a tie counts as 0.

    Numbers are whole and every sum of products is below 2^53 (`dpopt.queries.halfspaces.halfspaces`), so that the
    products of matrices are exact: they do not depend on the order of additions, nor a record's side on the block that
    it falls into. `coordinates` are (n, d), `normals` (k, d).
    """
    matrix = np.ascontiguousarray(normals.T, dtype=np.float64)
    found = np.zeros(len(normals), dtype=np.int64)
    for start in range(0, len(coordinates), _BLOCK):
        sides = coordinates[start : start + _BLOCK].astype(np.float64) @ matrix
        found += np.count_nonzero(sides > 0.0, axis=0)
    return found
