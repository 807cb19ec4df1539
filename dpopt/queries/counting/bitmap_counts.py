"""Counting clauses on columns of bits: each by itself, or from counts of the sets of columns that they share.

Importing this module imports numba. For c columns and m clauses of at most three literals:

- *By sets*, where the c (c - 1) / 2 pairs of columns are few beside m: every pair of columns is counted once, then each
  triple of a clause; signs and accepted numbers follow by inclusion and exclusion. The AND of two columns serves all
  triples that begin with them, and where one of them is empty in a tile, all of these are passed over.
- *Each by itself* otherwise, and for clauses of more literals: all literals are read, word by word. With more columns
  than fit into the second-level cache the clauses are ordered so that those that follow each other share two groups of
  columns that do.

Both give the same counts, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import WorkloadError
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.bitmaps import CACHE_WORDS, Bitmaps
from dpopt.queries.counting.compiled import count_tile
from dpopt.queries.counting.resolved_kernels import (
    add_sets,
    resolve_chunk,
    set_coefficients,
    stable_order,
    take_column,
    take_rows,
)
from dpopt.queries.counting.set_count_kernels import add_pairs, add_triples, ones_of_tile
from dpopt.threads import Progress, in_threads

CHUNK = 1 << 14  # clauses that are looked at together
PIECES = 4  # pieces of work for each thread, at least
PAIRS_PER_CLAUSE = 0.5  # sets are counted up to so many pairs of columns for each clause
SET_WIDTH = 3  # literals of a clause that is counted by sets
SMALL_WORK = 2**23  # words that are counted in a few milliseconds, in which two threads gain nothing


@dataclass(frozen=True, slots=True, eq=False)
class Resolved:
    """Clauses over columns of bits.

    Attributes
    ----------
    columns : (m, k) int32
        Column of each literal; beyond the width of a clause, anything. In one order of all columns.
    flips : (m,) uint32
        Bit j is set: literal j is true where its column is 0.
    widths : (m,) int8
        Numbers of literals.
    accepted : (m,) uint32
        As in `Clauses`.
    """

    columns: NDArray[np.int32] = field(repr=False)
    flips: NDArray[np.uint32] = field(repr=False)
    widths: NDArray[np.int8] = field(repr=False)
    accepted: NDArray[np.uint32] = field(repr=False)

    @classmethod
    def of(
        cls,
        clauses: Clauses,
        offsets: NDArray[np.int64],
        positions: NDArray[np.int32],
        keys: NDArray[np.int64],
        threads: int,
    ) -> Resolved:
        """Return clauses over columns of bits, the columns of each in the order of increasing keys.

        Parameters
        ----------
        offsets : (d + 1,) int64
            Flat column of attribute a and code v is offsets[a] + v.
        positions : (flat columns,) int32
            Column of bits of a flat column; -1: none; -2 - p: column p flipped.
        keys : (columns,) int64

        Raises
        ------
        WorkloadError
            If a clause names an attribute, a code or a column that is not there.
        """
        m = len(clauses)
        made = cls(
            np.zeros(clauses.attributes.shape, np.int32),
            np.zeros(m, np.uint32),
            np.zeros(m, np.int8),
            clauses.accepted,
        )

        def run(chunk: slice) -> None:
            packed_all = resolve_chunk(
                positions,
                keys,
                offsets,
                clauses.attributes[chunk],
                clauses.values[chunk],
                clauses.signs[chunk],
                made.columns[chunk],
                made.flips[chunk],
                made.widths[chunk],
            )
            if not packed_all:
                clauses.check_against(np.diff(offsets))
                raise WorkloadError(
                    "the clauses name a column that is not packed; pack the columns for these clauses"
                )

        in_threads(run, m, CHUNK, threads, None)
        return made

    def take(self, chosen: NDArray[np.int64]) -> Resolved:
        """Return these clauses, in this order."""
        return Resolved(
            take_rows(self.columns, chosen), self.flips[chosen], self.widths[chosen], self.accepted[chosen]
        )


def count_on_bitmaps(
    bitmaps: Bitmaps,
    clauses: Clauses,
    offsets: NDArray[np.int64],
    positions: NDArray[np.int32],
    *,
    threads: int,
    progress: Progress,
) -> NDArray[np.int64]:
    """Return for every clause the number of records of which it is true, (m,) int64.

    Offsets and positions as for `Resolved.of`, which says what is raised.
    """
    keys = np.arange(bitmaps.columns, dtype=np.int64)
    if few_pairs(bitmaps.columns, len(clauses)):
        # The fewest ones first: pairs that many triples begin with are then empty in as many tiles as possible.
        keys[np.argsort(_ones(bitmaps, threads).sum(axis=0, dtype=np.int64), kind="stable")] = keys.copy()
    resolved = Resolved.of(clauses, offsets, positions, keys, threads)
    return count_resolved(bitmaps, resolved, threads=threads, progress=progress)


def count_resolved(
    bitmaps: Bitmaps, clauses: Resolved, *, threads: int, progress: Progress
) -> NDArray[np.int64]:
    """Return for every clause the number of records of which it is true, (m,) int64."""
    m = clauses.widths.size
    threads = _worth_while(bitmaps, m, threads)
    narrow = clauses.widths <= SET_WIDTH
    if not few_pairs(bitmaps.columns, int(np.count_nonzero(narrow))):
        narrow[:] = False
    by_sets, singly = np.flatnonzero(narrow), np.flatnonzero(~narrow)
    counts = np.zeros(m, dtype=np.int64)
    share = by_sets.size / max(m, 1)
    if by_sets.size:
        chosen = clauses if by_sets.size == m else clauses.take(by_sets)
        counts[by_sets] = _count_by_sets(bitmaps, chosen, threads, progress.part(0, share))
    if singly.size:
        counts[singly] = _count_singly(bitmaps, clauses, singly, threads, progress.part(share, 1))
    return counts


def _count_singly(
    bitmaps: Bitmaps,
    clauses: Resolved,
    singly: NDArray[np.int64],
    threads: int,
    tell: Callable[[float], None],
) -> NDArray[np.int64]:
    """Count each of these clauses by itself."""
    columns, widths = clauses.columns[singly], clauses.widths[singly].astype(np.int64)
    order = _cached_order(columns, widths, max(1, CACHE_WORDS // bitmaps.size))
    chosen, runs = clauses.take(singly[order]), bitmaps.runs()

    def add(tile: int, part: slice, totals: NDArray[np.int64]) -> None:
        count_tile(
            bitmaps.words,
            bitmaps.stride,
            *runs[tile],
            chosen.columns[part],
            chosen.flips[part],
            chosen.widths[part],
            chosen.accepted[part],
            totals[part],
        )

    totals = _over_tiles(add, len(bitmaps.begins), singly.size, threads, tell)
    padding = 64 * bitmaps.length - bitmaps.rows
    # Beyond the last record every column is 0, so that exactly the flipped literals are true.
    true_there = chosen.accepted >> np.bitwise_count(chosen.flips).astype(np.uint32) & 1
    counts = np.empty(singly.size, dtype=np.int64)
    counts[order] = totals - padding * true_there.astype(np.int64)
    return counts


def _cached_order(columns: NDArray[np.int32], widths: NDArray[np.int64], group: int) -> NDArray[np.int64]:
    """Return an order in which clauses that follow each other share groups of their last two columns, then the first one."""
    each = np.arange(widths.size)
    order = stable_order(np.ascontiguousarray(columns[:, 0]), each)
    for back in (1, 2):
        order = stable_order(columns[each, np.maximum(widths - back, 0)] // np.int32(group), order)
    return order


def _count_by_sets(
    bitmaps: Bitmaps, clauses: Resolved, threads: int, tell: Callable[[float], None]
) -> NDArray[np.int64]:
    """Count clauses of at most three literals from the sizes of sets of columns."""
    m, columns = clauses.widths.size, bitmaps.columns
    coefficients = set_coefficients(clauses.flips, clauses.widths, clauses.accepted)
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
        for tile, (begin, size) in enumerate(runs):
            add_pairs(bitmaps.words, bitmaps.stride, begin, size, ones[tile], part.start, part.stop, pairs)

    in_threads(count_pairs, columns, max(1, columns // (8 * threads)), threads, None)

    def add(tile: int, part: slice, totals: NDArray[np.int64]) -> None:
        add_triples(bitmaps.words, bitmaps.stride, *runs[tile], ones[tile], triples[part], totals[part])

    totals = np.zeros(m, dtype=np.int64)
    totals[order] = _over_tiles(add, len(runs), wanted.size, threads, tell)
    counts = np.zeros(m, dtype=np.int64)
    each = ones.sum(axis=0, dtype=np.int64)

    def combine(part: slice) -> None:
        add_sets(
            coefficients[part],
            clauses.columns[part],
            clauses.widths[part],
            bitmaps.rows,
            each,
            pairs,
            totals[part],
            counts[part],
        )

    in_threads(combine, m, CHUNK, threads, None)
    return counts


def few_pairs(columns: int, clauses: int) -> bool:
    """Return whether all pairs of columns are so few beside the clauses that these are counted by sets."""
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
            ones_of_tile(bitmaps.words, bitmaps.stride, *runs[tile], ones[tile])

    in_threads(count, len(runs), 1, threads, None)
    return ones


def _over_tiles(
    add: Callable[[int, slice, NDArray[np.int64]], None],
    tiles: int,
    size: int,
    threads: int,
    tell: Callable[[float], None],
) -> NDArray[np.int64]:
    """Return the sums (size,) of what `add` adds for every tile, in threads with sums of their own.

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

    in_threads(run, len(work), 1, threads, tell)
    return sum(made[1:], start=made[0])
