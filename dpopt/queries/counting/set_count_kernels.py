"""Counting sets of two and three columns of bits together, run of words by run of words, passing over what is empty or full.

Importing this module imports numba. All positions in `words` are unsigned, so that the loops over them are vectorised.
Counts of many clauses share these sets: the AND of two columns is made once, in the first-level cache, for all third
columns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel
from dpopt.queries.counting.compiled import population_count


@kernel
def ones_of_tile(
    words: NDArray[np.uint64], stride: int, begin: int, size: int, ones: NDArray[np.int32]
) -> None:
    """Write how many places of this run of words are one, for every column."""
    n = np.uint64(size)
    for column in range(ones.size):
        start = np.uint64(column) * np.uint64(stride) + np.uint64(begin)
        total = np.uint64(0)
        for w in range(n):
            total += population_count(words[start + w])
        ones[column] = np.int32(total)


@kernel
def add_pairs(
    words: NDArray[np.uint64],
    stride: int,
    begin: int,
    size: int,
    ones: NDArray[np.int32],
    first: int,
    end: int,
    pairs: NDArray[np.int64],
) -> None:
    """Add to pairs[i, j], first <= i < end, i < j, the places of this run where columns i and j are both one."""
    n, full = np.uint64(size), 64 * size
    for i in range(first, end):
        if ones[i] == 0:
            continue
        a = np.uint64(i) * np.uint64(stride) + np.uint64(begin)
        for j in range(i + 1, ones.size):
            if ones[j] == 0:
                continue
            if ones[i] == full or ones[j] == full:
                pairs[i, j] += min(ones[i], ones[j])
            else:
                pairs[i, j] += _count_two(
                    words, words, n, a, np.uint64(j) * np.uint64(stride) + np.uint64(begin)
                )


@kernel
def add_triples(
    words: NDArray[np.uint64],
    stride: int,
    begin: int,
    size: int,
    ones: NDArray[np.int32],
    triples: NDArray[np.int32],
    totals: NDArray[np.int64],
) -> None:
    """Add to totals[i] the places of this run where all columns of triples[i] are one.

    Triples with the same first two columns follow each other. A triple with an empty column costs nothing, nor one with a full
    third column, nor all that share an empty pair.
    """
    n, full, m = np.uint64(size), 64 * size, triples.shape[0]
    both = np.empty(size, np.uint64)
    i = 0
    while i < m:
        first, second = triples[i, 0], triples[i, 1]
        last = i + 1
        while last < m and triples[last, 0] == first and triples[last, 1] == second:
            last += 1
        if ones[first] == 0 or ones[second] == 0:
            i = last
            continue
        shared = np.int64(-1)  # the size of the pair, once it is needed
        for t in range(i, last):
            third = triples[t, 2]
            if ones[third] == 0:
                continue
            if shared < 0:
                a = np.uint64(first) * np.uint64(stride) + np.uint64(begin)
                b = np.uint64(second) * np.uint64(stride) + np.uint64(begin)
                shared = _keep_both(words, n, a, b, both)
                if shared == 0:
                    break
            if ones[third] == full:
                totals[t] += shared
            else:
                c = np.uint64(third) * np.uint64(stride) + np.uint64(begin)
                totals[t] += _count_two(both, words, n, np.uint64(0), c)
        i = last


@kernel
def _keep_both(
    words: NDArray[np.uint64], n: np.uint64, a: np.uint64, b: np.uint64, both: NDArray[np.uint64]
) -> np.int64:
    """Write the AND of two runs of n words to `both` and return the number of its bits."""
    total = np.uint64(0)
    for w in range(n):
        shared = words[a + w] & words[b + w]
        both[w] = shared
        total += population_count(shared)
    return np.int64(total)


@kernel
def _count_two(
    left: NDArray[np.uint64], right: NDArray[np.uint64], n: np.uint64, a: np.uint64, b: np.uint64
) -> np.int64:
    """Count the bits of the AND of two runs of n words."""
    total = np.uint64(0)
    for w in range(n):
        total += population_count(left[a + w] & right[b + w])
    return np.int64(total)
