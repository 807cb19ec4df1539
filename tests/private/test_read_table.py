"""What values become: texts, numbers, truth values and missing values, from every kind of table; what repairs are called."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dpopt.errors import PrivateDataError, SchemaError
from dpopt.private.readers.read_table import read_table
from dpopt.private.readers.table_reading import OnInvalid, TableReading, parse_on_invalid
from dpopt.schema import Attribute, AttributeKind, Schema
from dpopt.schema.attribute import Value, value_text
from tests.strategies import schemas

CATEGORICAL, BOOLEAN, NUMERIC = AttributeKind.CATEGORICAL, AttributeKind.BOOLEAN, AttributeKind.NUMERIC
AGE = Attribute("x", NUMERIC, edges=(0, 20, 65, 100), integer=True, missing="?")
HEIGHT = Attribute("x", NUMERIC, edges=(0, 0.1, 0.3, 2.5), missing="?")


def codes(values: object, attribute: Attribute, on_invalid: OnInvalid = OnInvalid.ERROR) -> list[int]:
    """Read a table of one column, an Arrow array or what becomes one."""
    array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    data = read_table(pa.table({"x": array}), Schema((attribute,)), TableReading(on_invalid=on_invalid))
    return [int(code) for code in data._columns[0]]


def test_a_bin_holds_its_lower_edge_and_the_last_bin_its_upper_edge() -> None:
    assert codes(["0", "19", "20", "64", "65", "99", "100"], AGE) == [0, 0, 1, 1, 2, 2, 2]
    assert codes([0.0, 0.0999, 0.1, 0.3, 2.5], HEIGHT) == [0, 0, 1, 2, 2]
    assert codes(["0.1", "0.30", "1e-1", "+.1", "1.", "-0"], HEIGHT) == [1, 2, 1, 1, 2, 0]


@pytest.mark.parametrize("text", ["?", "", "nan", "NaN", "NAN"])
def test_missing_numbers_get_the_last_code(text: str) -> None:
    assert codes(["5", text], AGE) == [0, 3]


def test_nulls_and_nan_are_missing() -> None:
    assert codes([5, None], AGE) == [0, 3]
    assert codes([5.0, None, math.nan], AGE) == [0, 3, 3]
    assert codes(pa.array([None, None], pa.null()), AGE) == [3, 3]
    assert codes(pa.array([None, None], pa.int64()), AGE) == [3, 3]
    assert codes(["F", None], Attribute("x", CATEGORICAL, ("F", "M"), missing="?")) == [0, 2]
    assert codes([0.5, math.nan], Attribute("x", CATEGORICAL, (0.5,), missing="")) == [0, 1]
    assert codes([True, None], Attribute("x", BOOLEAN, missing="")) == [1, 2]


def test_a_missing_text_that_is_a_number_is_found_by_its_number_too() -> None:
    attribute = Attribute("x", NUMERIC, edges=(0, 10), missing="-9")
    assert codes(["-9", "-9.0", "3"], attribute) == [1, 1, 0]
    assert codes([-9, 3], attribute) == [1, 0]
    assert codes([1.0, -9.0], Attribute("x", CATEGORICAL, (1, 2), missing="-9")) == [0, 2]
    assert codes(["01", "1"], Attribute("x", CATEGORICAL, (1, 2), missing="01")) == [2, 0]


@pytest.mark.parametrize("values", [["5", None], ["5", ""], ["5", "NaN"], [5.0, math.nan], [5, None]])
def test_missing_numbers_are_refused_unless_declared(values: list[object]) -> None:
    with pytest.raises(PrivateDataError, match="value is missing"):
        codes(values, Attribute("x", NUMERIC, edges=(0, 10)))


@pytest.mark.parametrize("value", [None, ""])
def test_missing_categories_are_refused_unless_declared_or_a_value(value: str | None) -> None:
    with pytest.raises(PrivateDataError, match="value is missing"):
        codes(pa.array(["F", value]), Attribute("x", CATEGORICAL, ("F",), other="F"))
    if value is not None:
        assert codes(["F", value], Attribute("x", CATEGORICAL, ("F", ""), missing="?")) == [0, 1]


def test_whole_numbers_are_found_by_their_text_or_their_number() -> None:
    attribute = Attribute("x", CATEGORICAL, (1, 2, 30))
    assert codes(["30", "1", "2.0", "+2", "3e1"], attribute) == [2, 0, 1, 1, 2]
    for kind in (pa.int8(), pa.uint8(), pa.int16(), pa.int64(), pa.uint64(), pa.float64(), pa.float32()):
        assert codes(pa.array([30, 1, 2], kind), attribute) == [2, 0, 1]
    assert codes(pa.array([Decimal("30.00"), Decimal("1.00")]), attribute) == [2, 0]


def test_texts_of_digits_with_leading_zeros_are_not_numbers() -> None:
    with pytest.raises(PrivateDataError, match="'01' is not a declared value"):
        codes(["01"], Attribute("x", CATEGORICAL, (1, 2)))
    assert codes(["01", "1"], Attribute("x", CATEGORICAL, ("1", "01"))) == [1, 0]


def test_declared_texts_of_numbers_match_columns_of_numbers() -> None:
    attribute = Attribute("x", CATEGORICAL, ("1", "2.5"))
    assert codes([1, 1], attribute) == [0, 0]
    assert codes([1.0, 2.5], attribute) == [0, 1]


def test_nan_is_missing_among_numbers_and_a_text_among_texts() -> None:
    assert codes(["1", "NaN"], Attribute("x", CATEGORICAL, (1, 2), missing="")) == [0, 2]
    assert codes(["1", "nan"], Attribute("x", BOOLEAN, missing="?")) == [1, 2]
    for attribute in (Attribute("x", CATEGORICAL, ("a",), missing=""), Attribute("x", CATEGORICAL, (1,))):
        with pytest.raises(PrivateDataError, match="'nan' is not a declared value"):
            codes(["nan"], attribute)


def test_fractions_are_found_by_their_number() -> None:
    attribute = Attribute("x", CATEGORICAL, (0.1, 0.5, 2.0, 1e30))
    assert codes(["0.10", ".5", "2", "1e30", "1E+30"], attribute) == [0, 1, 2, 3, 3]
    assert codes(pa.array([0.1, 2.0], pa.float32()), attribute) == [0, 2]
    assert codes([0.1, 2.0, 1e30], attribute) == [0, 2, 3]


def test_a_text_that_is_declared_comes_before_a_number_that_is_equal() -> None:
    assert codes(["1.0", "1", "1.00"], Attribute("x", CATEGORICAL, (1, "1.00", 1.0))) == [2, 0, 1]


def test_large_whole_numbers_are_exact() -> None:
    attribute = Attribute("x", CATEGORICAL, (2**60, 2**60 + 1, 2**64 - 1))
    assert codes([2**60 + 1, 2**60], attribute) == [1, 0]
    assert codes(pa.array([2**64 - 1], pa.uint64()), attribute) == [2]
    assert codes([str(2**60), str(2**60 + 1)], attribute) == [0, 1]


def test_whole_numbers_far_apart_are_found() -> None:
    attribute = Attribute("x", CATEGORICAL, (-(10**12), 0, 10**12))
    assert codes([10**12, 0, -(10**12)] * 3, attribute) == [2, 1, 0] * 3
    assert codes([10**12, 0, None], Attribute("x", NUMERIC, edges=(0, 10, 1e13), missing="")) == [1, 0, 2]


@pytest.mark.parametrize("texts", [("true", "false"), ("True", "False"), ("TRUE", "FALSE"), ("1", "0"), ("1.0", "0.0")])
def test_truth_values_have_several_spellings(texts: tuple[str, str]) -> None:
    assert codes(list(texts), Attribute("x", BOOLEAN)) == [1, 0]


@pytest.mark.parametrize(
    "values", [[True, False], [1, 0], [1.0, 0.0], pd.Categorical([True, False]), pa.array([1, 0], pa.int8())]
)
def test_truth_values_have_several_types(values: object) -> None:
    assert codes(values, Attribute("x", BOOLEAN)) == [1, 0]


def test_tokens_of_truth_values_match_texts_and_truth_values() -> None:
    attribute = Attribute("x", BOOLEAN, ("no", "yes"))
    assert codes(["yes", "no"], attribute) == [1, 0]
    assert codes([True, False], attribute) == [1, 0]
    with pytest.raises(PrivateDataError, match="'1' is not a declared value"):
        codes(["1"], attribute)
    assert codes(["1", "0"], Attribute("x", BOOLEAN, (0, 1))) == [1, 0]
    assert codes([True, False], Attribute("x", BOOLEAN, (True, False))) == [0, 1]


def test_truth_values_match_categories_by_text_or_number() -> None:
    assert codes([True, False], Attribute("x", CATEGORICAL, ("true", "false"))) == [0, 1]
    assert codes([True, False], Attribute("x", CATEGORICAL, (1, 0))) == [0, 1]
    assert codes([True, False], AGE) == [0, 0]
    with pytest.raises(PrivateDataError, match="'true' is not a declared value"):
        codes([True], Attribute("x", CATEGORICAL, ("a", "b")))
    assert codes([True], Attribute("x", CATEGORICAL, ("a", "b"), other="b"), OnInvalid.OTHER) == [1]


def test_texts_may_come_in_any_arrow_type() -> None:
    attribute = Attribute("x", CATEGORICAL, ("a", "b"), missing="")
    texts = pa.array(["b", None, "a"])
    for kind in (pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int8(), pa.string())):
        assert codes(texts.cast(kind), attribute) == [1, 2, 0]
    unused = pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(["a", "b", "never used"]))
    assert codes(unused, attribute) == [1, 0]
    with_null = pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(["a", None]))
    assert codes(with_null, attribute) == [2, 0]


def test_dictionaries_of_numbers_and_sliced_chunks_are_read() -> None:
    numbers = pa.array([70, 5, 70]).dictionary_encode()
    assert codes(numbers, AGE) == [2, 0, 2]
    assert codes(pa.chunked_array([pa.array([70, 5]).slice(1), pa.array([30, 70])]), AGE) == [0, 1, 2]


def test_dates_match_declared_texts() -> None:
    dates = pa.array([1, 2], pa.date32())
    assert codes(dates, Attribute("x", CATEGORICAL, ("1970-01-02", "1970-01-03"))) == [0, 1]


@pytest.mark.parametrize("array", [pa.array([[1], [2]]), pa.array([{"a": 1}])])
def test_types_without_texts_are_refused(array: pa.Array) -> None:
    with pytest.raises(PrivateDataError, match="column 'x': it has the type .* cannot be read"):
        codes(array, AGE)


@pytest.mark.parametrize("values", [["-5", "101", "1e400", "-inf", "20"], [-5, 101, 10**9, -(10**9), 20]])
def test_clipping_takes_the_nearest_bin(values: list[object]) -> None:
    with pytest.raises(PrivateDataError, match=r"lies outside \[0, 100\]"):
        codes(values, AGE)
    assert codes(values, AGE, OnInvalid.CLIP) == [0, 2, 2, 0, 1]


def test_clipping_repairs_neither_missing_nor_fractions_nor_texts() -> None:
    attribute = Attribute("x", NUMERIC, edges=(0, 100), integer=True)
    for value, reason in [("", "missing"), ("nan", "missing"), ("1.5", "whole number"), ("a", "not a number")]:
        with pytest.raises(PrivateDataError, match=reason):
            codes([value], attribute, OnInvalid.CLIP)


OTHER, DROP = OnInvalid.OTHER, OnInvalid.DROP
STRANGE = [None, "", "nan", "-1", "101", "1e999", "1.5", "b", "\0", "[1]", "x" * 10**6]


@pytest.mark.parametrize(
    ("attribute", "policy", "expected"),
    [
        (Attribute("x", CATEGORICAL, ("a", "rest"), other="rest"), OTHER, [1] * 11),
        (Attribute("x", CATEGORICAL, ("a", "b"), other="a", missing="?"), OTHER, [2, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0]),
        (Attribute("x", CATEGORICAL, ("a",), missing=""), OTHER, [1] * 11),
        (Attribute("x", BOOLEAN, ("a", "b"), other="b"), OTHER, [1] * 11),
        (Attribute("x", BOOLEAN, other=False), OTHER, [0] * 11),
        (Attribute("x", NUMERIC, edges=(0, 50, 100), integer=True, other=70), OTHER, [1] * 11),
        (Attribute("x", NUMERIC, edges=(0, 50, 100), other=70, missing=""), OTHER, [2, 2, 2, 1, 1, 1, 0, *[1] * 4]),
        (
            Attribute("x", NUMERIC, edges=(0, 10, 50, 100), integer=True, other=20),
            OTHER | OnInvalid.CLIP,
            [1, 1, 1, 0, 2, 2, *[1] * 5],
        ),
        (Attribute("x", CATEGORICAL, ("a", "b")), DROP, [1]),
        (Attribute("x", NUMERIC, edges=(0, 50, 100)), DROP, [0]),
        (Attribute("x", NUMERIC, edges=(0, 50, 100), missing=""), DROP | OnInvalid.CLIP, [2, 2, 2, 0, 1, 1, 0]),
    ],
)
def test_a_total_reading_has_a_place_for_everything(
    attribute: Attribute, policy: OnInvalid, expected: list[int]
) -> None:
    assert codes(pa.array(STRANGE), attribute, policy) == expected
    assert codes(pa.array(STRANGE).dictionary_encode(), attribute, policy) == expected
    assert codes(pa.array(STRANGE, pa.large_string()), attribute, policy) == expected


def test_what_is_dropped_is_dropped_in_all_columns() -> None:
    schema = Schema((Attribute("x", CATEGORICAL, ("a", "b")), Attribute("y", NUMERIC, edges=(0, 5, 10))))
    table = pd.DataFrame({"x": ["a", "?", "b", "b", None], "y": [1, 2, 11, 7, 3]})
    data = read_table(table, schema, TableReading(on_invalid=DROP))
    assert [column.tolist() for column in data._columns] == [[0, 1], [0, 1]]
    assert data._rows == 2


class Odd:
    """Has methods that fail."""

    def __str__(self) -> str:
        raise RuntimeError("no")

    __float__ = __int__ = __eq__ = __hash__ = __str__  # type: ignore[assignment]


class OddText(str):
    __slots__ = ()
    __str__ = Odd.__str__


@pytest.mark.parametrize(
    "value",
    [b"a", [1], {"a": 1}, Odd(), OddText("a"), "\ud800", 10**5000, Decimal("sNaN"), Decimal("1e999999"), 1j, object],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("attribute", [Attribute("x", CATEGORICAL, ("a", "b"), other="b"), AGE])
def test_objects_of_any_class_are_values_that_do_not_fit(value: object, attribute: Attribute) -> None:
    series = pd.Series([None, "a", None, "10"], dtype=object)
    series[0] = value
    fits = replace(attribute, missing="?")
    frame, schema = pd.DataFrame({"x": series}), Schema((replace(fits, name="x"),))
    with pytest.raises(PrivateDataError, match="does not fit|do not fit"):
        read_table(frame, schema)
    total = read_table(frame, schema, TableReading(on_invalid=OTHER))._columns[0].tolist()
    assert total[0] == fits.other_code
    assert read_table(frame[1:], schema, TableReading(on_invalid=OTHER))._columns[0].tolist() == total[1:]
    kept = read_table(frame, schema, TableReading(on_invalid=DROP))._columns[0].tolist()
    assert kept == read_table(frame[1:], schema, TableReading(on_invalid=DROP))._columns[0].tolist()


@pytest.mark.parametrize(
    "array",
    [
        pa.array([b"a", b"\xff", None]),
        pa.array([b"a", b"\xff", None], pa.large_binary()),
        pa.array([b"a", b"\xff", None], pa.binary(1)),
        pa.array([b"a", b"\xff", None]).dictionary_encode(),
        pa.Array.from_buffers(pa.string(), 3, [*pa.array(["a", "b", None]).buffers()[:2], pa.py_buffer(b"a\xff")]),
        pa.array([0, 2**62, None], pa.timestamp("s")),
        pa.array([0, 2**31 - 1, None], pa.date32()),
        pa.array([0, 2**64 - 1, None], pa.uint64()),
        pa.array([0.0, float("inf"), None]),
        pa.array([Decimal(0), Decimal("9" * 38), None]),
    ],
    ids=lambda array: str(array.type),
)
def test_values_of_any_arrow_type_end_no_total_reading(array: pa.Array) -> None:
    values = ("a", "0", "1970-01-01", "1970-01-01 00:00:00", "rest")
    attribute = Attribute("x", CATEGORICAL, values, other="rest", missing="?")
    found = codes(array, attribute, OTHER)
    assert found[0] < 4
    assert found[1:] == [4, 5]
    assert codes(array, attribute, DROP) == [found[0], 5]
    with pytest.raises(PrivateDataError, match="1 row does not fit"):
        codes(array, attribute)


def test_a_frame_is_read_whatever_the_types_of_its_columns_are() -> None:
    frame = pd.DataFrame(
        {
            "age": [1.0, None, 70.0],
            "sex": pd.Categorical(["F", None, "M"]),
            "group": pd.Series([1, "b", None], dtype=object),
            "small": np.array([0, 1, 1], dtype=np.uint8),
            "smoker": pd.array([True, None, False], dtype="boolean"),
            "not used": [object(), object(), object()],
        }
    )
    schema = Schema(
        (
            Attribute("smoker", BOOLEAN, missing=""),
            Attribute("age", NUMERIC, edges=(0, 20, 100), missing=""),
            Attribute("sex", CATEGORICAL, ("F", "M"), missing="?"),
            Attribute("group", CATEGORICAL, (1, "b"), missing=""),
            Attribute("small", CATEGORICAL, (0, 1)),
        )
    )
    columns = [column.tolist() for column in read_table(frame, schema)._columns]
    assert columns == [[1, 2, 0], [0, 2, 1], [0, 2, 1], [0, 1, 2], [0, 1, 1]]


def test_many_batches_give_the_same_codes_as_one_array() -> None:
    generator = np.random.default_rng(5)
    numbers = generator.integers(0, 101, size=300_000)
    data = read_table(pd.DataFrame({"x": numbers}), Schema((AGE,)))
    assert np.array_equal(data._columns[0], np.searchsorted([20, 65], numbers, side="right"))


def naive_code(text: str, attribute: Attribute) -> int | None:
    """Return the code of a text, value by value in plain Python; None if it has none."""
    number = _number(text)
    if attribute.missing is not None:
        special = _number(attribute.missing)
        same = number is not None and special is not None and number == special
        if text in {"", attribute.missing} and text not in map(value_text, attribute.values):
            return attribute.missing_code
        no_texts = not any(isinstance(value, str) for value in attribute.values)
        if attribute.kind is NUMERIC and same:
            return attribute.missing_code
        if no_texts and number is not None and math.isnan(number):
            return attribute.missing_code
    if attribute.kind is NUMERIC:
        if number is None or (attribute.integer and math.isfinite(number) and not number.is_integer()):
            return None
        edges = attribute.edges
        inside = [code for code, (low, high) in enumerate(pairwise(edges)) if low <= number < high]
        return inside[0] if inside else len(edges) - 2 if number == edges[-1] else None
    for code, value in enumerate(attribute.values):
        if text == value_text(value):
            return code
    for code, value in enumerate(attribute.values):
        if isinstance(value, bool) and text in {str(value), str(value).upper()}:
            return code
    if number is None or text.lstrip("+-").startswith(tuple(f"0{digit}" for digit in range(10))):
        return None
    for code, value in enumerate(attribute.values):
        if _counts_as_number(value, attribute) and float(value) == number:
            return code
    return None


def _counts_as_number(value: Value, attribute: Attribute) -> bool:
    return not isinstance(value, str) and (not isinstance(value, bool) or attribute.kind is BOOLEAN)


def _number(text: str) -> float | None:
    try:
        return float(text) if text.isascii() and text == text.strip() and "_" not in text else None
    except ValueError:
        return None


@st.composite
def texts_for(draw: st.DrawFn, attribute: Attribute) -> str:
    known = [str(value) for value in attribute.decoded() if value is not None] + [attribute.missing or ""]
    known += [value_text(value) for value in attribute.values] + [repr(edge) for edge in attribute.edges]
    likely = st.sampled_from(known)
    odd = st.one_of(
        st.sampled_from(["1", "0", "1.0", "01", "TRUE", "+2", "2e0", "-0", "?", " 1", "nan", "inf"]),
        st.floats(allow_nan=False, allow_infinity=False).map(repr),
        st.text(max_size=3),
    )
    return draw(likely) if draw(st.integers(0, 9)) else draw(odd)


@given(st.data())
def test_reading_agrees_with_plain_python(data: st.DataObject) -> None:
    schema = data.draw(schemas(max_attributes=3))
    rows = data.draw(
        st.lists(st.tuples(*[texts_for(attribute) for attribute in schema.attributes]), min_size=1, max_size=6)
    )
    expected = [[naive_code(row[place], a) for row in rows] for place, a in enumerate(schema.attributes)]
    for table in (_csv(schema.names, rows), _frame(schema.names, rows)):
        if any(code is None for column in expected for code in column):
            with pytest.raises(PrivateDataError, match="do(es)? not fit"):
                _read(table, schema)
        else:
            assert _read(table, schema) == expected


def _csv(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([names, *rows])
    return text.getvalue().encode()


def _frame(names: Sequence[str], rows: Sequence[Sequence[str]]) -> pd.DataFrame:
    return pd.DataFrame({name: [row[place] for row in rows] for place, name in enumerate(names)}, dtype="str")


def _read(table: bytes | pd.DataFrame, schema: Schema) -> list[list[int]]:
    if not isinstance(table, bytes):
        return [column.tolist() for column in read_table(table, schema)._columns]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(table)
        return [column.tolist() for column in read_table(path, schema, TableReading(multiline=True))._columns]


MIXED = st.sampled_from([1.0, 1, True, "1", "x", "1.0", 2.5, None, Decimal("1.5"), Decimal(1)])


@given(values=st.lists(MIXED, min_size=2, max_size=8), changed=MIXED, where=st.integers(0, 7))
@pytest.mark.parametrize("categorical", [False, True])
def test_changing_one_record_changes_how_no_other_is_read(
    categorical: bool, values: list[object], changed: object, where: int
) -> None:
    """Otherwise the sensitivity of every count would be the number of records."""
    attribute = Attribute("a", AttributeKind.CATEGORICAL, ("1", "2", "x", "rest"), missing="", other="rest")

    def read(column: list[object]) -> list[int]:
        series = pd.Series(column, dtype=object)
        if categorical:
            series = series.astype("category")
            # pandas merges equal categories, such as 1.0 and True: then another table is given, not read
            assume([type(value) for value in series] == [type(value) for value in column])
        frame = pd.DataFrame({"a": series})
        codes: list[int] = (
            read_table(frame, Schema((attribute,)), TableReading(on_invalid=OnInvalid.OTHER))._columns[0].tolist()
        )
        return codes

    where %= len(values)
    neighbour = [*values[:where], changed, *values[where + 1 :]]
    before, after = read(values), read(neighbour)
    assert before[:where] + before[where + 1 :] == after[:where] + after[where + 1 :]


def test_objects_without_a_plain_text_are_refused() -> None:
    frame = pd.DataFrame({"a": pd.Series([b"x", "x"], dtype=object)})
    with pytest.raises(PrivateDataError, match="row 1: a value of type bytes has no text"):
        read_table(frame, Schema((Attribute("a", AttributeKind.CATEGORICAL, ("x",)),)))


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("error", OnInvalid.ERROR),
        ("clip", OnInvalid.CLIP),
        ("other", OnInvalid.OTHER),
        ("drop", OnInvalid.DROP),
        ("clip,other", OnInvalid.CLIP | OnInvalid.OTHER),
        ("clip,drop", OnInvalid.CLIP | OnInvalid.DROP),
        (" Other , clip ", OnInvalid.CLIP | OnInvalid.OTHER),
    ],
)
def test_a_policy_is_read_from_its_words(text: str, policy: OnInvalid) -> None:
    assert parse_on_invalid(text) == policy
    assert parse_on_invalid(policy.text) == policy
    assert policy.is_total == ("other" in text.lower() or "drop" in text)


@pytest.mark.parametrize("text", ["", "keep", "clip,", "clip other", "error,clip", "other,drop", "error,drop"])
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(SchemaError, match="on.invalid"):
        parse_on_invalid(text)
