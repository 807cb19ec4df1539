"""Made-up tables of many columns of zeros and ones, the same for ever: no data set of that width may be passed on.

Everything is a function of a seed by integer arithmetic alone (and by IEEE sums and products in a fixed order), so that
a table is the same on every machine and with every version of every library. They are public: nothing here protects
anything.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.compilation import kernel
from dpopt.queries.counting.binary_columns import BinaryColumns, SparseColumns
from dpopt.queries.counting.compiled import population_count

CLASSES = 8  # hidden classes of records and of columns
SAME, OTHER = (4.5, 0.5)  # how much likelier a one is in a column of the same class, and of another; on average 1
LARGEST = 0.9  # no cell is likelier to be a one
LEVELS = 65  # numbers of ones that a word can have: levels of activity
RATIO = 1.37  # from one level of activity to the next: a standard deviation of 4 ln 1.37 = 1.26 of the logarithm
SCALE = 1 << 24  # probabilities are whole multiples of 1 / SCALE
COLUMNS_AT_ONCE = 64
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
R = TypeVar("R")


def netflix_shaped(
    rows: int = 480_189, columns: int = 17_770, fill: float = 0.012, seed: int = 1, *, threads: int = 2
) -> SparseColumns:
    """Return a sparse table with the shape of a table of ratings: popular columns, active records, hidden classes.

    Column j = 1 .. d has the popularity f_j = t / (j + d / 40)^2, Zipf's distribution as Mandelbrot generalized it: with 17,770
    columns the first is 441 times as popular as the one in the middle. Record u has the activity a_u = s 1.37^(B_u -
    32), where B_u is the number of ones of a random word, Binomial(64, 1/2): almost log-normal, with a mean of 1 by the
    choice of s. Records and columns have hidden classes, uniform on 8. Given all these, cells are independent with

        P(x_uj = 1) = min(0.9, f_j a_u g),  g = 4.5 if u and j are of the same class, otherwise 0.5,

    rounded down to a multiple of 2^-24; t is such that the share of ones expected is `density`. Columns that share a class
    or are popular occur together more often than independent ones would.

    Parameters
    ----------
    rows, columns
        Numbers of records and of columns.
    fill
        Share of ones, on average; in (0, 0.4].
    seed
        0 .. 2^64 - 1.
    threads
        Number of threads; the table does not depend on it.

    Returns
    -------
    SparseColumns
        In the order of popularity. 4 bytes for each one: 410 MB by default; twice that while it is made.
    """
    if not 0 < fill <= 0.4:
        raise ValueError(f"a fill of {fill} is not possible; choose one between 0 and 0.4")
    key = np.uint64(seed)
    words = _uniform_words(key, np.uint64(1), rows)
    levels = np.bitwise_count(words).astype(np.int64)
    classes = (_uniform_words(key, np.uint64(2), rows) % np.uint64(CLASSES)).astype(np.int64)
    column_classes = (_uniform_words(key, np.uint64(3), columns) % np.uint64(CLASSES)).astype(np.int64)
    cells = levels * CLASSES + classes
    sizes = np.bincount(cells, minlength=LEVELS * CLASSES)
    order = np.argsort(cells, kind="stable").astype(np.int64)
    limits = _limits(column_classes, fill)

    def make(part: slice) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        return _list_ones(key, part.start, limits[part], sizes, order)

    made = _in_parts(make, columns, threads)
    starts = np.zeros(columns + 1, dtype=np.int64)
    np.cumsum(np.concatenate([lengths for lengths, _ in made]), out=starts[1:])
    return SparseColumns(rows, freeze(starts), freeze(np.concatenate([listed for _, listed in made])))


def biased_bits(rows: int = 100_000, columns: int = 512_000, seed: int = 1, *, threads: int = 2) -> BiasedBits:
    """Return a table of independent bits: column i is one with a probability p_i of its own, uniform on [0, 1).

    p_i is a multiple of 2^-32. Columns are made when they are asked for, each time anew and always the same, so that a table of
    half a million columns takes no memory.

    Parameters
    ----------
    rows, columns
        Numbers of records and of columns.
    seed
        0 .. 2^64 - 1.
    threads
        Number of threads that make columns.
    """
    return BiasedBits(rows, columns, seed, threads)


@dataclass(frozen=True, slots=True, eq=False)
class BiasedBits(BinaryColumns):
    """The table of `biased_bits`; nothing but its seed is kept."""

    rows: int
    columns: int
    seed: int
    threads: int

    def __len__(self) -> int:
        """Return the number of columns d."""
        return self.columns

    def probabilities(self, columns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the probability p_i of each of these columns, the same shape."""
        limits = _column_limits(np.uint64(self.seed), np.ascontiguousarray(columns.reshape(-1)))
        return limits.reshape(columns.shape) / 2.0**32

    def dense(self, column: int) -> NDArray[np.uint8]:
        """Return one column as an array (n,) of zeros and ones, read-only."""
        words = np.zeros((1, -(-self.rows // 64)), dtype=np.uint64)
        self.pack_into(np.array([column]), words)
        return freeze(np.unpackbits(words[0].view(np.uint8), count=self.rows, bitorder="little"))

    def ones(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many records have a one in each of these columns, the same shape."""
        wanted = columns.reshape(-1)
        found = np.zeros(wanted.size, dtype=np.int64)
        for begin in range(0, wanted.size, COLUMNS_AT_ONCE):
            part = wanted[begin : begin + COLUMNS_AT_ONCE]
            words = np.zeros((part.size, -(-self.rows // 64)), dtype=np.uint64)
            self.pack_into(part, words)
            found[begin : begin + part.size] = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
        return found.reshape(columns.shape)

    def pack_into(self, columns: NDArray[np.int64], words: NDArray[np.uint64]) -> None:
        """Set the bits of these columns; see `BinaryColumns.pack_into`."""
        key = np.uint64(self.seed)
        limits = _column_limits(key, np.ascontiguousarray(columns))

        def make(part: slice) -> None:
            _fill_biased(key, columns[part], limits[part], self.rows, words[part])

        _in_parts(make, len(columns), self.threads)


def _in_parts(make: Callable[[slice], R], columns: int, threads: int) -> list[R]:
    parts = [slice(begin, min(begin + COLUMNS_AT_ONCE, columns)) for begin in range(0, columns, COLUMNS_AT_ONCE)]
    with ThreadPoolExecutor(max_workers=threads) as pool:
        return list(pool.map(make, parts))


@kernel
def _mixed(word: np.uint64) -> np.uint64:
    """Return the output function of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@kernel
def _uniform_words(key: np.uint64, stream: np.uint64, count: int) -> NDArray[np.uint64]:
    """Return words 0 .. count - 1 of a stream of a seed."""
    start = _mixed(_mixed(key) + stream)
    made = np.empty(count, np.uint64)
    for i in range(count):
        made[i] = _mixed(start + np.uint64(i + 1) * GOLDEN)
    return made


@kernel
def _biased_word(counter: np.uint64, limit: np.uint64, digits: int) -> np.uint64:
    """Return 64 independent bits that are one with probability limit / 2^digits.

    Each place compares a uniform number with the limit, binary digit by digit from the highest on, until all 64 are
    decided: eight words on average.
    """
    ones, undecided = np.uint64(0), ~np.uint64(0)
    for digit in range(digits):
        drawn = _mixed(counter + np.uint64(digit))
        if limit >> np.uint64(digits - 1 - digit) & np.uint64(1):
            ones |= undecided & ~drawn
            undecided &= drawn
        else:
            undecided &= ~drawn
        if undecided == 0:
            break
    return ones


@kernel
def _activities() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the activity of every level, 1 on average, and the shares of the levels, as expected."""
    activity, shares = np.ones(LEVELS), np.empty(LEVELS)
    for level in range(33, LEVELS):
        activity[level] = activity[level - 1] * RATIO
        activity[64 - level] = activity[65 - level] / RATIO
    ways, mean = 1.0, 0.0
    for level in range(LEVELS):
        shares[level] = ways / 2.0**64
        ways *= (64.0 - level) / (level + 1.0)
        mean += shares[level] * activity[level]
    for level in range(LEVELS):
        activity[level] /= mean
    return activity, shares


@kernel
def _expected(scale: float, columns: int, activity: NDArray[np.float64], shares: NDArray[np.float64]) -> float:
    """Return the share of ones that is expected with t = scale."""
    total = 0.0
    for j in range(columns):
        for level in range(LEVELS):
            chance = scale * _popularity(j, columns) * activity[level]
            total += shares[level] * min(LARGEST, chance * SAME) / CLASSES
            total += shares[level] * min(LARGEST, chance * OTHER) * (CLASSES - 1) / CLASSES
    return total / columns


@kernel
def _popularity(j: int, columns: int) -> float:
    return 1.0 / ((j + 1.0 + columns / 40.0) * (j + 1.0 + columns / 40.0))


@kernel
def _limits(column_classes: NDArray[np.int64], fill: float) -> NDArray[np.uint64]:
    """Return for each column, level and class of records the probability of a one, times SCALE: (d, 65 * 8)."""
    columns = column_classes.size
    activity, shares = _activities()
    low, high = 0.0, 2.0**60
    for _ in range(200):  # t by bisection
        scale = (low + high) / 2
        if _expected(scale, columns, activity, shares) < fill:
            low = scale
        else:
            high = scale
    limits = np.empty((columns, LEVELS * CLASSES), np.uint64)
    for j in range(columns):
        for cell in range(LEVELS * CLASSES):
            factor = SAME if cell % CLASSES == column_classes[j] else OTHER
            chance = low * _popularity(j, columns) * activity[cell // CLASSES] * factor
            limits[j, cell] = np.uint64(min(LARGEST, chance) * SCALE)
    return limits


@kernel
def _list_ones(
    key: np.uint64, first: int, limits: NDArray[np.uint64], sizes: NDArray[np.int64], order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """Return the lengths of these columns' lists and the lists, one after the other.

    Records of the same level and class have the same probability: they are drawn 64 at a time in the order of level and
    class, put as bits at their own places, and listed from there in increasing order.
    """
    columns = limits.shape[0]
    lengths = np.zeros(columns, np.int64)
    bits = np.zeros((columns, (order.size + 63) // 64), np.uint64)
    for i in range(columns):
        start = _mixed(_mixed(key ^ GOLDEN) + np.uint64(first + i))
        begin = 0
        for cell in range(sizes.size):
            limit = limits[i, cell]
            end = begin + sizes[cell]
            for place in range(begin, end, 64):
                if limit == 0:
                    break
                # Every word has 32 numbers of its own, of which it uses as many as it needs.
                counter = start + (np.uint64(place + 64 * cell) << np.uint64(6)) * GOLDEN
                drawn = _biased_word(counter, limit, 24)
                if end - place < 64:
                    drawn &= (np.uint64(1) << np.uint64(end - place)) - np.uint64(1)
                while drawn != 0:
                    lowest = drawn & (np.uint64(0) - drawn)
                    row = order[place + np.int64(population_count(lowest - np.uint64(1)))]
                    bits[i, row >> 6] |= np.uint64(1) << np.uint64(row & 63)
                    lengths[i] += 1
                    drawn ^= lowest
            begin = end
    listed = np.empty(lengths.sum(), np.uint32)
    place = 0
    for i in range(columns):
        for w in range(bits.shape[1]):
            word = bits[i, w]
            while word != 0:
                lowest = word & (np.uint64(0) - word)
                listed[place] = np.uint32(64 * w + np.int64(population_count(lowest - np.uint64(1))))
                place += 1
                word ^= lowest
    return lengths, listed


@kernel
def _column_limits(key: np.uint64, columns: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return for each column the probability of a one, times 2^32."""
    start = _mixed(_mixed(key) + np.uint64(4))
    made = np.empty(columns.size, np.uint64)
    for i in range(columns.size):
        made[i] = _mixed(start + np.uint64(columns[i] + 1) * GOLDEN) >> np.uint64(32)
    return made


@kernel
def _fill_biased(
    key: np.uint64, columns: NDArray[np.int64], limits: NDArray[np.uint64], rows: int, words: NDArray[np.uint64]
) -> None:
    """Set the bits of these columns."""
    for i in range(columns.size):
        start = _mixed(_mixed(key ^ GOLDEN) + np.uint64(columns[i]))
        for w in range((rows + 63) // 64):
            made = _biased_word(start + np.uint64(w) * np.uint64(64) * GOLDEN, limits[i], 32)
            if rows - 64 * w < 64:
                made &= (np.uint64(1) << np.uint64(rows - 64 * w)) - np.uint64(1)
            words[i, w] = made
