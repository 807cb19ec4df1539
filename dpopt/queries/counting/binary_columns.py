"""Columns of zeros and ones, as lists of the records with a one or as bits, and public records as bits.

A table of half a million attributes is one object, not half a million arrays. Columns are also a sequence of dense
ones, so that whatever works on a few columns of a table works on them. Records hold eight attributes to an octet.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze
from dpopt.constraints import constrain
from dpopt.errors import SchemaError

MOST_ROWS = 2**32 - 1  # the numbers of records are kept in 32 bits


class BinaryColumns(Sequence[NDArray[np.uint8]]):
    """d columns over n records, each 0 or 1; column i as a dense (n,) array is `columns[i]`."""

    __slots__ = ()
    rows: int

    @overload
    def __getitem__(self, index: int) -> NDArray[np.uint8]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[NDArray[np.uint8]]: ...
    def __getitem__(self, index: int | slice) -> NDArray[np.uint8] | Sequence[NDArray[np.uint8]]:
        """Return a column, dense; or a list of them."""
        if isinstance(index, slice):
            return [self.dense(column) for column in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"there are {len(self)} columns, numbered from 0")
        return self.dense(place)

    @abstractmethod
    def dense(self, column: int) -> NDArray[np.uint8]:
        """Return one column as an array (n,) of zeros and ones, read-only."""

    @abstractmethod
    def ones(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many records have a one in each of these columns, the same shape. Private where the table is."""

    @abstractmethod
    def pack_into(self, columns: NDArray[np.int64], words: NDArray[np.uint64]) -> None:
        """Set bit r % 64 of words[i, r // 64] for every record r with a one in column columns[i].

        `words` has shape (len(columns), W) with 64 W >= n and holds zeros.
        """


@dataclass(frozen=True, slots=True, eq=False)
class SparseColumns(BinaryColumns):
    """Columns as lists: column i has a one in the records listed[starts[i]:starts[i + 1]], increasing."""

    rows: int = field(repr=False)
    """Number of records n."""
    starts: NDArray[np.int64] = field(repr=False)
    """Shape (d + 1,)."""
    listed: NDArray[np.uint32] = field(repr=False)

    def __post_init__(self) -> None:
        from dpopt.queries.counting.packing_kernels import lists_increase

        constrain(self, SchemaError)
        starts, listed = self.starts, self.listed
        if starts.ndim != 1 or starts.size < 1 or starts[0] != 0 or (np.diff(starts) < 0).any():
            raise SchemaError("sparse columns: 'starts' must begin with 0 and not decrease, one more than columns")
        if listed.ndim != 1 or int(starts[-1]) != listed.size:
            raise SchemaError("sparse columns: 'listed' must be as long as the last number of 'starts' says")
        if not 0 <= self.rows <= MOST_ROWS:
            raise SchemaError(f"sparse columns: at most {MOST_ROWS:,} records are possible")
        if not lists_increase(starts, listed, self.rows):
            raise SchemaError("sparse columns: the records of a column must increase and be numbered from 0 to n - 1")

    def __len__(self) -> int:
        """Return the number of columns d."""
        return int(self.starts.size) - 1

    def dense(self, column: int) -> NDArray[np.uint8]:
        """Return one column as an array (n,) of zeros and ones, read-only."""
        made = np.zeros(self.rows, dtype=np.uint8)
        made[self.listed[self.starts[column] : self.starts[column + 1]]] = 1
        made.setflags(write=False)
        return made

    def ones(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many records have a one in each of these columns, the same shape."""
        return np.asarray(self.starts[columns + 1] - self.starts[columns])

    def pack_into(self, columns: NDArray[np.int64], words: NDArray[np.uint64]) -> None:
        """Set the bits of these columns; see `BinaryColumns.pack_into`."""
        from dpopt.queries.counting.packing_kernels import set_listed_bits

        set_listed_bits(self.starts, self.listed, columns, words)


@dataclass(frozen=True, slots=True, eq=False)
class BitColumns(BinaryColumns):
    """Columns as bits: bit r % 64 of words[i, r // 64] is record r of column i.

    `words` (d, W) is little-endian, W = ceil(n / 64) or more, the bits from n on are zero. It may be a file in memory
    (`numpy.memmap`).
    """

    rows: int = field(repr=False)
    """Number of records n."""
    words: NDArray[np.uint64] = field(repr=False)

    def __post_init__(self) -> None:
        words = self.words
        if words.ndim != 2 or words.dtype != np.uint64:
            raise SchemaError("bit columns: 'words' must have shape (d, W) and hold 64-bit words")
        if not 0 <= self.rows <= min(64 * words.shape[1], MOST_ROWS):
            raise SchemaError("bit columns: the words do not hold the number of records given")
        beyond = words[:, self.rows // 64 :]
        if (beyond.size and (beyond[:, 0] >> np.uint64(self.rows % 64)).any()) or beyond[:, 1:].any():
            raise SchemaError("bit columns: a bit is set beyond the last record")
        if words.flags.writeable:
            held = words.view()
            held.setflags(write=False)
            object.__setattr__(self, "words", held)

    def __len__(self) -> int:
        """Return the number of columns d."""
        return int(self.words.shape[0])

    def dense(self, column: int) -> NDArray[np.uint8]:
        """Return one column as an array (n,) of zeros and ones, read-only."""
        made = np.unpackbits(
            np.ascontiguousarray(self.words[column]).view(np.uint8), count=self.rows, bitorder="little"
        )
        made.setflags(write=False)
        return made

    def ones(self, columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many records have a one in each of these columns, the same shape."""
        from dpopt.queries.counting.packing_kernels import set_bits

        return set_bits(self.words, columns.reshape(-1)).reshape(columns.shape)

    def pack_into(self, columns: NDArray[np.int64], words: NDArray[np.uint64]) -> None:
        """Copy the words of these columns; see `BinaryColumns.pack_into`."""
        length = min(self.words.shape[1], words.shape[1])
        step = max(1, (1 << 22) // max(length, 1))
        for begin in range(0, len(columns), step):
            words[begin : begin + step, :length] = self.words[columns[begin : begin + step], :length]


WIDE = 1024
"""From this number of attributes on, records of attributes with two codes are kept as bits."""

ROWS_AT_ONCE = 64  # records turned into columns together: bounds the temporary array to 64 d octets


@dataclass(frozen=True, slots=True, eq=False)
class BitRecords:
    """r records over d attributes with the codes 0 and 1; r d / 8 octets are held."""

    width: int
    """Number of attributes d, at least 1."""
    octets: NDArray[np.uint8]
    """Shape (r, ceil(d / 8)). Attribute a of record i is bit 7 - a % 8 of octets[i, a // 8]; the bits from d on are
    zero. So records are in lexicographic order if their octets are."""

    def __post_init__(self) -> None:
        constrain(self, SchemaError)
        if self.width < 1 or self.octets.ndim != 2 or self.octets.shape[1] != octets_for(self.width):
            raise SchemaError(
                f"records of {self.width:,} bits are rows of {octets_for(self.width):,} octets; found an array of "
                f"shape {self.octets.shape}"
            )
        if (self.octets[:, -1] & np.uint8(0xFF >> ((self.width - 1) % 8 + 1))).any():
            raise SchemaError(f"a bit is set beyond the last of {self.width:,} attributes")

    @classmethod
    def of(cls, records: NDArray[np.integer]) -> BitRecords:
        """Pack records (r, d)."""
        if records.ndim != 2 or (records.size and not 0 <= records.min() <= records.max() <= 1):
            raise SchemaError("records as bits: expected rows of codes 0 and 1")
        return cls(records.shape[1], freeze(np.packbits(records.astype(np.bool_), axis=1)))

    @classmethod
    def joined(cls, parts: Sequence[BitRecords]) -> BitRecords:
        """Return the records of several, at least one, which have the same attributes."""
        return cls(parts[0].width, freeze(np.concatenate([part.octets for part in parts])))

    def __len__(self) -> int:
        """Return the number of records r."""
        return int(self.octets.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """Number of records and of attributes, (r, d)."""
        return len(self), self.width

    def codes(self) -> NDArray[np.int32]:
        """Return the codes of all records, (r, d) int32, read-only: 32 times the memory."""
        return freeze(np.unpackbits(self.octets, axis=1, count=self.width).astype(np.int32))

    def take(self, indices: NDArray[np.integer]) -> BitRecords:
        """Return the records at these places (k,), in this order; a place may occur more than once."""
        return BitRecords(self.width, freeze(self.octets[indices]))

    def over(self, attributes: NDArray[np.integer]) -> BitRecords:
        """Return the same records over these attributes (k,) alone, in this order; nothing else is unpacked."""
        octet, shift = attributes // 8, (7 - attributes % 8).astype(np.uint8)
        made = np.empty((len(self), octets_for(len(attributes))), dtype=np.uint8)
        for begin in range(0, len(self), ROWS_AT_ONCE):
            part = self.octets[begin : begin + ROWS_AT_ONCE]
            made[begin : begin + ROWS_AT_ONCE] = np.packbits(part[:, octet] >> shift & 1, axis=1)
        return BitRecords(len(attributes), freeze(made))

    def distinct(self) -> tuple[BitRecords, NDArray[np.int64], NDArray[np.int64]]:
        """Return the distinct records in lexicographic order, their numbers, and the place of every record there."""
        found, place, counts = np.unique(self._whole(), return_inverse=True, return_counts=True)
        octets = np.frombuffer(found.tobytes(), dtype=np.uint8).reshape(len(found), -1)
        return BitRecords(self.width, octets), counts.astype(np.int64), place.astype(np.int64).ravel()

    def order(self) -> NDArray[np.int64]:
        """Return the places of the records in lexicographic order, (r,); equal ones in the order in which they are."""
        return np.argsort(self._whole(), kind="stable")

    def columns(self) -> BitColumns:
        """Return the same bits by attribute: d words for each 64 records."""
        words = np.empty((self.width, max(1, -(-len(self) // ROWS_AT_ONCE))), dtype=np.uint64)
        for word in range(words.shape[1]):
            part = self.octets[ROWS_AT_ONCE * word : ROWS_AT_ONCE * (word + 1)]
            columns = np.zeros((8, self.width), dtype=np.uint8)
            packed = np.packbits(np.unpackbits(part, axis=1, count=self.width), axis=0, bitorder="little")
            columns[: len(packed)] = packed
            words[:, word] = np.ascontiguousarray(columns.T).view("<u8")[:, 0]
        return BitColumns(len(self), freeze(words))

    def ones(self) -> NDArray[np.int64]:
        """Return how many attributes of each record are 1, (r,)."""
        return np.asarray(np.bitwise_count(self.octets).sum(axis=1, dtype=np.int64))

    def _whole(self) -> NDArray[np.void]:
        """Return each record as one value of all its octets, (r,)."""
        whole: NDArray[np.void] = np.ascontiguousarray(self.octets).view(np.dtype((np.void, self.octets.shape[1])))
        return whole[:, 0]


def octets_for(width: int) -> int:
    """Return the number of octets that hold this number of bits."""
    return -(-width // 8)


def are_kept_as_bits(sizes: NDArray[np.integer]) -> bool:
    """Return whether records of these sizes (d,) are kept as bits: many attributes, none with a third code."""
    return len(sizes) >= WIDE and int(np.max(sizes)) <= 2
