"""What a worker does with its part of a table: hold it against the schema, or count on it. Counts go back, records do not.

Functions of this file run in the workers' processes. Whatever goes wrong with the part is returned, not raised: an exception
would be written to the worker's log together with its text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import DpoptError
from dpopt.private.engines.batch_counts import BatchCounter, NamedQueries, count_in_batches
from dpopt.private.readers.batch_reader import BatchReader
from dpopt.private.readers.csv_files import CsvFile, faults_of
from dpopt.private.readers.csv_source import CsvSource
from dpopt.private.readers.kept_rows import KeptRows
from dpopt.private.readers.parquet_source import ParquetSource, RowGroups
from dpopt.private.readers.table_problems import ColumnProblems
from dpopt.private.readers.table_reading import TableReading
from dpopt.private.readers.table_sources import TableSource
from dpopt.schema.schema import Schema

Part: TypeAlias = tuple[RowGroups, ...] | CsvFile
"""Row groups of Parquet files, or one CSV file of several."""

CountedPart: TypeAlias = tuple[Part, KeptRows | None]
"""A part, and which of its rows are counted; None if all are."""

VERSION = 3
"""Of what travels to the workers and back, and of what it means; it grows with every change of either."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How every part of a table is read.

    Attributes
    ----------
    positions : tuple of int
        Where each attribute of the schema is among the columns of the files.
    version : int
        `VERSION` where the question was asked; workers with another one refuse.
    """

    schema: Schema
    how: TableReading
    title: str
    file_names: tuple[str, ...]
    positions: tuple[int, ...]
    version: int = VERSION

    def source(self, part: Part) -> ParquetSource | CsvSource:
        """Return the source of one part."""
        if isinstance(part, CsvFile):
            return part.source(self.file_names)
        return ParquetSource.of_parts(part, self.title, self.file_names)


@dataclass(frozen=True, slots=True, repr=False)
class PartRead:
    """What a worker tells of its part. Private.

    Attributes
    ----------
    rows : int
        Rows that were read.
    problems : dict
        Values that do not fit, for the owner's message, by the position of their attribute.
    counts : (m,) int64
        How many records lie in each cell, or satisfy each clause; None if they were not asked for, or a value did not fit.
    faults : tuple of str
        What the owner's message says of whole rows that do not fit.
    kept : KeptRows or None
        Of a first pass: which rows fit, where those that do not are dropped.
    """

    rows: int
    problems: dict[int, ColumnProblems]
    counts: NDArray[np.int64] | None = None
    faults: tuple[str, ...] = ()
    kept: KeptRows | None = None


@dataclass(frozen=True, slots=True, repr=False)
class PartFailed:
    """Why a worker could not read its part: a text for the owner."""

    message: str


PartReport: TypeAlias = PartRead | PartFailed


def check_part(part: Part, reading: Reading) -> PartReport:
    """Hold a part of the table against the schema."""
    try:
        _check_version(reading)
        attributes = np.arange(len(reading.schema))
        source = reading.source(part)
        reader = _reader(source, reading, attributes, None)
        reader.read_through()
        problems = _by_attribute(reader, attributes)
        return PartRead(reader.rows, problems, faults=_faults(source, reading), kept=reader.kept_rows())
    except Exception as problem:  # noqa: BLE001  # returned to the owner instead of logged by the worker
        return _failed(problem)


def count_part(counted: CountedPart, reading: Reading, named: NamedQueries) -> PartReport:
    """Count on a part of the table, in one thread: the cluster decides how many tasks a worker runs at a time."""
    try:
        _check_version(reading)
        part, kept = counted
        counter = BatchCounter(named, threads=1)
        source = reading.source(part)
        reader = _reader(source, reading, named.attributes, kept)
        count_in_batches(reader, counter, ahead=False)
        problems = _by_attribute(reader, named.attributes)
        faults = _faults(source, reading)
        return PartRead(reader.rows, problems, None if problems or faults else counter.counts, faults)
    except Exception as problem:  # noqa: BLE001  # returned to the owner instead of logged by the worker
        return _failed(problem)


def _reader(
    source: TableSource, reading: Reading, attributes: NDArray[np.integer], kept: KeptRows | None
) -> BatchReader:
    positions = [reading.positions[attribute] for attribute in attributes]
    return BatchReader(source, positions, reading.schema, attributes, reading.how, kept=kept)


def _faults(source: ParquetSource | CsvSource, reading: Reading) -> tuple[str, ...]:
    told = isinstance(source, CsvSource) and not reading.how.on_invalid.is_total
    return tuple(faults_of(source)) if told else ()  # type: ignore[arg-type]


def _by_attribute(reader: BatchReader, attributes: NDArray[np.integer]) -> dict[int, ColumnProblems]:
    return {
        int(attribute): column
        for attribute, column in zip(attributes, reader.problems, strict=True)
        if column
    }


def _check_version(reading: Reading) -> None:
    if reading.version != VERSION:
        raise DpoptError(
            "a worker has another version of dpopt; install the same version on all workers as here"
        )


def _failed(problem: Exception) -> PartFailed:
    if isinstance(problem, DpoptError):
        return PartFailed(str(problem))
    return PartFailed(
        f"a worker stopped with {type(problem).__name__} (its text is kept back: it may quote records); try --engine stream "
        "to see whether the table can be read here"
    )
