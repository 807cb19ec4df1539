"""The compiled loops over columns of zeros and ones. Importing this module imports numba."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel
from dpopt.queries.counting.compiled import population_count


@kernel
def lists_increase(starts: NDArray[np.int64], listed: NDArray[np.uint32], rows: int) -> bool:
    """Return whether every list increases strictly and stays below `rows`."""
    for column in range(starts.size - 1):
        begin, end = starts[column], starts[column + 1]
        for place in range(begin + 1, end):
            if listed[place] <= listed[place - 1]:
                return False
        if end > begin and listed[end - 1] >= rows:
            return False
    return True


@kernel
def set_listed_bits(
    starts: NDArray[np.int64],
    listed: NDArray[np.uint32],
    columns: NDArray[np.int64],
    words: NDArray[np.uint64],
) -> None:
    """Set bit r % 64 of words[i, r // 64] for every record r on the list of column columns[i]."""
    for i in range(columns.size):
        for place in range(starts[columns[i]], starts[columns[i] + 1]):
            row = listed[place]
            words[i, row >> np.uint32(6)] |= np.uint64(1) << np.uint64(row & np.uint32(63))


@kernel
def set_bits(words: NDArray[np.uint64], columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of set bits of each of these rows of words."""
    found = np.zeros(columns.size, np.int64)
    for i in range(columns.size):
        total = np.uint64(0)
        for w in range(words.shape[1]):
            total += population_count(words[columns[i], w])
        found[i] = np.int64(total)
    return found
