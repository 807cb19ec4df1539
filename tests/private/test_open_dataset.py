"""Which engine counts: its name, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpopt.errors import PlanError
from dpopt.private.engines.open_dataset import Engine, check_engine, open_dataset, parse_engine
from dpopt.private.engines.streamed_table import StreamedTable
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.schema import Schema
from tests.private.tables_in_files import SCHEMA, frame, write_csv


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
    "text",
    ["", "disk", "memory:2", "stream:", "dask", "dask:", "dask:-1", "dask:x", "dask:http://h:80", "dask:h:"],
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
