"""What comes back has the type of its column: every type, in pandas, polars, Arrow and Parquet, by the schema alone."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpopt
from dpopt.errors import AccuracyWarning, PlanError, SchemaError

ROWS = 600
GIVEN: dict[str, Any] = {"epsilon": 5, "n0": ROWS, "predict": False}
GIVEN["algorithm"] = dpopt.Projection(measure="counts", records=20)
NUMBERS = [int(number) for number in np.arange(ROWS) % 100]
SECONDS = [1_600_000_000 + 7 * 3600 * number for number in range(ROWS)]
DAYS = [second // 86400 for second in SECONDS]
WORDS = ["a", "b", "c"] * (ROWS // 3)


def some_missing(array: pa.Array) -> pa.Array:
    """Return an array of which every tenth value is missing."""
    return pa.array([None if place % 10 == 0 else value for place, value in enumerate(array.to_pylist())], array.type)


def moments(unit: str, zone: str | None = None) -> pa.Array:
    return pa.array(SECONDS, pa.int64()).cast(pa.timestamp("s")).cast(pa.timestamp(unit, zone))


def category(*, ordered: bool) -> pa.Array:
    places = pa.array([number % 3 for number in range(ROWS)], pa.int32())
    return pa.DictionaryArray.from_arrays(places, pa.array(["a", "b", "c"]), ordered=ordered)


COLUMNS: dict[str, pa.Array] = {
    **{f"{sign}int{bits}": pa.array(NUMBERS, f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
    "float": pa.array([number / 4 for number in NUMBERS], pa.float32()),
    "double": pa.array([number / 4 for number in NUMBERS], pa.float64()),
    "whole double": pa.array([4.0 * number for number in range(ROWS)], pa.float64()),
    "decimal128(10, 2)": pa.array([number / 4 for number in NUMBERS]).cast(pa.decimal128(10, 2)),
    "bool": pa.array([number % 2 == 0 for number in NUMBERS]),
    "string": pa.array(WORDS),
    "category": category(ordered=False),
    "ordered category": category(ordered=True),
    "date32": pa.array(DAYS, pa.int32()).cast(pa.date32()),
    "date64": pa.array([86_400_000 * day for day in DAYS], pa.int64()).cast(pa.date64()),
    **{f"timestamp[{unit}]": moments(unit) for unit in ("s", "ms", "us", "ns")},
    **{f"timestamp[{unit}, Berlin]": moments(unit, "Europe/Berlin") for unit in ("s", "ms", "us", "ns")},
    "timestamp[us, +02:00]": moments("us", "+02:00"),
    "midnights[ns]": pa.array(DAYS, pa.int32()).cast(pa.date32()).cast(pa.timestamp("ns")),
    **{
        f"duration[{unit}]": pa.array(list(range(0, 60 * ROWS, 60))).cast(pa.duration("s")).cast(pa.duration(unit))
        for unit in ("s", "ms", "us", "ns")
    },
}
COLUMNS |= {f"{name}, missing": some_missing(array) for name, array in COLUMNS.items() if "category" not in name}


def made_of(table: Any) -> dpopt.SyntheticRelease:
    """Return a release of a table by the schema that is drafted from it; its file says the same."""
    schema = dpopt.infer_schema(table).reviewed()
    assert dpopt.Schema.from_json(schema.to_json()) == schema
    return dpopt.release(table, schema, "marginals:1", **GIVEN)


def same(found: pa.DataType, expected: pa.DataType) -> bool:
    if pa.types.is_dictionary(expected):
        return bool(pa.types.is_dictionary(found) and found.ordered == expected.ordered)
    return bool(found == expected)


def differing(found: pa.Schema, expected: pa.Schema) -> list[str]:
    """Return the columns that have another type."""
    assert found.names == expected.names
    return [one.name for one in found if not same(one.type, expected.field(one.name).type)]


def test_arrow_and_parquet_have_the_type_of_each_column(tmp_path: Path) -> None:
    pq.write_table(pa.table(COLUMNS), tmp_path / "t.parquet")
    schema = dpopt.infer_schema(tmp_path / "t.parquet").reviewed()
    made = dpopt.release(tmp_path / "t.parquet", schema, "marginals:1", format="parquet", out=tmp_path / "out", **GIVEN)
    written = pq.read_table(tmp_path / "out" / "synthetic.parquet")
    expected = pq.read_schema(tmp_path / "t.parquet")  # Parquet has no seconds, and no date64
    for found in (made.to_arrow(), written):
        assert differing(found.schema, expected) == []
        assert len(found) == ROWS
    again = dpopt.read_table(written, schema)  # what is written fits the schema
    assert repr(again)


PANDAS: dict[str, Callable[[pa.Array], pd.Series]] = {
    "of NumPy": lambda array: array.to_pandas(date_as_object=False),
    "of its own": lambda array: array.to_pandas(
        types_mapper={
            pa.int8(): pd.Int8Dtype(), pa.uint16(): pd.UInt16Dtype(), pa.int64(): pd.Int64Dtype(),
            pa.bool_(): pd.BooleanDtype(),
        }.get
    ),
}  # fmt: skip
IN_PANDAS = [name for name in COLUMNS if not name.startswith(("date", "decimal"))]


@pytest.mark.parametrize("kind", PANDAS)
def test_pandas_has_the_type_of_each_column(kind: str) -> None:
    table = pd.DataFrame({name: PANDAS[kind](COLUMNS[name]) for name in IN_PANDAS})
    # Truth values of which some are missing are objects, which have no type to keep.
    table = table.drop(columns=[name for name in IN_PANDAS if table[name].dtype == object])
    if kind == "of its own":
        whole = [str(name) for name in table if "missing" not in str(name)]
        table = table.astype({name: COLUMNS[name].to_pandas().dtype for name in whole})
    assert len(table.columns) > 40
    made = made_of(table)
    for found in (made.to_pandas(), made.sample(50)):
        assert found.dtypes.to_dict() == table.dtypes.to_dict()


def test_polars_has_the_type_of_each_column() -> None:
    ordered = {"ordered category": pl.Series(WORDS, dtype=pl.Enum(["a", "b", "c"]))}
    table = pl.DataFrame({name: pl.Series(array) for name, array in COLUMNS.items()} | ordered)
    assert made_of(table).to_polars().schema == table.schema


def test_so_has_a_table_in_memory() -> None:
    assert differing(made_of(pa.table(COLUMNS)).to_arrow().schema, pa.table(COLUMNS).schema) == []


def test_a_sample_and_a_synthesizer_keep_the_types_too() -> None:
    table = pd.DataFrame({"x": pd.Series(NUMBERS, dtype="int8"), "when": moments("ms", "Europe/Berlin").to_pandas()})
    schema = dpopt.infer_schema(table).reviewed()
    fitted = dpopt.Synthesizer(schema, "marginals:1", **GIVEN).fit(table)
    assert list(fitted.sample(20).dtypes) == list(table.dtypes)
    assert dpopt.evaluate(fitted.sample(200), table, schema=schema).to_json()


def test_a_text_file_has_no_types_to_keep(tmp_path: Path) -> None:
    pd.DataFrame({"x": NUMBERS, "k": WORDS}).to_csv(tmp_path / "t.csv", index=False)
    assert [one.arrow for one in dpopt.infer_schema(tmp_path / "t.csv").schema.attributes] == [None, None]


def test_a_zone_that_is_not_declared_is_said_and_a_declared_one_comes_back() -> None:
    table = pd.DataFrame({"x": moments("us", "Europe/Berlin").to_pandas()})
    draft = dpopt.infer_schema(table)
    assert "the time zone Europe/Berlin and are read in UTC: so are its bins" in repr(draft)
    plain = draft.reviewed({"x": {"arrow": None}})
    with pytest.warns(AccuracyWarning, match=r"'x': its moments .* UTC, and come back without it; .*tz=Europe/Berlin"):
        made = dpopt.release(table, plain, "marginals:1", **GIVEN)
    assert str(made.to_pandas()["x"].dtype) == "datetime64[s]"
    zoned = dpopt.release(table, draft.reviewed(), "marginals:1", **GIVEN).to_pandas()["x"]
    assert (zoned - table["x"].min()).min().total_seconds() > -40 * 86400
    assert (zoned.dt.tz_convert("UTC").dt.tz_localize(None) <= pd.Timestamp("2021-04-01")).all()


WRONG: dict[str, dict[str, Any]] = {
    "too narrow": {"type": "numeric", "edges": [0, 200], "integer": True, "arrow": "int8"},
    "negative": {"type": "numeric", "edges": [-1, 2], "integer": True, "arrow": "uint8"},
    "fractions": {"type": "numeric", "edges": [0, 2], "arrow": "int8"},
    "digits": {"type": "numeric", "edges": [0, 1000], "arrow": "decimal128(4, 2)"},
    "too early": {"type": "date", "format": "%Y", "edges": ["1500", "2000"], "arrow": "timestamp[ns]"},
    "no zone": {"type": "date", "format": "%Y", "edges": ["1900", "2000"], "arrow": "timestamp[s, tz=Nowhere/Town]"},
    "no unit": {"type": "duration", "unit": "days", "edges": [0, 2], "arrow": "duration[h]"},
    "too long": {"type": "duration", "unit": "days", "edges": [0, 200_000], "arrow": "duration[ns]"},
    "a length": {"type": "numeric", "edges": [0, 2], "after": "y", "arrow": "int8"},
    "texts": {"type": "categorical", "values": ["a"], "arrow": "int8"},
    "no type": {"type": "boolean", "arrow": "yes"},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_type_that_does_not_hold_every_value_is_refused(name: str) -> None:
    with pytest.raises(SchemaError, match="'arrow' is .*; expected .*; or leave it out"):
        dpopt.Schema.from_json({"dpopt_schema": 1, "attributes": [{"name": "x", **WRONG[name]}]})


def test_a_length_has_the_type_of_the_date_before_it_if_that_holds_the_sum() -> None:
    came = {"name": "came", "type": "date", "format": "%Y-%m-%d", "edges": ["2020-01-01", "2021-01-01"]}
    for days, expected in ((30, "timestamp[ns]"), (200_000, "date32[day]")):
        left = {"name": "left", "type": "numeric", "after": "came", "unit": "days", "integer": True, "edges": [0, days]}
        schema = dpopt.Schema.from_json({"dpopt_schema": 1, "attributes": [{**came, "arrow": "timestamp[ns]"}, left]})
        table = pd.DataFrame({"came": ["2020-02-01"] * ROWS, "left": ["2020-02-05"] * ROWS})
        found = dpopt.release(table, schema, "marginals:1", **GIVEN).to_arrow().schema
        assert [str(one.type) for one in found] == ["timestamp[ns]", expected]


def test_without_polars_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made = made_of(pd.DataFrame({"x": WORDS}))
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(PlanError, match="polars"):
        made.to_polars()
