"""Columns of bits in memory, laid out so that a run of words of many columns stays in the caches while it is counted on.

Importing this module imports numba.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dpopt.queries.counting.binary_columns import BinaryColumns
from dpopt.queries.counting.packing_kernels import (
    PackedColumns,
    aligned_zeros,
    copy_in_tiles,
    pack_codes,
    words_for,
)
from dpopt.threads import in_threads

CACHE_WORDS = 64 * 1024  # 512 kB, half of a second-level cache of 1 MB
SHORTEST, LONGEST = (
    64,
    512,
)  # words of a run: shorter ones cost more per call, longer ones leave the nearest cache
MOST_IN_ROWS = CACHE_WORDS // SHORTEST  # columns of which a run of each fits into CACHE_WORDS
COPIED_WORDS = 1 << 17  # what is packed at once before it is laid out in tiles: 1 MB


@dataclass(frozen=True, slots=True, eq=False)
class Bitmaps:
    """Columns of bits, gone through in tiles: a run of `size` words of every column.

    Word w of column c in the tile that begins at b is words[b + c * stride + w]. Up to 1,024 columns follow each other
    as a whole (stride: the length of a column). More columns are laid out tile by tile (stride: the length of a run),
    so that a tile is one piece of memory; otherwise each of its runs would lie on a page of its own.

    Parameters
    ----------
    rows
        Number of records n.
    columns
        Number of columns c.
    words : flat, uint64
        Bits that belong to no record are zero.
    stride, size
        As above.
    begins : (number of tiles,) int64
        Where tiles begin in `words`.
    length
        Words of a column; the last tile is shorter where they are no multiple of `size`.
    """

    rows: int = field(repr=False)
    columns: int
    words: NDArray[np.uint64] = field(repr=False)
    stride: int = field(repr=False)
    size: int = field(repr=False)
    begins: NDArray[np.int64] = field(repr=False)
    length: int = field(repr=False)

    @classmethod
    def of_packed(cls, packed: PackedColumns) -> Bitmaps:
        """Return packed columns as they lie, without a copy."""
        return cls._whole(packed.rows, packed.words)

    @classmethod
    def of_codes(
        cls, codes: Sequence[NDArray[np.integer]], sizes: NDArray[np.integer], positions: NDArray[np.int32]
    ) -> Bitmaps:
        """Return the flat columns f with positions[f] >= 0, packed from one array of codes (n,) per attribute."""
        packed, rows = pack_codes(codes, sizes, positions)
        return cls._whole(rows, packed)

    @classmethod
    def of_binary(cls, table: BinaryColumns, wanted: NDArray[np.int64], threads: int) -> Bitmaps:
        """Return these columns of a table of zeros and ones, packed; no other column is made."""
        length = words_for(table.rows)
        if wanted.size <= MOST_IN_ROWS:
            words = aligned_zeros(wanted.size, length)
            table.pack_into(wanted, words)
            return cls._whole(table.rows, words)
        tiles = max(1, -(-table.rows // (64 * SHORTEST)))
        words = aligned_zeros(wanted.size * tiles, SHORTEST).reshape(tiles, wanted.size, SHORTEST)

        def lay_out(part: slice) -> None:
            packed = np.zeros((part.stop - part.start, tiles * SHORTEST), dtype=np.uint64)
            table.pack_into(wanted[part], packed)
            copy_in_tiles(packed, part.start, words)

        in_threads(lay_out, wanted.size, max(1, COPIED_WORDS // (tiles * SHORTEST)), threads, None)
        begins = np.arange(tiles, dtype=np.int64) * (wanted.size * SHORTEST)
        return cls(table.rows, wanted.size, words.reshape(-1), SHORTEST, SHORTEST, begins, tiles * SHORTEST)

    @classmethod
    def _whole(cls, rows: int, words: NDArray[np.uint64]) -> Bitmaps:
        columns, length = words.shape
        size = min(max(CACHE_WORDS // max(columns, 1), SHORTEST), LONGEST) // 32 * 32
        begins = np.arange(0, length, size, dtype=np.int64)
        return cls(rows, columns, words.reshape(-1), length, size, begins, length)

    def runs(self) -> list[tuple[int, int]]:
        """Return beginning and number of words of every tile."""
        return [
            (begin, min(self.size, self.length - tile * self.size))
            for tile, begin in enumerate(self.begins.tolist())
        ]
