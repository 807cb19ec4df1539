"""Tables read in parts: counts, refusals and messages are those of the table in memory."""

from __future__ import annotations

import gzip
import os
import threading
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpopt.errors import PlanError, PrivateDataError
from dpopt.private import evaluation as rule_report
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.engines.open_dataset import Engine, check_engine, open_dataset, parse_engine
from dpopt.private.engines.streamed_table import BatchCounter, NamedQueries, StreamedTable
from dpopt.private.evaluation import broken_rows
from dpopt.private.readers import batch_reader
from dpopt.private.readers.parquet_source import ParquetSource
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import OnInvalid, TableReading
from dpopt.private.readers.table_sources import WatchedFiles
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.private.tables.dataset import Codes, PrivateDataset
from dpopt.queries.clauses import Clauses
from dpopt.schema import Rule, Schema, implies, literal
from dpopt.schema.rules.threshold_circuit import NO_RULES
from dpopt.threads import one_ahead
from tests.private.tables_in_files import (
    ROWS,
    SCHEMA,
    frame,
    queries,
    small_batches,
    write_csv,
    write_csv_folder,
    write_folder,
    write_parquet,
)

__all__ = ["small_batches"]  # a fixture


def write_gzip(path: Path, table: pd.DataFrame) -> Path:
    path.write_bytes(gzip.compress(table.to_csv(index=False).encode()))
    return path


WRITERS: dict[str, Callable[[Path, pd.DataFrame], Path]] = {
    "csv": write_csv,
    "csv.gz": write_gzip,
    "parquet": write_parquet,
    "folder": write_folder,
    "csv folder": write_csv_folder,
}


@pytest.mark.parametrize("kind", WRITERS)
def test_counts_are_those_of_the_table_in_memory(tmp_path: Path, kind: str, small_batches: None) -> None:
    path = WRITERS[kind](tmp_path / f"table.{kind}", frame())
    held, streamed = read_table(path, SCHEMA), StreamedTable.open(path, SCHEMA)
    assert streamed._rows == ROWS
    for asked in queries():
        expected = exact_counts(held, asked)
        found = exact_counts(streamed, asked)
        assert found.dtype == np.int64
        assert np.array_equal(found, expected)


def test_batches_are_many_and_as_large_as_their_bytes_allow(
    tmp_path: Path, small_batches: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_parquet(tmp_path / "t.parquet", frame())
    streamed = StreamedTable.open(path, SCHEMA)
    asked = queries()[0]
    sizes: list[int] = []
    add = BatchCounter.add

    def noted(self: BatchCounter, codes: list[Codes]) -> None:
        sizes.append(len(codes[0]))
        add(self, codes)

    monkeypatch.setattr(BatchCounter, "add", noted)
    shares: list[float] = []
    exact_counts(streamed, asked, progress=shares.append)
    assert sum(sizes) == ROWS
    assert len(sizes) == len(shares) == ROWS // 512 + 1
    assert max(sizes) < 1_024
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    monkeypatch.setattr(batch_reader, "BATCH_BYTES", 2**27)
    assert NamedQueries.of(SCHEMA, asked).rows_at_a_time * (3 * 4 + 12 // 8 + 1) <= 2**27


def test_a_failed_pass_leaves_no_thread(tmp_path: Path, small_batches: None, monkeypatch: pytest.MonkeyPatch) -> None:
    streamed = StreamedTable.open(write_parquet(tmp_path / "t.parquet", frame()), SCHEMA)
    monkeypatch.setattr(BatchCounter, "add", lambda self, codes: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        exact_counts(streamed, queries()[0])
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("read-ahead")]


def test_only_the_columns_that_queries_name_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_parquet(tmp_path / "t.parquet", frame())
    read: list[str] = []
    pieces = ParquetSource.pieces

    def noted(self: ParquetSource, positions: list[int], *rest: object, **named: int) -> object:
        read.extend(self.names[position] for position in positions)
        return pieces(self, positions, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(ParquetSource, "pieces", noted)
    streamed = StreamedTable.open(path, SCHEMA)
    assert read == list(SCHEMA.names)
    read.clear()
    exact_counts(streamed, Clauses.conjunctions([[3, 1]], [[0, 1]], [[True, False]]))
    assert read == ["sex", "rooms"]


def spoiled() -> pd.DataFrame:
    table = frame()
    table["age"] = table["age"].astype(float)
    table.loc[[700, 1_500, 2_999], "age"] = [1.5, 300.0, 300.0]
    table.loc[[5, 1_101, 2_000], "sex"] = ["m", "X", "X"]
    return table


@pytest.mark.parametrize("kind", WRITERS)
def test_what_does_not_fit_is_refused_in_the_words_of_memory(tmp_path: Path, kind: str, small_batches: None) -> None:
    path = WRITERS[kind](tmp_path / f"table.{kind}", spoiled())
    with pytest.raises(PrivateDataError) as held:
        read_table(path, SCHEMA)
    with pytest.raises(PrivateDataError) as streamed:
        StreamedTable.open(path, SCHEMA)
    assert str(streamed.value) == str(held.value)
    assert "did you mean 'M'?" in str(held.value) or "write it the same way" in str(held.value)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_that_are_missing_and_tables_without_rows_are_refused(tmp_path: Path, kind: str) -> None:
    write = WRITERS[kind]
    with pytest.raises(PrivateDataError, match="lacks 1 column of the schema"):
        StreamedTable.open(write(tmp_path / f"a.{kind}", frame(9).drop(columns="sex")), SCHEMA)
    with pytest.raises(PrivateDataError, match="has no rows; expected at least one record"):
        StreamedTable.open(write(tmp_path / f"b.{kind}", frame(9)[:0]), SCHEMA)


def test_lines_with_a_wrong_number_of_fields_are_refused(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "t.csv", frame(9))
    path.write_text(path.read_text() + "1,2\n")
    with pytest.raises(PrivateDataError, match="line 11: 2 fields"):
        StreamedTable.open(path, SCHEMA)


def test_repairs_and_given_names_act_as_in_memory(tmp_path: Path) -> None:
    table = frame(400)
    table.loc[[3, 17], "age"] = [101, 250]
    path = tmp_path / "t.csv"
    table.to_csv(path, index=False, header=False)
    names = list(table.columns)
    held = read_table(path, SCHEMA, TableReading(on_invalid=OnInvalid.CLIP, column_names=names))
    streamed = StreamedTable.open(path, SCHEMA, TableReading(on_invalid=OnInvalid.CLIP, column_names=names))
    for asked in queries():
        assert np.array_equal(exact_counts(streamed, asked), exact_counts(held, asked))


def test_what_needs_columns_in_memory_refuses_a_streamed_table(tmp_path: Path) -> None:
    streamed = StreamedTable.open(write_parquet(tmp_path / "t.parquet", frame(50)), SCHEMA)
    for use in (lambda: streamed._columns, lambda: BinCounts.of_columns(streamed, ("age",))):
        with pytest.raises(PrivateDataError, match="engine='memory'"):
            use()
    with pytest.raises(AttributeError, match="no attribute '_rest'"):
        streamed._rest  # noqa: B018  # reading it is the test


@pytest.mark.parametrize("kind", WRITERS)
def test_rows_that_break_rules_are_found_as_in_memory(
    tmp_path: Path, kind: str, small_batches: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_report, "_BLOCK_BYTES", 3_000)
    rules = (
        Rule(implies(literal("member", "=", True), literal("rooms", "!=", 3)), "members"),
        Rule(literal("sex", "!=", "?"), "known"),
        Rule(literal("rooms", "in", [1, 2, 3]), "all"),
    )
    schema = replace(SCHEMA, rules=rules)
    table = frame()
    table.loc[: ROWS - 200, "sex"] = "F"
    path = WRITERS[kind](tmp_path / f"table.{kind}", table)
    expected = broken_rows(read_table(path, schema), schema.circuit())
    assert broken_rows(StreamedTable.open(path, schema), schema.circuit()) == expected
    assert expected.broken[0] > 0
    assert expected.broken[2] == 0
    assert (expected.first_rows[1] or 0) > ROWS - 200
    assert broken_rows(StreamedTable.open(path, SCHEMA), NO_RULES).rows == ROWS


def test_tables_in_memory_are_not_streamed() -> None:
    with pytest.raises(PrivateDataError, match="is in memory already"):
        StreamedTable.open(frame(9), SCHEMA)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_that_changes_between_passes_is_refused(tmp_path: Path, kind: str) -> None:
    write, asked = WRITERS[kind], queries()[0]
    path = write(tmp_path / f"t.{kind}", frame(300))
    streamed = StreamedTable.open(path, SCHEMA)
    exact_counts(streamed, asked)
    times = path.stat()
    write(path, frame(300, seed=2))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(PrivateDataError, match=f"t.{kind} was changed while the table was in use"):
        exact_counts(streamed, asked)
    path.unlink()
    with pytest.raises(PrivateDataError, match="there is no file"):
        exact_counts(streamed, asked)


def test_a_file_that_changes_during_a_pass_is_refused(tmp_path: Path, small_batches: None) -> None:
    path = write_csv(tmp_path / "t.csv", frame())
    streamed = StreamedTable.open(path, SCHEMA)
    with pytest.raises(PrivateDataError, match="was changed while the table was in use"):
        exact_counts(streamed, queries()[0], progress=lambda share: os.utime(path))


def test_files_that_are_added_or_removed_are_refused(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "parts", frame())
    streamed = StreamedTable.open(folder, SCHEMA)
    write_parquet(folder / "d.parquet", frame(10))
    with pytest.raises(PrivateDataError, match="d.parquet was added"):
        exact_counts(streamed, queries()[0])
    (folder / "d.parquet").unlink()
    (folder / "b.parquet").unlink()
    with pytest.raises(PrivateDataError, match="b.parquet was removed"):
        exact_counts(streamed, queries()[0])


def test_a_table_of_other_length_is_refused_even_where_its_file_looks_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_parquet(tmp_path / "t.parquet", frame(300))
    streamed = StreamedTable.open(path, SCHEMA)
    monkeypatch.setattr(WatchedFiles, "check", lambda self, paths: None)
    write_parquet(path, frame(299))
    with pytest.raises(PrivateDataError, match="does not have as many rows as before"):
        exact_counts(streamed, queries()[0])
    write_parquet(path, spoiled()[:300].assign(age=1_000))
    with pytest.raises(PrivateDataError, match="column 'age': 300 rows do not fit"):
        exact_counts(streamed, queries()[0])


def test_what_is_no_file_of_its_own_is_refused() -> None:
    with pytest.raises(PrivateDataError, match="is not a regular file and can be read only once"):
        WatchedFiles.of([Path(os.devnull)])
    with pytest.raises(PrivateDataError, match="is not a regular file"):
        read_table(os.devnull, SCHEMA)  # every reader opens a file again, and a pipe loses what was read


def test_row_groups_are_cut_into_parts_in_order(tmp_path: Path) -> None:
    source = ParquetSource([write_parquet(tmp_path / "t.parquet", frame(), 250)], "t", None)
    assert [[part.groups for part in run] for run in source.parts(3)] == [
        [(0, 1, 2, 3)],
        [(4, 5, 6, 7)],
        [(8, 9, 10, 11)],
    ]
    assert len(source.parts(100)) == 12
    folder = write_folder(tmp_path / "parts", frame())
    runs = ParquetSource(sorted(folder.iterdir()), "parts", None).parts(2)
    assert [[(part.path.name, part.groups, part.rows) for part in run] for run in runs] == [
        [("a.parquet", (0, 1, 2, 3), 1_100), ("c.parquet", (0, 1), 340)],
        [("c.parquet", (2, 3, 4, 5, 6, 7, 8, 9, 10, 11), 1_560)],
    ]


def noted(number: int, made: list[int], *, fail_at: int = -1) -> Generator[int, None, None]:
    try:
        for item in range(number):
            if item == fail_at:
                raise ValueError("this item cannot be made")
            made.append(item)
            yield item
    finally:
        made.append(-1)  # closed


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a thread make the next item, though tests share the cores."""
    monkeypatch.setattr("dpopt.threads.USUAL", 2)


@pytest.mark.usefixtures("two_threads")
def test_items_come_in_order_and_the_next_one_is_made_meanwhile() -> None:
    made: list[int] = []
    begun = threading.Event()

    def items() -> Generator[int, None, None]:
        yield 0
        begun.set()
        yield 1

    ahead = one_ahead(items())
    assert next(ahead) == 0
    assert begun.wait(20)  # while item 0 is in use, and without asking for the next one
    assert list(ahead) == [1]
    assert list(one_ahead(noted(0, made))) == []
    assert list(one_ahead(noted(5, made))) == [0, 1, 2, 3, 4]


@pytest.mark.usefixtures("two_threads")
def test_no_more_than_one_item_is_made_in_advance() -> None:
    made: list[int] = []
    for item in one_ahead(noted(6, made)):
        assert len(made) <= item + 2 or made[-1] == -1
    assert made == [0, 1, 2, 3, 4, 5, -1]


@pytest.mark.parametrize("threads", [1, 2])
def test_what_making_an_item_raises_comes_after_the_items_before_it(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpopt.threads.USUAL", threads)
    made: list[int] = []
    ahead = one_ahead(noted(5, made, fail_at=2))
    assert [next(ahead), next(ahead)] == [0, 1]
    with pytest.raises(ValueError, match="this item cannot be made"):
        next(ahead)
    assert made == [0, 1, -1]


@pytest.mark.usefixtures("two_threads")
def test_closing_ends_the_thread_and_closes_the_items() -> None:
    made: list[int] = []
    ahead = one_ahead(noted(5, made))
    assert next(ahead) == 0
    ahead.close()
    assert made == [0, 1, -1]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("read-ahead")]


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        ("memory", Engine("memory")),
        (" stream ", Engine("stream")),
        ("dask:4", Engine("dask", workers=4)),
        ("dask:tcp://10.0.0.7:8786", Engine("dask", address="tcp://10.0.0.7:8786")),
        ("dask:tls://host.example:8786", Engine("dask", address="tls://host.example:8786")),
        ("dask:localhost:1234", Engine("dask", address="tls://localhost:1234")),
        ("dask:tls://[::1]:8786", Engine("dask", address="tls://[::1]:8786")),
    ],
)
def test_engines_are_named(text: str, engine: Engine) -> None:
    assert parse_engine(text) == engine


@pytest.mark.parametrize(
    "text", ["", "disk", "memory:2", "stream:", "dask", "dask:", "dask:-1", "dask:x", "dask:http://h:80", "dask:h:"]
)
def test_other_names_are_refused(text: str) -> None:
    with pytest.raises(PlanError, match="is not known; expected memory, stream, dask:N"):
        parse_engine(text)


@pytest.mark.parametrize("number", ["0", "257", "999999"])
def test_the_number_of_processes_is_bounded(number: str) -> None:
    with pytest.raises(PlanError, match="start 1 to 256 worker processes"):
        parse_engine(f"dask:{number}")


def test_wide_tables_of_zeros_and_ones_are_held_in_memory() -> None:
    wide = Schema.binary(1_000)
    assert check_engine("memory", wide) == Engine("memory")
    for text in ("stream", "dask:2"):
        with pytest.raises(PlanError, match="wide table of zeros and ones"):
            check_engine(text, wide)


def test_a_table_is_opened_by_the_engine_that_is_named(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "t.csv", frame(20))
    assert type(open_dataset(path, SCHEMA)) is PrivateDataset
    shares: list[float] = []
    assert type(open_dataset(path, SCHEMA, engine="stream", progress=shares.append)) is StreamedTable
    assert shares[-1] == 1.0
