"""The compiled loops of counting, in one file so that numba's cache notices every edit.

All arrays are C-contiguous and inputs read-only. Shapes and ranges are checked by the callers, except where noted.
Positions in `words` are unsigned: with signed ones numba allows for negative indices and LLVM vectorises nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from dpopt.compilation import kernel

CONSTANT, CONJUNCTION, PARITY, GENERAL = 0, 1, 2, 3  # how the records that satisfy a clause are counted
PLANES = 6  # five binary digits for a number of true literals (at most 31), and one row for the carry


def _population_count(_typing_context, _word):  # type: ignore[no-untyped-def]
    """Return the number of set bits of a 64-bit word, by LLVM's ctpop (vectorised where the machine can)."""

    def generate(_context, builder, _signature, arguments):  # type: ignore[no-untyped-def]
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


population_count = cast("Callable[[np.uint64], np.uint64]", intrinsic(_population_count))


@kernel
def count_tile(
    words: NDArray[np.uint64],
    stride: int,
    begin: int,
    size: int,
    columns: NDArray[np.int32],
    flips: NDArray[np.uint32],
    widths: NDArray[np.int8],
    accepted: NDArray[np.uint32],
    totals: NDArray[np.int64],
) -> None:
    """Add to `totals` the numbers of places of which clauses are true, on one run of words of every column.

    Word w of column c is words[c * stride + begin + w], w = 0 .. size - 1. Places are bits, also those beyond the last
    record; every clause is counted as it stands, or as the complement of its negation where that is less work.
    """
    planes = np.empty(PLANES * size, np.uint64)
    length, start, n = np.uint64(stride), np.uint64(begin), np.uint64(size)
    for i in range(columns.shape[0]):
        width, flip = widths[i], flips[i]
        form, mask, complement, invert = _normal_form(accepted[i], width)
        if form == PARITY:  # a flipped literal only turns odd into even
            complement ^= np.int64(population_count(np.uint64(flip))) & 1 == 1
            flip = np.uint32(0)
        if invert:
            flip ^= np.uint32((1 << width) - 1)
        found = _count_form(words, length, start, n, columns, i, flip, width, form, mask, planes)
        totals[i] += 64 * size - found if complement else found


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
    words: NDArray[np.uint64],
    stride: np.uint64,
    begin: np.uint64,
    n: np.uint64,
    columns: NDArray[np.int32],
    i: int,
    flips: np.uint32,
    width: int,
    form: int,
    mask: np.int64,
    planes: NDArray[np.uint64],
) -> np.int64:
    """Count the places of which clause i is true, in its normal form."""
    if form == CONSTANT:
        return np.int64(0)
    zero, ones = np.uint64(0), ~np.uint64(0)
    # The usual cases by themselves: handing over a row of an array costs as much as counting one run. A missing second
    # literal is the first one again, a missing third one the second.
    second, third = min(1, width - 1), min(2, width - 1)
    a = np.uint64(columns[i, 0]) * stride + begin
    b = np.uint64(columns[i, second]) * stride + begin
    c = np.uint64(columns[i, third]) * stride + begin
    if form == CONJUNCTION and width <= 3:
        flip_b, flip_c = _flip(flips, second), _flip(flips, third)
        found = _count_three(words, words, n, a, b, c, _flip(flips, 0), flip_b, flip_c)
    elif form == CONJUNCTION:
        found = _count_conjunction(words, stride, begin, n, columns[i], flips, width, planes)
    elif form == PARITY and width <= 3:
        found = _count_odd(words, words, n, a, b, c, ones if width == 3 else zero)
    elif form == PARITY:
        found = _count_parity(words, stride, begin, n, columns[i], width, planes)
    elif width <= 4:
        found = _count_four(words, stride, begin, n, columns[i], flips, width, mask)
    elif width <= 7:
        found = _count_seven(words, stride, begin, n, columns[i], flips, width, mask)
    else:
        found = _count_general(words, stride, begin, n, columns[i], flips, width, mask, planes)
    return found


@kernel
def _flip(flips: np.uint32, literal: int) -> np.uint64:
    """Return the word to XOR with the column of a literal: all ones if it is flipped."""
    return np.uint64(0) - np.uint64(flips >> np.uint32(literal) & np.uint32(1))


@kernel
def _count_three(
    scratch: NDArray[np.uint64],
    words: NDArray[np.uint64],
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
        total += population_count(
            (scratch[a + w] ^ flip_a) & (words[b + w] ^ flip_b) & (words[c + w] ^ flip_c)
        )
    return np.int64(total)


@kernel
def _count_conjunction(
    words: NDArray[np.uint64],
    stride: np.uint64,
    begin: np.uint64,
    n: np.uint64,
    columns: NDArray[np.int32],
    flips: np.uint32,
    width: int,
    scratch: NDArray[np.uint64],
) -> np.int64:
    """Count a conjunction of four literals or more: all but the last two are put together in `scratch`."""
    zero = np.uint64(0)
    a, flip_a = np.uint64(columns[0]) * stride + begin, _flip(flips, 0)
    b, flip_b = np.uint64(columns[1]) * stride + begin, _flip(flips, 1)
    for w in range(n):
        scratch[w] = (words[a + w] ^ flip_a) & (words[b + w] ^ flip_b)
    for literal in range(2, width - 2):
        a, flip_a = np.uint64(columns[literal]) * stride + begin, _flip(flips, literal)
        for w in range(n):
            scratch[w] &= words[a + w] ^ flip_a
    b = np.uint64(columns[width - 2]) * stride + begin
    c = np.uint64(columns[width - 1]) * stride + begin
    return _count_three(scratch, words, n, zero, b, c, zero, _flip(flips, width - 2), _flip(flips, width - 1))


@kernel
def _count_parity(
    words: NDArray[np.uint64],
    stride: np.uint64,
    begin: np.uint64,
    n: np.uint64,
    columns: NDArray[np.int32],
    width: int,
    scratch: NDArray[np.uint64],
) -> np.int64:
    """Count the records with an odd number of true literals: four or more, none of them flipped."""
    a = np.uint64(columns[0]) * stride + begin
    b = np.uint64(columns[1]) * stride + begin
    for w in range(n):
        scratch[w] = words[a + w] ^ words[b + w]
    for literal in range(2, width - 2):
        a = np.uint64(columns[literal]) * stride + begin
        for w in range(n):
            scratch[w] ^= words[a + w]
    b = np.uint64(columns[width - 2]) * stride + begin
    c = np.uint64(columns[width - 1]) * stride + begin
    return _count_odd(scratch, words, n, np.uint64(0), b, c, ~np.uint64(0))


@kernel
def _count_odd(
    scratch: NDArray[np.uint64],
    words: NDArray[np.uint64],
    n: np.uint64,
    a: np.uint64,
    b: np.uint64,
    c: np.uint64,
    keep_c: np.uint64,
) -> np.int64:
    """Count the bits of an XOR of three runs of n words; the first lies in `scratch`, the third is ANDed with `keep_c`."""
    total = np.uint64(0)
    for w in range(n):
        total += population_count(scratch[a + w] ^ words[b + w] ^ (words[c + w] & keep_c))
    return np.int64(total)


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
def _count_four(
    words: NDArray[np.uint64],
    stride: np.uint64,
    begin: np.uint64,
    n: np.uint64,
    columns: NDArray[np.int32],
    flips: np.uint32,
    width: int,
    mask: np.int64,
) -> np.int64:
    """Count the records with an accepted number of three or four literals, which are added up bit by bit."""
    c0, c1, c2, c3, c4, _, _, _ = _polynomial(mask)
    a, flip_a = np.uint64(columns[0]) * stride + begin, _flip(flips, 0)
    b, flip_b = np.uint64(columns[1]) * stride + begin, _flip(flips, 1)
    c, flip_c = np.uint64(columns[2]) * stride + begin, _flip(flips, 2)
    d, flip_d = np.uint64(columns[width - 1]) * stride + begin, _flip(flips, width - 1)
    keep_d = ~np.uint64(0) if width == 4 else np.uint64(0)
    total = np.uint64(0)
    for w in range(n):
        x, y, z = words[a + w] ^ flip_a, words[b + w] ^ flip_b, words[c + w] ^ flip_c
        v = (words[d + w] ^ flip_d) & keep_d
        three, twos = x ^ y ^ z, (x & y) | (z & (x ^ y))
        one, carry = three ^ v, three & v
        two, four = twos ^ carry, twos & carry
        total += population_count(c0 ^ (one & c1) ^ (two & (c2 ^ (one & c3))) ^ (four & c4))
    return np.int64(total)


@kernel
def _add_seven(
    a: np.uint64, b: np.uint64, c: np.uint64, d: np.uint64, e: np.uint64, f: np.uint64, g: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Return the binary digits of the sum of seven bits, lowest first, for all places of a word at once."""
    left, left_twos = a ^ b ^ c, (a & b) | (c & (a ^ b))
    right, right_twos = d ^ e ^ f, (d & e) | (f & (d ^ e))
    one, twos = left ^ right ^ g, (left & right) | (g & (left ^ right))
    four = (left_twos & right_twos) | (twos & (left_twos ^ right_twos))
    return one, left_twos ^ right_twos ^ twos, four


@kernel
def _count_seven(
    words: NDArray[np.uint64],
    stride: np.uint64,
    begin: np.uint64,
    n: np.uint64,
    columns: NDArray[np.int32],
    flips: np.uint32,
    width: int,
    mask: np.int64,
) -> np.int64:
    """Count the records with an accepted number of five to seven literals, which are added up bit by bit."""
    c0, c1, c2, c3, c4, c5, c6, c7 = _polynomial(mask)
    sixth, last = min(5, width - 1), width - 1
    a, flip_a = np.uint64(columns[0]) * stride + begin, _flip(flips, 0)
    b, flip_b = np.uint64(columns[1]) * stride + begin, _flip(flips, 1)
    c, flip_c = np.uint64(columns[2]) * stride + begin, _flip(flips, 2)
    d, flip_d = np.uint64(columns[3]) * stride + begin, _flip(flips, 3)
    e, flip_e = np.uint64(columns[4]) * stride + begin, _flip(flips, 4)
    f, flip_f = np.uint64(columns[sixth]) * stride + begin, _flip(flips, sixth)
    g, flip_g = np.uint64(columns[last]) * stride + begin, _flip(flips, last)
    keep_f = ~np.uint64(0) if width >= 6 else np.uint64(0)
    keep_g = ~np.uint64(0) if width == 7 else np.uint64(0)
    total = np.uint64(0)
    for w in range(n):
        one, two, four = _add_seven(
            words[a + w] ^ flip_a,
            words[b + w] ^ flip_b,
            words[c + w] ^ flip_c,
            words[d + w] ^ flip_d,
            words[e + w] ^ flip_e,
            (words[f + w] ^ flip_f) & keep_f,
            (words[g + w] ^ flip_g) & keep_g,
        )
        high = c4 ^ (one & c5) ^ (two & (c6 ^ (one & c7)))
        total += population_count(c0 ^ (one & c1) ^ (two & (c2 ^ (one & c3))) ^ (four & high))
    return np.int64(total)


@kernel
def _count_general(
    words: NDArray[np.uint64],
    stride: np.uint64,
    begin: np.uint64,
    n: np.uint64,
    columns: NDArray[np.int32],
    flips: np.uint32,
    width: int,
    mask: np.int64,
    planes: NDArray[np.uint64],
) -> np.int64:
    """Count the records with an accepted number of eight literals or more, by adding the literals up in binary.

    Plane number e (n words from e * n on) holds digit e of the number for 64 records per word.
    """
    _fill_planes(words, stride, begin, n, columns, flips, width, planes)
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
def _fill_planes(
    words: NDArray[np.uint64],
    stride: np.uint64,
    begin: np.uint64,
    n: np.uint64,
    columns: NDArray[np.int32],
    flips: np.uint32,
    width: int,
    planes: NDArray[np.uint64],
) -> None:
    """Write the five digits of the number of true literals: the first seven at once, then one after the other."""
    a, flip_a = np.uint64(columns[0]) * stride + begin, _flip(flips, 0)
    b, flip_b = np.uint64(columns[1]) * stride + begin, _flip(flips, 1)
    c, flip_c = np.uint64(columns[2]) * stride + begin, _flip(flips, 2)
    d, flip_d = np.uint64(columns[3]) * stride + begin, _flip(flips, 3)
    e, flip_e = np.uint64(columns[4]) * stride + begin, _flip(flips, 4)
    f, flip_f = np.uint64(columns[5]) * stride + begin, _flip(flips, 5)
    g, flip_g = np.uint64(columns[6]) * stride + begin, _flip(flips, 6)
    plane_2, plane_4, carry = n, n + n, np.uint64(PLANES - 1) * n
    planes[n + n + n : carry] = 0
    for w in range(n):
        planes[w], planes[plane_2 + w], planes[plane_4 + w] = _add_seven(
            words[a + w] ^ flip_a,
            words[b + w] ^ flip_b,
            words[c + w] ^ flip_c,
            words[d + w] ^ flip_d,
            words[e + w] ^ flip_e,
            words[f + w] ^ flip_f,
            words[g + w] ^ flip_g,
        )
    for literal in range(7, width):
        column, flip = np.uint64(columns[literal]) * stride + begin, _flip(flips, literal)
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
