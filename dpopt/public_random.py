"""Public randomness with a seed, for choosing queries only: the same numbers on every machine and version, for ever.

It protects nothing: whoever knows the seed knows the numbers. Only the raw words of numpy's Philox generator are used,
whose stream numpy guarantees not to change, and mapped to integers here; the methods of numpy's Generator may change
with its version, and with them the fingerprint of every workload.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
from numpy.random import Philox
from numpy.typing import NDArray


def public_stream(seed: int, purpose: str) -> PublicRandom:
    """Return the stream of public randomness that belongs to a seed and a purpose."""
    digest = hashlib.sha256(f"{seed}:{purpose}".encode()).digest()
    return PublicRandom(int.from_bytes(digest[:8], "little"))


def uniforms(stream: PublicRandom, count: int) -> NDArray[np.float64]:
    """Return the next `count` numbers of the stream, uniform on the multiples of 2**-53 in [0, 1)."""
    words = stream.words(count)
    words >>= np.uint64(11)
    numbers = words.astype(np.float64)
    numbers *= 2.0**-53
    return numbers


def permutation(stream: PublicRandom, length: int, groups: NDArray[np.integer] | None = None) -> NDArray[np.int64]:
    """Return a uniformly random order of 0 .. length - 1; with `groups` (length,), at least 0, one group after the other."""
    return _order(stream.words(length), groups)


def _order(words: NDArray[np.uint64], groups: NDArray[np.integer] | None = None) -> NDArray[np.int64]:
    """Return the stable order of words, or by groups first: numbers are sorted with their places in their low bits.

    That is faster than to sort places. Only numbers whose high bits are equal, hardly any, are sorted once more.
    """
    low = np.uint64((1 << words.size.bit_length()) - 1)
    packed = words & ~low
    if groups is not None and groups.size:
        bits = np.uint64(int(groups.max()).bit_length())
        packed = words >> bits & ~low
        packed |= groups.astype(np.uint64) << (np.uint64(64) - bits)
    packed |= np.arange(words.size, dtype=np.uint64)
    packed.sort()
    equal = np.flatnonzero((packed[1:] ^ packed[:-1]) <= low)
    packed &= low
    order = packed.view(np.int64)
    if equal.size:
        equal = np.union1d(equal, equal + 1)
        tied = order[equal]
        order[equal] = tied[np.lexsort((tied, words[tied], *(() if groups is None else (groups[tied],))))]
    return order


_SORTED_AT_ONCE, _DRAWN_AT_ONCE = 2**21, 2**16


def shuffled(seed: int, purpose: str, counts: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield 0 .. r - 1, each as often as `counts` (r,) says, in a uniformly random order, a part after the other.

    The order is that of `permutation`: by the words of the stream. These are drawn again for each part, which sorts only
    those between two bounds, so that memory does not grow with the sum of the counts.

    Examples
    --------
    >>> [part.tolist() for part in shuffled(1, "example", np.array([3, 1, 2]))]
    [[0, 0, 0, 2, 2, 1]]
    """
    ends = np.cumsum(counts)
    number = int(ends[-1])
    parts = -(-number // _SORTED_AT_ONCE)
    for part in range(parts):
        least, most = np.uint64(2**64 * part // parts), np.uint64(2**64 * (part + 1) // parts - 1)
        stream, keys, taken = public_stream(seed, purpose), list[NDArray[np.uint64]](), list[NDArray[np.int64]]()
        for begin in range(0, number, _DRAWN_AT_ONCE):
            words = stream.words(min(_DRAWN_AT_ONCE, number - begin))
            inside = np.flatnonzero((words >= least) & (words <= most))
            keys.append(words[inside])
            taken.append(np.searchsorted(ends, inside + begin, side="right"))
        yield np.concatenate(taken)[_order(np.concatenate(keys))]


class PublicRandom:
    """A stream of uniform 64-bit words and the random numbers made of them.

    Parameters
    ----------
    seed
        0 .. 2^64 - 1; the key of Philox-4x64-10, with the counter starting at zero.
    Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
    """

    def __init__(self, seed: int) -> None:
        self._words = Philox(key=seed)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return the next `count` words of the stream."""
        return self._words.random_raw(count)

    def below(self, bounds: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return one integer for each bound, uniform on 0 .. bound - 1 exactly.

        A word is taken modulo its bound; words above the largest multiple of the bound are drawn again, so that no
        remainder is more likely than another. Bounds are >= 1, of any shape.
        """
        draws = self.words(bounds.size).reshape(bounds.shape)
        last = ~((~bounds + np.uint64(1)) % bounds)  # 2^64 - 1 - (2^64 mod bound): the last word to keep
        rejected = draws > last
        while rejected.any():
            draws[rejected] = self.words(int(np.count_nonzero(rejected)))
            rejected = draws > last
        return draws % bounds

    def below_each(self, bounds: NDArray[np.uint64], count: int) -> NDArray[np.uint64]:
        """Return, for each bound (b,) in turn, the `count` integers that `below` gives for it, (b, count); the same stream.

        All words are drawn at once; where one of them is rejected, which for bounds below 2^32 happens to one in 2^32
        of them at most, and to none where bounds are powers of two, the stream is set back and read bound by bound.
        """
        if not (bounds & (bounds - np.uint64(1))).any():
            return self.words(bounds.size * count).reshape(bounds.size, count) & (bounds - np.uint64(1))[:, None]
        before = self._words.state
        draws = self.words(bounds.size * count).reshape(bounds.size, count)
        last = ~((~bounds + np.uint64(1)) % bounds)
        if (draws > last[:, None]).any():
            self._words.state = before
            for row, bound in enumerate(bounds):
                draws[row] = self.below(np.full(count, bound, dtype=np.uint64))
            return draws
        return draws % bounds[:, None]

    def bits(self, count: int) -> NDArray[np.bool_]:
        """Return `count` fair bits: those of the next words, lowest bit first; bits that are left over are lost."""
        octets = self.words(-(-count // 64)).astype("<u8").view(np.uint8)
        return np.unpackbits(octets, count=count, bitorder="little").view(np.bool_)

    def one_below(self, bound: int) -> int:
        """Return one integer, uniform on 0 .. bound - 1, for a bound >= 1 of any size."""
        length = (bound - 1).bit_length()
        while True:
            draw = 0
            for word in self.words(-(-length // 64)).tolist():
                draw = draw << 64 | word
            draw &= (1 << length) - 1
            if draw < bound:
                return draw

    def distinct_below(self, bound: int, count: int) -> list[int]:
        """Return `count` distinct integers on 0 .. bound - 1 in increasing order, every such set equally likely.

        The first `count` steps of a Fisher-Yates shuffle that stores only the places it has touched.
        """
        moved: dict[int, int] = {}
        chosen = []
        for step in range(count):
            place = step + self.one_below(bound - step)
            chosen.append(moved.get(place, place))
            moved[place] = moved.get(step, step)
        return sorted(chosen)
