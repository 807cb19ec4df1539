"""Several texts that mean missing: declared as a list, written as the first, read alike by every reader, column by column."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.errors import DpoptError, SchemaError
from dpopt.private.engines.streamed_table import StreamedTable
from dpopt.private.readers.read_table import read_table
from dpopt.queries import parse_workload
from dpopt.releases.records import RowBlock
from dpopt.releases.table_output import write_csv
from dpopt.schema import Schema
from dpopt.studio.forms import ColumnForm

TEXTS = ["NA", "n/a", "-9", ""]
COLUMNS: dict[str, dict[str, Any]] = {
    "age": {"type": "numeric", "edges": [0, 50, 100], "integer": True},
    "day": {"type": "date", "format": "%Y-%m-%d", "edges": ["2024-01-01", "2024-02-01", "2024-03-01"]},
    "end": {"type": "numeric", "edges": [0, 5, 99], "integer": True, "after": "day", "unit": "days"},
    "wait": {"type": "duration", "unit": "minutes", "edges": [0, 30, 60]},
    "job": {"type": "categorical", "values": ["clerk", "nurse"]},
    "code": {"type": "categorical", "values": ["I21", "J45"], "prefix": 3},
    "level": {"type": "categorical", "values": [1, 2]},
    "own": {"type": "boolean"},
}
FIRST = {"age": "7", "day": "2024-01-10", "end": "2024-01-12", "wait": "12", "job": "clerk", "code": "I21.4"}
FIRST |= {"level": "1", "own": "false"}
KEPT = Schema.from_json(
    {
        "dpopt_schema": 1,
        "attributes": [{"name": name, **one, "missing": TEXTS} for name, one in COLUMNS.items()]
        + [{"name": "word", "type": "categorical", "values": ["NA", "n/a"], "missing": "?"}],  # here they are values
    }
)


def rows() -> pd.DataFrame:
    """Return a row with values, then one with each text in all columns."""
    frame = pd.DataFrame({name: [value, *TEXTS] for name, value in FIRST.items()})
    return frame.assign(word=["NA", "n/a", "NA", "n/a", "?"])


CODES = {name: [0] + [KEPT.attributes[KEPT.index(name)].size - 1] * len(TEXTS) for name in COLUMNS}
CODES["word"] = [0, 1, 0, 1, 2]


def as_csv(path: Path) -> Path:
    rows().to_csv(path / "t.csv", index=False)
    return path / "t.csv"


def as_excel(path: Path) -> Path:
    rows().to_excel(path / "t.xlsx", index=False)
    return path / "t.xlsx"


def as_parquet(path: Path) -> Path:
    rows().to_parquet(path / "t.parquet")
    return path / "t.parquet"


TABLES: dict[str, Callable[[Path], Any]] = {
    "csv": as_csv,
    "excel": as_excel,
    "parquet": as_parquet,
    "pandas": lambda _: rows(),
    "pandas string": lambda _: rows().astype("string[python]"),
    "categories": lambda _: rows().astype("category"),
    "nulls": lambda _: rows().replace("", None),
    "polars": lambda _: pytest.importorskip("polars").from_pandas(rows()),
}


@pytest.mark.parametrize("table", TABLES)
def test_every_reader_takes_each_text_in_its_column_alone(table: str, tmp_path: Path) -> None:
    found = read_table(TABLES[table](tmp_path), KEPT)
    assert {one.name: codes.tolist() for one, codes in zip(KEPT.attributes, found._columns, strict=True)} == CODES


@pytest.mark.parametrize("table", [as_csv, as_parquet])
def test_streams_count_them_alike(table: Callable[[Path], Path], tmp_path: Path) -> None:
    marginals = parse_workload("marginals:1", KEPT).marginals
    assert marginals is not None
    counts = StreamedTable.open(table(tmp_path), KEPT)._count(marginals, threads=1, progress=None)
    sizes = [np.bincount(CODES[one.name], minlength=one.size) for one in KEPT.attributes]
    assert counts.tolist() == np.concatenate(sizes).tolist()


def test_the_first_is_written_and_all_are_read_back(tmp_path: Path) -> None:
    records = np.array([[CODES[name][row] for name in KEPT.names] for row in range(5)], dtype=np.int32)
    path = tmp_path / "synthetic.csv"
    with path.open("wb") as stream:
        write_csv(stream, KEPT, [RowBlock(records)], None)
    written = pd.read_csv(path, keep_default_na=False, dtype=str)
    assert (written.loc[1:, list(COLUMNS)] == "NA").all(axis=None)
    again = read_table(path, KEPT)
    assert [codes.tolist() for codes in again._columns] == records.T.tolist()


def test_one_text_stays_what_it_was_and_a_list_is_kept() -> None:
    one = {"name": "age", **COLUMNS["age"]}
    single = Schema.from_json({"dpopt_schema": 1, "attributes": [{**one, "missing": "NA"}]})
    listed = Schema.from_json({"dpopt_schema": 1, "attributes": [{**one, "missing": ["NA"]}]})
    assert single == listed
    assert json.dumps(listed.to_json()["attributes"]).endswith('"missing": "NA"}]')
    assert Schema.from_json(KEPT.to_json()) == KEPT
    assert KEPT.attributes[0].decoded() == (25, 75, "NA")
    form = ColumnForm.of("age", {**one, "missing": TEXTS})
    assert form.attribute(None)["missing"] == TEXTS
    for rule in (["age", "=", text] for text in ("NA", "n/a", None)):
        assert Schema(KEPT.attributes, rules=Schema.from_json({**KEPT.to_json(), "rules": [{"not": rule}]}).rules)


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ([], "a list of different ones; found"),
        (["NA", "NA"], "a list of different ones; found"),
        (["NA", None], "a list of different ones; found"),
        (["NA", 3], "a list of different ones; found"),
        (["NA", "7"], "the missing text '7' is also a number inside the bins"),
    ],
)
def test_lists_that_contradict_themselves_are_refused(missing: Any, words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        Schema.from_json({"dpopt_schema": 1, "attributes": [{"name": "age", **COLUMNS["age"], "missing": missing}]})
    with pytest.raises(SchemaError, match=words):
        dpopt.Attribute("age", dpopt.AttributeKind.NUMERIC, edges=(0, 50, 100), missing=missing)


def test_a_text_of_a_list_that_is_a_value_or_a_sum_is_refused() -> None:
    with pytest.raises(SchemaError, match="'nurse' is both the missing text and a value"):
        Schema.from_json({"dpopt_schema": 1, "attributes": [{"name": "a", **COLUMNS["job"], "missing": ["", "nurse"]}]})
    start = {"name": "a", "type": "numeric", "edges": [0, 9]}
    end = {"name": "b", "type": "numeric", "edges": [0, 9], "after": "a", "missing": ["", "12"]}
    with pytest.raises(SchemaError, match="the missing text '12' is also a sum with 'a'"):
        Schema.from_json({"dpopt_schema": 1, "attributes": [start, end]})


def test_a_draft_declares_the_words_beside_numbers_and_dates(tmp_path: Path) -> None:
    rows = 900
    days = (np.datetime64("2024-01-01") + np.arange(rows) % 300).astype(str).astype(object)
    ages = (np.arange(rows) % 95).astype(str).astype(object)
    for place in range(90):
        ages[place] = ["NA", "n/a", "", "NA"][place % 4]
        days[place] = ["unknown", "NaN", "-", "unknown"][place % 4]
    table = pd.DataFrame({"age": ages, "day": days})
    table.to_csv(tmp_path / "t.csv", index=False)
    for one in (table, tmp_path / "t.csv"):
        draft = dpopt.infer_schema(one)
        assert [column.type for column in draft.columns] == ["numeric", "date"]
        assert [set(column.missing_texts) for column in draft.schema.attributes] == [
            {"NA", "n/a"},
            {"unknown", "NaN", "-"},
        ]
        assert [column.missing for column in draft.schema.attributes] == ["NA", "unknown"]  # the most frequent
        assert [column.missing for column in draft.columns] == [90, 90]
        assert len(read_table(one, draft.reviewed())._columns[0]) == rows


def test_words_that_nobody_knows_are_named_with_what_to_write(tmp_path: Path) -> None:
    table = pd.DataFrame({"age": [*map(str, range(90)), "foo", "bar"] * 2, "kind": ["x", "y", "NA", ""] * 46})
    draft = dpopt.infer_schema(table)
    said = " ".join(draft.columns[0].check)
    assert 'declare "type": "numeric" with "edges" and "missing": ["bar", "foo"]' in said
    assert "'NA' is a value; if it marks missing values" in " ".join(draft.columns[1].check)
    assert 'write "missing": ["", "NA"]' in " ".join(draft.columns[1].check)
    changes: dict[str, Any] = {
        "age": {"type": "numeric", "edges": [0, 90], "missing": ["bar", "foo"]},
        "kind": {"values": ["x", "y"], "missing": ["", "NA"]},
    }
    read_table(table, draft.reviewed(changes))
    with pytest.raises(DpoptError, match='several as a list: "missing": '):
        read_table(table, draft.reviewed({**changes, "age": {**changes["age"], "missing": "foo"}}))
