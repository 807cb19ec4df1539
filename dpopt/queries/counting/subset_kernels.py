"""Counting all conjunctions of up to a few literals on bit-packed records: depth first, sharing each AND.

Importing this module imports numba.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import copy_into, kernel
from dpopt.errors import WorkloadError
from dpopt.queries.conjunctions.literals import LiteralGroups
from dpopt.queries.counting.compiled import population_count
from dpopt.threads import USUAL, in_threads

BLOCK_WORDS = 64 * 1024
"""Words of all literals in one block: they stay in the cache while all conjunctions are counted on it."""


def count_subsets(
    words: NDArray[np.uint64],
    groups: LiteralGroups,
    size: int,
    *,
    threads: int = USUAL,
    progress: Callable[[float], None] | None = None,
) -> list[NDArray[np.int64]]:
    """Count the records of each conjunction of 1, ..., `size` literals, in the order of `LiteralGroups.numbers`.

    `words` (d, W) is C-contiguous: bit r of literal l says whether record r satisfies it; bits beyond the last record
    are 0. `progress` is called, in the caller's thread, with the share of the first literals that are done.
    """
    if words.ndim != 2 or len(words) != groups.literals:
        raise WorkloadError(f"expected packed columns of {groups.literals} literals, found shape {words.shape}")
    befores = np.array([groups.before(rest) for rest in range(size)])  # (size, d + 1)
    counts = [np.zeros(groups.conjunctions(j + 1), dtype=np.int64) for j in range(size)]
    offsets = np.cumsum([0, *(one.size for one in counts)]).astype(np.int64)
    gathered = np.zeros(int(offsets[-1]), dtype=np.int64)
    block = max(64, BLOCK_WORDS // (groups.literals + size))

    def count(literal: slice) -> None:
        starts = offsets[:-1] + befores[:, literal.start]
        _count_from(np.ascontiguousarray(words), groups.next_group, literal.start, starts, block, gathered)

    in_threads(count, groups.literals, 1, threads, progress)
    return [gathered[begin:end] for begin, end in pairwise(offsets.tolist())]


@kernel
def _count_from(
    words: NDArray[np.uint64],
    next_group: NDArray[np.int64],
    first: int,
    starts: NDArray[np.int64],
    block: int,
    counts: NDArray[np.int64],
) -> None:
    """Sum the conjunctions that begin with literal `first`; those of size j + 1 stand from starts[j] on, in order."""
    literals, length = words.shape
    size = starts.size
    held = np.empty((size, block), np.uint64)
    chosen, places = np.empty(size, np.int64), np.empty(size, np.int64)
    for begin in range(0, length, block):
        width = min(block, length - begin)
        copy_into(places, starts)
        total = np.uint64(0)
        for word in range(width):
            one = words[first, begin + word]
            held[0, word] = one
            total += population_count(one)
        counts[places[0]] += np.int64(total)
        if size == 1:
            continue
        depth = 1
        chosen[1] = next_group[first]
        while depth:
            literal = chosen[depth]
            if literal >= literals:
                depth -= 1
                if depth:
                    chosen[depth] += 1
                continue
            total = np.uint64(0)
            if depth == size - 1:
                for word in range(width):
                    total += population_count(held[depth - 1, word] & words[literal, begin + word])
                counts[places[depth]] += np.int64(total)
                places[depth] += 1
                chosen[depth] += 1
                continue
            for word in range(width):
                one = held[depth - 1, word] & words[literal, begin + word]
                held[depth, word] = one
                total += population_count(one)
            counts[places[depth]] += np.int64(total)
            places[depth] += 1
            depth += 1
            chosen[depth] = next_group[literal]
