"""Exact shares of queries "at least r of k bits", on bit-packed records, block by block."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from dpopt.compilation import kernel
from dpopt.queries.counting.compiled import population_count

CHUNK = 2_000
BLOCK = 512


def exact_answers(
    bits: NDArray[np.uint8], asked: NDArray[np.int64], predicate: str, *, threads: int = 2
) -> NDArray[np.float64]:
    """Return the share of records that satisfies each query, (q,).

    Parameters
    ----------
    bits : (d, n) uint8
    asked : (q, k) int64
        The columns of each query.
    predicate : str
        "and", "or" or "atleast:R".
    threads : int
    """
    width, records = asked.shape[1], bits.shape[1]
    needed = {"and": width, "or": 1}.get(predicate) or int(predicate.removeprefix("atleast:"))
    # At least r of k hold exactly if not at least k - r + 1 fail.
    negated = width - needed + 1 < needed
    if negated:
        needed = width - needed + 1
    words = packed(bits, negated=negated)
    found = np.zeros(len(asked), dtype=np.int64)
    asked = np.ascontiguousarray(asked)

    def count(begin: int) -> None:
        _count(words, asked[begin : begin + CHUNK], needed, found[begin : begin + CHUNK])

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(count, range(0, len(asked), CHUNK)))
    return np.asarray((records - found if negated else found) / records)


def packed(bits: NDArray[np.uint8], *, negated: bool = False) -> NDArray[np.uint64]:
    """Return the bits, or their negations, as words, (d, W); what lies beyond the last record is 0."""
    given = 1 - bits if negated else bits
    in_bytes = np.packbits(np.pad(given, ((0, 0), (0, -bits.shape[1] % 64))), axis=1)
    return np.ascontiguousarray(in_bytes).view(np.uint64)


@kernel
def _count(words: NDArray[np.uint64], asked: NDArray[np.int64], needed: int, found: NDArray[np.int64]) -> None:
    """Add up how many records have at least `needed` of the bits of each query."""
    length = words.shape[1]
    held = np.empty((needed, BLOCK), np.uint64)  # row r: the records with more than r of the bits so far
    for begin in range(0, length, BLOCK):
        width = min(BLOCK, length - begin)
        for query in range(len(asked)):
            held[:] = 0
            for place in range(asked.shape[1]):
                column = asked[query, place]
                for r in range(needed - 1, 0, -1):
                    for word in range(width):
                        held[r, word] |= held[r - 1, word] & words[column, begin + word]
                for word in range(width):
                    held[0, word] |= words[column, begin + word]
            total = np.uint64(0)
            for word in range(width):
                total += population_count(held[needed - 1, word])
            found[query] += np.int64(total)
