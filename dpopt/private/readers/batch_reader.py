"""Reading columns of a table in batches by a public schema: codes of the counted rows, and values that do not fit.

Rows that are counted are those that fit, and of each person the first K. This is decided once, in the first pass. A bit
for each row is held from then on: later passes read only the columns that queries name, and could not decide again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError
from dpopt.private.readers.read_lengths import pieces_with_lengths
from dpopt.private.readers.table_problems import NO_TEXT, ColumnProblems
from dpopt.private.readers.table_reading import OnInvalid, TableReading
from dpopt.private.readers.table_sources import BATCH_ROWS, TableSource, column_positions
from dpopt.private.tables.dataset import Codes, Progress
from dpopt.schema.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

    from dpopt.private.readers.encode import ColumnEncoder

Kept = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class KeptRows:
    """A bit for each row of a table, in its order: whether it is counted. Private.

    `bits` (ceil(rows / 8),) uint8 hold the first row in the highest bit of the first byte; `rows` are counted or not.
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

    A person is the exact text in the person column; no hash stands for it. Which of a person's rows are kept depends on
    that person's rows, and on their order, alone. A row without a person (null, empty, NaN, a malformed row, a value
    without a text) is not kept: nothing says whose it is, and if such rows were bounded together, a person's row would
    push out another's.

    **Stability.** Adding or removing all rows of one person leaves what is kept of all others as it is, and changes at
    most K kept rows. Changing that person's rows, also so that they cannot be read any more, takes at most K kept rows
    away and adds at most K. Privacy: A10 in docs/privacy. Test: `tests/private/test_kept_rows.py`.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._numbers: defaultdict[str | None, int] = defaultdict()
        self._numbers.default_factory = self._numbers.__len__
        self._seen = np.zeros(0, dtype=np.int64)  # rows of each person so far, K at most

    @property
    def rows_of_each(self) -> NDArray[np.int64]:
        """How many rows of each person were kept, (persons,). Private."""
        return self._seen[: len(self._numbers)]

    def keep(self, persons: pa.Array, candidates: Kept) -> Kept:
        """Return which of the next rows are kept; rows that are no candidates neither are nor use up the person's K.

        `persons` (n,) are values of the person column, as the table has them. Raises PrivateDataError if their type has
        none.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        from dpopt.private.readers.encode import as_text, clean, no_reading

        if (why := no_reading(persons.type)) is not None:
            raise PrivateDataError(f"the person column: {why}")
        persons = as_text(persons)
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


BATCH_BYTES = 2**27
"""About the most memory for the codes of a batch, its bits, and the codes of the next batch; values as read take no
more than that."""

_VALUE_BYTES = 16  # a value as it is read, and on its way to its code


class BatchReader:
    """Reads columns of a table by a public schema, batch by batch: the codes of the rows that are counted.

    The first pass over a table decides which rows these are (`KeptRows`): it reads every column of the schema, and the
    person column. Later passes read the columns that they are given, and know which rows are `kept`. What does not fit
    is collected, unless the reading is total. `positions` tell where the columns of all attributes are in the table,
    and `attributes` (k,) which of them are read, at least one, each by one of the `encoders`. `rows` were read so far,
    counted or not: private.

    Each of `batches` and `read_through` may run in one thread at a time.
    """

    def __init__(
        self,
        source: TableSource,
        positions: Sequence[int],
        schema: Schema,
        attributes: NDArray[np.integer],
        how: TableReading,
        *,
        kept: KeptRows | None = None,
        person: int | None = None,
        encoder: type[ColumnEncoder] | None = None,
    ) -> None:
        from dpopt.private.readers.encode import ColumnEncoder

        self._source, self._how, self._kept = source, how, kept
        self.encoders = [
            (encoder or ColumnEncoder)(
                schema.attributes[attribute],
                how.repairs,
                nulls_are_malformed=source.nulls_are_malformed,
                decimal=source.decimal,
            )
            for attribute in attributes
        ]
        wanted = [positions[attribute] for attribute in attributes]
        wanted += [] if person is None else [person]
        self._positions = list(dict.fromkeys(wanted))  # the person column may be in the schema, too
        self._schema, self._columns = schema, positions
        self._person = None if person is None else self._positions.index(person)
        self._persons = FirstRowsOfPersons(how.rows_per_person or 0)
        decides = kept is None and (person is not None or OnInvalid.DROP in how.repairs)
        self._decided = RowsOfPart() if decides else None
        self.rows = 0

    @classmethod
    def first_pass(cls, source: TableSource, schema: Schema, how: TableReading) -> BatchReader:
        """Return the reader of all columns that decide which rows are counted; raises PrivateDataError if one is missing."""
        positions = column_positions(source, schema.names)
        if how.person is not None and how.person not in source.names:
            raise PrivateDataError(
                f"{source.title} has no column {how.person!r}, which names the person of each row (--person); its "
                f"columns are {', '.join(source.names)}"
            )
        person = None if how.person is None else column_positions(source, [how.person])[0]
        return cls(source, positions, schema, np.arange(len(schema)), how, person=person)

    @property
    def problems(self) -> list[ColumnProblems]:
        """Values that did not fit, column by column; empty if the reading is total."""
        return [encoder.problems for encoder in self.encoders]

    def faults(self) -> list[str]:
        """Return the malformed rows; empty if the reading is total."""
        return [] if self._how.is_total_for(self._schema) else self._source.faults()

    def rows_of_persons(self) -> NDArray[np.int64]:
        """Return how many rows of each person are counted, after a first pass to the end. Private."""
        return self._persons.rows_of_each

    def kept_rows(self) -> KeptRows | None:
        """Return which of the rows are counted, after a first pass to the end; None if all are."""
        return self._kept if self._decided is None else self._decided.result()

    def what_does_not_fit(self) -> str:
        """Return which rows and values did not fit, in words; nothing where all did. Private."""
        return what_does_not_fit(self._source, self.problems, self.faults())

    def refuse_what_does_not_fit(self) -> None:
        """Refuse, by PrivateDataError, a table read to its end, if rows or values did not fit: it names them."""
        refuse_what_does_not_fit(self._source, self.problems, self.faults())

    def batches(self, rows_at_a_time: int) -> Generator[list[Codes], None, None]:
        """Yield the codes of the wanted attributes for some rows, then for the next ones; each array is (rows,).

        After a value that has no code nothing more is yielded, but the table is read to its end, so that the message
        can say how much does not fit.
        """
        held = 0
        for rows in self._pieces(min(rows_at_a_time, BATCH_ROWS), None):
            held += rows
            if held >= rows_at_a_time:
                yield from self._taken()
                held = 0
        if held:
            yield from self._taken()

    def read_through(self, progress: Progress | None = None) -> None:
        """Read to the end; keep only the values that do not fit, and which rows are counted."""
        for _ in self._pieces(BATCH_ROWS, progress):
            for encoder in self.encoders:
                encoder.codes()

    def columns(self, progress: Progress | None = None) -> list[Codes]:
        """Read to the end and return the codes of each attribute."""
        for _ in self._pieces(BATCH_ROWS, progress):
            pass
        return [encoder.codes() for encoder in self.encoders]

    def _pieces(self, rows: int, progress: Progress | None) -> Iterator[int]:
        """Yield the number of rows of the next piece, once the values of those that are counted are with the encoders."""
        last = len(self._positions) - 1
        rows = min(rows, max(512, BATCH_BYTES // (_VALUE_BYTES * (last + 1))))
        invalid: NDArray[np.bool_] | None = None
        persons: pa.Array | None = None
        pieces = pieces_with_lengths(
            self._source, self._positions, self._schema, self._columns, progress, batch_rows=rows
        )
        for index, array in pieces:
            if index < len(self.encoders):
                found = self.encoders[index].add(array)
                if found is not None:
                    invalid = found if invalid is None else invalid | found
            if index == self._person:
                persons = array
            if index == last:
                self._keep(len(array), invalid, persons)
                self.rows += len(array)
                invalid = persons = None
                yield len(array)

    def _keep(self, rows: int, invalid: NDArray[np.bool_] | None, persons: pa.Array | None) -> None:
        """Decide, or look up, which rows of the last piece are counted, and forget the codes of the others."""
        if self._kept is None and self._decided is None:
            return
        if self._decided is None:
            kept = self._kept.part(self.rows, self.rows + rows)  # type: ignore[union-attr]
            if kept.size != rows or (invalid is not None and (invalid & kept).any()):
                raise PrivateDataError(
                    f"{self._source.title} does not hold the same rows as before; keep a copy that nothing writes to, "
                    f"and begin again"
                )
        else:
            kept = np.ones(rows, dtype=np.bool_)
            if invalid is not None and OnInvalid.DROP in self._how.repairs:
                kept &= ~invalid
            if persons is not None:
                kept = self._persons.keep(persons, kept)
            self._decided.add(kept)
        if not kept.all():
            for encoder in self.encoders:
                encoder.keep(kept)

    def _taken(self) -> Iterator[list[Codes]]:
        codes = [encoder.codes() for encoder in self.encoders]
        if not any(self.problems):
            yield codes


def refuse_what_does_not_fit(source: TableSource, columns: Sequence[ColumnProblems], faults: Sequence[str]) -> None:
    """Refuse, by PrivateDataError, a table whose rows (`faults`) or values of its columns did not fit."""
    found = what_does_not_fit(source, columns, faults)
    if found:
        raise PrivateDataError(f"{source.title} does not fit the schema\n{found}")


def what_does_not_fit(source: TableSource, columns: Sequence[ColumnProblems], faults: Sequence[str]) -> str:
    """Return which rows and values did not fit, in words; nothing where all did. Private."""
    problems = [column for column in columns if column]
    rows = sorted({row for problem in problems for row in problem.example_rows()})
    places = source.places(rows) if rows else {}
    blocks = [*faults] + [problem.message(places) for problem in problems]
    return "\n".join(f"  {line}" for block in blocks for line in block.splitlines())
