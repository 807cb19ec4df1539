"""A table that stays in its files: every count reads it once more, batch by batch.

What is held in memory is one batch, the queries and their counts. A thread reads the next batch while the current one
is counted (`one_ahead`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, Self, cast

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError
from dpopt.private.readers import batch_reader
from dpopt.private.readers.batch_reader import BatchReader
from dpopt.private.readers.open_table import AnyTable, open_table
from dpopt.private.readers.read_table import ReadFrom, refuse_without_rows
from dpopt.private.readers.table_reading import TableReading
from dpopt.private.readers.table_sources import BATCH_ROWS, TableSource, WatchedFiles, column_positions
from dpopt.private.tables.dataset import AnyQueries, Codes, PrivateDataset, Progress, least_dtype, number_of
from dpopt.queries.associations import PairSums, group_sums
from dpopt.queries.marginal_set import MarginalSet, over_named
from dpopt.schema.schema import Schema
from dpopt.threads import one_ahead

if TYPE_CHECKING:
    from dpopt.private.readers.encode import ColumnEncoder

_CODES_HELD = 3  # times: of the batch that is counted, and of the next one twice, piece by piece and put together
_FEWEST_ROWS, _MOST_ROWS = 2**12, 2**23


@dataclass(frozen=True, slots=True)
class NamedQueries:
    """Queries over the attributes that they name alone: the content of batches, and their size."""

    attributes: NDArray[np.int64]
    """Shape (k,). The attributes that the queries name, in the order of the schema; batches consist of their codes. At
    least one."""
    sizes: NDArray[np.int32]
    """Shape (k,). Number of codes of each."""
    queries: AnyQueries
    """m clauses, or marginals with m cells, over these attributes, numbered from 0."""
    rows_at_a_time: int
    """How many rows a batch should have, by its size in bytes."""

    @classmethod
    def of(cls, schema: Schema, queries: AnyQueries) -> NamedQueries:
        """Renumber queries over a schema."""
        attributes, own = over_named(queries, schema.sizes)
        sizes = schema.sizes[attributes]
        bits = 0 if isinstance(queries, MarginalSet) else int(sizes.sum())
        code_bytes = sum(least_dtype(int(size)).itemsize for size in sizes)
        rows = batch_reader.BATCH_BYTES // (_CODES_HELD * code_bytes + bits // 8 + 1)
        return cls(attributes, sizes, own, min(max(rows, _FEWEST_ROWS), _MOST_ROWS) // 512 * 512)

    def __len__(self) -> int:
        """Return the number m of clauses or cells."""
        return number_of(self.queries)


class BatchCounter:
    """Adds up how many records of batches lie in each cell, or satisfy each clause: `counts` (m,) int64, private."""

    def __init__(self, named: NamedQueries, *, threads: int) -> None:
        self.named = named
        self.counts = np.zeros(len(named), dtype=np.int64)
        self._threads = threads

    def add(self, codes: list[Codes]) -> None:
        """Count on the next batch."""
        queries = self.named.queries
        if isinstance(queries, MarginalSet):
            from dpopt.queries.counting.marginal_kernels import count_cells, distinct_rows

            many = len(queries) > len(codes)  # then it is worth to look for equal records
            columns, weights = (distinct_rows(codes, self.named.sizes) if many else None) or (codes, None)
            counts = count_cells(queries, columns, weights=weights, threads=self._threads)
            self.counts += np.asarray(counts, dtype=np.int64)
            return
        from dpopt.queries.counting.counting import count_on_columns

        self.counts += count_on_columns(codes, self.named.sizes, queries, threads=self._threads)


def count_in_batches(
    reader: BatchReader, counter: BatchCounter, progress: Callable[[int], None] | None = None, *, ahead: bool
) -> None:
    """Read a table once and count on every batch; with `ahead`, a thread reads the next one meanwhile.

    `progress` gets how many rows have been counted.
    """
    counted, read = 0, reader.batches(counter.named.rows_at_a_time)
    with closing(one_ahead(read) if ahead else read) as batches:
        for codes in batches:
            counter.add(codes)
            counted += codes[0].size
            del codes  # before the batch after the next one is begun
            if progress is not None:
                progress(counted)


class TableInFiles(PrivateDataset):
    """Records that are counted in batches; refuses uses that need whole columns in memory."""

    __slots__ = ()
    _source: ReadFrom

    def __getattr__(self, name: str) -> NoReturn:
        if name == "_columns":
            raise PrivateDataError(
                "this needs the table in memory, and the table is read in parts; use --engine memory"
            )
        raise AttributeError(f"a {type(self).__name__} has no attribute {name!r}")

    def _by(self, schema: Schema) -> Self:
        """Return the same records by a schema that differs in the bins of numeric attributes alone, within the same bounds."""
        held = {
            name: getattr(self, name)
            for kind in type(self).__mro__
            for name in getattr(kind, "__slots__", ())
            if name not in {"__weakref__", "_columns", "_distinct"}
        }
        return self._holding(**{**held, "_schema": schema})

    def _parts(self, attributes: Sequence[int]) -> Iterator[list[Codes]]:
        """Yield the codes of some attributes, batch by batch. Reads the table once, in this process."""
        source, reader = self._reader(np.array(attributes))
        yield from reader.batches(BATCH_ROWS)
        self._check(source, reader)

    def _reader(
        self, attributes: NDArray[np.integer], encoder: type[ColumnEncoder] | None = None
    ) -> tuple[TableSource, BatchReader]:
        """Open the unchanged files again to read some attributes; raises if they were changed."""
        source = self._opened()
        positions = column_positions(source, self._schema.names)
        how, kept = self._source.how, self._source.kept
        return source, BatchReader(source, positions, self._schema, attributes, how, kept=kept, encoder=encoder)

    def _numbers(
        self,
        attributes: Sequence[int],
        others: Sequence[int] = (),
        joint: Sequence[int] = (),
        groups: Sequence[int] = (),
    ) -> tuple[list[tuple[NDArray[np.float64], NDArray[np.int64]]], list[int], PairSums, NDArray[np.float64]]:
        """Return each number of the numeric attributes with its count of records, and the sums over pairs and groups.

        Reads the table once, in this process. Numbers (2, n) are as those of `FileEncoder.known`, in the file and as the
        reading counts them, each list with their counts (n,). Of the `others` follow how many records have a value that
        goes to the bucket. Then the sums, of numbers in the file, over pairs of those at the positions `joint`, and
        over the values of the others at the positions `groups`, as `group_sums` has them, one after another.
        """
        from dpopt.private.readers.encode import FileEncoder

        source, reader = self._reader(np.array([*attributes, *others]), FileEncoder)
        encoders = [cast("FileEncoder", encoder) for encoder in reader.encoders]
        counts = [np.zeros(0, dtype=np.int64) for _ in encoders]
        centres = np.array([self._schema.attributes[attributes[place]].edges[0] for place in joint])
        sums = PairSums.of(np.zeros((len(joint), 0)), np.zeros(0), centres)
        sizes = np.array([self._schema.attributes[place].size for place in others], dtype=np.int64)
        starts = np.cumsum([0, *sizes[list(groups)]])
        grouped = np.zeros((2, numeric := len(attributes), int(starts[-1])))
        for batch in reader.batches(BATCH_ROWS):
            for place, codes in enumerate(batch):
                found = np.bincount(codes, minlength=counts[place].size)
                found[: counts[place].size] += counts[place]
                counts[place] = found
            if groups:
                held = np.stack([encoders[place].known()[0, batch[place]] for place in range(numeric)])
                within = []
                for place, start in zip(groups, starts[:-1], strict=True):
                    codes, other = batch[numeric + place], self._schema.attributes[others[place]].other_code
                    within.append(start + np.where(codes < sizes[place], codes, other or 0).astype(np.int64))
                grouped += group_sums(held, np.ones(held.shape[1]), within, int(starts[-1]))
            if joint:
                held = np.stack([encoders[place].known()[0, batch[place]] for place in joint])
                sums += PairSums.of(held, np.ones(held.shape[1]), centres)
        self._check(source, reader)
        numbers = [
            (encoder.known()[:, np.flatnonzero(found)], found[found > 0])
            for encoder, found in zip(encoders[:numeric], counts, strict=False)
        ]
        return (
            numbers,
            [int(found[size:].sum()) for size, found in zip(sizes, counts[numeric:], strict=True)],
            sums,
            grouped,
        )

    def _opened(self) -> TableSource:
        source = open_table(self._source.table, self._source.how)
        self._source.files.check(source.files)
        return source

    def _check(self, source: TableSource, reader: BatchReader) -> None:
        """Refuse the result of a pass if files changed meanwhile, or if it differs from the first pass."""
        self._source.files.check(source.files)
        reader.refuse_what_does_not_fit()
        if reader.rows != self._source.rows:
            raise PrivateDataError(
                f"{source.title} does not have as many rows as before; keep a copy that nothing writes to, and begin "
                f"again"
            )


def readable_again(dataset: PrivateDataset) -> TableInFiles | None:
    """Return the same records as a table that is read for every count; None where there are codes alone."""
    if isinstance(dataset, TableInFiles):
        return dataset
    if not isinstance(dataset._source, ReadFrom):
        return None
    return StreamedTable._holding(_schema=dataset._schema, _rows=dataset._rows, _source=dataset._source)


class StreamedTable(TableInFiles):
    """A CSV file, a Parquet file or a folder of such files, read anew for every count.

    The answers are those of the table in memory, to the last bit: counts are whole numbers, and batches are added up. A
    first pass reads all columns of the schema, so that the same tables are refused as in memory, with the same
    messages, before anything is spent; it also finds the number of records and, where rows are dropped, which ones are
    counted (`KeptRows`: a bit for each row stays in memory). Later passes read the columns that the queries name, and
    check their values again. Files that change between passes are refused, under both neighbouring relations: the
    counts of a run must be those of one table.
    """

    __slots__ = ()

    @classmethod
    def open(
        cls, table: AnyTable, schema: Schema, reading: TableReading | None = None, *, progress: Progress | None = None
    ) -> StreamedTable:
        """Read a table once, validate it by the schema, and forget its records. Parameters as for `read_table`."""
        how = (reading or TableReading()).for_schema(schema)
        how.check_against(schema)
        source = open_table(table, how)
        if not source.files:
            raise PrivateDataError(
                f"{source.title} is in memory already; use --engine memory, or give the path of a file"
            )
        files = WatchedFiles.of(source.files)
        reader = BatchReader.first_pass(source, schema, how)
        reader.read_through(progress)
        files.check(source.files)
        reader.refuse_what_does_not_fit()
        refuse_without_rows(source, reader.rows, how)
        read = ReadFrom(table, how, files, reader.kept_rows(), reader.rows)
        return cls._holding(_schema=schema, _rows=read.counted, _source=read)

    def _count(self, queries: AnyQueries, *, threads: int, progress: Progress | None) -> NDArray[np.int64]:
        """Return how many records lie in each cell, or satisfy each clause; see `exact_counts`. Reads the table once."""
        named = NamedQueries.of(self._schema, queries)
        counter = BatchCounter(named, threads=threads)
        source, reader = self._reader(named.attributes)
        count_in_batches(
            reader,
            counter,
            None if progress is None else lambda rows: progress(min(rows / max(self._rows, 1), 1.0)),
            ahead=True,
        )
        self._check(source, reader)
        return counter.counts
