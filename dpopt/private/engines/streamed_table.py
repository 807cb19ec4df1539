"""A table that stays in its files: every count reads it once more, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PrivateDataError
from dpopt.private.engines.batch_counts import BatchCounter, NamedQueries, count_in_batches
from dpopt.private.readers.batch_reader import BatchReader
from dpopt.private.readers.kept_rows import KeptRows
from dpopt.private.readers.open_table import AnyTable, open_table
from dpopt.private.readers.read_table import refuse_without_rows
from dpopt.private.readers.table_reading import TableReading
from dpopt.private.readers.table_sources import BATCH_ROWS, Progress, TableSource, column_positions
from dpopt.private.readers.watched_files import WatchedFiles
from dpopt.private.tables.dataset import Codes, PrivateDataset
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.schema import Schema


class TableInFiles(PrivateDataset):
    """Records that are counted without holding them: what needs columns of a table in memory refuses this one."""

    __slots__ = ("_files", "_how", "_kept", "_rows_read", "_table")
    _table: AnyTable
    _how: TableReading
    _files: WatchedFiles
    _kept: KeptRows | None  # which rows are counted; None if all are
    _rows_read: int  # counted or not

    def __getattr__(self, name: str) -> NoReturn:
        if name == "_columns":
            raise PrivateDataError(
                "this needs the table in memory, and the table is read in parts; use --engine memory (engine='memory')"
            )
        raise AttributeError(f"a {type(self).__name__} has no attribute {name!r}")

    def _parts(self, attributes: Sequence[int]) -> Iterator[list[Codes]]:
        """Yield the codes of some attributes, batch by batch. Reads the table once, in this process."""
        source, reader = self._reader(np.array(attributes))
        yield from reader.batches(BATCH_ROWS)
        self._check(source, reader)

    def _reader(self, attributes: NDArray[np.integer]) -> tuple[TableSource, BatchReader]:
        """Open the files again, if they are what they were, to read some attributes."""
        source = self._opened()
        names = self._schema.names
        positions = column_positions(source, [names[attribute] for attribute in attributes])
        return source, BatchReader(source, positions, self._schema, attributes, self._how, kept=self._kept)

    def _opened(self) -> TableSource:
        source = open_table(self._table, self._how)
        self._files.check(source.files)
        return source

    def _check(self, source: TableSource, reader: BatchReader) -> None:
        """Refuse what was read, if files changed meanwhile, or if it is not what the first pass found."""
        self._files.check(source.files)
        reader.refuse_what_does_not_fit()
        if reader.rows != self._rows_read:
            raise PrivateDataError(
                f"{source.title} does not have as many rows as before; keep a copy that nothing writes to, and begin again"
            )


class StreamedTable(TableInFiles):
    """A CSV file, a Parquet file or a folder of such files, read anew for every count.

    The answers are those of the table in memory, to the last bit: counts are whole numbers, and batches are added up. A first
    pass reads all columns of the schema, so that the same tables are refused as in memory, with the same messages, before
    anything is spent; it also finds the number of records and, where rows are dropped, which ones are counted (`KeptRows`: a
    bit for each row stays in memory). Later passes read the columns that the queries name, and check their values again. Files
    that change between passes are refused, under both neighbouring relations: the counts of a run must be those of one table.
    """

    __slots__ = ()

    @classmethod
    def open(
        cls,
        table: AnyTable,
        schema: Schema,
        reading: TableReading | None = None,
        *,
        progress: Progress | None = None,
    ) -> StreamedTable:
        """Read a table once, hold it against the schema, and forget its records. Parameters as for `read_table`.

        Raises
        ------
        PrivateDataError
            If the table is not in files, cannot be read, lacks a column, has no rows, or holds values that do not fit.
        """
        how = reading or TableReading()
        how.check_against(schema)
        source = open_table(table, how)
        if not source.files:
            raise PrivateDataError(
                f"{source.title} is in memory already; use --engine memory (engine='memory'), or give the path of a file"
            )
        files = WatchedFiles.of(source.files)
        reader = BatchReader.first_pass(source, schema, how)
        reader.read_through(progress)
        files.check(source.files)
        reader.refuse_what_does_not_fit()
        refuse_without_rows(source, reader.rows, how)
        kept = reader.kept_rows()
        made = object.__new__(cls)
        for name, value in (
            ("_schema", schema),
            ("_rows", reader.rows if kept is None else kept.number),
            ("_rows_read", reader.rows),
            ("_kept", kept),
            ("_table", table),
            ("_how", how),
            ("_files", files),
        ):
            object.__setattr__(made, name, value)
        return made

    def _count(
        self,
        queries: MarginalSet | Clauses,
        *,
        threads: int,
        progress: Callable[[float], None] | None,
    ) -> NDArray[np.int64]:
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
