"""Drafts of schemas: every table fits its own draft, with readable edges; what cannot be drafted is said."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.errors import PrivateDataError, SchemaError
from dpopt.private.readers.draft_schema import Edges, infer_schema, readable_edges
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import TableReading
from dpopt.schema import Attribute, AttributeKind, Schema
from dpopt.schema.attribute import Value


def edges_of(values: Sequence[float], *, bins: int, integer: bool) -> Edges:
    different, counts = np.unique(np.array(values, dtype=np.float64), return_counts=True)
    return readable_edges(different, counts, bins, integer=integer)


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
def test_edges_of_equal_width_are_round(
    values: list[float], bins: int, integer: bool, expected: tuple[float, ...]
) -> None:
    assert edges_of(values, bins=bins, integer=integer) == expected


def test_crowded_values_get_rounded_quantiles() -> None:
    values = [float(round(1.02**i, 3)) for i in range(1000)]
    edges = edges_of(values, bins=5, integer=False)
    assert edges == (1.0, 51.0, 2700.0, 140000.0, 7400000.0, 400000000.0)
    counts, _ = np.histogram(values, edges)
    assert counts.min() >= 190


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
    edges = readable_edges(values, counts, bins, integer=integer)
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


CATEGORICAL, BOOLEAN, NUMERIC = AttributeKind.CATEGORICAL, AttributeKind.BOOLEAN, AttributeKind.NUMERIC


def drafted(values: object, *, bins: int = 4, max_values: int = 10) -> tuple[Attribute | None, list[str]]:
    """Draft one column beside a column that can always be used."""
    array = values if isinstance(values, pa.Array) else pa.array(values)
    table = pa.table({"x": array, "fine": [True] * len(array)})
    schema, notes = infer_schema(table, bins=bins, max_values=max_values)
    read_table(table, schema)
    return (schema.attributes[0] if "x" in schema.names else None), notes


def attribute_of(values: object, *, bins: int = 4, max_values: int = 10) -> Attribute:
    attribute, _ = drafted(values, bins=bins, max_values=max_values)
    assert attribute is not None
    return attribute


def reason_of(values: object) -> str:
    attribute, notes = drafted(values)
    assert attribute is None
    (note,) = notes
    return note


def test_a_draft_is_marked_as_one() -> None:
    schema, notes = infer_schema(pd.DataFrame({"a": ["x", "y"]}))
    assert schema == Schema((Attribute("a", CATEGORICAL, ("x", "y")),), draft=True)
    assert notes == []


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([True, False], (False, True)),
        ([True, True], (False, True)),
        (["true", "false"], (False, True)),
        (["True", "True"], (False, True)),
        (["TRUE", "FALSE"], (False, True)),
        (["yes", "no"], ("no", "yes")),
        (["Y", "N"], ("N", "Y")),
        (["T", "F"], ("F", "T")),
        (["0", "1"], (0, 1)),
        ([1, 0], (0, 1)),
        ([1.0, 0.0], (0, 1)),
    ],
)
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
        (pa.array([1, 2], pa.date32()), ("1970-01-02", "1970-01-03")),
    ],
)
def test_texts_and_few_whole_numbers_become_categorical(values: object, expected: tuple[Value, ...]) -> None:
    attribute = attribute_of(values)
    assert attribute.kind is CATEGORICAL
    assert attribute.values == expected


@pytest.mark.parametrize(
    ("values", "missing"),
    [
        (["a", "?", "b"], "?"),
        (["a", "NA", "b"], "NA"),
        (["a", "", "b"], ""),
        (["a", None, "b"], ""),
        (["a", "N", "b"], None),
        (["a", "null", "b"], None),
        (["1", "?"], "?"),
        (["1", "NA"], "NA"),
        (["1", "N"], "N"),
        (["1", "null"], "null"),
        (["1", ""], ""),
        (["1", "NaN"], ""),
        (["1", None, "nan"], ""),
        (["1", "?", ""], "?"),
        ([1, None], ""),
        ([1.5, None, 2.5], ""),
        ([1.5, np.nan, 2.5], ""),
        ([True, None], ""),
        (["yes", "no", "?"], "?"),
    ],
)
def test_marks_of_missing_values_are_recognised_where_plausible(values: object, missing: str | None) -> None:
    assert attribute_of(values).missing == missing


def test_a_second_mark_among_texts_stays_a_value() -> None:
    attribute = attribute_of(["a", "?", "NA"])
    assert (attribute.values, attribute.missing) == (("NA", "a"), "?")
    attribute = attribute_of(["a", "?", ""])
    assert (attribute.values, attribute.missing) == (("?", "a"), "")


def test_several_marks_among_numbers_leave_the_column_out() -> None:
    assert "several marks of missing values ('?' and 'NA')" in reason_of(["1", "?", "NA"])


def test_many_whole_numbers_become_bins_with_whole_edges() -> None:
    attribute = attribute_of(list(range(17, 91)) * 2)
    assert (attribute.kind, attribute.integer) == (NUMERIC, True)
    assert attribute.edges == (0, 20, 40, 60, 80, 100)


def test_fractions_become_bins() -> None:
    attribute = attribute_of(["0.5", "0.25", "0.9"])
    assert (attribute.kind, attribute.integer) == (NUMERIC, False)
    assert attribute.edges == (0.2, 0.4, 0.6, 0.8, 1.0)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([f"person {i}" for i in range(50)], "50 different texts in 50 rows and looks like an identifier"),
        ([f"kind {i % 20}" for i in range(50)], "20 different texts, more than 10; group them"),
        (list(range(1000, 1050)), "numbers the rows and looks like an identifier; drop the column"),
        ([str(i) for i in range(50)], "numbers the rows"),
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
    assert note.startswith("column 'x' is left out: it ")
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(note)


def test_a_single_value_and_numbers_that_never_repeat_are_noted() -> None:
    assert drafted(["a", "a"])[1] == ["column 'x': a single value occurs; add the others that are possible"]
    (note,) = drafted([7, 19, 3, 41, 100, 205])[1]
    assert note == "column 'x': no number occurs twice; if it is an identifier, remove it from the schema"


def test_a_column_without_a_name_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(",a\n0,x\n1,y\n")
    schema, notes = infer_schema(path)
    assert schema.names == ("a",)
    assert notes == ["column number 1 is left out: it has no name"]


def test_a_table_in_which_no_column_can_be_used_is_refused() -> None:
    with pytest.raises(PrivateDataError, match="(?s)no column for a schema.*'a' is left out: it holds"):
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
    with pytest.raises(PrivateDataError, match="column 'x' has the type .*drop the column"):
        infer_schema(pa.table({"x": [[1], [2]]}))


@pytest.mark.parametrize(("bins", "max_values"), [(1, 10), (40_000, 10), (10, 1), (10, 70_000)])
def test_numbers_out_of_range_are_refused(bins: int, max_values: int) -> None:
    with pytest.raises(SchemaError, match="expected a whole number from 2 to 32,766"):
        infer_schema(pd.DataFrame({"a": [1]}), bins=bins, max_values=max_values)


def test_a_file_without_names_is_drafted_with_given_names(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("1,x\n2,y\n")
    reported: list[float] = []
    schema, _ = infer_schema(path, reading=TableReading(column_names=("n", "t")), progress=reported.append)
    assert schema.names == ("n", "t")
    assert reported[-1] == 1.0


def test_batches_of_different_types_are_added_up(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": pa.array([1, 2], pa.int64())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": pa.array(["3", "2"])}), tmp_path / "b.parquet")
    schema, _ = infer_schema(tmp_path)
    assert schema.attributes[0].values == (1, 2, 3)


def test_many_batches_are_added_up() -> None:
    chunks = [pa.array([i % 7, i % 5, 9]) for i in range(100)]
    schema, _ = infer_schema(pa.table({"x": pa.chunked_array(chunks)}))
    assert schema.attributes[0].values == (0, 1, 2, 3, 4, 5, 6, 9)


MULTILINE = TableReading(multiline=True)
_CELLS = st.one_of(
    st.sampled_from(
        ["", "?", "NA", "N", "nan", "1", "0", "1.0", "01", "true", "False", "yes", "no", "-", "1e400"]
    ),
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
            schema, _ = infer_schema(table, bins=3, max_values=20, reading=MULTILINE)
            assert "c" in schema.names
            read_table(table, schema, MULTILINE)


@given(
    st.lists(
        st.floats(allow_infinity=False, width=32) | st.none() | st.integers(-3, 3).map(float), min_size=1
    )
)
def test_numbers_fit_their_own_draft(numbers: list[float | None]) -> None:
    drafted(pa.array(numbers, pa.float64()))
    drafted(pa.array(numbers, pa.float32()))


@pytest.mark.parametrize(
    "name",
    [
        "adult/adult-train.csv.gz",
        "constrained/nist-acs-national2019.csv.gz",
        "constrained/tic-tac-toe.csv.gz",
    ],
)
def test_real_tables_fit_their_own_draft(data_folder: Path, name: str) -> None:
    path = data_folder / name
    frame = pd.read_csv(path)
    schema, notes = infer_schema(path)
    assert schema.names == tuple(frame.columns)
    assert notes == []
    assert infer_schema(frame)[0].names == schema.names
    from_file, from_frame = read_table(path, schema), read_table(frame, schema)
    for one, other in zip(from_file._columns, from_frame._columns, strict=True):
        assert np.array_equal(one, other)


def test_the_draft_of_adult_is_what_a_person_would_start_with(data_folder: Path) -> None:
    schema, _ = infer_schema(data_folder / "adult" / "adult-train.csv.gz")
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
    schema, _ = infer_schema(folder / "kddcup.data_10_percent.gz", reading=TableReading(column_names=names))
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
    with pytest.raises(PrivateDataError, match=f"(?s){message}.*--layout baskets"):
        infer_schema(path)


def test_a_single_column_may_be_a_file_of_baskets(tmp_path: Path) -> None:
    path = tmp_path / "baskets.txt"
    path.write_text("tea milk\nmilk\ntea\n")
    schema, notes = infer_schema(path)
    assert schema.names == ("tea milk",)
    assert "--layout baskets" in notes[0]
