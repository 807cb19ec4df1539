"""Columns of bits in memory, laid out so that runs of words of many columns stay in the caches during a count.

Importing this module imports numba.

Counting clauses on columns of bits: each separately, or from counts of the sets of columns that they share.

For c columns and m clauses of at most three literals:

- *By sets*, where the c (c - 1) / 2 pairs of columns are few beside m: every pair of columns is counted once, then each
  triple of a clause; signs and accepted numbers follow by inclusion and exclusion. The AND of two columns serves all
  triples that begin with them, and where one of them is empty in a tile, all of these are passed over.
- *Each separately* otherwise, and for clauses of more literals: all literals are read, word by word. With more columns
  than fit into the second-level cache the clauses are ordered so that those that follow each other share two groups of
  columns that do.

Both give the same counts, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.binary_columns import BinaryColumns
from dpopt.queries.counting.compiled import Literals, Run, add_pairs, add_triples, count_tile, ones_of_tile
from dpopt.queries.counting.packing_kernels import aligned_zeros, copy_in_tiles, pack_codes, words_for
from dpopt.queries.counting.resolved_kernels import (
    CHUNK,
    FlatColumns,
    add_sets,
    resolve,
    set_coefficients,
    stable_order,
    take_clauses,
    take_column,
    take_rows,
)
from dpopt.threads import Progress, in_threads

CACHE_WORDS = 64 * 1024  # 512 kB, half of a second-level cache of 1 MB
# words of a run: shorter ones cost more per call, longer ones leave the nearest cache
SHORTEST, LONGEST = 64, 512
MOST_IN_ROWS = CACHE_WORDS // SHORTEST  # columns of which a run of each fits into CACHE_WORDS
COPIED_WORDS = 1 << 17  # what is packed at once before it is laid out in tiles: 1 MB


@dataclass(frozen=True, slots=True, eq=False)
class Bitmaps:
    """Columns of bits, gone through in tiles: a run of `size` words of every column.

    Word w of column c in the tile that begins at b is words[b + c * stride + w]. Up to 1,024 columns follow each other
    as a whole (stride: the length of a column). More columns are laid out tile by tile (stride: the length of a run),
    so that a tile is one piece of memory; otherwise each of its runs would lie on a page of its own.
    """

    rows: int = field(repr=False)
    """Number of records n."""
    columns: int
    """Number of columns c."""
    words: NDArray[np.uint64] = field(repr=False)
    """Flat. Bits that belong to no record are zero."""
    stride: int = field(repr=False)
    size: int = field(repr=False)
    """As above."""
    begins: NDArray[np.int64] = field(repr=False)
    """Shape (number of tiles,). Where tiles begin in `words`."""
    length: int = field(repr=False)
    """Words of a column; the last tile is shorter where they are no multiple of `size`."""

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

    def runs(self) -> list[Run]:
        """Return the runs of all tiles."""
        lengths = [min(self.size, self.length - tile * self.size) for tile in range(self.begins.size)]
        return [
            Run(self.words, np.uint64(self.stride), np.uint64(begin), np.uint64(length))
            for begin, length in zip(self.begins.tolist(), lengths, strict=True)
        ]


PIECES = 4  # pieces of work for each thread, at least
PAIRS_PER_CLAUSE = 0.5  # sets are counted up to so many pairs of columns for each clause
SET_WIDTH = 3  # literals of a clause that is counted by sets
SMALL_WORK = 2**23  # words that are counted in a few milliseconds, in which two threads gain nothing


def count_on_bitmaps(
    bitmaps: Bitmaps,
    clauses: Clauses,
    offsets: NDArray[np.int64],
    positions: NDArray[np.int32],
    *,
    threads: int,
    progress: Progress,
) -> NDArray[np.int64]:
    """Return the number of records for which each clause is true, (m,) int64.

    Offsets and positions as in `FlatColumns`; `resolve` says what is raised.
    """
    keys = np.arange(bitmaps.columns, dtype=np.int64)
    if few_pairs(bitmaps.columns, len(clauses)):
        # The fewest ones first: pairs that many triples begin with are then empty in as many tiles as possible.
        keys[np.argsort(_ones(bitmaps, threads).sum(axis=0, dtype=np.int64), kind="stable")] = keys.copy()
    resolved = resolve(clauses, FlatColumns(offsets, positions, keys), threads)
    return count_resolved(bitmaps, resolved, threads=threads, progress=progress)


def count_resolved(bitmaps: Bitmaps, clauses: Literals, *, threads: int, progress: Progress) -> NDArray[np.int64]:
    """Return the number of records for which each clause is true, (m,) int64."""
    m = clauses.widths.size
    threads = _worth_while(bitmaps, m, threads)
    narrow = clauses.widths <= SET_WIDTH
    if not few_pairs(bitmaps.columns, int(np.count_nonzero(narrow))):
        narrow[:] = False
    by_sets, singly = np.flatnonzero(narrow), np.flatnonzero(~narrow)
    counts = np.zeros(m, dtype=np.int64)
    share = by_sets.size / max(m, 1)
    if by_sets.size:
        chosen = clauses if by_sets.size == m else take_clauses(clauses, by_sets)
        counts[by_sets] = _count_by_sets(bitmaps, chosen, threads, progress.part(0, share))
    if singly.size:
        counts[singly] = _count_singly(bitmaps, clauses, singly, threads, progress.part(share, 1))
    return counts


def _count_singly(
    bitmaps: Bitmaps, clauses: Literals, singly: NDArray[np.int64], threads: int, report: Callable[[float], None]
) -> NDArray[np.int64]:
    """Count each of these clauses separately."""
    columns, widths = clauses.columns[singly], clauses.widths[singly].astype(np.int64)
    order = _cached_order(columns, widths, max(1, CACHE_WORDS // bitmaps.size))
    chosen, runs = take_clauses(clauses, singly[order]), bitmaps.runs()

    def add(tile: int, part: slice, totals: NDArray[np.int64]) -> None:
        count_tile(runs[tile], chosen.part(part), totals[part])

    totals = _over_tiles(add, len(bitmaps.begins), singly.size, threads, report)
    padding = 64 * bitmaps.length - bitmaps.rows
    # Beyond the last record every column is 0, so that exactly the flipped literals are true.
    true_there = chosen.accepted >> np.bitwise_count(chosen.flips).astype(np.uint32) & 1
    counts = np.empty(singly.size, dtype=np.int64)
    counts[order] = totals - padding * true_there.astype(np.int64)
    return counts


def _cached_order(columns: NDArray[np.int32], widths: NDArray[np.int64], group: int) -> NDArray[np.int64]:
    """Return an order of clauses in which neighbours share groups of their last two columns, then the first one."""
    each = np.arange(widths.size)
    order = stable_order(np.ascontiguousarray(columns[:, 0]), each)
    for back in (1, 2):
        order = stable_order(columns[each, np.maximum(widths - back, 0)] // np.int32(group), order)
    return order


def _count_by_sets(
    bitmaps: Bitmaps, clauses: Literals, threads: int, report: Callable[[float], None]
) -> NDArray[np.int64]:
    """Count clauses of at most three literals from the sizes of sets of columns."""
    m, columns = clauses.widths.size, bitmaps.columns
    coefficients = set_coefficients(clauses)
    wanted = np.flatnonzero(coefficients[:, -1])
    order = np.arange(wanted.size)
    for literal in (1, 0) if wanted.size else ():
        order = stable_order(take_column(clauses.columns, wanted, literal), order)
    order = wanted[order]
    triples = take_rows(clauses.columns, order)
    runs = bitmaps.runs()
    ones = _ones(bitmaps, threads)
    pairs = np.zeros((columns, columns), dtype=np.int64)

    def count_pairs(part: slice) -> None:
        for run, of_tile in zip(runs, ones, strict=True):
            add_pairs(run, of_tile, part.start, part.stop, pairs)

    in_threads(count_pairs, columns, max(1, columns // (8 * threads)), threads, None)

    def add(tile: int, part: slice, totals: NDArray[np.int64]) -> None:
        add_triples(runs[tile], ones[tile], triples[part], totals[part])

    totals = np.zeros(m, dtype=np.int64)
    totals[order] = _over_tiles(add, len(runs), wanted.size, threads, report)
    counts = np.zeros(m, dtype=np.int64)
    each = ones.sum(axis=0, dtype=np.int64)

    def combine(part: slice) -> None:
        add_sets(coefficients[part], clauses.part(part), bitmaps.rows, each, pairs, totals[part], counts[part])

    in_threads(combine, m, CHUNK, threads, None)
    return counts


def few_pairs(columns: int, clauses: int) -> bool:
    """Return whether there are so few pairs of columns, compared with the clauses, that clauses are counted by sets."""
    return columns * (columns - 1) / 2 <= PAIRS_PER_CLAUSE * clauses


def _worth_while(bitmaps: Bitmaps, clauses: int, threads: int) -> int:
    """Return how many threads to count in: one where starting more of them would take longer than the work."""
    return threads if bitmaps.length * clauses > SMALL_WORK else 1


def _ones(bitmaps: Bitmaps, threads: int) -> NDArray[np.int32]:
    """Return how many records of each tile have a one in each column, (tiles, columns)."""
    runs = bitmaps.runs()
    ones = np.zeros((len(runs), bitmaps.columns), dtype=np.int32)

    def count(tiles: slice) -> None:
        for tile in range(tiles.start, tiles.stop):
            ones_of_tile(runs[tile], ones[tile])

    in_threads(count, len(runs), 1, threads, None)
    return ones


def _over_tiles(
    add: Callable[[int, slice, NDArray[np.int64]], None],
    tiles: int,
    size: int,
    threads: int,
    report: Callable[[float], None],
) -> NDArray[np.int64]:
    """Return the sums (size,) that `add` makes over all tiles, in threads with sums of their own.

    `add(tile, part, totals)` adds to totals[part]. Few tiles are divided further, into parts of the sums.
    """
    parts = 1 if threads <= 1 else -(-PIECES * threads // tiles)
    step = max(1, -(-size // parts))
    slices = [slice(begin, min(begin + step, size)) for begin in range(0, size, step)]
    work = [(tile, part) for tile in range(tiles) for part in slices]
    free: SimpleQueue[NDArray[np.int64]] = SimpleQueue()
    made: list[NDArray[np.int64]] = []
    for _ in range(max(1, min(threads, len(work)))):
        made.append(np.zeros(size, dtype=np.int64))
        free.put(made[-1])

    def run(piece: slice) -> None:
        totals = free.get()
        for tile, part in work[piece]:
            add(tile, part, totals)
        free.put(totals)

    in_threads(run, len(work), 1, threads, report)
    return sum(made[1:], start=made[0])
