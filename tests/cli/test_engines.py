"""`--engine`: the table in memory or read in parts, with the same release and no trace in its folder."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from dpopt.private.engines import dask_workers
from tests.cli.command_line import refuse, release_arguments, statement, succeed


def test_a_streamed_release_says_what_one_in_memory_says(tmp_path: Path) -> None:
    for engine in ("memory", "stream"):
        (tmp_path / engine).mkdir()
        succeed(*release_arguments(tmp_path / engine, "--engine", engine))
    held, streamed = (statement(tmp_path / engine / "out") for engine in ("memory", "stream"))
    assert set(streamed) == set(held)
    for part in ("plan", "privacy", "workload"):
        assert streamed[part] == held[part]
    for path in (tmp_path / "stream" / "out").iterdir():
        assert "stream" not in path.read_text()


def test_a_streamed_release_is_evaluated_and_resumed_by_any_engine(tmp_path: Path) -> None:
    succeed(*release_arguments(tmp_path, "--engine", "stream"))
    out, table = tmp_path / "out", tmp_path / "people.csv"
    errors = [succeed("evaluate", out, table, "--json", "--engine", engine) for engine in ("memory", "stream")]
    assert errors[0] == errors[1]
    expected = {path.name for path in out.iterdir()}
    for engine in ("memory", "stream"):
        lines = (out / "transcript.jsonl").read_text().splitlines(keepends=True)
        (out / "transcript.jsonl").write_text("".join(lines[: len(lines) // 2]))
        (out / "release.json").unlink()
        (out / "synthetic.csv").unlink()
        succeed("resume", out, table, "--engine", engine, "--quiet")
        assert {path.name for path in out.iterdir()} == expected


def test_values_that_do_not_fit_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    arguments = release_arguments(tmp_path, "--engine", "stream")
    table = tmp_path / "people.csv"
    table.write_text(table.read_text() + "green,99,true,north\n")
    text = refuse(*arguments)
    assert "people.csv does not fit the schema" in text
    assert "line 202: 99 lies outside [0, 60]" in text
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("disk", "is not known; expected memory, stream, dask:N"),
        ("dask:0", "start 1 to 256 worker processes"),
        ("dask:2", "workers of Dask read Parquet files"),  # before any is started
    ],
)
def test_engines_that_do_not_suit_are_refused_before_writing(tmp_path: Path, engine: str, message: str) -> None:
    assert message in refuse(*release_arguments(tmp_path, "--engine", engine))
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())


@pytest.mark.parametrize(("scheme", "warned"), [("", False), ("tls://", False), ("tcp://", True)])
def test_a_connection_without_encryption_is_warned_of_even_by_quiet_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str, warned: bool
) -> None:
    monkeypatch.setattr(dask_workers, "START_SECONDS", 0.2)
    arguments = release_arguments(tmp_path, "--quiet", "--engine", f"dask:{scheme}127.0.0.1:9")
    pd.read_csv(tmp_path / "people.csv").to_parquet(tmp_path / "people.parquet")
    arguments[1] = tmp_path / "people.parquet"
    said = refuse(*arguments).splitlines()
    warned_ = [line for line in said if line.startswith("warning: tcp://127.0.0.1:9 is not encrypted")]
    assert len(warned_) == warned
    assert "no Dask cluster with workers answers at" in said[-1]
