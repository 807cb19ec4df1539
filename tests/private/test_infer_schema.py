"""Drafts of schemas: every table fits its own draft, with readable edges; what cannot be drafted is said."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.errors import PrivateDataError, SchemaError
from dpopt.private.drafts.edges import Edges, readable_edges
from dpopt.private.drafts.guess_reading import guess_reading
from dpopt.private.drafts.infer_schema import infer_schema
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import TableReading
from dpopt.schema import Attribute, AttributeKind, Schema
from dpopt.schema.attribute import Value


def edges_of(values: Sequence[float], *, bins: int, integer: bool) -> Edges:
    different, counts = np.unique(np.array(values, dtype=np.float64), return_counts=True)
    return readable_edges(different, counts, bins, integer=integer).edges


@pytest.mark.parametrize(
    ("values", "bins", "integer", "expected"),
    [
        (list(range(100)), 10, True, tuple(range(0, 101, 10))),
        (list(range(3, 98)), 4, True, (0, 25, 50, 75, 100)),
        (list(range(-7, 8)), 3, True, (-10, -5, 0, 5, 10)),
        ([0.0, 0.3, 0.31, 1.0], 10, False, (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)),
        ([5.0], 10, False, (5.0, 5.1)),
        ([5], 10, True, (5, 6)),
        ([0], 10, True, (0, 1)),
        ([1200, 1201], 10, True, (1200, 1201, 1202)),
    ],
)
def test_equal_widths_have_round_edges(
    values: list[float], bins: int, integer: bool, expected: tuple[float, ...]
) -> None:
    assert edges_of(values, bins=bins, integer=integer) == expected


def test_crowded_values_get_logarithmic_edges_or_rounded_quantiles() -> None:
    values = [float(round(1.02**i, 3)) for i in range(1000)]
    assert edges_of(values, bins=5, integer=False) == (1, 100, 10**4, 10**6, 10**8, 10**10)
    assert edges_of(values[:300], bins=10, integer=False) == (1, 2, 5, 10, 20, 50, 100, 200, 500)
    rare = [*[200.0] * 40, *range(14_500, 14_600)]
    assert edges_of(rare, bins=5, integer=True)[-3:] == (14_540, 14_570, 14_600)
    assert len(edges_of([0.8] * 5 + [1.0] * 4 + [2.5], bins=8, integer=False)) > 2
    shifted = [value - 60 for value in values]
    counts, _ = np.histogram(shifted, edges_of(shifted, bins=5, integer=False))
    assert counts.min() >= 190


def previous() -> list[int]:
    """Return earlier contacts of a bank's customers: 0 for most, a few far out."""
    rows = {0: 36_954, **{number: int(6_000 / number**1.6) for number in range(1, 36)}, 58: 1, 275: 1}
    return [number for number, many in rows.items() for _ in range(many)]


def test_counts_have_a_bin_for_each_small_number_and_wider_ones_after() -> None:
    values, counts = np.unique(np.array(previous(), dtype=np.float64), return_counts=True)
    drafted = readable_edges(values, counts, 20, integer=True)
    assert list(drafted.edges) == [0, 1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 280]
    assert readable_edges(values[1:], counts[1:], 20, integer=True).edges == drafted.edges[1:]
    assert readable_edges(values, counts, 4, integer=True).shape == "quantiles"  # more bins than are aimed at


def test_zeros_among_fractions_get_a_bin_of_their_own() -> None:
    edges = edges_of([0.0] * 500 + [0.5 + 0.01 * i for i in range(500)], bins=10, integer=False)
    assert edges[:3] == (0.0, 0.5, 1.0)
    assert edges[-1] >= 5.49


def test_a_whole_number_that_many_rows_share_gets_a_bin_of_its_own() -> None:
    zeros = [0] * 900 + list(range(1, 101))
    assert edges_of(zeros, bins=10, integer=True) == (0, 1, *range(10, 101, 10))
    forties = [40] * 500 + list(range(101))
    assert edges_of(forties, bins=5, integer=True) == (0, 20, 40, 41, 60, 80, 100)


@st.composite
def columns(draw: st.DrawFn, numbers: st.SearchStrategy[float]) -> tuple[list[float], list[int]]:
    values = sorted(draw(st.sets(numbers, min_size=1, max_size=40)))
    counts = st.one_of(st.just(1), st.integers(1, 10_000))
    return values, draw(st.lists(counts, min_size=len(values), max_size=len(values)))


def _check(column: tuple[list[float], list[int]], bins: int, *, integer: bool) -> Edges:
    values, counts = np.array(column[0]), np.array(column[1])
    edges = readable_edges(values, counts, bins, integer=integer).edges
    assert np.isfinite(edges).all()
    assert edges[0] <= values[0]
    assert values[-1] <= edges[-1]
    assert all(low < high for low, high in pairwise(edges))
    assert len(edges) <= 2 * bins + 3
    return edges


@given(columns(st.integers(-50, 50).map(float) | st.integers(-(2**53), 2**53).map(float)), st.integers(2, 40))
def test_whole_edges_hold_all_values(column: tuple[list[float], list[int]], bins: int) -> None:
    edges = _check(column, bins, integer=True)
    assert all(edge == int(edge) for edge in edges)


_FLOATS = st.one_of(st.floats(-1, 1), st.floats(-1e300, 1e300), st.floats(1, 1 + 1e-9)).map(lambda x: x + 0.0)


@given(columns(_FLOATS), st.integers(2, 40))
def test_edges_hold_all_values(column: tuple[list[float], list[int]], bins: int) -> None:
    _check(column, bins, integer=False)


def drafted_table(table: object, **how: Any) -> tuple[Schema, list[str]]:
    """Draft a schema, and say of each column what is to check, or why it is left out."""
    draft = infer_schema(table, **how)
    said = [
        f"{column.name}: {text}"
        for column in draft.columns
        for text in ([f"left out: {column.why}"] if column.left_out else column.check)
    ]
    return draft.schema, [*said, *draft.notes]


CATEGORICAL, BOOLEAN, NUMERIC = AttributeKind.CATEGORICAL, AttributeKind.BOOLEAN, AttributeKind.NUMERIC


def drafted(values: object, *, bins: int = 4, max_values: int = 10) -> tuple[Attribute | None, list[str]]:
    """Draft one column beside a column that can always be used."""
    array = values if isinstance(values, pa.Array) else pa.array(values)
    table = pa.table({"x": array, "fine": [True] * len(array)})
    schema, notes = drafted_table(table, bins=bins, max_values=max_values)
    read_table(table, schema)
    return (schema.attributes[0] if "x" in schema.names else None), notes


def attribute_of(values: object, *, bins: int = 4, max_values: int = 10) -> Attribute:
    attribute, _ = drafted(values, bins=bins, max_values=max_values)
    assert attribute is not None
    return attribute


def reason_of(values: object) -> str:
    attribute, notes = drafted(values)
    assert attribute is None
    assert notes[0].startswith("x: left out: ")
    return notes[0]


def test_a_draft_is_marked_as_one() -> None:
    schema, notes = drafted_table(pd.DataFrame({"a": ["x", "y"]}))
    assert schema == Schema((Attribute("a", CATEGORICAL, ("x", "y")),), draft=True)
    assert notes == []


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([True, False], (False, True)), ([True, True], (False, True)), (["true", "false"], (False, True)),
        (["True", "True"], (False, True)), (["TRUE", "FALSE"], (False, True)), (["yes", "no"], ("no", "yes")),
        (["Y", "N"], ("N", "Y")), (["T", "F"], ("F", "T")), (["0", "1"], (0, 1)), ([1, 0], (0, 1)),
        ([1.0, 0.0], (0, 1)),
    ],
)  # fmt: skip
def test_truth_values_become_boolean(values: list[object], expected: tuple[Value, ...]) -> None:
    attribute = attribute_of(values)
    assert attribute.kind is BOOLEAN
    assert attribute.values == expected
    assert list(map(type, attribute.values)) == list(map(type, expected))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["b", "a", "b"], ("a", "b")),
        (["b", "true"], ("b", "true")),
        (["True", "true"], ("True", "true")),
        (["01", "10", "2"], ("01", "10", "2")),
        (["1", "2", "x"], ("1", "2", "x")),
        (["10", "9", "-1"], (-1, 9, 10)),
        (["2.0", "1", "1.0"], (1, 2)),
        ([2.0, 1.0], (1, 2)),
        (pa.array([3, 1], pa.uint8()), (1, 3)),
        (pa.array(["u", "v"]).dictionary_encode(), ("u", "v")),
    ],
)
def test_texts_and_few_whole_numbers_become_categorical(values: object, expected: tuple[Value, ...]) -> None:
    attribute = attribute_of(values)
    assert attribute.kind is CATEGORICAL
    assert attribute.values == expected


@pytest.mark.parametrize(
    ("values", "missing"),
    [
        (["a", "?", "b"], "?"), (["a", "NA", "b"], "NA"), (["a", "", "b"], ""), (["a", None, "b"], ""),
        (["a", "N", "b"], None), (["a", "null", "b"], None), (["1", "?"], "?"), (["1", "NA"], "NA"),
        (["1", "N"], "N"), (["1", "null"], "null"), (["1", ""], ""), (["1", "NaN"], ""), (["1", None, "nan"], ""),
        (["1", "?", ""], "?"), ([1, None], ""), ([1.5, None, 2.5], ""), ([1.5, np.nan, 2.5], ""),
        ([True, None], ""), (["yes", "no", "?"], "?"),
    ],
)  # fmt: skip
def test_marks_of_missing_values_are_recognised_where_plausible(values: object, missing: str | None) -> None:
    assert attribute_of(values).missing == missing


def test_a_second_mark_among_texts_stays_a_value() -> None:
    attribute = attribute_of(["a", "?", "NA"])
    assert (attribute.values, attribute.missing) == (("NA", "a"), "?")
    attribute = attribute_of(["a", "?", ""])
    assert (attribute.values, attribute.missing) == (("?", "a"), "")


def test_several_marks_among_numbers_are_all_missing() -> None:
    attribute = attribute_of(["1", "?", "NA"])
    assert (attribute.values, attribute.missing_texts) == ((1,), ("?", "NA"))


def test_many_whole_numbers_become_bins_with_whole_edges() -> None:
    attribute = attribute_of(list(range(17, 91)) * 2)
    assert (attribute.kind, attribute.integer) == (NUMERIC, True)
    assert attribute.edges == (0, 20, 40, 60, 80, 100)


def test_fractions_become_bins() -> None:
    attribute = attribute_of(["0.5", "0.25", "0.9"])
    assert (attribute.kind, attribute.integer, attribute.decimals) == (NUMERIC, False, 2)
    assert attribute_of(pa.array([0.3, 1.7, 13.7], pa.float32())).decimals == 1
    assert attribute_of([1 / 3, 0.5]).decimals is None
    assert attribute.edges == (0.2, 0.4, 0.6, 0.8, 1.0)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([f"person {i}" for i in range(50)], "50 different texts in 50 rows: it looks like an identifier"),
        ([f"kind {i % 20}" for i in range(50)], "20 different texts, more than 10; if it names people"),
        (list(range(1000, 1050)), "numbers the rows and looks like an identifier; drop the column"),
        ([str(i) for i in range(50)], "numbers the rows"),
        ([f"aunt {i}" for i in range(9)] + ["oom", "ooms", "x", "y"], "13 different texts in 13 rows"),
        ([2**60, 2**60 + 1], "beyond 2.53 and looks like an identifier"),
        ([1.0, np.inf], "holds infinite numbers"),
        ([1.0, 1e301], "numbers beyond 1e.300"),
        (["", ""], "holds no value at all|nothing but"),
        (["?", "?"], r"holds nothing but '\?'"),
        (pa.array([None, None]), "holds no value at all"),
        (pa.array([None, None], pa.int64()), "holds no value at all"),
    ],
)
def test_columns_that_cannot_be_used_are_left_out_with_a_reason(values: object, reason: str) -> None:
    note = reason_of(values)
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(note)


def test_a_single_value_and_numbers_that_never_repeat_are_noted() -> None:
    assert drafted(["a", "a"])[1] == ["x: only one value occurs; add the other possible values"]
    assert (
        drafted([103, 219, 341, 500, 805, 990])[1][0] == "x: no number occurs twice; if it is an identifier, remove it"
    )


def test_a_column_without_a_name_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(",a\n0,x\n1,y\n")
    schema, notes = drafted_table(path)
    assert schema.names == ("a",)
    assert notes == [": left out: it has no name"]


def test_a_table_in_which_no_column_can_be_used_is_refused() -> None:
    with pytest.raises(PrivateDataError, match="(?s)no column for a schema.*'a': it holds"):
        infer_schema(pd.DataFrame({"a": [None, None]}))


def test_a_table_without_rows_or_with_broken_rows_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n")
    with pytest.raises(PrivateDataError, match="has no rows"):
        infer_schema(path)
    path.write_text("a,b\n1\n")
    with pytest.raises(PrivateDataError, match="(?s)cannot be read.*line 2: 1 field"):
        infer_schema(path)


def test_types_without_texts_are_refused() -> None:
    with pytest.raises(PrivateDataError, match="'x': it has the type .* cannot be read"):
        infer_schema(pa.table({"x": [[1], [2]]}))


@pytest.mark.parametrize(("bins", "max_values"), [(1, 10), (40_000, 10), (10, 1), (10, 70_000)])
def test_numbers_out_of_range_are_refused(bins: int, max_values: int) -> None:
    with pytest.raises(SchemaError, match="expected a whole number from 2 to 32,766"):
        infer_schema(pd.DataFrame({"a": [1]}), bins=bins, max_values=max_values)


def test_a_file_without_names_is_drafted_with_given_names(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("1,x\n2,y\n")
    reported: list[float] = []
    schema, _ = drafted_table(path, reading=TableReading(column_names=("n", "t")), progress=reported.append)
    assert schema.names == ("n", "t")
    assert reported[-1] == 1.0


def test_batches_of_different_types_are_added_up(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": pa.array([1, 2], pa.int64())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": pa.array(["3", "2"])}), tmp_path / "b.parquet")
    schema, _ = drafted_table(tmp_path)
    assert schema.attributes[0].values == (1, 2, 3)


def test_many_batches_are_added_up() -> None:
    chunks = [pa.array([i % 7, i % 5, 9]) for i in range(100)]
    schema, _ = drafted_table(pa.table({"x": pa.chunked_array(chunks)}))
    assert schema.attributes[0].values == (0, 1, 2, 3, 4, 5, 6, 9)


MULTILINE = TableReading(multiline=True)
_CELLS = st.one_of(
    st.sampled_from(["", "?", "NA", "N", "nan", "1", "0", "1.0", "01", "true", "False", "yes", "no", "-", "1e400"]),
    st.integers(-100, 100).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.text(max_size=3),
)


@given(st.lists(st.tuples(_CELLS, _CELLS, st.sampled_from(["x", "y"])), min_size=1, max_size=30))
def test_the_table_fits_its_own_draft(rows: list[tuple[str, str, str]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([("a", "b", "c"), *rows])
    frame = pd.DataFrame(rows, columns=["a", "b", "c"], dtype="str")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(text.getvalue().encode())
        for table in (path, frame):
            schema, _ = drafted_table(table, bins=3, max_values=20, reading=MULTILINE)
            assert "c" in schema.names
            read_table(table, schema, MULTILINE)


@given(st.lists(st.floats(allow_infinity=False, width=32) | st.none() | st.integers(-3, 3).map(float), min_size=1))
def test_numbers_fit_their_own_draft(numbers: list[float | None]) -> None:
    drafted(pa.array(numbers, pa.float64()))
    drafted(pa.array(numbers, pa.float32()))


def test_few_short_floats_are_drafted_as_they_are_written() -> None:
    assert attribute_of(pa.array([0.0] * 7 + [0.1], pa.float32())).values == (0, 0.1)


@pytest.mark.parametrize(
    "name", ["adult/adult-train.csv.gz", "constrained/nist-acs-national2019.csv.gz", "constrained/tic-tac-toe.csv.gz"]
)
def test_real_tables_fit_their_own_draft(data_folder: Path, name: str) -> None:
    path = data_folder / name
    frame = pd.read_csv(path)
    schema, _ = drafted_table(path)
    assert schema.names == tuple(frame.columns)
    assert infer_schema(frame).schema.names == schema.names
    from_file, from_frame = read_table(path, schema), read_table(frame, schema)
    for one, other in zip(from_file._columns, from_frame._columns, strict=True):
        assert np.array_equal(one, other)


def test_the_draft_of_adult_is_what_a_person_would_start_with(data_folder: Path) -> None:
    schema, _ = drafted_table(data_folder / "adult" / "adult-train.csv.gz")
    attributes = dict(zip(schema.names, schema.attributes, strict=True))
    assert attributes["age"].edges == tuple(range(15, 91, 5))
    assert attributes["workclass"].missing == "?"
    assert len(attributes["workclass"].values) == 8
    assert attributes["education-num"].values == tuple(range(1, 17))
    assert attributes["sex"].values == ("Female", "Male")
    assert attributes["capital-gain"].edges[:2] == (0, 1)


def test_a_large_file_without_names_fits_its_own_draft(data_folder: Path) -> None:
    folder = data_folder / "kdd99"
    names = json.loads((folder / "kdd99-columns.json").read_text())
    schema, _ = drafted_table(folder / "kddcup.data_10_percent.gz", reading=TableReading(column_names=names))
    assert schema.names == tuple(names)
    data = read_table(folder / "kddcup.data_10_percent.gz", schema, TableReading(column_names=names))
    assert data._rows == 494_021
    assert {column.dtype.name for column in data._columns} == {"uint8"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3 5 7\n1 2\n\n4\n", "begins with '3 5 7' where names of columns are expected"),
        ("3\t5\n1\n", "where names of columns are expected"),
        ("3,5,7\n1,2\n", "2 fields"),
        ("tea,milk\nmilk\n", "1 field"),
    ],
)
def test_a_file_of_baskets_is_sent_to_its_layout(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "baskets.txt"
    path.write_text(text)
    with pytest.raises(PrivateDataError, match=f"(?s){message}.*layout='baskets'"):
        infer_schema(path)


def test_a_single_column_may_be_a_file_of_baskets(tmp_path: Path) -> None:
    path = tmp_path / "baskets.txt"
    path.write_text("tea milk\nmilk\ntea\n")
    schema, notes = drafted_table(path)
    assert schema.names == ("tea milk",)
    assert "layout='baskets'" in notes[0]


ROWS = 240
DAYS = [f"{1 + day % 28:02d}-{1 + day % 12:02d}-{2015 + day % 6}" for day in range(ROWS)]


def _dutch(encoding: str) -> bytes:
    """Return a table as offices in half of Europe write them."""
    lines = ["patiënt;opname;postcode;inkomen;lengte;roker"]
    for i in range(ROWS):
        income = f"{i % 7}.{100 + i % 900}.{i % 1000:03d},{i % 100:02d}" if i % 3 else "0,00"
        height = f"1,{40 + i % 60}"
        lines.append(f"P{i:06d};{DAYS[i]};{i % 40:05d};{income};{height};{('ja', 'nee', '')[i % 3]}")
    return ("\r\n".join(lines) + "\r\n").encode(encoding)


@pytest.mark.parametrize(
    ("encoding", "found"),
    [("cp1252", "cp1252"), ("utf-8-sig", None), ("utf-16", "utf-16-le"), ("utf-16-be", "utf-16-be"), ("utf-8", None)],
)
def test_how_a_file_is_written_is_proposed_and_then_declared(tmp_path: Path, encoding: str, found: str | None) -> None:
    path, out = tmp_path / "t.csv", tmp_path / "draft.json"
    path.write_bytes(_dutch(encoding))
    draft = infer_schema(path)
    expected = {"separator": ";", "decimal": ",", "thousands": "."} | ({"encoding": found} if found else {})
    assert dict(draft.schema.reading) == expected
    kinds = {column.name: column.type for column in draft.columns}
    assert list(kinds.values()) == ["left out", "date", "categorical", "numeric", "numeric", "boolean"]
    draft.write(out)
    schema = Schema.read(out)
    assert schema == draft.schema
    dataset = read_table(path, schema)  # no further word on how the file is written
    assert dataset._rows == ROWS
    heights = next(attribute for attribute in schema.attributes if attribute.name == "lengte")
    assert (heights.edges[0], heights.edges[-1]) == (1.4, 2.0)
    zips = next(attribute for attribute in schema.attributes if attribute.name == "postcode")
    assert zips.values[:2] == ("00000", "00001")


def test_the_schema_alone_says_how_its_tables_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(_dutch("utf-8"))
    schema = infer_schema(path).schema
    with pytest.raises(PrivateDataError, match="columns seem to be separated by semicolons"):
        read_table(path, Schema(schema.attributes))
    with pytest.raises(SchemaError, match="cannot be both the decimal mark and the mark between thousands"):
        read_table(path, Schema(schema.attributes, reading=(("thousands", "."),)))
    with pytest.raises(SchemaError, match="unknown key 'sep'"):
        Schema(schema.attributes, reading=(("sep", ";"),))


@pytest.mark.parametrize("said", [{"decimal": ".", "thousands": ""}, {"encoding": "utf-8"}, {"multiline": False}])
def test_what_is_declared_of_a_reading_holds_over_the_schema_even_where_it_is_the_usual(
    tmp_path: Path, said: dict[str, Any]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("name;size\nö;1.5\nü;0.25\n", encoding="utf-8")
    kinds = (
        Attribute("name", AttributeKind.CATEGORICAL, values=("ö", "ü")),
        Attribute("size", AttributeKind.NUMERIC, edges=(0.0, 1.0, 2.0)),
    )
    usual = {"decimal": ",", "thousands": "."} | {"encoding": "latin-1"} | {"multiline": True}
    declared = {"separator": ";"} | {name: usual[name] for name in said}
    schema = Schema(kinds, reading=tuple(declared.items()))
    how = TableReading(**said)
    assert read_table(path, schema, how)._rows == 2
    assert how.for_schema(schema).to_json() | said == how.for_schema(schema).to_json()
    if "multiline" not in said:
        with pytest.raises(PrivateDataError):
            read_table(path, schema)


@pytest.mark.parametrize(
    ("cells", "decimal", "thousands"),
    [
        (["1,5", "2,25"], ",", None), (["1.5", "2.25"], ".", None), (["1,234", "12"], ".", ","),
        (["1,234", "12345"], ".", None), (["1,234,567", "2"], ".", ","), (["1.234.567", "2"], ",", "."),
        (["1.234,5", "2"], ",", "."), (["1,234.5", "2"], ".", ","), (["1 234,5", "2"], ",", " "),
        (["1'234.5", "2"], ".", "'"), (["0,125", "0,250"], ",", None), (["a,b", "1,5 and 2,5"], ".", None),
    ],
)  # fmt: skip
def test_marks_of_numbers_are_told_apart(tmp_path: Path, cells: list[str], decimal: str, thousands: str | None) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x;y\n" + "".join(f"{cell};z\n" for cell in cells))
    how = guess_reading([path], TableReading())
    assert (how.separator, how.decimal, how.thousands) == (";", decimal, thousands)


@pytest.mark.parametrize(
    ("texts", "form", "first", "last", "bins"),
    [
        (["2015-03-01", "2020-12-31"], "%Y-%m-%d", "2015-01-01", "2021-01-01", 6),
        (["31-01-2020", "14-02-2020"], "%d-%m-%Y", "27-01-2020", "17-02-2020", 3),
        (["01/31/2020", "02/28/2020"], "%m/%d/%Y", "01/27/2020", None, None),
        (["31/01/2020", "28/02/2020"], "%d/%m/%Y", "27/01/2020", None, None),
        (["20200131", "20201231"], "%Y%m%d", "20200101", "20210101", 4),
        (["1.2.1931", "24.12.2019"], "%d.%m.%Y", None, None, None),
        (["2020-01-01 01:30", "2020-01-01 05:59"], "%Y-%m-%d %H:%M", "2020-01-01 01:00", "2020-01-01 06:00", 5),
        (["2020-01-01T01:30:05", "2020-01-01T05:59:00"], "%Y-%m-%dT%H:%M:%S", "2020-01-01T01:00:00", None, 5),
        (["2020-01", "2020-04"], "%Y-%m", "2020-01", "2020-05", 4),
        (["2023-09-18 09:00:00+02:00", "2023-09-18 12:00:00+02:00"], "%Y-%m-%d %H:%M:%S+02:00", None, None, 4),
        (["2024-04-01T10:26:27.337Z", "2024-04-01T18:20:38.9Z"], "%Y-%m-%dT%H:%M:%S.%fZ", None, None, 3),
        (["Apr 1 2005", "May 14 2005"], "%b %d %Y", "Mar 28 2005", None, None),
        (["August 4, 2017", "may 14, 2018"], "%B %d, %Y", "July 01, 2017", "July 01, 2018", 4),
        (["12JUN09", "2Feb12"], "%d%b%y", "01Jan09", "01Jan13", 4),
        (["1987 Apr", "1991 Dec"], "%Y %b", "1987 Jan", "1992 Jan", 5),
        (["1/13/30", "7/31/29"], "%m/%d/%y", "01/01/30", "12/31/29", None),
        (["0001-01-01", "9999-12-31"], "%Y-%m-%d", "0001-01-01", "9999-12-31", 101),
        (["9999-12-30", "9999-12-31"], "%Y-%m-%d", "9999-12-30", "9999-12-31", 1),
        (["31/12/9999 23:59", "31/12/9999 21:00"], "%d/%m/%Y %H:%M", None, "31/12/9999 23:59", 3),
    ],
)
def test_dates_get_bins_by_span(
    texts: list[str], form: str, first: str | None, last: str | None, bins: int | None
) -> None:
    attribute = attribute_of(texts * 3)
    assert attribute.date_format == form
    labels = [attribute.number_text(edge) for edge in (attribute.edges[0], attribute.edges[-1])]
    assert first in {None, labels[0]}
    assert last in {None, labels[1]}
    assert bins in {None, len(attribute.edges) - 1}
    written = attribute.decoded()
    assert attribute_of([str(text) for text in written] * 3).date_format == form  # in the column's own form


def test_columns_of_dates_are_dates_whatever_their_type() -> None:
    days = pa.array([18262, 18300, None] * 5, pa.int32()).cast(pa.date32())
    for column in (days, days.cast(pa.timestamp("ns")), days.cast(pa.timestamp("ms", "Europe/Amsterdam"))):
        attribute = attribute_of(column)
        assert (attribute.date_format, attribute.missing) == ("%Y-%m-%d", "")
        assert attribute.label(0) == "[2019-12-30, 2020-01-06)"


def test_whether_day_or_month_comes_first_is_to_be_checked_where_both_fit() -> None:
    assert "no day is above 12" in drafted(["01-02-2020", "03-04-2020"] * 3)[1][0]


def test_numbers_that_are_no_days_are_no_dates() -> None:
    assert attribute_of([20200230 + 1000 * i for i in range(20)] * 2).date_format is None
    assert attribute_of([10200101 + 1000 * i for i in range(20)] * 2).date_format is None


def test_codes_like_those_of_diagnoses_are_grouped_by_their_first_characters() -> None:
    codes = [f"{letter}{number:02d}.{last}" for letter in "AIJ" for number in range(3) for last in range(5)] * 4
    attribute = attribute_of(codes)
    assert (attribute.kind, attribute.prefix) == (CATEGORICAL, 3)
    assert attribute.values[:4] == ("A00", "A01", "A02", "I00")
    assert attribute_of([f"{i:05d}" for i in range(0, 99999, 999)] * 3).prefix == 1
    assert [attribute_of(_icd(300) * times).prefix for times in (2, 40)] == [1, 3]


def _icd(number: int) -> list[str]:
    return [f"{chr(65 + i % 20)}{i // 20:02d}.{i % 10}" for i in range(number)]


@pytest.mark.parametrize(("name", "first", "rows", "prefix"), [("PLZ", 1067, 2_000, 2), ("zipcode", 80_331, 20_000, 3)])
@pytest.mark.parametrize("typed", [False, True])
def test_postal_codes_are_grouped_by_leading_digits_with_and_without_leading_zeros(
    name: str, first: int, rows: int, prefix: int, *, typed: bool
) -> None:
    codes = [first + 37 * (i % 400) for i in range(rows)]
    texts = [f"{code:05d}" for code in codes]
    draft = infer_schema(pa.table({name: codes if typed and first > 9_999 else texts}))
    attribute = draft.schema.attributes[0]
    assert (attribute.kind, attribute.prefix) == (CATEGORICAL, prefix)
    assert "postal codes" in draft.columns[0].why
    for name_of_numbers in ("amount", "PINCP", "concep"):  # cp and cep are words of their own
        other = infer_schema(pa.table({name_of_numbers: [code + 10_000 for code in codes]})).schema.attributes[0]
        assert other.kind is NUMERIC


@pytest.mark.parametrize(
    "name", ["PLZ", "zip", "Postal Code", "billing_zip", "pincode", "code_postal", "CP", "home_cep"]
)
@pytest.mark.parametrize("form", ["int", "float", "text", "text of floats", "parquet"])
def test_postal_codes_without_their_zeros_are_grouped_as_with_them(name: str, form: str, tmp_path: Path) -> None:
    codes = np.array([1067 + 37 * i for i in range(1500)] * 2)
    values: Any = {"float": codes.astype(float), "text": codes.astype(str)}.get(form, codes)
    values = codes.astype(float).astype(str) if form == "text of floats" else values
    table: Any = pd.DataFrame({name: values})
    if form == "float":
        table.loc[::50, name] = np.nan
    if form == "parquet":
        table.to_parquet(tmp_path / "codes.parquet")
        table = tmp_path / "codes.parquet"
    draft = infer_schema(table)
    one = draft.schema.attributes[0]
    assert (one.kind, one.prefix, one.digits) == (CATEGORICAL, 2, 5)
    assert one.values[0] == "01"
    assert "zeros in front that were lost" in draft.columns[0].why
    dataset = read_table(table, draft.reviewed())
    groups = [f"{code:05d}"[:2] for code in codes]
    decoded = one.decoded()
    told = [decoded[code] for code in dataset._columns[0].tolist()]
    assert all(found in {None, group} for found, group in zip(told, groups, strict=True))
    assert told.count(None) == (60 if form == "float" else 0)
    written = Schema.from_json(draft.reviewed().to_json())
    assert written.attributes[0].digits == 5


@pytest.mark.parametrize(
    "name",
    ["MRD No.", "customer number", "CustomerID", "Kundennummer", "patientNr", "Member #", "Hosp No", "user", "Reg. No."],
)  # fmt: skip
@pytest.mark.parametrize("form", ["int", "float", "code", "digits"])
def test_identifiers_with_repeats_are_drafted_as_the_unit_of_privacy(name: str, form: str) -> None:
    people = [i * i % 1201 for i in range(3000)]
    made = {
        "int": [234_000 + 7 * one for one in people],
        "float": [234_000.0 + 7 * one for one in people],
        "code": [f"C{one:05d}" for one in people],
        "digits": [str(234_000 + 7 * one) for one in people],
    }
    draft = infer_schema(pa.table({name: made[form], "y": [True, False] * 1500}))
    assert draft.schema.names == ("y",)
    assert (draft.columns[0].type, draft.columns[0].left_out) == ("unit of privacy", True)
    assert "use person=NAME and rows_per_person=K" in draft.columns[0].why


def test_numbers_that_lie_evenly_in_many_rows_may_name_people_whatever_their_name() -> None:
    rng = np.random.default_rng(5)
    table = {"s": np.repeat(np.arange(1, 1001), 5), "d": rng.integers(1, 400, 5000) * 3, "y": np.tile([0, 1], 2500)}
    table["amount"] = rng.integers(1, 400, 5000) ** 2  # many rows of each, and most of them small
    drafted = {one.name: one for one in infer_schema(pa.table(table)).columns}
    for name in ("s", "d"):
        assert "if these numbers name people with several rows, remove the column" in drafted[name].check[0]
        assert drafted[name].type == "numeric"
    assert drafted["s"].dropped == ((1, 4000, 1000), (2, 3000, 1000), (3, 2000, 1000), (5, 0, 0))
    assert not any("name people" in said for name in ("y", "amount") for said in drafted[name].check)
    assert drafted["amount"].dropped == ()


@pytest.mark.parametrize(
    ("name", "type"),
    [("income", "numeric"), ("Number of rooms", "numeric"), ("No. of employees", "numeric"), ("invoice number", "left out")],
)  # fmt: skip
def test_numbers_of_other_things_name_no_people(name: str, type: str) -> None:  # noqa: A002  # as in the review
    draft = infer_schema(pa.table({name: [i * i % 1201 for i in range(3000)], "y": [True, False] * 1500}))
    assert draft.columns[0].type == type


@pytest.mark.parametrize("pair", ["nein ja", "nee ja", "Non Oui", "NO YES", "n j", "no si", "off on", "F T"])
def test_truth_in_other_languages_is_boolean(pair: str) -> None:
    no, yes = pair.split()
    attribute = attribute_of([yes, no, yes])
    assert (attribute.kind, attribute.values) == (BOOLEAN, (no, yes))


def test_few_whole_numbers_are_categories_however_few_bins_are_asked_for() -> None:
    codes = [3, 17, 28, 31, 45, 52, 66, 71, 88, 90, 93, 99]  # twelve codes of economic activity
    attribute = attribute_of(codes * 12, bins=3, max_values=20)
    assert (attribute.kind, attribute.values) == (CATEGORICAL, tuple(codes))
    assert attribute_of(list(range(25)) * 2).kind is NUMERIC  # two rows for each


def test_what_is_to_be_checked_is_said() -> None:
    def said(name: str, values: Sequence[object]) -> str:
        draft = infer_schema(pa.table({name: values, "y": [True] * len(values)}))
        return "; ".join([*draft.columns[0].check, draft.columns[0].why])

    skewed = [0] * 500 + [int(1.03**i) for i in range(200, 500)]
    assert "the wide top bin" in said("cost", skewed)
    assert "62% of them 0" in said("cost", skewed)
    assert "ends 0 and 100 come from the table: replace them by public" in said("age", [*range(100), *range(100)])
    debts = [int(1.06**i) - 400 for i in range(100, 260)]
    assert "and all edges between them, come from the table: replace them by publicly known ones" in said("debt", debts)
    assert "values from the table: compare with the code book" in said("education", [1, 2, 3, 5] * 20)
    assert "code book" not in said("sex", ["f", "m"] * 20)
    assert "may be a survey weight" in said("PWGTP", [0.5 + i / 97 for i in range(200)])
    spread, alike = [0.05 * 1.03**i for i in range(200)], [41.5 + i / 2 for i in range(200)]
    assert [
        name for name in ("weight", "gewicht", "w", "fnlwgt", "weight_kg", "age") if "survey" in said(name, spread)
    ] == ["weight", "gewicht", "w", "fnlwgt"]
    assert [name for name in ("weight", "wgt", "birth weight") if "survey" in said(name, alike)] == ["wgt"]
    beside = infer_schema(pa.table({"weight": spread, "height": alike}))
    assert beside.columns[0].check == infer_schema(pa.table({"age": spread})).columns[0].check
    assert "if these are codes" in said("INDP", sorted([170 + 37 * i * i for i in range(40)] * 60))
    limits = [10_000 * (i + 1) for i in range(60)] * 60 + [327_680]
    assert "codes" not in said("previous", previous()) + said("limit", limits)
    assert '"missing": "9999" and end edges past it' in said("hours", [*range(100), *[9999] * 30])
    assert "-1 in 30 rows stands apart: if it marks missing values, write " in said("days", [*range(100), *[-1] * 30])
    assert '"missing": "-1" and begin edges at 0' in said("days", [*range(100), *[-1] * 30])
    persons = [7 * i for i in range(60)] * 3
    assert "60 different numbers in 180 rows, and its name is that of an identifier" in said("famID", persons)
    assert "person=NAME" in said("subject", [f"S{i:03d}" for i in range(150)] * 2)
    assert "identifier" not in said("paid", persons) + said("year", range(1950, 2000))
    assert said("dose", [0, 0.32, 1, 3.2, 10] * 8).endswith("few different numbers")
    assert "no number occurs twice" not in said("population", [i**4 for i in range(3, 60)])
    assert "survey" not in said("took_survey", [0, 1] * 20)
    assert "differ only in case or blanks" in said("t", ["North", "north", "s", "w"])
    assert "1 value in fewer than 5 rows" in said("t", ["a"] * 20 + ["b"] * 20 + ["c"])
    assert "allow them by max_values=150" in said("t", [f"kind {i}" for i in range(150)] * 3)
    assert "99.0% of the rows hold numbers, the others texts such as 'x'" in said("t", [*map(str, range(99)), "x"])


def test_dates_in_order_are_lengths_where_they_are_near_and_get_a_rule_elsewhere(tmp_path: Path) -> None:
    arrived = np.datetime64("2024-01-01") + np.arange(300)
    left, born = (arrived + np.arange(300) % 3).astype(str).tolist(), (arrived - 9000).astype(str)
    left[3] = ""
    visits = pd.DataFrame({"left": left, "arrived": pd.to_datetime(arrived), "born": born})
    visits.to_csv(tmp_path / "visits.csv", index=False)
    for table in (visits, tmp_path / "visits.csv"):
        draft = infer_schema(table)
        length = draft.schema.attributes[0]
        assert [length.after, length.unit, length.integer, length.missing] == ["arrived", "days", True, ""]
        assert list(length.edges) == [0, 1, 2]
        assert draft.columns[0].codes == "2 bins, days after 'arrived', 0 to 2"
        assert [one.says for one in draft.proposals] == ["'born' is after 'arrived' in no row"]
        (rule,) = draft.rules
        assert rule == {"ordered": ["born", "arrived"], "by": "representative"}
        assert len(draft.reviewed(rules=[rule]).rules) == 1
        assert any('declare one column as a length after the other ("after")' in note for note in draft.notes)
    hours = visits.assign(left=[f"{day} 10:30" for day in arrived], arrived=[f"{day} 09:00" for day in arrived])
    assert infer_schema(hours.drop(columns="born")).schema.attributes[0].unit == "minutes"
    operated = visits.assign(operated=np.where(np.arange(300) % 2, visits["left"], ""))
    both = {one.name: one.after for one in infer_schema(operated).schema.attributes}
    assert both == {"left": "arrived", "arrived": None, "born": None, "operated": "arrived"}
    visits["left"] = visits["left"].to_numpy()[::-1]
    assert not any("'arrived' is after" in one.says for one in infer_schema(visits).proposals)
    assert infer_schema(visits).columns[0].type == "date"


def test_the_review_is_a_value_that_notebooks_and_terminals_show(tmp_path: Path) -> None:
    draft = infer_schema(pd.DataFrame({"<b>": ["x", "y"] * 3, "n": list(range(6))}))
    assert "<b>  categorical 2 values" in repr(draft)
    assert "&lt;b&gt;" in draft._repr_html_()
    page = draft.write(tmp_path / "d.json").read_text(encoding="utf-8")
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    assert "http" not in page.replace("http-equiv", "")  # asks nothing of any network
    with pytest.raises(SchemaError, match="d.json exists already"):
        draft.write(tmp_path / "d.json")
    (tmp_path / "e.html").write_text("")
    with pytest.raises(SchemaError, match="e.html exists already"):
        draft.write(tmp_path / "e.json")
    assert not (tmp_path / "e.json").exists()


def test_a_reviewed_draft_is_a_schema_with_what_the_owner_declares() -> None:
    draft = infer_schema(pd.DataFrame({"id": range(99), "n": [*range(33)] * 3, "t": ["x", "", "y"] * 33}))
    changes: dict[str, dict[str, object] | None] = {"n": {"edges": [0, 50, 100]}, "t": {"values": ["x", "y", "z"]}}
    rule = {"name": "few are z", "if": ["n", "<", 50], "then": ["t", "!=", "z"]}
    made = draft.reviewed(changes, [rule])
    assert (made.draft, made.names, [one.name for one in made.rules]) == (False, ("n", "t"), ["few are z"])
    assert (made.attributes[0].edges, made.attributes[0].integer) == ((0, 50, 100), True)
    assert (made.attributes[1].values, made.attributes[1].missing) == (("x", "y", "z"), "")
    for change, edges in (
        ({"bins": 4}, (0, 8, 16, 24, 32)),
        ({"range": [0, 160]}, tuple(range(0, 161, 10))),
        ({"bins": 2, "range": [0, 100]}, (0, 50, 100)),
    ):
        assert draft.reviewed({"n": change}).attributes[0].edges == edges
    other: dict[str, dict[str, object] | None] = {"n": {"type": "categorical", "values": [0, 1]}, "t": None}
    assert draft.reviewed(other).attributes[0].values == (0, 1)
    with pytest.raises(SchemaError, match="there is no proposal number 7; the draft has 0"):
        draft.reviewed(accept=[7])
    with pytest.raises(SchemaError, match="the draft has no column 'm'; it has n, t"):
        draft.reviewed({"m": None})


def test_workbooks_and_files_of_statistics_are_read_as_tables(tmp_path: Path) -> None:
    import openpyxl
    import pyreadstat

    rows = [("town", "born", "income"), ("north", dt.date(1980, 2, 3), 10.5), ("south", dt.date(1990, 5, 6), None)]
    book = openpyxl.Workbook()
    for row in [*rows, (None, None, None)]:
        book.active.append(row)
    book.create_sheet("notes")
    book.save(tmp_path / "t.xlsx")
    draft = infer_schema(tmp_path / "t.xlsx")
    assert [column.type for column in draft.columns] == ["categorical", "date", "numeric"]
    assert draft.notes[0] == "the workbook has 2 sheets; the first, 'Sheet', is read"
    assert ["ends of numbers: Take" in note for note in draft.notes[1:]] == [True]
    assert read_table(tmp_path / "t.xlsx", draft.schema)._rows == 2

    frame = pd.DataFrame({"sex": [1.0, 2.0, 1.0], "age": [31.0, 40.0, np.nan]})
    labels = {"sex": {1.0: "male", 2.0: "female", 9.0: "refused"}}
    pyreadstat.write_sav(frame, tmp_path / "t.sav", variable_value_labels=labels)
    pyreadstat.write_dta(
        frame, tmp_path / "t.dta", variable_value_labels={"sex": {1: "male", 2: "female", 9: "refused"}}
    )
    for name in ("t.sav", "t.dta"):
        draft = infer_schema(tmp_path / name)
        sex = draft.schema.attributes[0]
        assert (sex.kind, sex.values) == (CATEGORICAL, (1, 2, 9))  # what the file's own code book lists
        assert "1 = male, 2 = female, 9 = refused" in draft.columns[0].why
        assert read_table(tmp_path / name, draft.schema)._rows == 3


@pytest.mark.parametrize(("name", "extra"), [("t.xlsx", "excel"), ("t.sav", "statistics")])
def test_what_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, extra: str) -> None:
    for library in ("openpyxl", "pyreadstat"):
        monkeypatch.setitem(sys.modules, library, None)
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(PrivateDataError, match=rf"pip install 'dpopt\[{extra}\]'"):
        infer_schema(tmp_path / name)


@pytest.mark.parametrize("name", ["t.xlsx", "t.sav"])
def test_a_damaged_workbook_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"no such file")
    with pytest.raises(PrivateDataError, match="cannot be read.*save the table as CSV"):
        infer_schema(tmp_path / name)
    with pytest.raises(PrivateDataError, match="there is no file"):
        infer_schema(tmp_path / f"other-{name}")
