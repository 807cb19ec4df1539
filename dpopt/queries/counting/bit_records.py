"""Public records of zeros and ones, eight attributes to an octet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpopt.arrays import freeze, frozen
from dpopt.errors import SchemaError
from dpopt.queries.counting.binary_columns import BitColumns

WIDE = 1024
"""From so many attributes on, records of attributes with two codes are kept as bits."""

ROWS_AT_ONCE = 64  # records turned into columns together: bounds the temporary array to 64 d octets


@dataclass(frozen=True, slots=True, eq=False)
class BitRecords:
    """r records over d attributes with the codes 0 and 1; r d / 8 octets are held.

    Parameters
    ----------
    width : int
        Number of attributes d, at least 1.
    octets : (r, ceil(d / 8)) uint8, read-only
        Attribute a of record i is bit 7 - a % 8 of octets[i, a // 8]; the bits from d on are zero. So records are in
        lexicographic order if their octets are.

    Raises
    ------
    SchemaError
        If the octets do not fit the width, or a bit is set beyond the last attribute.
    """

    width: int
    octets: NDArray[np.uint8]

    def __post_init__(self) -> None:
        object.__setattr__(self, "octets", frozen(self.octets, np.uint8))
        if self.width < 1 or self.octets.ndim != 2 or self.octets.shape[1] != octets_for(self.width):
            raise SchemaError(
                f"records of {self.width:,} bits are rows of {octets_for(self.width):,} octets; found an array of shape "
                f"{self.octets.shape}"
            )
        if (self.octets[:, -1] & np.uint8(0xFF >> ((self.width - 1) % 8 + 1))).any():
            raise SchemaError(f"a bit is set beyond the last of {self.width:,} attributes")

    @classmethod
    def of(cls, records: NDArray[np.integer]) -> BitRecords:
        """Pack records (r, d).

        Raises
        ------
        SchemaError
            If a code is neither 0 nor 1.
        """
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
        """Return the distinct records in lexicographic order, how often each occurs, and the place of every record there."""
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
        whole: NDArray[np.void] = np.ascontiguousarray(self.octets).view(
            np.dtype((np.void, self.octets.shape[1]))
        )
        return whole[:, 0]


def octets_for(width: int) -> int:
    """Return the octets that hold so many bits."""
    return -(-width // 8)


def are_kept_as_bits(sizes: NDArray[np.integer]) -> bool:
    """Return whether records over attributes of these sizes (d,) are kept as bits: many attributes, none with a third code."""
    return len(sizes) >= WIDE and int(np.max(sizes)) <= 2
