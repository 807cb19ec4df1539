"""Planted defects of the engines that read a table in parts.

No cluster is started: a stand-in for its workers runs their tasks in this process, in disorder.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from dpopt.errors import DpoptError, PrivateDataError
from dpopt.private.engines import distributed_table
from dpopt.private.engines.dask_workers import DaskWorkers
from dpopt.private.engines.distributed_table import DistributedTable, PartFailed, Reading, read_part
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.engines.streamed_table import BatchCounter, NamedQueries, StreamedTable, TableInFiles
from dpopt.private.readers.batch_reader import BatchReader
from dpopt.private.readers.parquet_source import ParquetSource
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_problems import ColumnProblems
from dpopt.private.readers.table_reading import AS_USUAL
from dpopt.private.readers.table_sources import WatchedFiles
from tests.boundary.planted import ADD, WHATEVER, Check, Defect, Mechanism, Plant, defect, wrap
from tests.private.tables_in_files import SCHEMA, frame, in_small_batches, queries, write_folder, write_parquet


class WorkersHere:
    """Runs tasks in this process, the last part first."""

    def slots(self) -> int:
        return 2

    def run(self, task: Callable[..., Any], parts: Any, *shared: Any) -> Iterator[tuple[int, Any]]:
        for number in reversed(range(len(parts))):
            yield number, task(parts[number], *shared)


def opened(path: Path) -> list[StreamedTable | DistributedTable]:
    here = cast("DaskWorkers", WorkersHere())
    return [StreamedTable.open(path, SCHEMA), DistributedTable.open(path, SCHEMA, lambda: here)]


def check_counts(folder: Path) -> None:
    """Each record is counted once, whatever is asked."""
    path = write_folder(folder / "parts", frame())
    held = read_table(path, SCHEMA)
    for table in opened(path):
        for asked in queries():
            assert np.array_equal(exact_counts(table, asked), exact_counts(held, asked))


def check_values(folder: Path) -> None:
    """What does not fit is refused in the words of the table in memory, before there is a data set."""
    table = frame()
    table.loc[[5, 1_101, 2_000], "sex"] = ["m", "X", "X"]
    path = write_folder(folder / "parts", table)
    with pytest.raises(PrivateDataError) as held:
        read_table(path, SCHEMA)
    here = cast("DaskWorkers", WorkersHere())
    with pytest.raises(PrivateDataError) as streamed:
        StreamedTable.open(path, SCHEMA)
    with pytest.raises(PrivateDataError) as spread:
        DistributedTable.open(path, SCHEMA, lambda: here)
    assert str(streamed.value) == str(spread.value) == str(held.value)


def check_changes(folder: Path) -> None:
    """Counts of a file that was written to, before or during a pass, are not used."""
    path = write_parquet(folder / "t.parquet", frame())
    for late in (False, True):
        for table in opened(path):
            if not late:
                os.utime(path)
            with pytest.raises(PrivateDataError, match="was changed while the table was in use"):
                exact_counts(table, queries()[0], progress=lambda share: os.utime(path))


def check_reports(folder: Path) -> None:
    """A worker's error tells nothing of what it read."""
    path = write_parquet(folder / "t.parquet", frame(9))
    source = ParquetSource([path], path.name, None)
    how = Reading(SCHEMA, AS_USUAL, "t", source.file_names, (3, 2, 4, 1))

    def fail(*_: object, **__: object) -> None:
        raise ValueError("record 12")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distributed_table, "count_in_batches", fail)
        report = read_part((source.parts(1)[0], None), how, NamedQueries.of(SCHEMA, queries()[0]))
    assert isinstance(report, PartFailed)
    assert "record" not in report.message.replace("quote records", "")


def in_small_parts(check: Callable[[Path], None]) -> Check:
    """Return a check of files of many batches and parts; an error of a reader turns it red, too."""

    def checked(relation: object) -> None:
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            in_small_batches(patch)
            patch.setattr(distributed_table, "FEWEST_ROWS", 300)
            try:
                check(Path(folder))
            except (DpoptError, pytest.fail.Exception) as error:
                raise AssertionError(str(error)) from error

    checked.__name__ = check.__name__
    return checked


def fewer(usual: Any, self: BatchReader, rows: int) -> Iterator[Any]:
    yield from list(usual(self, rows))[:-1]


def added_twice(usual: Any, self: BatchCounter, codes: list[Any]) -> None:
    usual(self, codes)
    if len(codes[0]) < 500:
        usual(self, codes)


def anew(usual: Any, self: BatchCounter, codes: list[Any]) -> None:
    self.counts[:] = 0
    usual(self, codes)


def shifted(usual: Any, *given: Any) -> NamedQueries:
    right: NamedQueries = usual(*given)
    return replace(right, attributes=right.attributes[::-1])


def overlapping(usual: Any, self: ParquetSource, number: int) -> list[Any]:
    cut = usual(self, number)
    return [*cut, cut[0]] if number > 1 else cut


def whole(usual: Any, *given: Any) -> ParquetSource:
    made: ParquetSource = usual(*given)
    made._parts = None
    return made


COUNTS, VALUES, CHANGES, REPORTS = map(in_small_parts, (check_counts, check_values, check_changes, check_reports))


def turning(check: Check, plant: Plant) -> Defect:
    return defect(plant, (check, ADD, WHATEVER))


ENGINES = Mechanism(
    [COUNTS, VALUES, CHANGES, REPORTS],
    {
        "leave a batch out": turning(COUNTS, wrap(BatchReader, "batches", fewer)),
        "count a batch twice": turning(COUNTS, wrap(BatchCounter, "add", added_twice)),
        "forget the counts so far": turning(COUNTS, wrap(BatchCounter, "add", anew)),
        "read other columns": turning(COUNTS, wrap(NamedQueries, "of", shifted)),
        "give a row group to two parts": turning(COUNTS, wrap(ParquetSource, "parts", overlapping)),
        "read whole files instead of parts": turning(COUNTS, wrap(ParquetSource, "of_parts", whole)),
        "take what does not fit": turning(
            VALUES, wrap(BatchReader, "refuse_what_does_not_fit", lambda usual, reader: None)
        ),
        "take what workers refuse": turning(
            VALUES, wrap(distributed_table, "refuse_what_does_not_fit", lambda usual, *given: None)
        ),
        "number rows by part": turning(
            VALUES, wrap(ColumnProblems, "join", lambda usual, self, later, before: usual(self, later, 0))
        ),
        "watch no files": turning(CHANGES, wrap(WatchedFiles, "check", lambda usual, *given: None)),
        "look at files before a pass only": turning(CHANGES, wrap(TableInFiles, "_check", lambda usual, *given: None)),
        "tell what went wrong": turning(
            REPORTS, wrap(distributed_table, "_failed", lambda usual, problem: PartFailed(str(problem)))
        ),
    },
    relations=ADD,
)
