"""A table whose parts are counted by the workers of a Dask cluster. Counts go back, records do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import DpoptError, PrivateDataError
from dpopt.private.engines.dask_workers import DaskWorkers
from dpopt.private.engines.streamed_table import BatchCounter, NamedQueries, TableInFiles, count_in_batches
from dpopt.private.readers.batch_reader import (
    BatchReader,
    FirstRowsOfPersons,
    KeptRows,
    RowsOfPart,
    refuse_what_does_not_fit,
)
from dpopt.private.readers.csv_source import CsvFile, CsvFilesSource, CsvSource, faults_of
from dpopt.private.readers.open_table import AnyTable, open_table
from dpopt.private.readers.parquet_source import ParquetSource, RowGroups
from dpopt.private.readers.read_table import ReadFrom, refuse_without_rows
from dpopt.private.readers.table_problems import ColumnProblems
from dpopt.private.readers.table_reading import TableReading
from dpopt.private.readers.table_sources import WatchedFiles, column_positions
from dpopt.private.tables.dataset import AnyQueries, Progress
from dpopt.schema.schema import Schema

Part: TypeAlias = tuple[RowGroups, ...] | CsvFile
"""Row groups of Parquet files, or one CSV file of several."""

CountedPart: TypeAlias = tuple[Part, KeptRows | None]
"""A part, and which of its rows are counted; None if all are."""

VERSION = 4
"""Version of the messages between driver and workers; raise it with every change of their form or meaning."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How every part of a table is read."""

    schema: Schema
    how: TableReading
    title: str
    file_names: tuple[str, ...]
    positions: tuple[int, ...]
    """Where each attribute of the schema is among the columns of the files."""
    version: int = VERSION
    """`VERSION` where the question was asked; workers with another one refuse."""

    def source(self, part: Part) -> ParquetSource | CsvSource:
        """Return the source of one part; refuse where this is another version of dpopt."""
        if self.version != VERSION:
            raise DpoptError("a worker has another version of dpopt; install the same version on all workers as here")
        if isinstance(part, CsvFile):
            return part.source(self.file_names)
        return ParquetSource.of_parts(part, self.title, self.file_names, trim=bool(self.how.trim))


@dataclass(frozen=True, slots=True, repr=False)
class PartRead:
    """The result that a worker returns for its part. Private."""

    rows: int
    """Rows that were read."""
    problems: dict[int, ColumnProblems]
    """Values that do not fit, for the owner's message, by the position of their attribute."""
    counts: NDArray[np.int64] | None = None
    """Shape (m,). How many records lie in each cell, or satisfy each clause; None if they were not asked for, or a
    value did not fit."""
    faults: tuple[str, ...] = ()
    """The part of the owner's message on whole rows that do not fit."""
    kept: KeptRows | None = None
    """Of a first pass: which rows fit, where those that do not are dropped."""


@dataclass(frozen=True, slots=True, repr=False)
class PartFailed:
    """Why a worker could not read its part: a text for the owner."""

    message: str


PartReport: TypeAlias = PartRead | PartFailed


def read_part(counted: CountedPart, reading: Reading, named: NamedQueries | None = None) -> PartReport:
    """Read a part to its end: all attributes of the schema, or those that queries name, to count on them.

    In one thread: the cluster decides how many tasks a worker runs at a time.
    """
    try:
        part, kept = counted
        source = reading.source(part)
        attributes = np.arange(len(reading.schema)) if named is None else named.attributes
        reader = BatchReader(source, reading.positions, reading.schema, attributes, reading.how, kept=kept)
        counter = None if named is None else BatchCounter(named, threads=1)
        if counter is None:
            reader.read_through()
        else:
            count_in_batches(reader, counter, ahead=False)
        found = zip(attributes.tolist(), reader.problems, strict=True)
        problems = {attribute: column for attribute, column in found if column}
        total = reading.how.is_total_for(reading.schema)
        faults = tuple(faults_of(source)) if isinstance(source, CsvSource) and not total else ()
        if counter is None:
            return PartRead(reader.rows, problems, faults=faults, kept=reader.kept_rows())
        return PartRead(reader.rows, problems, None if problems or faults else counter.counts, faults)
    except Exception as problem:  # noqa: BLE001  # returned to the owner instead of logged by the worker
        return _failed(problem)


def _failed(problem: Exception) -> PartFailed:
    if isinstance(problem, DpoptError):
        return PartFailed(str(problem))
    return PartFailed(
        f"a worker stopped with {type(problem).__name__} (its text is kept back: it may quote records); try --engine "
        f"stream to see whether the table can be read here"
    )


PARTS_PER_SLOT = 8  # so that a slow worker, or one that is lost, costs a small part of the whole
UNKNOWN = -1  # rows of a CSV file that has not been read
FEWEST_ROWS = 2**17  # of a part, on average: below, giving out tasks costs more than counting


class DistributedTable(TableInFiles):
    """Parquet files whose row groups are counted by workers, or CSV files in a folder, counted one by one and added up.

    The answers are those of the table in memory, to the last bit, whatever the number of workers and the order in which
    they are done, and also if some are lost on the way: a part is then counted again.

    What the workers see: the records of their parts, which they read themselves (the files must lie where they can read
    them, under the same path), the schema, and the queries. What travels back: exact counts, one set for each part.
    They are private, so the network must be encrypted (tls://) or trusted; where values do not fit the schema, the
    examples that the owner's message quotes travel too. Logs and dashboards show when tasks run, on which worker, how
    long they take, how much memory they need and the paths of files, but no counts: names of tasks say nothing, and
    errors are returned, not logged. Workers write nothing, but a cluster that is set up to move data to disk when
    memory is short may do so with queries and counts; workers started here do not.
    """

    __slots__ = ("_in_parts", "_part_rows", "_reading", "_shares", "_workers")
    _in_parts: ParquetSource | CsvFilesSource
    _shares: tuple[Part, ...]
    _part_rows: NDArray[np.int64]
    _reading: Reading
    _workers: DaskWorkers

    @classmethod
    def open(
        cls,
        table: AnyTable,
        schema: Schema,
        workers: Callable[[], DaskWorkers],
        reading: TableReading | None = None,
        *,
        progress: Progress | None = None,
    ) -> DistributedTable:
        """Let workers validate their parts by the schema. As `read_table`, with a function that gives workers."""
        how = (reading or TableReading()).for_schema(schema)
        how.check_against(schema)
        source = open_table(table, how)
        if not isinstance(source, ParquetSource | CsvFilesSource):
            raise PrivateDataError(
                f"{source.title}: workers of Dask read Parquet files, whose rows can be found without reading all "
                f"before them, and folders of CSV files, one file each; save the table as Parquet, or cut it into a "
                f"folder of several CSV files, or use --engine stream"
            )
        files = WatchedFiles.of(source.files)
        positions = tuple(column_positions(source, schema.names))
        own = workers()
        file_names = source.names if isinstance(source, CsvFilesSource) else source.file_names
        shares = _shares(source, own)
        made = cls._holding(
            _schema=schema,
            _source=ReadFrom(table, how, files, None, 0),
            _in_parts=source,
            _shares=shares,
            _part_rows=np.array([_rows_of(part) for part in shares], dtype=np.int64),
            _reading=Reading(schema, how, source.title, file_names, positions),
            _workers=own,
        )
        if not shares:  # then no worker tells whether the types of the columns can be read
            BatchReader.first_pass(source, schema, how).read_through()
        found: dict[int, PartRead] = {}
        for number, report in own.run(read_part, [(part, None) for part in made._shares], made._reading):
            found[number] = made._checked(number, report)
            made._part_rows[number] = found[number].rows
            if progress is not None:
                progress(len(found) / len(shares))
        if isinstance(source, CsvFilesSource):
            source.note_rows(made._part_rows.tolist())
        made._refuse_what_does_not_fit(found)
        rows = int(made._part_rows.sum())
        refuse_without_rows(source, rows, how)
        kept = made._kept_rows([found[number].kept for number in range(len(shares))])
        read = replace(made._source, kept=kept, rows=rows)
        for name, value in (("_source", read), ("_rows", read.counted)):
            object.__setattr__(made, name, value)
        return made

    def _by(self, schema: Schema) -> Self:
        """Return the same records by a schema with other bins; workers read by it, too."""
        made = super()._by(schema)
        object.__setattr__(made, "_reading", replace(self._reading, schema=schema))
        return made

    def _kept_rows(self, fits: Sequence[KeptRows | None]) -> KeptRows | None:
        """Return which rows are counted: those that fit, as the workers found, and at most K of each person.

        The person column is read here, in order: what is kept of a person depends on that person's rows in all parts.
        """
        how = self._source.how
        if not how.changes_size:
            return None
        together = RowsOfPart()
        for rows, part in zip(self._part_rows.tolist(), fits, strict=True):
            together.add(np.ones(rows, dtype=np.bool_) if part is None else part.part(0, rows))
        if how.person is None:
            return together.result()
        candidates, source = together.result(), self._opened()
        persons, bounded = FirstRowsOfPersons(how.rows_per_person or 0), RowsOfPart()
        for _, array in source.pieces(column_positions(source, [how.person]), None):
            end = bounded.rows + len(array)
            if end > candidates.rows:
                break
            bounded.add(persons.keep(array, candidates.part(bounded.rows, end)))
        self._source.files.check(source.files)
        if bounded.rows != candidates.rows:
            raise self._other_rows()
        return bounded.result()

    def _counted_parts(self) -> list[CountedPart]:
        """Return the parts of the table, and which of their rows are counted."""
        kept = self._source.kept
        if kept is None:
            return [(part, None) for part in self._shares]
        ends = np.cumsum(self._part_rows).tolist()
        counted: list[CountedPart] = []
        for part, begin, end in zip(self._shares, [0, *ends], ends, strict=False):
            own = RowsOfPart()
            own.add(kept.part(begin, end))
            counted.append((part, own.result()))
        return counted

    def _count(self, queries: AnyQueries, *, threads: int, progress: Progress | None) -> NDArray[np.int64]:
        """Return how many records lie in each cell, or satisfy each clause; see `exact_counts`. Workers read their parts."""
        self._opened()
        named = NamedQueries.of(self._schema, queries)
        counts = np.zeros(len(named), dtype=np.int64)
        found: dict[int, PartRead] = {}
        done = 0
        for number, report in self._workers.run(read_part, self._counted_parts(), self._reading, named):
            read = self._checked(number, report)
            found[number] = replace(read, counts=None)
            if read.counts is not None:
                counts += read.counts
            done += read.rows
            if progress is not None:
                progress(done / max(self._source.rows, 1))
        self._refuse_what_does_not_fit(found)
        return counts

    def _checked(self, number: int, report: PartReport) -> PartRead:
        """Return the part that a worker read; raises if it is not the planned one."""
        if isinstance(report, PartFailed):
            raise PrivateDataError(report.message)
        if self._part_rows[number] not in (UNKNOWN, report.rows):
            raise self._other_rows()
        return report

    def _other_rows(self) -> PrivateDataError:
        return PrivateDataError(
            f"a worker read other rows of {self._in_parts.title} than there are here; all workers need the same files, "
            f"which nothing writes to"
        )

    def _refuse_what_does_not_fit(self, found: dict[int, PartRead]) -> None:
        """Refuse values that do not fit, as if one process had read all parts in order; or files that were changed."""
        self._opened()
        joined: dict[int, ColumnProblems] = {}
        before = 0
        for number, rows in enumerate(self._part_rows.tolist()):
            for attribute, later in found[number].problems.items():
                column = joined.setdefault(attribute, ColumnProblems(self._schema.attributes[attribute]))
                column.join(later, before)
            before += rows
        faults = [fault for number in sorted(found) for fault in found[number].faults]
        refuse_what_does_not_fit(self._in_parts, [joined[attribute] for attribute in sorted(joined)], faults)


def _shares(source: ParquetSource | CsvFilesSource, workers: DaskWorkers) -> tuple[Part, ...]:
    """Return the parts of a table: row groups of about as many rows each (none if there are no rows), or CSV files."""
    if isinstance(source, CsvFilesSource):
        return tuple(source.parts())
    rows = sum(group.rows for part in source.parts(1) for group in part)
    return tuple(source.parts(min(PARTS_PER_SLOT * workers.slots(), -(-rows // FEWEST_ROWS))))


def _rows_of(part: Part) -> int:
    """Return how many rows a part has, where its files say so."""
    return UNKNOWN if isinstance(part, CsvFile) else sum(group.rows for group in part)
