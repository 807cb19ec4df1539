"""Which rows of a table are counted: those that fit, and of each person the first K. Decided once, in the first pass.

A bit for each row is held from then on, whatever decides: later passes read only the columns that queries name, and could not
decide again.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError
from dpopt.private.readers.table_problems import NO_TEXT

if TYPE_CHECKING:
    import pyarrow as pa

Kept = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class KeptRows:
    """A bit for each row of a table, in its order: whether it is counted. Private.

    Attributes
    ----------
    bits : (ceil(rows / 8),) uint8
        The first row in the highest bit of the first byte.
    rows : int
        Rows of the table, counted or not.
    """

    bits: NDArray[np.uint8]
    rows: int

    def part(self, begin: int, end: int) -> Kept:
        """Return whether each of the rows begin .. end - 1 is counted."""
        first = begin // 8
        bits = np.unpackbits(self.bits[first : -(-end // 8)])
        return bits[begin - 8 * first : end - 8 * first].view(np.bool_)

    @property
    def number(self) -> int:
        """How many rows are counted."""
        return int(np.bitwise_count(self.bits).sum(dtype=np.int64))


class RowsOfPart:
    """Takes down, piece by piece, which rows are counted."""

    def __init__(self) -> None:
        self.rows = 0
        self._whole: list[NDArray[np.uint8]] = []
        self._rest = np.zeros(0, dtype=np.bool_)  # fewer than 8 rows

    def add(self, kept: Kept) -> None:
        """Take down the next rows."""
        self.rows += kept.size
        joined = np.concatenate([self._rest, kept])
        end = joined.size // 8 * 8
        self._whole.append(np.packbits(joined[:end]))
        self._rest = joined[end:]

    def result(self) -> KeptRows:
        """Return all that was taken down."""
        return KeptRows(np.concatenate([*self._whole, np.packbits(self._rest)]), self.rows)


class FirstRowsOfPersons:
    """Keeps the first K rows of each person, in the order of the table.

    A person is the exact text in the person column; no hash stands for it. Which of a person's rows are kept depends on that
    person's rows, and on their order, alone. A row without a person (null, empty, NaN, a malformed row, a value without a text)
    is not kept: nothing says whose it is, and if such rows were bounded together, a person's row would push out another's.

    **Stability.** Adding or removing all rows of one person leaves what is kept of all others as it is, and changes at most K
    kept rows. Changing that person's rows, also so that they cannot be read any more, takes at most K kept rows away and adds
    at most K. Privacy: A10 in docs/privacy.md. Test: `tests/private/test_kept_rows.py`.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._numbers: defaultdict[str | None, int] = defaultdict()
        self._numbers.default_factory = self._numbers.__len__
        self._seen = np.zeros(0, dtype=np.int64)  # rows of each person so far, K at most

    def keep(self, persons: pa.Array, candidates: Kept) -> Kept:
        """Return which of the next rows are kept; rows that are no candidates neither are nor use up the person's K.

        Parameters
        ----------
        persons : (n,) values of the person column, as the table has them
        candidates : (n,) bool

        Raises
        ------
        PrivateDataError
            If values of its type have no texts.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        from dpopt.private.readers.encode import as_text, clean

        try:
            persons = as_text(persons)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as problem:
            raise PrivateDataError(
                f"the person column has the type {persons.type}, which has no texts ({problem}); convert it to text"
            ) from problem
        if pa.types.is_dictionary(persons.type):
            persons = pa.DictionaryArray.from_arrays(persons.indices, clean(as_text(persons.dictionary)))
        else:
            persons = clean(persons)
        rows = np.flatnonzero(candidates & _have_text(persons))
        chosen = persons.take(rows)
        encoded = chosen if hasattr(chosen, "dictionary") else pc.dictionary_encode(chosen)
        local = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        used, local = np.unique(local, return_inverse=True)
        texts = encoded.dictionary.take(used).to_pylist()
        number = np.fromiter(map(self._numbers.__getitem__, texts), dtype=np.int64, count=len(texts))[local]
        if len(self._numbers) > self._seen.size:
            self._seen = np.pad(self._seen, (0, 2 * len(self._numbers) - self._seen.size))
        order = np.argsort(number, kind="stable")
        ordered = number[order]
        place = np.arange(rows.size) - np.searchsorted(ordered, ordered)  # among the same person's rows here
        keeps = self._seen[ordered] + place < self._most
        np.add.at(self._seen, ordered[keeps], 1)
        kept = np.zeros(candidates.size, dtype=np.bool_)
        kept[rows[order[keeps]]] = True
        return kept


def _have_text(texts: pa.Array) -> Kept:
    import pyarrow.compute as pc

    if hasattr(texts, "dictionary"):
        known = np.append(_have_text(texts.dictionary), np.False_)
        indices = pc.fill_null(texts.indices.cast("int64"), known.size - 1)
        return np.asarray(known[indices.to_numpy(zero_copy_only=False)])
    none = pc.or_(pc.equal(texts, ""), pc.starts_with(texts, NO_TEXT))
    return ~np.array(pc.fill_null(none, fill_value=True).to_numpy(zero_copy_only=False), dtype=np.bool_)
