"""The compiled loop that compares the counts of one marginal with those of public records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel


@kernel
def distances(
    cells: NDArray[np.int32],
    counts: NDArray[np.signedinteger],
    positions: NDArray[np.int32],
    multiplicity: NDArray[np.int64],
    attributes: NDArray[np.int32],
    strides: NDArray[np.int64],
    total: int,
    size: int,
    scratch: NDArray[np.int64],
) -> tuple[int, int]:
    """Return the sum and the maximum over the cells of |total * count - size * multiplicity|.

    Parameters
    ----------
    cells, counts
        Cells that are not empty, and how many records they hold.
    positions : (r, d) int32
        Places of the public records' codes in their domains; -1 where the record lies in no cell.
    attributes, strides : (k,)
        Of the marginal.
    scratch : int64
        Zeros, one per cell at least; zeros again on return.
    """
    where = np.empty(len(positions), dtype=np.int64)
    for record in range(len(positions)):
        cell = np.int64(0)
        for literal in range(len(attributes)):
            attribute = attributes[literal]
            if attribute < 0:
                break
            position = positions[record, attribute]
            if position < 0:
                cell = np.int64(-1)
                break
            cell += strides[literal] * position
        where[record] = cell
        if cell >= 0:
            scratch[cell] += size * multiplicity[record]
    added = np.int64(0)
    largest = np.int64(0)
    for index in range(len(cells)):
        difference = abs(total * np.int64(counts[index]) - scratch[cells[index]])
        added += difference
        largest = max(largest, difference)
        scratch[cells[index]] = 0
    for record in range(len(positions)):
        if where[record] >= 0:
            difference = scratch[where[record]]  # 0 in cells that were compared above
            added += difference
            largest = max(largest, difference)
            scratch[where[record]] = 0
    return added, largest  # type: ignore[return-value]  # numba's int64 are Python's int here
