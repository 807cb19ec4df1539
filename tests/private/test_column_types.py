"""Every type of column in every kind of table, with its most extreme values, under each policy: none ends a total reading."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpopt.errors import PrivateDataError
from dpopt.private.drafts.infer_schema import infer_schema
from dpopt.private.engines.dask_workers import DaskWorkers
from dpopt.private.engines.distributed_table import DistributedTable
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.engines.open_dataset import open_dataset
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import TableReading
from dpopt.queries.workloads.workload import parse_workload
from dpopt.schema.schema import Attribute, AttributeKind, Schema

NUMERIC = AttributeKind.NUMERIC
DECLARED = {
    "categorical": Attribute("x", AttributeKind.CATEGORICAL, ("a", "1", "1970-01-01", "00:00:05"), missing=""),
    "boolean": Attribute("x", AttributeKind.BOOLEAN, missing=""),
    "numeric": Attribute("x", NUMERIC, edges=(0, 2, 100), missing=""),
    "date": Attribute("x", NUMERIC, edges=("1970-01-01", "2030-01-01"), date_format="%Y-%m-%d", missing=""),  # type: ignore[arg-type]
    "duration": Attribute("x", NUMERIC, edges=(0, 1, 9), unit="seconds", missing=""),
}


TOTAL = ("other", "drop", "clip,other", "clip,drop")


def bits(kind: pa.DataType, *numbers: int) -> pa.Array:
    """Return values by their bits, which no library checks."""
    held = np.array(numbers, dtype=f"i{kind.bit_width // 8}")
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(held)])


def whole(kind: pa.DataType) -> list[pa.Array]:
    width = kind.bit_width
    return [bits(kind, 0, 5), bits(kind, 2 ** (width - 1) - 1), bits(kind, -(2 ** (width - 1))), bits(kind, -1)]


def floats(kind: pa.DataType) -> list[pa.Array]:
    largest = float(np.finfo(kind.to_pandas_dtype()).max)
    return [pa.array([0, 1], kind), *(pa.array([one], kind) for one in (np.nan, np.inf, -np.inf, largest))]


def texts(kind: pa.DataType) -> list[pa.Array]:
    odd = pa.array([b"\xff\xfe"]).view(pa.binary())
    odd = odd.cast(kind) if "binary" in str(kind) else pa.compute.cast(odd, options=pa.compute.CastOptions.unsafe(kind))
    return [pa.array(["a", "1"]).cast(kind), odd, pa.array(["x" * 20_000]).cast(kind)]


MOMENTS = [pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "Europe/Berlin")]
CLOCKS = [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]
LASTING = [pa.duration(unit) for unit in ("s", "ms", "us", "ns")]
DECIMALS = [pa.decimal32(9, 2), pa.decimal64(18, 2), pa.decimal128(38, 2), pa.decimal256(76, 2), pa.decimal128(38, 0)]
ARROW: dict[str, list[pa.Array]] = {
    **{str(one): whole(one) for one in (*MOMENTS, *CLOCKS, *LASTING, pa.date32(), pa.date64())},
    **{f"int{width}": whole(getattr(pa, f"int{width}")()) for width in (8, 16, 32, 64)},
    **{f"uint{width}": [pa.array([0, 1], f"uint{width}"), pa.array([2**width - 1], f"uint{width}")] for width in (8, 64)},
    **{str(one): floats(one) for one in (pa.float16(), pa.float32(), pa.float64())},
    **{str(one): texts(one) for one in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())},
    "string_view": [pa.array(["a", "1"], pa.string_view()), pa.array(["x" * 20_000], pa.string_view())],
    "binary_view": [pa.array([b"a", b"1"], pa.binary_view()), pa.array([b"\xff"], pa.binary_view())],
    "binary[1]": [pa.array([b"a", b"1"], pa.binary(1)), pa.array([b"\xff"], pa.binary(1))],
    **{
        str(one): [pa.array([Decimal(1), Decimal(0)], one), pa.array([Decimal("9" * (one.precision - one.scale))], one)]
        for one in DECIMALS
    },
    "bool": [pa.array([True, False])],
    "null": [pa.nulls(2)],
    "dictionary": [pa.array(["a", "1"]).dictionary_encode(), pa.array(["z"]).dictionary_encode()],
    "dictionary of times": [one.dictionary_encode() for one in whole(pa.timestamp("us"))],
    "dictionary of durations": [one.dictionary_encode() for one in whole(pa.duration("s"))],
    "run-end encoded": [pa.RunEndEncodedArray.from_arrays([1, 2], ["a", "1"])],
}  # fmt: skip
NOT_READ = {
    "list": pa.array([[1], None]),
    "large_list": pa.array([[1], None], pa.large_list(pa.int8())),
    "fixed_size_list": pa.array([[1], None], pa.list_(pa.int8(), 1)),
    "list_view": pa.array([[1], None], pa.list_view(pa.int8())),
    "struct": pa.array([{"a": 1}, None]),
    "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int8())),
    "interval": pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
    "union": pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([1, 2])]),
}


def test_every_type_of_arrow_is_tried() -> None:
    tried = {one.type.id for arrays in ARROW.values() for one in arrays} | {one.type.id for one in NOT_READ.values()}
    known = {value for name, value in vars(pa.lib).items() if name.startswith("Type_")}
    left = {
        pa.lib.Type_DENSE_UNION, pa.lib.Type_LARGE_LIST_VIEW, pa.lib.Type_UINT16, pa.lib.Type_UINT32,
        pa.lib.Type_INTERVAL_MONTHS, pa.lib.Type_INTERVAL_DAY_TIME,
    }  # fmt: skip
    named = {name for name, value in vars(pa.lib).items() if name.startswith("Type_") and value in known - tried - left}
    assert named <= {"Type_MAX_ID", "Type_STRING_VIEW"}


def series(*values: object, kind: Any) -> list[pd.DataFrame]:
    """Return a frame of the first two values, and one of each of the others."""
    parts: list[list[Any]] = [list(values[:2]), *([one] for one in values[2:])]
    return [pd.DataFrame({"x": pd.Series(part, dtype=kind)}) for part in parts]


def raw(kind: str, *numbers: int) -> list[pd.DataFrame]:
    parts = (numbers[:2], *((one,) for one in numbers[2:]))
    return [pd.DataFrame({"x": np.array(part, dtype="i8").view(kind)}) for part in parts]


def categories(known: pd.Index[Any]) -> list[pd.DataFrame]:
    return [pd.DataFrame({"x": pd.Categorical.from_codes(part, categories=known)}) for part in ([0, 1], [2], [3])]


ENDS = (0, 5, 2**63 - 1, -(2**63) + 1)
FAR = (dt.time(1), dt.timedelta.max, dt.timedelta.min, dt.date.max, dt.datetime(9999, 12, 31, tzinfo=dt.UTC))
PANDAS: dict[str, list[pd.DataFrame]] = {
    **{f"datetime64[{unit}]": raw(f"M8[{unit}]", *ENDS) for unit in ("s", "ms", "us", "ns")},
    **{f"timedelta64[{unit}]": raw(f"m8[{unit}]", *ENDS) for unit in ("s", "ms", "us", "ns")},
    **{kind: series(0, 1, np.inf, np.nan, kind=kind) for kind in ("float16", "float32", "float64", "Float64")},
    **{kind: series(0, 1, np.inf, np.nan, kind=kind) for kind in ("longdouble", "complex128")},
    **{kind: series(0, 1, np.iinfo(kind).max, kind=kind) for kind in ("int8", "int64", "uint64")},
    "Int64": series(0, 1, 2**63 - 1, pd.NA, kind="Int64"),
    "boolean": series(True, False, pd.NA, kind="boolean"),
    "string[python]": series("a", "1", "\ud800", "x" * 20_000, kind="string[python]"),
    "string[pyarrow]": series("a", "1", "x" * 20_000, kind="string[pyarrow]"),
    "str": series("a", "1", "x" * 20_000, kind="str"),
    "object": series("a", "1", "\ud800", b"\xff", [1], 10**5000, Decimal("sNaN"), pd.NaT, *FAR, object(), kind=object),
    "category": categories(pd.Index(["a", "1", "\ud800", (1,)], dtype=object, tupleize_cols=False)),
    "category of durations": categories(pd.Index(np.array(ENDS, "i8").view("m8[us]"))),
    "category of moments": categories(pd.Index(np.array(ENDS, "i8").view("M8[us]"))),
    "period": series("1970-01", "1980-02", "9999-12", kind="period[M]"),
    "interval": [pd.DataFrame({"x": pd.arrays.IntervalArray.from_breaks(part)}) for part in ([0.0, 1.0, 2.0], [0.0, np.inf])],
    "Sparse": series(0.0, 1.0, np.nan, kind="Sparse[float64]"),
    "arrow durations": [one.astype(pd.ArrowDtype(pa.duration("us"))) for one in raw("m8[us]", *ENDS)],
    "arrow lists": [pd.DataFrame({"x": pd.Series([[1], [2]], dtype=pd.ArrowDtype(pa.list_(pa.int64())))})],
}  # fmt: skip


def frames(kind: Any, *values: object) -> list[pl.DataFrame]:
    return [
        pl.DataFrame({"x": pl.Series(part, dtype=kind, strict=False)})
        for part in (list(values[:2]), *([one] for one in values[2:]))
    ]


def physical(kind: Any, *numbers: int) -> list[pl.DataFrame]:
    width = pl.Int32 if kind == pl.Date else pl.Int64
    return [one.with_columns(pl.col("x").cast(kind)) for one in frames(width, *numbers)]


POLARS: dict[str, list[pl.DataFrame]] = {
    "Categorical": frames(pl.Categorical, "a", "1", "z"),
    "Enum": frames(pl.Enum(["a", "1", "z"]), "a", "1", "z"),
    "String": frames(pl.String, "a", "1", "x" * 20_000),
    "Binary": frames(pl.Binary, b"a", b"1", b"\xff"),
    "Boolean": frames(pl.Boolean, True, False),
    "Null": frames(pl.Null, None, None),
    "Decimal": frames(pl.Decimal(38, 2), Decimal(0), Decimal(1), Decimal("9" * 36)),
    "Date": physical(pl.Date, 0, 5, 2**31 - 1, -(2**31)),
    "Time": frames(pl.Time, dt.time(0, 0, 5), dt.time(1), dt.time.max),
    **{f"Datetime {unit}": physical(pl.Datetime(unit), *ENDS) for unit in ("ms", "us", "ns")},
    **{f"Duration {unit}": physical(pl.Duration(unit), *ENDS) for unit in ("ms", "us", "ns")},
    **{str(one): frames(one, 0, 1, float("inf"), float("nan")) for one in (pl.Float32, pl.Float64)},
    "Int8": frames(pl.Int8, 0, 1, -128),
    "UInt64": frames(pl.UInt64, 0, 1, 2**64 - 1),
    "List": frames(pl.List(pl.Int8), [1], [2]),
    "Array": frames(pl.Array(pl.Int8, 1), [1], [2]),
    "Struct": frames(pl.Struct({"a": pl.Int8}), {"a": 1}, {"a": 2}),
}
NUMPY: dict[str, list[Any]] = {
    **{
        f"{kind}[{unit}]": [np.array([part], "i8").T.view(f"{kind}[{unit}]") for part in (ENDS[:2], ENDS[2:], [-(2**63)])]
        for kind in ("M8", "m8")
        for unit in ("Y", "M", "W", "D", "25h", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as")
    },
    **{
        kind: [np.array([part], kind).T for part in ([0, 1], [np.inf], [np.nan])]
        for kind in ("f2", "f4", "f8", "longdouble", "c16")
    },
    **{kind: [np.array([part], kind).T for part in ([0, 1], [np.iinfo(kind).max])] for kind in ("i1", "i8", "u8")},
    "b": [np.array([[True], [False]])],
    "U": [np.array([["a"], ["1"]]), np.array([["\ud800"]])],
    "S": [np.array([[b"a"], [b"1"]]), np.array([[b"\xff"]])],
    "V": [np.array([[b"a"], [b"1"]], "V1")],
    "object": [np.array([["a"], ["1"]], object), np.array([[{}]], object)],
}  # fmt: skip


def joined_frames(parts: list[pd.DataFrame]) -> pd.DataFrame:
    joined = pd.concat(parts, ignore_index=True)
    assert joined.x.dtype == parts[0].x.dtype
    return joined


def as_table(parts: list[pa.Array]) -> pa.Table:
    return pa.table({"x": pa.chunked_array(parts, type=parts[0].type)})


CASES: list[tuple[str, list[Any], Callable[[list[Any]], Any]]] = [
    *((f"Arrow {name}", parts, as_table) for name, parts in ARROW.items()),
    *((f"Arrow {name}", [one], as_table) for name, one in NOT_READ.items()),
    *((f"pandas {name}", parts, joined_frames) for name, parts in PANDAS.items()),
    *((f"polars {name}", parts, pl.concat) for name, parts in POLARS.items()),
    *((f"NumPy {name}", parts, np.concatenate) for name, parts in NUMPY.items()),
]
NO_READING = ("list", "struct", "map", "interval", "union", "arrow lists", "List", "Array", "Struct")


def codes(table: object, attribute: Attribute, policy: str, engine: str = "memory") -> list[int] | str:
    """Return the codes of a column, or why its type or its values are refused."""
    try:
        held = open_dataset(table, Schema((attribute,)), TableReading(on_invalid=policy), engine=engine)
    except PrivateDataError as refusal:
        return str(refusal)
    return [int(code) for (part,) in held._parts([0]) for code in part]


@pytest.mark.parametrize("kind", DECLARED)
@pytest.mark.parametrize(("name", "parts", "join"), CASES, ids=[name for name, *_ in CASES])
def test_no_value_ends_a_total_reading_or_changes_how_others_are_read(
    name: str, parts: list[Any], join: Callable[[list[Any]], Any], kind: str
) -> None:
    attribute = replace_name(DECLARED[kind], "x1" if name.startswith("NumPy") else "x")
    for policy in TOTAL:
        usual = codes(join(parts[:1]), attribute, policy)
        for odd in parts[1:]:
            found = codes(join([*parts[:1], odd]), attribute, policy)
            assert found[: len(usual)] == usual, policy
            assert isinstance(usual, str) or len(found) <= len(usual) + 2
        if isinstance(usual, str):
            lasting = "duration" in name or "m8" in name or "timedelta" in name or "Duration" in name
            unread = any(one in name for one in NO_READING) and name != "pandas interval"
            assert unread or (lasting and kind != "duration")
            assert "column 'x" in usual
    refused = codes(join(parts), attribute, "error")
    assert isinstance(refused, list) or "fit" in refused or "cannot be read" in refused or "holds durations" in refused


def replace_name(attribute: Attribute, name: str) -> Attribute:
    return Attribute(**{one: getattr(attribute, one) for one in attribute.__slots__} | {"name": name})


# Others cannot be written, or are written as another type.
IN_PARQUET = [
    name
    for name in ARROW
    if not name.startswith(("timestamp[s", "time32[s", "date64", "dictionary of", "run-end", "decimal256"))
]


@pytest.mark.parametrize("engine", ["memory", "stream"])
@pytest.mark.parametrize("name", IN_PARQUET)
def test_files_are_read_as_tables_in_memory(tmp_path: Path, name: str, engine: str) -> None:
    table = as_table(ARROW[name])
    pq.write_table(table, tmp_path / "t.parquet")
    for attribute in DECLARED.values():
        for policy in TOTAL:
            assert codes(tmp_path / "t.parquet", attribute, policy, engine) == codes(table, attribute, policy)


@pytest.mark.parametrize(("name", "parts", "join"), CASES, ids=[name for name, *_ in CASES])
def test_no_column_ends_a_draft(name: str, parts: list[Any], join: Callable[[list[Any]], Any]) -> None:
    values = join(parts)
    sex = (["f", "m"] * len(values))[: len(values)]
    if isinstance(values, np.ndarray):
        held = np.rec.fromarrays([values[:, 0], sex], names="x,sex")  # type: ignore[call-overload]
    elif isinstance(values, pd.DataFrame):
        held = values.assign(sex=sex)
    else:
        held = (
            values.with_columns(sex=pl.Series(sex))
            if isinstance(values, pl.DataFrame)
            else values.append_column("sex", pa.array(sex))
        )
    draft = infer_schema(held)
    assert draft.schema.names[-1] == "sex"
    column = draft.columns[0]
    if column.left_out:
        assert column.why
    else:
        read_table(held, draft.schema)


@pytest.mark.parametrize("policy", TOTAL)
def test_workers_count_extreme_values_as_memory_does(tmp_path: Path, policy: str, workers: DaskWorkers) -> None:
    kinds = [
        ("date", pa.timestamp("us")),
        ("date", pa.date32()),
        ("duration", pa.duration("us")),
        ("categorical", pa.time64("us")),
    ]
    table = pa.table([bits(one, 0, 5, 2 ** (one.bit_width - 1) - 1) for _, one in kinds], names=list("abcd"))
    pq.write_table(table, tmp_path / "t.parquet")
    schema = Schema(tuple(replace_name(DECLARED[kind], name) for (kind, _), name in zip(kinds, "abcd", strict=True)))
    how, asked = TableReading(on_invalid=policy), parse_workload("marginals:1", schema).queries
    spread = DistributedTable.open(tmp_path / "t.parquet", schema, lambda: workers, how)
    assert np.array_equal(exact_counts(spread, asked), exact_counts(read_table(table, schema, how), asked))


def test_values_that_do_not_fit_are_refused_under_error_in_files_of_other_programs(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (
        ["x"],
        [dt.time(0, 0, 5)],
        [dt.timedelta(days=9000)],
        [pd.Timestamp("9999-12-31").to_pydatetime()],
        [1e300],
        ["a"],
        [True],
    ):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    for attribute in DECLARED.values():
        assert "fit" in codes(tmp_path / "t.xlsx", attribute, "error")
        for policy in TOTAL:
            assert "as a whole" in codes(tmp_path / "t.xlsx", attribute, policy)
    assert infer_schema(tmp_path / "t.xlsx", max_values=9).columns[0].type == "categorical"


def test_statistics_files_with_times_and_far_dates(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame(
        {
            "x": [dt.time(1), dt.time(2)] * 20,
            "y": [dt.date(1, 1, 1), dt.date(9999, 12, 31)] * 20,
            "sex": ["f", "m"] * 20,
        }
    )
    for name, write in (("t.sav", pyreadstat.write_sav), ("t.dta", pyreadstat.write_dta)):
        write(frame, str(tmp_path / name))
        assert "sex" in infer_schema(tmp_path / name).schema.names
