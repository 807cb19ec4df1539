"""The operating system's generator: the source of all private draws but the noise on counts (`dpopt.private.mechanisms.noise`).

There is no seed. `SeededWords` exist for tests, simulations on public data and reproducible experiments; every ledger
that these or words of any other source touch reads infinite (`is_trusted`). Privacy: A7 in docs/privacy.
"""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class RandomWords(Protocol):
    """A source of independent, uniform 64-bit words."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return `count` fresh words; no word is ever returned twice."""
        ...


class SystemWords:
    """Words from the operating system's cryptographic generator."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return `count` fresh words."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


class SeededWords:
    """Words that a seed determines: for simulations on public data and for experiments, never private."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Philox(key=seed)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next `count` words of the stream."""
        return np.asarray(self._generator.random_raw(count), dtype=np.uint64)


def uniform_below(total: int, count: int, source: RandomWords) -> NDArray[np.uint64]:
    """Return integers exactly uniform on 0 .. total - 1, as high and low words, (count, 2); `total` is at most 2**127.

    Words are masked to the bit length of ``total - 1`` and rejected when above it, so each integer is exactly uniform
    and at most two pairs of words are needed for it on average. How many were rejected depends on `total`; that time is
    not hidden (known limits).
    """
    if not 1 <= total <= 2**127:
        raise ValueError(f"the range must be between 1 and 2**127, found {total}")
    bits = (total - 1).bit_length()
    high_mask = np.uint64((1 << max(bits - 64, 0)) - 1)
    low_mask = np.uint64((1 << min(bits, 64)) - 1)
    total_high, total_low = np.uint64(total >> 64), np.uint64(total & (2**64 - 1))
    accepted = np.empty((0, 2), dtype=np.uint64)
    while len(accepted) < count:
        missing = count - len(accepted)
        words = source.words(2 * missing).reshape(missing, 2)
        high, low = words[:, 0] & high_mask, words[:, 1] & low_mask
        below = (high < total_high) | ((high == total_high) & (low < total_low))
        accepted = np.concatenate([accepted, np.stack([high[below], low[below]], axis=1)])
    return accepted
