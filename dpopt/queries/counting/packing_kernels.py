"""Bit packing: the flat columns of a table, one bit per record, and loops over columns of zeros and ones.

Importing this module imports numba.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.compilation import kernel
from dpopt.errors import SchemaError
from dpopt.queries.counting.compiled import population_count


def pack_codes(
    codes: Sequence[NDArray[np.integer]], sizes: NDArray[np.integer], positions: NDArray[np.int32]
) -> tuple[NDArray[np.uint64], int]:
    """Return flat columns f with positions[f] >= 0 as bits, in row positions[f] of (c, W), and the number of records.

    Bit r of a column is bit r % 64 of its word r // 64; bits beyond the last record are zero. `codes` has one array
    (n,) of any integer type for each attribute, with codes 0 .. size - 1, `sizes` (d,) their numbers, `positions` the
    row of each flat column (an attribute and a code); below 0: none.
    """
    bounds = [int(size) for size in sizes]
    if len(codes) != len(bounds):
        raise SchemaError(f"{len(codes)} columns of codes for {len(bounds)} attributes; give one for each")
    offsets = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    rows = codes[0].size if codes else 0
    words = aligned_zeros(int(positions.max(initial=-1)) + 1, words_for(rows))
    for attribute, (column, size) in enumerate(zip(codes, bounds, strict=True)):
        _check_codes(column, rows, size, attribute)
        wanted = freeze(positions[offsets[attribute] : offsets[attribute + 1]].copy())
        if (wanted >= 0).any():
            _pack_attribute(_narrowed(column, size), wanted, words)
    return words, rows


def words_for(rows: int) -> int:
    """Return the words per column: enough for `rows`, and an odd number of cache lines of 8 words.

    With an odd number the columns spread over all sets of the caches; a power of two would put them into a few.
    """
    lines = -(-rows // 512)
    return 8 * (lines + 1 - lines % 2)


def aligned_zeros(columns: int, length: int) -> NDArray[np.uint64]:
    """Return zeros of shape (columns, length) that start at a cache line: counting gains a quarter by it."""
    buffer = np.zeros(columns * length + 8, dtype=np.uint64)
    start = -buffer.ctypes.data % 64 // 8
    return buffer[start : start + columns * length].reshape(columns, length)


def _check_codes(column: NDArray[np.integer], rows: int, size: int, attribute: int) -> None:
    # No code, row or number of rows is quoted: they are private where the table is.
    place = f"attribute number {attribute}"
    if column.dtype.kind not in "iub" or column.ndim != 1:
        raise SchemaError(f"{place}: expected integer codes in 1 dimension, found {column.dtype.name} in {column.ndim}")
    if column.size != rows:
        raise SchemaError(f"{place}: its codes are not as many as those of the first attribute; give one per record")
    if rows and not 0 <= int(column.min()) <= int(column.max()) < size:
        raise SchemaError(f"{place}: a code lies outside 0 .. {size - 1}; code the table by this schema")


def _narrowed(column: NDArray[np.integer], size: int) -> NDArray[np.unsignedinteger]:
    """Return the codes in one of three types, contiguous and read-only: the kernel is compiled for these only."""
    narrow: type[np.unsignedinteger] = np.uint32
    if size <= 1 << 16:
        narrow = np.uint8 if column.dtype == np.uint8 else np.uint16
    compact: NDArray[np.unsignedinteger] = np.ascontiguousarray(column, dtype=narrow)
    return freeze(compact.view())


@kernel
def _pack_attribute(
    codes: NDArray[np.unsignedinteger], positions: NDArray[np.int32], words: NDArray[np.uint64]
) -> None:
    """Set bit r of words[positions[codes[r]]] for every record r; position -1 is left out."""
    for row in range(codes.size):
        position = positions[codes[row]]
        if position >= 0:
            words[position, row >> 6] |= np.uint64(1) << np.uint64(row & 63)


@kernel
def copy_in_tiles(packed: NDArray[np.uint64], first: int, words: NDArray[np.uint64]) -> None:
    """Copy the words of columns first, first + 1, ..., one per row, to words[tile, column], a run of them each."""
    tiles, _, size = words.shape
    for i in range(packed.shape[0]):
        for tile in range(tiles):
            for w in range(size):
                words[tile, first + i, w] = packed[i, tile * size + w]


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
    starts: NDArray[np.int64], listed: NDArray[np.uint32], columns: NDArray[np.int64], words: NDArray[np.uint64]
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
