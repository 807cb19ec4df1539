"""Planted defects of the engines that read a table in parts, one at a time: each turns a named check red.

No cluster is started: a stand-in for its workers runs their tasks in this process, in disorder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from dpopt.errors import DpoptError, PrivateDataError
from dpopt.private.engines import distributed_table, streamed_table
from dpopt.private.engines.dask_workers import DaskWorkers
from dpopt.private.engines.distributed_table import DistributedTable, PartFailed, Reading, count_part
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.engines.streamed_table import BatchCounter, NamedQueries, StreamedTable
from dpopt.private.readers import batch_reader
from dpopt.private.readers.batch_reader import BatchReader
from dpopt.private.readers.parquet_source import ParquetSource, RowGroups
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_problems import ColumnProblems
from dpopt.private.readers.table_reading import AS_USUAL
from dpopt.private.readers.table_sources import WatchedFiles
from dpopt.private.tables.dataset import Codes
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.schema.schema import Schema
from tests.private.tables_in_files import (
    SCHEMA,
    frame,
    queries,
    small_batches,
    write_folder,
    write_parquet,
)

__all__ = ["small_batches"]  # a fixture

Plant = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[Path], None]


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
        report = count_part((source.parts(1)[0], None), how, NamedQueries.of(SCHEMA, queries()[0]))
    assert isinstance(report, PartFailed)
    assert "record" not in report.message.replace("quote records", "")


def leave_a_batch_out(patch: pytest.MonkeyPatch) -> None:
    batches = BatchReader.batches

    def fewer(self: BatchReader, rows: int) -> Iterator[list[Codes]]:
        yield from list(batches(self, rows))[:-1]

    patch.setattr(BatchReader, "batches", fewer)


def count_a_batch_twice(patch: pytest.MonkeyPatch) -> None:
    add = BatchCounter.add

    def twice(self: BatchCounter, codes: list[Codes]) -> None:
        add(self, codes)
        if len(codes[0]) < 500:
            add(self, codes)

    patch.setattr(BatchCounter, "add", twice)


def forget_the_counts_so_far(patch: pytest.MonkeyPatch) -> None:
    add = BatchCounter.add

    def anew(self: BatchCounter, codes: list[Codes]) -> None:
        self.counts[:] = 0
        add(self, codes)

    patch.setattr(BatchCounter, "add", anew)


def read_other_columns(patch: pytest.MonkeyPatch) -> None:
    named = NamedQueries.of

    def shifted(schema: Schema, asked: Clauses | MarginalSet) -> NamedQueries:
        right = named(schema, asked)
        return replace(right, attributes=right.attributes[::-1])

    patch.setattr(NamedQueries, "of", shifted)


def give_a_row_group_to_two_parts(patch: pytest.MonkeyPatch) -> None:
    parts = ParquetSource.parts

    def overlapping(self: ParquetSource, number: int) -> list[tuple[RowGroups, ...]]:
        cut = parts(self, number)
        return [*cut, cut[0]] if number > 1 else cut

    patch.setattr(ParquetSource, "parts", overlapping)


def read_whole_files_instead_of_parts(patch: pytest.MonkeyPatch) -> None:
    of_parts = ParquetSource.of_parts

    def whole(*arguments: Any) -> ParquetSource:
        made = of_parts(*arguments)
        made._parts = None
        return made

    patch.setattr(ParquetSource, "of_parts", whole)


def watch_no_files(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(WatchedFiles, "check", lambda self, paths: None)


def look_at_files_before_a_pass_only(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(streamed_table.TableInFiles, "_check", lambda self, source, reader: None)


def take_what_does_not_fit(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BatchReader, "refuse_what_does_not_fit", lambda reader: None)


def take_what_workers_refuse(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(distributed_table, "refuse_what_does_not_fit", lambda source, columns, faults: None)


def number_rows_by_part(patch: pytest.MonkeyPatch) -> None:
    join = ColumnProblems.join
    patch.setattr(ColumnProblems, "join", lambda self, later, before: join(self, later, 0))


def tell_what_went_wrong(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(distributed_table, "_failed", lambda problem: PartFailed(str(problem)))


DEFECTS: list[tuple[Plant, Check]] = [
    (leave_a_batch_out, check_counts),
    (count_a_batch_twice, check_counts),
    (forget_the_counts_so_far, check_counts),
    (read_other_columns, check_counts),
    (give_a_row_group_to_two_parts, check_counts),
    (read_whole_files_instead_of_parts, check_counts),
    (take_what_does_not_fit, check_values),
    (take_what_workers_refuse, check_values),
    (number_rows_by_part, check_values),
    (watch_no_files, check_changes),
    (look_at_files_before_a_pass_only, check_changes),
    (tell_what_went_wrong, check_reports),
]


@pytest.fixture(autouse=True)
def many_parts(small_batches: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed_table, "FEWEST_ROWS", 300)
    assert batch_reader.BATCH_BYTES == 1


@pytest.mark.parametrize(
    "check", dict.fromkeys(check for _, check in DEFECTS), ids=lambda check: check.__name__
)
def test_without_a_defect_every_check_is_green(check: Check, tmp_path: Path) -> None:
    check(tmp_path)


@pytest.mark.parametrize(("plant", "check"), DEFECTS, ids=lambda function: function.__name__)
def test_a_planted_defect_turns_its_check_red(
    plant: Plant, check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    with pytest.raises((AssertionError, DpoptError, pytest.fail.Exception)):
        check(tmp_path)
