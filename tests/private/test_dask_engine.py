"""Counting on the workers of a Dask cluster: exact whatever happens to them, and nothing leaves but counts."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpopt.errors import DpoptError, PlanError, PrivateDataError
from dpopt.private.engines import dask_workers, distributed_table
from dpopt.private.engines.dask_workers import DaskWorkers
from dpopt.private.engines.distributed_table import DistributedTable, PartFailed, PartRead, Reading, read_part
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.engines.open_dataset import open_dataset
from dpopt.private.engines.streamed_table import NamedQueries
from dpopt.private.evaluation import broken_rows
from dpopt.private.readers.read_table import read_table
from dpopt.private.tables.bin_counts import BinCounts
from tests.private.tables_in_files import (
    ROWS,
    SCHEMA,
    frame,
    queries,
    write_csv,
    write_csv_folder,
    write_folder,
    write_parquet,
)


@pytest.fixture(scope="module")
def workers() -> Iterator[DaskWorkers]:
    """Two processes, shared by the tests of this file."""
    started = DaskWorkers.start(2)
    yield started
    started.close()


@pytest.fixture
def many_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed_table, "FEWEST_ROWS", 1)


def opened(path: Path, workers: DaskWorkers) -> DistributedTable:
    return DistributedTable.open(path, SCHEMA, lambda: workers)


@pytest.mark.parametrize(("write", "least"), [(write_parquet, 9), (write_folder, 9), (write_csv_folder, 4)])
def test_counts_are_those_of_the_table_in_memory(
    tmp_path: Path, write: Callable[[Path, pd.DataFrame], Path], least: int, workers: DaskWorkers, many_parts: None
) -> None:
    path = write(tmp_path / "table.parquet", frame())
    held, spread = read_table(path, SCHEMA), opened(path, workers)
    assert len(spread._shares) >= least
    assert spread._rows == ROWS
    for asked in queries():
        found = exact_counts(spread, asked)
        assert found.dtype == np.int64
        assert np.array_equal(found, exact_counts(held, asked))


def processes(workers: DaskWorkers) -> set[int]:
    """Return the numbers of both workers' processes, once there are two that answer."""
    for _ in range(60):
        with contextlib.suppress(OSError):  # one that was killed, and is not known to be gone
            found = set(workers._client.run(os.getpid).values())
            if len(found) == 2:
                return found
        time.sleep(0.5)
    raise AssertionError("there are no two workers after 30 seconds")


@pytest.mark.parametrize("write", [write_parquet, write_csv_folder])
def test_killed_workers_cost_their_parts_and_no_count(
    tmp_path: Path, write: Callable[[Path, pd.DataFrame], Path], workers: DaskWorkers, many_parts: None
) -> None:
    path = write(tmp_path / "table.parquet", frame())
    asked = queries()[0]
    expected = exact_counts(read_table(path, SCHEMA), asked)
    spread = opened(path, workers)
    alive = processes(workers)
    shares: list[float] = []

    def kill_one(share: float) -> None:
        if not shares:
            os.kill(min(alive), signal.SIGKILL)
        shares.append(share)

    assert np.array_equal(exact_counts(spread, asked, progress=kill_one), expected)
    assert len(shares) == len(spread._shares)
    assert np.array_equal(exact_counts(spread, asked), expected)
    assert min(alive) not in processes(workers)


@pytest.mark.parametrize("write", [write_folder, write_csv_folder])
def test_what_does_not_fit_is_refused_in_the_words_of_memory(
    tmp_path: Path, write: Callable[[Path, pd.DataFrame], Path], workers: DaskWorkers, many_parts: None
) -> None:
    table = frame()
    table["age"] = table["age"].astype(float)
    table.loc[[700, 1_500, 2_999], "age"] = [1.5, 300.0, 300.0]
    table.loc[[5, 1_101, 2_000], "sex"] = ["m", "secret", "secret"]
    path = write(tmp_path / "parts", table)
    texts = path / "d.csv"
    if texts.exists():
        texts.write_text(texts.read_text() + "1,2\n")
    with pytest.raises(PrivateDataError) as held:
        read_table(path, SCHEMA)
    with pytest.raises(PrivateDataError) as spread:
        opened(path, workers)
    assert str(spread.value) == str(held.value)
    assert ("c.csv.gz, line 3" if texts.exists() else "c.parquet, row 2") in str(held.value)
    assert ("d.csv: 1 malformed row" in str(held.value)) is texts.exists()


def test_tables_that_cannot_be_split_are_refused(tmp_path: Path, workers: DaskWorkers) -> None:
    with pytest.raises(PrivateDataError, match="save the table as Parquet, or cut it into a folder"):
        opened(write_csv(tmp_path / "t.csv", frame(9)), workers)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "a.csv").write_text("note,rooms,sex,age,member\n")
    with pytest.raises(PrivateDataError, match="has no rows"):
        opened(tmp_path / "empty", workers)
    with pytest.raises(PrivateDataError, match="workers of Dask read Parquet files"):
        DistributedTable.open(frame(9), SCHEMA, lambda: workers)
    with pytest.raises(PrivateDataError, match="has no rows"):
        opened(write_parquet(tmp_path / "empty.parquet", frame(0)), workers)
    spread = opened(write_parquet(tmp_path / "t.parquet", frame(9)), workers)
    with pytest.raises(PrivateDataError, match="engine='memory'"):
        BinCounts.of_columns(spread, ("age",))
    assert broken_rows(spread, SCHEMA.circuit()).rows == 9


def test_files_that_change_are_refused(tmp_path: Path, workers: DaskWorkers) -> None:
    folder = write_folder(tmp_path / "parts", frame())
    spread = opened(folder, workers)
    with pytest.raises(PrivateDataError, match="a.parquet was changed"):
        exact_counts(spread, queries()[0], progress=lambda share: os.utime(folder / "a.parquet"))
    spread = opened(folder, workers)
    write_parquet(folder / "d.parquet", frame(9))
    with pytest.raises(PrivateDataError, match="d.parquet was added"):
        exact_counts(spread, queries()[0])


def is_let_in(port: int) -> bool:
    """Return whether a scheduler greets a client that speaks TLS but does not have the key."""
    stranger = ssl.create_default_context()
    stranger.check_hostname, stranger.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as raw, stranger.wrap_socket(raw) as encrypted:
            return encrypted.recv(1) != b""
    except (ssl.SSLError, ConnectionError):
        return False


def test_local_workers_talk_on_the_loopback_with_a_key_of_their_own(workers: DaskWorkers) -> None:
    client = workers._client
    information = client.scheduler_info(n_workers=-1)
    addresses = [information["address"], *information["workers"]]
    assert len(addresses) == 3
    assert all(address.startswith("tls://127.0.0.1:") for address in addresses)
    assert not is_let_in(int(information["address"].rpartition(":")[2]))
    with pytest.raises(DpoptError, match="no Dask cluster with workers answers"):
        DaskWorkers.connect(information["address"])


def test_local_workers_keep_nothing_on_disk_and_serve_no_pages(workers: DaskWorkers) -> None:
    def settings(dask_worker: Any) -> tuple[object, ...]:
        import dask

        routes = dask.config.get("distributed.worker.http.routes")
        return routes, dask_worker.memory_manager.memory_limit, type(dask_worker.data).__name__

    assert set(map(str, workers._client.run(settings).values())) == {"([], None, 'dict')"}
    assert workers._client.cluster.scheduler.http_application.applications == []


def test_a_cluster_that_runs_already_is_used_by_its_address_and_logs_no_value(tmp_path: Path) -> None:
    from distributed import LocalCluster

    path = write_parquet(tmp_path / "t.parquet", frame())
    wrong = write_parquet(tmp_path / "wrong.parquet", frame().assign(sex="secret"))
    asked = queries()[0]
    with LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        processes=False,
        host="127.0.0.1",
        protocol="tcp://",
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
        silence_logs=False,
    ) as cluster:
        engine = f"dask:{cluster.scheduler_address}"
        spread = open_dataset(path, SCHEMA, engine=engine)
        assert np.array_equal(exact_counts(spread, asked), exact_counts(read_table(path, SCHEMA), asked))
        with pytest.raises(PrivateDataError, match="'secret' is not a declared value"):
            open_dataset(wrong, SCHEMA, engine=engine)
        client = spread._workers._client  # type: ignore[attr-defined]
        assert "secret" not in logged(client)
        with pytest.raises(ValueError, match="secret"):
            client.submit(int, "secret").result()
        assert "secret" in logged(client)  # what a task raises is logged, which is why no task of dpopt raises
        spread._workers.close()  # type: ignore[attr-defined]


def logged(client: Any) -> str:
    """Return what workers and scheduler have logged, and what the scheduler remembers of tasks that failed."""
    return repr((client.get_worker_logs(), client.get_scheduler_logs()))


def test_an_address_where_nothing_answers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_workers, "START_SECONDS", 1)
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(DpoptError, match="no Dask cluster with workers answers at"):
            DaskWorkers.connect(address)


def test_parts_that_are_lost_repeatedly_are_given_up(workers: DaskWorkers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DaskWorkers, "_attempt", lambda self, task, parts, shared: iter(()))
    monkeypatch.setattr(dask_workers, "PAUSE_SECONDS", 0.0)
    with pytest.raises(DpoptError, match="workers were lost 5 times or more"):
        list(workers.run(read_part, [()]))


def test_a_task_that_workers_cannot_run_is_no_loss(workers: DaskWorkers) -> None:
    with pytest.raises(DpoptError, match="a worker could not run the task"):
        list(workers.run(os.kill, [-1, -1], "no signal"))


def reading(path: Path) -> tuple[tuple[Any, ...], Reading]:
    from dpopt.private.readers.parquet_source import ParquetSource
    from dpopt.private.readers.table_reading import AS_USUAL
    from dpopt.private.readers.table_sources import column_positions

    source = ParquetSource([path], path.name, None)
    positions = tuple(column_positions(source, SCHEMA.names))
    return source.parts(1)[0], Reading(SCHEMA, AS_USUAL, path.name, source.file_names, positions)


def test_reports_of_workers_hold_counts_and_no_records(tmp_path: Path) -> None:
    part, how = reading(write_parquet(tmp_path / "t.parquet", frame()))
    asked = queries()[0]
    report = read_part((part, None), how, NamedQueries.of(SCHEMA, asked))
    assert isinstance(report, PartRead)
    assert (report.rows, report.problems) == (ROWS, {})
    assert len(pickle.dumps(report)) < 8 * len(asked) + 1_000
    assert read_part((part, None), how) == PartRead(ROWS, {})
    assert repr(report) == object.__repr__(report)  # the address in memory alone


def test_errors_of_workers_are_reported_without_their_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part, how = reading(write_parquet(tmp_path / "t.parquet", frame(9)))

    def fail(*_: object, **__: object) -> None:
        raise ValueError("the secret 12")

    monkeypatch.setattr(distributed_table, "count_in_batches", fail)
    report = read_part((part, None), how, NamedQueries.of(SCHEMA, queries()[0]))
    assert isinstance(report, PartFailed)
    assert "a worker stopped with ValueError" in report.message
    assert "secret" not in report.message
    old = read_part((part, None), replace(how, version=0))
    assert isinstance(old, PartFailed)
    assert "another version of dpopt; install the same version on all workers" in old.message
    (tmp_path / "t.parquet").unlink()
    gone = read_part((part, None), how)
    assert isinstance(gone, PartFailed)
    assert "t.parquet is not a readable Parquet file" in gone.message


def test_without_the_libraries_the_engine_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(PlanError, match=r"pip install 'dpopt\[dask\]'"):
        DaskWorkers.start(1)
