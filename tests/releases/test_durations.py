"""Durations: a type with a declared unit, from every kind of table and back as the type that the column had."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpopt
from dpopt.errors import PrivateDataError, SchemaError
from dpopt.private.drafts.infer_schema import infer_schema
from dpopt.private.readers.read_table import read_table
from dpopt.releases.table_output import write_records
from dpopt.schema.dates import NANOSECONDS
from dpopt.schema.schema import Schema
from tests.noises import fix_draws

MINUTES = [i % 240 for i in range(1200)]
FRAME = pd.DataFrame({"waited": pd.to_timedelta(MINUTES, unit="min")})


def declared(unit: str = "minutes", edges: tuple[float, ...] = (0, 60, 120, 240), **more: Any) -> Schema:
    listed = [{"name": "waited", "type": "duration", "unit": unit, "edges": list(edges), **more}]
    return Schema.from_json({"dpopt_schema": 1, "attributes": listed})


def counted_in(unit: str, _: Path) -> pd.DataFrame:
    return pd.DataFrame({"waited": FRAME.waited.astype(f"timedelta64[{unit}]")})  # type: ignore[call-overload]


def csv_of(texts: list[str]) -> Callable[[Path], Path]:
    def written(folder: Path) -> Path:
        (folder / "t.csv").write_text("id,waited\n" + "".join(f"1,{text}\n" for text in texts))
        return folder / "t.csv"

    return written


def parquet(folder: Path) -> Path:
    FRAME.to_parquet(folder / "t.parquet")
    return folder / "t.parquet"


def workbook(folder: Path) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["waited"])
    for one in MINUTES:
        book.active.append([dt.timedelta(minutes=one)])
        book.active.cell(book.active.max_row, 1).number_format = "[h]:mm:ss"
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


TABLES: dict[str, Callable[[Path], Any]] = {
    **{f"pandas {unit}": partial(counted_in, unit) for unit in ("s", "ms", "us", "ns")},
    "pandas objects": lambda _: pd.DataFrame({"waited": pd.Series(FRAME.waited.to_list(), dtype=object)}),
    "polars": lambda _: pl.DataFrame({"waited": [dt.timedelta(minutes=one) for one in MINUTES]}),
    "Arrow": lambda _: pa.Table.from_pandas(FRAME),
    "NumPy": lambda _: FRAME.to_numpy(),
    "Parquet": parquet,
    "CSV of numbers": csv_of([f"{one}" for one in MINUTES]),
    "CSV as pandas writes it": csv_of([str(pd.Timedelta(one, "min")) for one in MINUTES]),
    "CSV as Python writes it": csv_of([f"{one // 60}:{one % 60:02}:00" for one in MINUTES]),
    "Excel": workbook,
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_every_table_is_read_in_the_declared_unit(name: str, tmp_path: Path) -> None:
    expected = np.searchsorted([60, 120], MINUTES, side="right")
    for unit, size in (("minutes", 1), ("hours", 60), ("seconds", 1 / 60)):
        if name == "CSV of numbers" and unit != "minutes":
            continue
        schema = declared(unit, tuple(edge / size for edge in (0, 60, 120, 240)))
        assert read_table(TABLES[name](tmp_path), schema)._columns[0].tolist() == expected.tolist(), unit


@pytest.mark.parametrize(
    "name", [name for name in TABLES if not name.startswith(("CSV", "NumPy", "Excel", "pandas objects"))]
)
def test_a_draft_has_the_largest_unit_in_which_all_are_whole(name: str, tmp_path: Path) -> None:
    (column,), (found,) = (draft := infer_schema(TABLES[name](tmp_path))).columns, draft.schema.attributes
    assert (column.type, found.unit, found.integer, found.edges[0], found.edges[-1]) == (
        "duration", "minutes", True, 0, 240,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("values", "unit", "whole"),
    [
        (["1 days", "3 days"], "days", True), (["36h", "12h"], "hours", True), (["90.5s", "7s"], "seconds", False),
        (["3ms", "7ms"], "milliseconds", True), (["3us", "7001us", "9us"], "microseconds", True),
        (["0.02s", "0.0300005s"], "milliseconds", False), (["-30min", "45min"], "minutes", True),
    ],
)  # fmt: skip
def test_units_of_drafts(values: list[str], unit: str, whole: bool) -> None:
    frame = pd.DataFrame({"waited": pd.to_timedelta(values * 40).astype("timedelta64[ns]")})
    (found,) = infer_schema(frame).schema.attributes
    assert (found.unit, found.integer) == (unit, whole)
    assert len(read_table(frame, infer_schema(frame).schema)._columns[0]) == len(frame)


def test_a_release_gives_back_the_types_of_the_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fix_draws(monkeypatch, 1)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta([i % 90 for i in range(1200)], unit="D")
    moments = days + pd.to_timedelta([i % 24 for i in range(1200)], unit="h")
    table = FRAME.assign(day=days, moment=moments, age=[i % 60 for i in range(1200)], name=["a", "b"] * 600, share=0.5)
    table["share"] = [i / 1200 for i in range(1200)]
    draft = infer_schema(table)
    assert [one.type for one in draft.columns][:3] == ["duration", "date", "date"]
    made = dpopt.release(table, draft.reviewed(), "marginals:1", epsilon=9, delta=1e-6, n0=1200, predict=False)
    frame = made.to_pandas()
    assert [one.kind for one in frame.dtypes] == [one.kind for one in table.dtypes]
    assert abs(np.mean(frame.waited.to_numpy() - table.waited.to_numpy()) / np.timedelta64(1, "m")) < 5
    made.save(tmp_path / "csv")
    assert read_table(tmp_path / "csv" / "synthetic.csv", draft.reviewed()) is not None
    asked: dict[str, Any] = {"epsilon": 9, "delta": 1e-6, "n0": 1200, "predict": False, "format": "parquet"}
    dpopt.release(table, draft.reviewed(), "marginals:1", **asked, out=tmp_path / "p")
    file = tmp_path / "p" / "synthetic.parquet"
    assert pl.read_parquet(file).schema["waited"] == pl.Duration("us")
    assert pa.types.is_duration(pq.read_table(file).schema.field("waited").type)
    assert pd.read_parquet(file).waited.dtype.kind == "m"


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
@pytest.mark.parametrize("unit", NANOSECONDS)
@pytest.mark.parametrize("whole", [False, True])
def test_what_is_written_reads_back_the_same(tmp_path: Path, unit: str, whole: bool, file_format: str) -> None:
    edges = (-3, 0, 1, 7, 200) if whole else (-2.5, 0, 1 / 3, 2 / 3, 1.1, 99.25)
    for missing in ({}, {"missing": ""}, {"missing": "?"}):
        schema = declared(unit, edges, **missing, **({"integer": True} if whole else {}))
        records = np.arange(schema.sizes[0], dtype=np.int32)[:, None]
        if unit in {"microseconds", "nanoseconds"} and file_format == "parquet" and not whole:
            schema = replace(
                schema, attributes=(replace(schema.attributes[0], edges=(-2, 0, 3, 9), representatives=(-1, 1, 5)),)
            )
            records = np.arange(schema.sizes[0], dtype=np.int32)[:, None]
        write_records(tmp_path / f"r.{file_format}", schema, records, format=file_format)
        assert read_table(tmp_path / f"r.{file_format}", schema)._columns[0].tolist() == records[:, 0].tolist()
        assert Schema.from_json(schema.to_json()) == schema


@pytest.mark.parametrize("values", [{"type": "numeric", "edges": [0, 60]}, {"type": "categorical", "values": [0, 60]}])
def test_a_column_of_durations_needs_its_unit(values: dict[str, Any]) -> None:
    schema = Schema.from_json({"dpopt_schema": 1, "attributes": [{"name": "waited", **values}]})
    with pytest.raises(PrivateDataError, match='column \'waited\': it holds durations; declare "type": "duration"'):
        read_table(FRAME, schema)


def test_values_that_do_not_fit_are_named_in_the_unit() -> None:
    with pytest.raises(
        PrivateDataError, match=r"row 61: 60 lies outside \[0, 59\](.|\n)*expected: a number of minutes in"
    ):
        read_table(FRAME, declared(edges=(0, 59)))
    assert declared().attributes[0].label(1) == "[60, 120) minutes"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"unit": None}, "needs it and no 'after'"),
        ({"unit": "weeks"}, "out of days, hours, minutes, seconds, milliseconds"),
        ({"after": "x"}, "needs it and no 'after'"),
        ({"edges": [0, 1e12]}, "292,000 years"),
        ({"type": "numeric"}, "'unit' is for a length"),
    ],
)
def test_refusals(change: dict[str, Any], words: str) -> None:
    given = {"name": "waited", "type": "duration", "unit": "days", "edges": [0, 1]} | change
    listed = [{key: value for key, value in given.items() if value is not None}]
    with pytest.raises(SchemaError, match=words):
        Schema.from_json({"dpopt_schema": 1, "attributes": listed})
    after = {"name": "x", "type": "numeric", "after": "waited", "edges": [0, 1]}
    with pytest.raises(SchemaError, match="which is duration; only numbers and dates"):
        Schema.from_json(
            {
                "dpopt_schema": 1,
                "attributes": [{"name": "waited", "type": "duration", "unit": "days", "edges": [0, 1]}, after],
            }
        )
