from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt import public_random
from dpopt.errors import ReleaseFolderError, SchemaError
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import TableReading
from dpopt.releases import records as synthetic_records
from dpopt.releases import table_output
from dpopt.releases.column_values import ColumnBlocks
from dpopt.releases.records import RowBlock, SyntheticRecords
from dpopt.releases.table_output import write_blocks, write_records
from dpopt.releases.values import drawn_blocks
from dpopt.schema import Attribute, AttributeKind, Schema
from dpopt.schema.dates import Seconds
from tests.strategies import schemas, tables

CATEGORICAL, BOOLEAN, NUMERIC = AttributeKind.CATEGORICAL, AttributeKind.BOOLEAN, AttributeKind.NUMERIC
SCHEMA = Schema(
    (
        Attribute("age", NUMERIC, edges=(0, 20, 30), integer=True, missing="?"),
        Attribute("height", NUMERIC, edges=(0, 1.5, 2.5), missing=""),
        Attribute("name, title", CATEGORICAL, ("A", 'B "b"', "C, c"), missing=""),
        Attribute("children", CATEGORICAL, (0, 1, 2), missing="?"),
        Attribute("rate", CATEGORICAL, (0.1, 2.0)),
        Attribute("smoker", BOOLEAN),
        Attribute("answer", BOOLEAN, ("no", "yes"), missing="?"),
        Attribute("mixed", CATEGORICAL, ("a", 1, 1.0)),
    )
)
RECORDS = np.array([[0, 1, 1, 2, 1, 1, 1, 2], [2, 2, 3, 3, 0, 0, 2, 0]], dtype=np.int32)


def codes(path: Path, schema: Schema) -> NDArray[np.int32]:
    return np.array(read_table(path, schema, TableReading(multiline=True))._columns, dtype=np.int32).T


def test_csv_holds_the_values_in_quotes_where_needed(tmp_path: Path) -> None:
    path = tmp_path / "records.csv"
    assert write_records(path, SCHEMA, RECORDS) is None
    assert path.read_bytes().decode() == (
        'age,height,"name, title",children,rate,smoker,answer,mixed\n'
        '10,2.0,"B ""b""",2,2.0,true,yes,1.0\n'
        "?,,,?,0.1,false,?,a\n"
    )


def test_parquet_holds_typed_columns_and_nulls(tmp_path: Path) -> None:
    path = tmp_path / "records.parquet"
    write_records(path, SCHEMA, RECORDS, weights=np.array([0.5, 3.0]), format="parquet")
    table = pq.read_table(path)
    double, text = pa.float64(), pa.string()
    assert table.schema.names == [*SCHEMA.names, "weight"]
    assert table.schema.types == [pa.int64(), double, text, pa.int64(), double, pa.bool_(), text, text, double]
    assert [list(row.values()) for row in table.to_pylist()] == [
        [10, 2.0, 'B "b"', 2, 2.0, True, "yes", "1.0", 0.5],
        [None, None, None, None, 0.1, False, None, "a", 3.0],
    ]


def test_weights_are_written_exactly_in_the_last_column(tmp_path: Path) -> None:
    path = tmp_path / "records.csv"
    schema = Schema((Attribute("a", BOOLEAN),))
    weights = np.array([0.1 + 0.2, 1e-9, 1e-9, 3.0])
    assert write_records(path, schema, np.array([[0], [1], [0], [1]], np.int32), weights=weights) == "weight"
    assert path.read_text() == "a,weight\nfalse,0.30000000000000004\ntrue,1e-09\nfalse,1e-09\ntrue,3.0\n"
    assert pd.read_csv(path)["weight"].tolist() == weights.tolist()


@pytest.mark.parametrize(
    ("names", "given_name"),
    [
        (["a"], "weight"),
        (["weight"], "dpopt_weight"),
        (["weight", "dpopt_weight"], "dpopt_weight_2"),
        (["weight", "dpopt_weight", "dpopt_weight_2"], "dpopt_weight_3"),
    ],
)
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_weight_column_never_takes_the_name_of_an_attribute(
    tmp_path: Path, names: list[str], given_name: str, form: str
) -> None:
    schema = Schema(tuple(Attribute(name, BOOLEAN) for name in names))
    records = np.ones((2, len(names)), dtype=np.int32)
    path = tmp_path / "records"
    used = write_records(path, schema, records, weights=np.ones(2), format=form)
    assert used == given_name
    frame = pd.read_csv(path) if form == "csv" else pd.read_parquet(path)
    assert list(frame.columns) == [*names, given_name]
    assert np.array_equal(codes(path, schema), records)


@given(schemas(), st.data(), st.sampled_from(["csv", "parquet"]), st.booleans())
def test_what_is_written_reads_back_the_same(schema: Schema, data: st.DataObject, form: str, weighted: bool) -> None:
    records = data.draw(tables(schema.sizes.tolist(), max_rows=20).filter(len))
    weights = np.linspace(0, 1, len(records)) if weighted else None
    with TemporaryDirectory() as folder:
        path = Path(folder) / "records"
        write_records(path, schema, records, weights=weights, format=form)
        assert np.array_equal(codes(path, schema), records)


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize(
    "attribute",
    [
        Attribute("a", CATEGORICAL, ("", "x"), missing="?"),
        Attribute("a", CATEGORICAL, ("x", "?"), missing=""),
        Attribute("a", CATEGORICAL, ("\ufeff", "\n", "\r", "\r\n", '"', ",", " ", "\x00"), missing="none"),
        Attribute("a", CATEGORICAL, ("nan", "NaN", "inf", "null", "1e5", "01"), missing="1"),
        Attribute("a", CATEGORICAL, (2**60, 2**60 + 1, -(2**63)), missing=""),
        Attribute("a", CATEGORICAL, (2**64, 2**80, 1), missing="-"),
        Attribute("a", CATEGORICAL, (2**53 + 1, 2.0**53, 0.5)),
        Attribute("a", CATEGORICAL, (1, 1.0, True, "True")),
        Attribute("a", CATEGORICAL, (0.1, 5e-324, 1.7e308, -0.0, 1e22, 123456789.123)),
        Attribute("a", BOOLEAN, (True, False), missing=""),
        Attribute("a", BOOLEAN, (1, 0), missing="0.5"),
        Attribute("a", BOOLEAN, missing="1"),
        Attribute("a", BOOLEAN, (0, True)),
        Attribute("a", NUMERIC, edges=(0, 1e300), integer=True, missing="-1"),
        Attribute("a", NUMERIC, edges=(-5e-324, 0.0, 5e-324, 1.0), missing="nan"),
        Attribute("a", NUMERIC, edges=(-1e18, -1.0, 0.5, 1e18), integer=True, missing="n/a"),
        Attribute("\ufeffa", BOOLEAN),
        Attribute('"', BOOLEAN),
        Attribute(" ", CATEGORICAL, (" ", "  ")),
    ],
)
def test_awkward_values_read_back_to_the_same_codes(tmp_path: Path, attribute: Attribute, form: str) -> None:
    schema = Schema((attribute,))
    records = np.arange(attribute.size, dtype=np.int32)[:, None]
    write_records(tmp_path / "records", schema, records, format=form)
    assert np.array_equal(codes(tmp_path / "records", schema), records)


def test_many_rows_are_written_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_output, "_BATCH_ROWS", 100)
    generator = np.random.default_rng(3)
    records = generator.integers(0, SCHEMA.sizes, size=(1050, len(SCHEMA))).astype(np.int32)
    weights = generator.random(1050)
    write_records(tmp_path / "records.csv", SCHEMA, records, weights=weights)
    assert np.array_equal(codes(tmp_path / "records.csv", SCHEMA), records)
    assert np.array_equal(pd.read_csv(tmp_path / "records.csv")["weight"], weights)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_the_same_records_give_the_same_bytes(tmp_path: Path, form: str) -> None:
    for name, records in [("one", RECORDS), ("other", np.asfortranarray(RECORDS))]:
        write_records(tmp_path / name, SCHEMA, records, weights=np.array([1 / 3, 2 / 3]), format=form)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_no_records_give_a_table_without_rows(tmp_path: Path) -> None:
    none = np.zeros((0, len(SCHEMA)), dtype=np.int32)
    write_records(tmp_path / "a.csv", SCHEMA, none, weights=np.zeros(0))
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 1
    write_records(tmp_path / "a.parquet", SCHEMA, none, format="parquet")
    assert pq.read_table(tmp_path / "a.parquet").num_rows == 0


def test_a_file_is_replaced_whole_and_readable_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "records.csv"
    path.write_text("old")
    write_records(path, SCHEMA, RECORDS)
    assert path.read_text().startswith("age,")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_file_that_cannot_be_finished_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    path = tmp_path / "records.csv"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises((ReleaseFolderError, KeyboardInterrupt), match=r"No space left|^$"):
        write_records(path, SCHEMA, RECORDS)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_does_not_exist_and_an_unknown_format_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseFolderError, match="cannot be written: No such file.*choose a folder"):
        write_records(tmp_path / "nowhere" / "records.csv", SCHEMA, RECORDS)
    with pytest.raises(SchemaError, match="'xlsx' is not known; expected 'csv' or 'parquet'"):
        write_records(tmp_path / "records.xlsx", SCHEMA, RECORDS, format="xlsx")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda records: records[:, :3], r"expected records of shape \(r, 8\) and type int32, found"),
        (lambda records: records[0], r"found \(8,\)"),
        (lambda records: records.astype(np.int64), "int64"),
        (lambda records: records + np.int32(1), "record 0 has code 2 in 'height'|record 0 has code"),
        (lambda records: records - np.int32(1), r"record 0 has code -1 in 'age'; the codes are 0 \.\. 2"),
    ],
)
def test_records_that_do_not_fit_the_schema_are_refused(
    tmp_path: Path, change: Callable[[NDArray[np.int32]], NDArray[np.int32]], message: str
) -> None:
    with pytest.raises(SchemaError, match=message):
        write_records(tmp_path / "records.csv", SCHEMA, change(RECORDS))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), "expected 2 weights of type float64, found shape"),
        (np.ones(2, dtype=np.float32), "float32"),
        (np.array([1, np.nan]), "weight 1 is not finite"),
        (np.array([np.inf, 1]), "weight 0 is not finite"),
    ],
)
def test_weights_that_fit_no_records_are_refused(tmp_path: Path, weights: NDArray[np.float64], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        write_records(tmp_path / "records.csv", SCHEMA, RECORDS, weights=weights)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_memory_does_not_grow_with_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    """Four times as many rows, in four times as many blocks of the same size."""
    monkeypatch.setattr(synthetic_records, "ROWS_AT_ONCE", 2**12)
    monkeypatch.setattr(public_random, "_SORTED_AT_ONCE", 2**13)
    monkeypatch.setattr(public_random, "_DRAWN_AT_ONCE", 2**13)
    schema = Schema((SCHEMA.attributes[0], SCHEMA.attributes[1], SCHEMA.attributes[2]))
    distinct = np.array([[0, 0, 0], [1, 0, 1], [1, 2, 3]], dtype=np.int32)
    values = {one.name: ColumnBlocks.of(one, np.array([3e4, 2e4])) for one in schema.attributes[:2]}
    usual, peaks = pa.default_memory_pool(), []
    for rows in (2**15, 2**17):
        made = SyntheticRecords(distinct, np.array([rows // 2, rows // 4, rows // 4]))
        blocks = drawn_blocks(values, schema, made, weighted=False)
        pool = pa.proxy_memory_pool(usual)
        pa.set_memory_pool(pool)
        tracemalloc.start()
        try:
            write_blocks(tmp_path / f"{rows}", schema, blocks, weighted=False, format=form)
            peaks.append(tracemalloc.get_traced_memory()[1] + (pool.max_memory() or 0))
        finally:
            tracemalloc.stop()
            pa.set_memory_pool(usual)
    assert peaks[1] < 1.2 * peaks[0]
    assert len(codes(tmp_path / f"{2**17}", schema)) == 2**17


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_blocks_have_one_type_whatever_is_in_them(tmp_path: Path, form: str) -> None:
    clock = Attribute("at", NUMERIC, edges=(Seconds(0), Seconds(86_399)), date_format="%H:%M:%S", missing="")
    schema = Schema((SCHEMA.attributes[0], SCHEMA.attributes[1], clock))
    missing, known = np.array([[2, 2, 1]], dtype=np.int32), np.array([[0, 0, 0], [2, 1, 1]], dtype=np.int32)
    nan = np.nan
    drawn = [dict.fromkeys(range(3), np.array([nan])), dict(enumerate(np.array([[7, nan], [0.25, 2], [60, nan]])))]
    blocks = [RowBlock(rows, numbers=numbers) for rows, numbers in zip((missing, known), drawn, strict=True)]
    write_blocks(tmp_path / "t", schema, blocks, weighted=False, format=form)
    if form == "csv":
        assert (tmp_path / "t").read_text().splitlines()[1:] == ["?,,", "7,0.25,00:01:00", "?,2.0,"]
    else:
        table = pq.read_table(tmp_path / "t")
        assert [str(one.type) for one in table.schema] == ["int64", "double", "string"]
        assert table.to_pydict() == {
            "age": [None, 7, None],
            "height": [None, 0.25, 2.0],
            "at": [None, "00:01:00", None],
        }
