"""The compiled loops of counting on columns of bits, in one file so that numba's cache notices every edit.

All arrays are C-contiguous and inputs read-only. Shapes and ranges are checked by the callers, except where noted.
Positions in `words` are unsigned: with signed ones numba allows for negative indices and LLVM vectorises nothing.
Counts of many clauses share sets of columns: the AND of two columns is made once, in the first-level cache, for all
third columns, and what is empty or full in a run of words is passed over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from dpopt.compilation import kernel

CONSTANT, CONJUNCTION, PARITY, GENERAL = 0, 1, 2, 3  # how the records that satisfy a clause are counted
PLANES = 6  # five binary digits for a number of true literals (at most 31), and one row for the carry

Words = NDArray[np.uint64]
Columns = NDArray[np.int32]
Seven = tuple[np.uint64, np.uint64, np.uint64, np.uint64, np.uint64, np.uint64, np.uint64]


class Run(NamedTuple):
    """A run of words of every column: word w of column c is words[c * stride + begin + w], w = 0 .. size - 1."""

    words: Words
    stride: np.uint64
    begin: np.uint64
    size: np.uint64


class Literals(NamedTuple):
    """m clauses over columns of bits, or some of them."""

    columns: Columns
    """Shape (m, k). Column of each literal; beyond the width of a clause, anything. In one order of all columns."""
    flips: NDArray[np.uint32]
    """Shape (m,). Bit j is set: literal j is true where its column is 0."""
    widths: NDArray[np.int8]
    """Shape (m,). Numbers of literals."""
    accepted: NDArray[np.uint32]
    """Shape (m,). As in `Clauses`."""

    def part(self, chosen: slice) -> Literals:
        """Return some of the clauses, without a copy."""
        return Literals(self.columns[chosen], self.flips[chosen], self.widths[chosen], self.accepted[chosen])


def _population_count(_typing_context, _word):  # type: ignore[no-untyped-def]
    """Return the number of set bits of a 64-bit word, by LLVM's ctpop (vectorised where the machine can)."""

    def generate(_context, builder, _signature, arguments):  # type: ignore[no-untyped-def]
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


population_count = cast("Callable[[np.uint64], np.uint64]", intrinsic(_population_count))


@kernel
def count_tile(run: Run, clauses: Literals, totals: NDArray[np.int64]) -> None:
    """Add to `totals` the number of places at which each clause is true, on one run of words of every column.

    Places are bits, also those beyond the last record; every clause is counted as it stands, or as the complement of
    its negation where that is less work.
    """
    planes = np.empty(PLANES * np.int64(run.size), np.uint64)
    for i in range(clauses.widths.size):
        width, flip = clauses.widths[i], clauses.flips[i]
        form, mask, complement, invert = _normal_form(clauses.accepted[i], width)
        if form == PARITY:  # a flipped literal only turns odd into even
            complement ^= np.int64(population_count(np.uint64(flip))) & 1 == 1
            flip = np.uint32(0)
        if invert:
            flip ^= np.uint32((1 << width) - 1)
        found = _count_form(run, clauses.columns, i, flip, width, form, mask, planes)
        totals[i] += 64 * np.int64(run.size) - found if complement else found


@kernel
def _normal_form(accepted: np.uint32, width: int) -> tuple[int, np.int64, bool, bool]:
    """Return the form, the mask to count, whether to take the complement, and whether to invert every literal."""
    mask = np.int64(accepted)
    full = np.int64((2 << width) - 1)
    complement = False
    if 2 * np.int64(population_count(np.uint64(accepted))) > width + 1:
        mask ^= full
        complement = True
    if mask == 0:
        return CONSTANT, mask, complement, False
    if mask == 1:  # all literals false: the conjunction of the opposite literals
        return CONJUNCTION, np.int64(1 << width), complement, True
    if mask == 1 << width:
        return CONJUNCTION, mask, complement, False
    if mask == 0xAAAAAAAA & full:
        return PARITY, mask, complement, False
    if mask == 0x55555555 & full:
        return PARITY, mask ^ full, not complement, False
    return GENERAL, mask, complement, False


@kernel
def _count_form(
    run: Run, columns: Columns, i: int, flips: np.uint32, width: int, form: int, mask: np.int64, planes: Words
) -> np.int64:
    """Count the places at which clause i, in its normal form, is true."""
    if form == CONSTANT:
        return np.int64(0)
    if form != GENERAL and width > 3:
        found = _count_long(run, columns, i, flips, width, form == PARITY, planes)
    elif form != GENERAL:
        # The usual cases first. A missing second literal is the first one again, a missing third one the second.
        words, n, second, third = run.words, run.size, min(1, width - 1), min(2, width - 1)
        a, b = _start(run, columns[i, 0]), _start(run, columns[i, second])
        c = _start(run, columns[i, third])
        if form == CONJUNCTION:
            flip_b, flip_c = _flip(flips, second), _flip(flips, third)
            found = _count_three(words, words, n, a, b, c, _flip(flips, 0), flip_b, flip_c)
        else:
            found = _count_odd(words, words, n, a, b, c, ~np.uint64(0) if width == 3 else np.uint64(0))
    elif width <= 4:
        found = _count_four(run, columns, i, flips, width, mask)
    elif width <= 7:
        found = _count_seven(run, columns, i, flips, width, mask)
    else:
        found = _count_general(run, columns, i, flips, width, mask, planes)
    return found


@kernel
def _start(run: Run, column: int | np.int32) -> np.uint64:
    """Return where the run of a column begins."""
    return np.uint64(column) * run.stride + run.begin


@kernel
def _flip(flips: np.uint32, literal: int) -> np.uint64:
    """Return the word to XOR with the column of a literal: all ones if it is flipped."""
    return np.uint64(0) - np.uint64(flips >> np.uint32(literal) & np.uint32(1))


@kernel
def _count_three(
    scratch: Words,
    words: Words,
    n: np.uint64,
    a: np.uint64,
    b: np.uint64,
    c: np.uint64,
    flip_a: np.uint64,
    flip_b: np.uint64,
    flip_c: np.uint64,
) -> np.int64:
    """Count the bits of an AND of three runs of n words; the first one lies in `scratch`."""
    total = np.uint64(0)
    for w in range(n):
        total += population_count((scratch[a + w] ^ flip_a) & (words[b + w] ^ flip_b) & (words[c + w] ^ flip_c))
    return np.int64(total)


@kernel
def _count_odd(
    scratch: Words, words: Words, n: np.uint64, a: np.uint64, b: np.uint64, c: np.uint64, keep_c: np.uint64
) -> np.int64:
    """Count the bits of the XOR of 3 runs of n words; the first is in `scratch`, the third is ANDed with `keep_c`."""
    total = np.uint64(0)
    for w in range(n):
        total += population_count(scratch[a + w] ^ words[b + w] ^ (words[c + w] & keep_c))
    return np.int64(total)


@kernel
def _count_long(
    run: Run, columns: Columns, i: int, flips: np.uint32, width: int, parity: bool, scratch: Words
) -> np.int64:
    """Count a conjunction or parity of four literals or more: all but the last two are put together in `scratch`."""
    words, n, zero = run.words, run.size, np.uint64(0)
    a, flip_a = _start(run, columns[i, 0]), _flip(flips, 0)
    for w in range(n):
        scratch[w] = words[a + w] ^ flip_a
    for literal in range(1, width - 2):
        a, flip_a = _start(run, columns[i, literal]), _flip(flips, literal)
        if parity:
            for w in range(n):
                scratch[w] ^= words[a + w]
        else:
            for w in range(n):
                scratch[w] &= words[a + w] ^ flip_a
    b, c = _start(run, columns[i, width - 2]), _start(run, columns[i, width - 1])
    if parity:
        return _count_odd(scratch, words, n, zero, b, c, ~zero)
    return _count_three(scratch, words, n, zero, b, c, zero, _flip(flips, width - 2), _flip(flips, width - 1))


@kernel
def _polynomial(mask: np.int64) -> tuple[np.uint64, ...]:
    """Return the truth of a mask of numbers 0 .. 7 as a polynomial modulo 2 in the binary digits of the number.

    Coefficient i, all ones or zero, belongs to the product of the digits that are set in i. (Moebius transform.)
    """
    bits = mask & 0xFF
    bits ^= (bits & 0x55) << 1
    bits ^= (bits & 0x33) << 2
    bits ^= (bits & 0x0F) << 4
    return (
        _coefficient(bits, 0),
        _coefficient(bits, 1),
        _coefficient(bits, 2),
        _coefficient(bits, 3),
        _coefficient(bits, 4),
        _coefficient(bits, 5),
        _coefficient(bits, 6),
        _coefficient(bits, 7),
    )


@kernel
def _coefficient(bits: np.int64, place: int) -> np.uint64:
    return np.uint64(0) - np.uint64(bits >> place & 1)


@kernel
def _count_four(run: Run, columns: Columns, i: int, flips: np.uint32, width: int, mask: np.int64) -> np.int64:
    """Count the records with an accepted number of three or four literals, which are added up bit by bit."""
    words = run.words
    c0, c1, c2, c3, c4, _, _, _ = _polynomial(mask)
    a, flip_a = _start(run, columns[i, 0]), _flip(flips, 0)
    b, flip_b = _start(run, columns[i, 1]), _flip(flips, 1)
    c, flip_c = _start(run, columns[i, 2]), _flip(flips, 2)
    d, flip_d = _start(run, columns[i, width - 1]), _flip(flips, width - 1)
    keep_d = ~np.uint64(0) if width == 4 else np.uint64(0)
    total = np.uint64(0)
    for w in range(run.size):
        x, y, z = words[a + w] ^ flip_a, words[b + w] ^ flip_b, words[c + w] ^ flip_c
        v = (words[d + w] ^ flip_d) & keep_d
        three, twos = x ^ y ^ z, (x & y) | (z & (x ^ y))
        one, carry = three ^ v, three & v
        two, four = twos ^ carry, twos & carry
        total += population_count(c0 ^ (one & c1) ^ (two & (c2 ^ (one & c3))) ^ (four & c4))
    return np.int64(total)


@kernel
def _first_seven(run: Run, columns: Columns, i: int, flips: np.uint32, width: int) -> tuple[Seven, Seven]:
    """Return where the runs of five to seven literals begin, and the flips; missing ones repeat the last."""
    sixth, last = min(5, width - 1), min(6, width - 1)
    starts = (
        _start(run, columns[i, 0]),
        _start(run, columns[i, 1]),
        _start(run, columns[i, 2]),
        _start(run, columns[i, 3]),
        _start(run, columns[i, 4]),
        _start(run, columns[i, sixth]),
        _start(run, columns[i, last]),
    )
    return starts, (
        _flip(flips, 0),
        _flip(flips, 1),
        _flip(flips, 2),
        _flip(flips, 3),
        _flip(flips, 4),
        _flip(flips, sixth),
        _flip(flips, last),
    )


@kernel
def _add_seven(
    words: Words, w: int, starts: Seven, flips: Seven, keep_f: np.uint64, keep_g: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Return the binary digits of the sum of seven bits, lowest first, for all places of a word at once."""
    a, b, c = (words[starts[0] + w] ^ flips[0], words[starts[1] + w] ^ flips[1], words[starts[2] + w] ^ flips[2])
    d, e = words[starts[3] + w] ^ flips[3], words[starts[4] + w] ^ flips[4]
    f, g = (words[starts[5] + w] ^ flips[5]) & keep_f, (words[starts[6] + w] ^ flips[6]) & keep_g
    left, left_twos = a ^ b ^ c, (a & b) | (c & (a ^ b))
    right, right_twos = d ^ e ^ f, (d & e) | (f & (d ^ e))
    one, twos = left ^ right ^ g, (left & right) | (g & (left ^ right))
    four = (left_twos & right_twos) | (twos & (left_twos ^ right_twos))
    return one, left_twos ^ right_twos ^ twos, four


@kernel
def _count_seven(run: Run, columns: Columns, i: int, flips: np.uint32, width: int, mask: np.int64) -> np.int64:
    """Count the records with an accepted number of five to seven literals, which are added up bit by bit."""
    words = run.words
    c0, c1, c2, c3, c4, c5, c6, c7 = _polynomial(mask)
    starts, turned = _first_seven(run, columns, i, flips, width)
    keep_f = ~np.uint64(0) if width >= 6 else np.uint64(0)
    keep_g = ~np.uint64(0) if width == 7 else np.uint64(0)
    total = np.uint64(0)
    for w in range(run.size):
        one, two, four = _add_seven(words, w, starts, turned, keep_f, keep_g)
        high = c4 ^ (one & c5) ^ (two & (c6 ^ (one & c7)))
        total += population_count(c0 ^ (one & c1) ^ (two & (c2 ^ (one & c3))) ^ (four & high))
    return np.int64(total)


@kernel
def _count_general(
    run: Run, columns: Columns, i: int, flips: np.uint32, width: int, mask: np.int64, planes: Words
) -> np.int64:
    """Count the records with an accepted number of eight literals or more, by adding the literals up in binary.

    Plane number e (n words from e * n on) holds digit e of the number for 64 records per word.
    """
    _fill_planes(run, columns, i, flips, width, planes)
    n = run.size
    plane_2, plane_4, plane_8, plane_16 = n, n + n, n + n + n, n + n + n + n
    ones, zero = ~np.uint64(0), np.uint64(0)
    total = np.uint64(0)
    for block in range(4):  # the numbers 8 * block to 8 * block + 7
        eight_of_mask = mask >> (8 * block) & 0xFF
        if eight_of_mask == 0:
            continue
        c0, c1, c2, c3, c4, c5, c6, c7 = _polynomial(eight_of_mask)
        flip_8 = zero if block & 1 else ones
        flip_16 = zero if block & 2 else ones
        for w in range(n):
            one, two, four = planes[w], planes[plane_2 + w], planes[plane_4 + w]
            high = c4 ^ (one & c5) ^ (two & (c6 ^ (one & c7)))
            accepted = c0 ^ (one & c1) ^ (two & (c2 ^ (one & c3))) ^ (four & high)
            accepted &= (planes[plane_8 + w] ^ flip_8) & (planes[plane_16 + w] ^ flip_16)
            total += population_count(accepted)
    return np.int64(total)


@kernel
def _fill_planes(run: Run, columns: Columns, i: int, flips: np.uint32, width: int, planes: Words) -> None:
    """Write the five digits of the number of true literals: the first seven at once, then one after the other."""
    words, n, every = run.words, run.size, ~np.uint64(0)
    starts, turned = _first_seven(run, columns, i, flips, width)
    plane_2, plane_4, carry = n, n + n, np.uint64(PLANES - 1) * n
    planes[n + n + n : carry] = 0
    for w in range(n):
        planes[w], planes[plane_2 + w], planes[plane_4 + w] = _add_seven(words, w, starts, turned, every, every)
    for literal in range(7, width):
        column, flip = _start(run, columns[i, literal]), _flip(flips, literal)
        for w in range(n):
            planes[carry + w] = words[column + w] ^ flip
        for digit in range(_digits(literal + 1)):
            plane = np.uint64(digit) * n
            for w in range(n):
                carried = planes[carry + w] & planes[plane + w]
                planes[plane + w] ^= planes[carry + w]
                planes[carry + w] = carried


@kernel
def _digits(number: int) -> int:
    """Return the number of binary digits of a positive number."""
    digits = 1
    while (1 << digits) <= number:
        digits += 1
    return digits


@kernel
def ones_of_tile(run: Run, ones: Columns) -> None:
    """Write how many places of this run of words are one, for every column."""
    for column in range(ones.size):
        start = _start(run, column)
        total = np.uint64(0)
        for w in range(run.size):
            total += population_count(run.words[start + w])
        ones[column] = np.int32(total)


@kernel
def add_pairs(run: Run, ones: Columns, first: int, end: int, pairs: NDArray[np.int64]) -> None:
    """Add to pairs[i, j], first <= i < end, i < j, the places of this run where columns i and j are both one."""
    words, n, full = run.words, run.size, 64 * np.int64(run.size)
    for i in range(first, end):
        if ones[i] == 0:
            continue
        a = _start(run, i)
        for j in range(i + 1, ones.size):
            if ones[j] == 0:
                continue
            if ones[i] == full or ones[j] == full:
                pairs[i, j] += min(ones[i], ones[j])
            else:
                pairs[i, j] += count_two(words, words, n, a, _start(run, j))


@kernel
def add_triples(run: Run, ones: Columns, triples: Columns, totals: NDArray[np.int64]) -> None:
    """Add to totals[i] the places of this run where all columns of triples[i] are one.

    Triples with the same first two columns follow each other. A triple with an empty column costs nothing, nor one with
    a full third column, nor all that share an empty pair.
    """
    words, n, full, m = run.words, run.size, 64 * np.int64(run.size), triples.shape[0]
    both = np.empty(np.int64(n), np.uint64)
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
                shared = _keep_both(words, n, _start(run, first), _start(run, second), both)
                if shared == 0:
                    break
            if ones[third] == full:
                totals[t] += shared
            else:
                totals[t] += count_two(both, words, n, np.uint64(0), _start(run, third))
        i = last


@kernel
def _keep_both(words: Words, n: np.uint64, a: np.uint64, b: np.uint64, both: Words) -> np.int64:
    """Write the AND of two runs of n words to `both` and return the number of its bits."""
    total = np.uint64(0)
    for w in range(n):
        shared = words[a + w] & words[b + w]
        both[w] = shared
        total += population_count(shared)
    return np.int64(total)


@kernel
def count_two(left: Words, right: Words, n: np.uint64, a: np.uint64, b: np.uint64) -> np.int64:
    """Count the bits of the AND of two runs of n words."""
    total = np.uint64(0)
    for w in range(n):
        total += population_count(left[a + w] & right[b + w])
    return np.int64(total)
