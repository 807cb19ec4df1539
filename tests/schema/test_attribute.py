"""Attributes: what is declared, alone and in wide tables of zeros and ones, and what is refused."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpopt.errors import SchemaError
from dpopt.private.readers.domain_codes import parse_dates
from dpopt.private.readers.read_table import read_table
from dpopt.queries.workloads.workload import parse_workload
from dpopt.releases.table_output import write_records
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.binary_attributes import BinaryAttributes
from dpopt.schema.dates import Seconds, date_number
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Schema

CATEGORICAL, BOOLEAN, NUMERIC = AttributeKind.CATEGORICAL, AttributeKind.BOOLEAN, AttributeKind.NUMERIC


def age(**declared: Any) -> Attribute:
    return Attribute("age", NUMERIC, **{"edges": (0, 20, 30), **declared})


any_of: Any = Attribute  # what its types forbid, too
x_of = partial(Attribute, "x", CATEGORICAL)


def test_an_order_is_declared_of_values_and_follows_of_numbers() -> None:
    plain = x_of(("b", "a"))
    declared = [plain, x_of(("b", "a"), ordered=True), x_of((1, 3)), x_of((3, 1)), x_of((1, 3), ordered=False), age()]
    assert [one.ordered for one in declared] == [False, True, True, False, False, True]
    assert x_of(("b", "a"), arrow="ordered category").ordered
    assert Attribute("b", BOOLEAN, ("no", "yes")).ordered
    for one in declared:
        schema = Schema((one,))
        assert Schema.from_json(json.loads(json.dumps(schema.to_json()))) == schema
    assert "ordered" not in json.dumps([Schema((one,)).to_json() for one in (plain, declared[2], declared[5])])
    for refused in (partial(any_of, "x", CATEGORICAL, ("b", "a"), ordered=1), partial(age, ordered=False)):
        with pytest.raises(SchemaError, match="'ordered' is true or false and belongs to categorical"):
            refused()


def test_missing_has_the_last_code() -> None:
    attribute = Attribute("sex", CATEGORICAL, ("F", "M"), missing="?")
    assert attribute.size == 3
    assert attribute.missing_code == 2
    assert [attribute.label(code) for code in range(3)] == ["F", "M", "missing"]
    assert attribute.decoded() == ("F", "M", "?")
    assert Attribute("sex", CATEGORICAL, ("F", "M"), missing="").decoded() == ("F", "M", None)
    assert Attribute("sex", CATEGORICAL, ("F", "M")).missing_code is None
    assert age(missing="-1").missing_code == 2  # a number, but in no bin


def test_a_value_called_missing_keeps_its_label_apart_from_missing() -> None:
    attribute = Attribute("state", CATEGORICAL, ("missing", "here"), missing="?")
    assert [attribute.label(code) for code in range(3)] == ["missing", "here", "missing ('?')"]


def test_a_boolean_is_false_and_true_unless_declared_otherwise() -> None:
    assert Attribute("smoker", BOOLEAN).values == (False, True)
    assert Attribute("smoker", BOOLEAN).label(1) == "true"
    assert Attribute("smoker", BOOLEAN, ("no", "yes")).decoded() == ("no", "yes")


def test_bins_are_half_open_and_the_last_one_is_closed() -> None:
    attribute = age(edges=(0, 20, 30.5))
    assert attribute.size == 2
    assert [attribute.label(code) for code in range(2)] == ["[0, 20)", "[20, 30.5]"]


@pytest.mark.parametrize(
    ("edges", "integer", "expected"),
    [
        ((0, 20, 30), False, (10.0, 25.0)),
        ((0, 5, 6, 8), True, (2, 5, 7)),
        ((0.5, 1.2, 2.9), True, (1, 2)),
        ((-3, -2, -1), True, (-3, -2)),
        ((2**53 + 2, 2**53 + 4, 2**53 + 6), True, (2**53 + 2, 2**53 + 4)),
        ((-1e308, 1e308), False, (0.0,)),
        ((1.0, 1.0 + 2**-52), False, (1.0,)),
        ((-0.0, 1.0), False, (0.5,)),
    ],
)
def test_bins_are_decoded_to_their_midpoint_inside_the_bin(
    edges: tuple[float, ...], integer: bool, expected: tuple[float, ...]
) -> None:
    decoded = age(edges=edges, integer=integer).decoded()
    assert decoded == expected
    assert all(isinstance(number, int if integer else float) for number in decoded)


def test_declared_representatives_are_what_bins_are_decoded_to() -> None:
    assert age(representatives=(0, 30), missing="?").decoded() == (0.0, 30.0, "?")


def test_occurring_codes_are_sorted_and_the_last_edge_may_represent_the_last_bin() -> None:
    assert age(occurring=(1, 0)).occurring == (0, 1)
    assert age(representatives=(0, 30)).representatives == (0.0, 30.0)


@pytest.mark.parametrize(
    ("attribute", "code"),
    [
        (Attribute("job", CATEGORICAL, ("a", "Other"), other="Other"), 1),
        (Attribute("x", CATEGORICAL, (True, 1.5, 2), missing="", other=2), 2),
        (Attribute("x", CATEGORICAL, ("a",), missing="?"), 1),
        (Attribute("x", CATEGORICAL, ("a",)), None),
        (Attribute("x", BOOLEAN, other=True), 1),
        (Attribute("x", BOOLEAN, ("no", "yes"), other="no", missing="?"), 0),
        (age(other=0), 0),
        (age(other=20, missing="?"), 1),
        (age(other=30), 1),
        (age(missing="?"), 2),
    ],
)
def test_what_does_not_fit_has_the_code_of_other_else_of_missing(attribute: Attribute, code: int | None) -> None:
    assert attribute.other_code == code


NAN, INFINITE = float("nan"), float("inf")
REFUSED: list[tuple[Callable[[], object], str]] = [
    *(
        (partial(age, other=other, integer=True), f"'other'.* {message}")
        for other, message in (
            (61, "lies in no bin"),
            (-1, "lies in no bin"),
            (0.5, "is not a whole number"),
            ("a", "is not a number"),
            (True, "is not a number"),
        )
    ),
    (partial(age, representatives=np.array(["1", "2"])), "the representative .* is not a number"),
    (partial(age, occurring=np.array([7, 8])), "'occurring' names the code"),
    *((partial(age().label, code), r"'age': code .* the codes are 0 \.\. 1") for code in (-1, 2)),
    *(
        (partial(x_of, values), f"attribute 'x': .*{message}")
        for values, message in (
            ((), "no values are declared"),
            (("a", "a"), "'a' is declared twice"),
            ((1, "1"), "has the same text as 1"),
            ((True, "true"), "has the same text as True"),
            ((NAN, 1), "nan cannot be a value"),
            ((None,), "None cannot be a value"),
            ((*range(65_535), "?"), "65536 codes"),
            (("\udfff",), "is not valid Unicode text"),
        )
    ),
    *(
        (partial(age, edges=edges), f"attribute 'age': .*{message}")
        for edges, message in (
            ((), "at least 2 edges"),
            ((1,), "at least 2 edges"),
            ((0, 2, 1), "edges must increase, found 2 before 1"),
            ((0, 0), "edges must increase, found 0 before 0"),
            ((0, NAN), "is not finite"),
            ((0, INFINITE), "is not finite"),
            ((0, 10**400), "is not finite"),
            ((False, True), "is not a number"),
            (("0", "1"), "is not a number"),
        )
    ),
    *(
        (partial(age, edges=edges, integer=True), r"the bin \[.* holds no whole number; move its edges")
        for edges in ((0.2, 0.8), (0, 1.2, 1.5, 2), (-0.5, -0.1))
    ),
    (partial(age, representatives=(1,)), "1 representatives for 2 bins"),
    (partial(age, representatives=(1, 2)), r"2 lies outside its bin \[20, 30\]"),
    (partial(age, representatives=(20, 25)), r"20 lies outside its bin \[0, 20\)"),
    (partial(age, representatives=(1.5, 25), integer=True), "1.5 is not a whole number"),
    (partial(age, representatives=(NAN, 25)), "is not finite"),
    (partial(x_of, ("a", "?"), missing="?"), "both the missing text and a value"),
    (partial(x_of, ("a",), missing=0), "is the text of a missing value"),
    (partial(x_of, ("a",), missing="\ud800"), "is not valid Unicode text"),
    (partial(age, missing="30"), "also a number inside the bins"),
    *(
        (partial(age, occurring=codes), f"attribute 'age': .*{message}")
        for codes, message in (
            ((), "is empty"),
            ((2,), "the code 2; the codes are 0 .. 1"),
            ((0, 0), "a code twice"),
            ((True,), "True"),
        )
    ),
    *(
        (partial(Attribute, "x", kind, ("1", "b"), other=other), "not one of the declared values")
        for kind in (CATEGORICAL, BOOLEAN)
        for other in ("c", 1)
    ),
    (partial(Attribute, "x", BOOLEAN, ("a", "b", "c")), "has 2 values, found 3"),
    (partial(x_of, ("a",), edges=(0, 1)), "belong to numeric, not to categorical"),
    (partial(Attribute, "x", NUMERIC, ("a",), edges=(0, 1)), "belong to categorical"),
    *((partial(any_of, name, BOOLEAN), "needs a name") for name in ("", 3, None)),
    (partial(Attribute, "\ud800", BOOLEAN), "is not valid Unicode text"),
    (partial(any_of, "x", "numeric", edges=(0, 1)), "must be an AttributeKind"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_declares_no_attribute_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        make()


def test_zero_and_minus_zero_are_one_value() -> None:
    assert Attribute("x", AttributeKind.CATEGORICAL, (-0.0, 1.5)).values == (0.0, 1.5)
    with pytest.raises(SchemaError, match="declared twice|same text"):
        Attribute("x", AttributeKind.CATEGORICAL, (0.0, -0.0))


WIDE = 300_000


def written_out(count: int) -> Schema:
    return Schema(tuple(Attribute(f"item{i}", AttributeKind.BOOLEAN, values=(0, 1)) for i in range(count)))


def test_a_wide_schema_is_a_line_of_json_and_comes_back() -> None:
    schema = Schema.binary(WIDE)
    text = json.dumps(schema.to_json())
    assert len(text) < 100
    assert Schema.from_json(json.loads(text)) == schema
    assert len(pickle.dumps(schema)) < 1_000


def test_it_says_of_its_attributes_what_a_schema_that_lists_them_says() -> None:
    wide, listed = Schema.binary(7), written_out(7)
    assert tuple(wide.attributes) == tuple(listed.attributes)
    assert wide.attributes == listed.attributes
    assert wide.names == listed.names
    assert np.array_equal(wide.sizes, listed.sizes)
    assert np.array_equal(wide.offsets, listed.offsets)
    mine, other = (Domains.of(schema, occurring=False) for schema in (wide, listed))
    assert all(np.array_equal(getattr(mine, name), getattr(other, name)) for name in ("counts", "starts", "codes"))
    workload = "conjunctions:3,count=50,seed=2"
    assert parse_workload(workload, wide).fingerprint == parse_workload(workload, listed).fingerprint


@pytest.mark.parametrize("name", ["item07", "item7", "item-1", "item", "items", "item 1", "7", "item٣", "item1" * 9])
def test_a_name_that_no_column_has_is_refused(name: str) -> None:
    with pytest.raises(SchemaError, match="no attribute"):
        Schema.binary(7).index(name)


def test_names_are_found_by_themselves() -> None:
    schema = Schema.binary(3, ["milk", "bread", "item0"])
    assert [schema.index(name) for name in ("bread", "item0")] == [1, 2]
    assert schema.attributes[1].name == "bread"
    assert Schema.from_json(schema.to_json()) == schema
    assert schema != Schema.binary(3)
    assert schema.to_json()["binary_attributes"] == {"count": 3, "names": "milk\nbread\nitem0"}


@pytest.mark.parametrize(
    ("count", "names", "said"),
    [
        (0, None, "from 1 to"), (True, None, "from 1 to"), (2, ["a"], "1 names were given"),
        (2, ["a", "a"], "two columns are named 'a'"), (2, ["a", " "], "name number 2 is empty"),
        (2, ["a", 7], "name number 2 is 7, no text"), (2, ["a", "b\nc"], "line break"),
    ],
)  # fmt: skip
def test_what_declares_no_columns_is_refused(count: int, names: list[Any] | None, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        BinaryAttributes(count, names)


def test_files_that_declare_both_kinds_of_attributes_or_neither_are_refused() -> None:
    both = {**Schema.binary(2).to_json(), "attributes": []}
    with pytest.raises(SchemaError, match="not both"):
        Schema.from_json(both)
    with pytest.raises(SchemaError, match="'attributes' is missing"):
        Schema.from_json({"dpopt_schema": 1})
    for damaged in ({"count": "3"}, {"count": 3, "names": ["a", "b", "c"]}, {"count": 3, "also": 1}, 3):
        with pytest.raises(SchemaError, match="binary_attributes"):
            Schema.from_json({"dpopt_schema": 1, "binary_attributes": damaged})


def test_rules_speak_of_columns_by_name() -> None:
    rule = {"require": {"if": ["item7", "=", 1], "then": ["item250000", "=", 0]}}
    ruled = Schema.from_json({**Schema.binary(WIDE).to_json(), "rules": [rule]})
    assert ruled.circuit().attributes().tolist() == [7, 250_000]
    records = np.zeros((2, WIDE), dtype=np.int32)
    records[0, [7, 250_000]] = 1
    records[1, 7] = 1
    assert ruled.circuit().broken(records)[:, 0].tolist() == [True, False]


def days(**declared: Any) -> Attribute:
    usual = {"edges": ("01-01-2024", "01-07-2024", "01-01-2025"), "date_format": "%d-%m-%Y"}
    return Attribute(**{"name": "day", "kind": NUMERIC, **usual, **declared})


def test_dates_are_numbers_that_are_written_in_their_form() -> None:
    attribute = days(missing="", other="24-12-2024")
    assert attribute.label(1) == "[01-07-2024, 01-01-2025]"
    assert attribute.decoded() == ("01-04-2024", "01-10-2024", None)
    assert attribute.other_code == 1
    assert days(representatives=("02-01-2024", "03-08-2024")).decoded() == ("02-01-2024", "03-08-2024")
    schema = Schema((attribute, x_of(("A00", "I21"), prefix=3)), reading=(("separator", ";"),))
    written = schema.to_json()
    assert written["reading"] == {"separator": ";"}
    assert Schema.from_json(json.loads(json.dumps(written))) == schema
    assert pickle.loads(pickle.dumps(schema)) == schema


@pytest.mark.parametrize(
    ("form", "text", "day"),
    [
        ("%d%m%Y", "01112024", "2024-11-01"),
        ("%d%m%Y", "1112024", None),  # the 1st of November or the 11th of January
        ("%d%b%y", "1Nov24", "2024-11-01"),
        ("%Y-%m-%d", "2024-11-1\n", None),
    ],
)
def test_a_text_is_one_date_or_none_alike_in_schemas_and_tables(form: str, text: str, day: str | None) -> None:
    numbers, readable = parse_dates(pa.array([text]), form)
    assert readable.tolist() == [day is not None]
    if day is None:
        with pytest.raises(ValueError, match=text.strip()):
            date_number(text, form)
    else:
        assert numbers[0] == date_number(text, form) == date_number(day, "%Y-%m-%d")


def test_representatives_of_dates_are_dates_of_their_form() -> None:
    """By midpoints, noon of a day would come after its beginning in a strict rule, and both are written as that day."""
    days = age(date_format="%Y-%m-%d", edges=("2020-01-01", "2020-01-02", "2020-01-05"))
    assert [one % 86400 for one in days.representatives] == [0, 0]
    assert days.decoded() == ("2020-01-01", "2020-01-03")
    assert age(date_format="%Y-%m-%d", edges=(Seconds(5), Seconds(7))).representatives == (5.0,)


def test_records_of_dates_read_back_from_csv_and_parquet(tmp_path: Path) -> None:
    schema = Schema(
        (days(missing=""), days(name="at", edges=("2024-01-01 08", "2024-01-01 20"), date_format="%Y-%m-%d %H"))
    )
    records = np.array([[0, 0], [1, 0], [2, 0]], dtype=np.int32)
    for form in ("csv", "parquet"):
        write_records(tmp_path / f"t.{form}", schema, records, format=form)
        read = read_table(tmp_path / f"t.{form}", schema)
        assert np.array_equal(np.stack(read._columns, axis=1), records)
    kinds = pq.read_schema(tmp_path / "t.parquet").types
    assert list(map(str, kinds)) == ["date32[day]", "timestamp[ms]"]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: days(date_format="%d-%m"), "expected one such as"),
        (lambda: days(date_format="%Y-%d"), "none without those before it"),
        (lambda: days(date_format="%Y%Y"), "expected one such as"),
        (lambda: days(edges=("2024-01-01", "01-01-2025")), "the edge '2024-01-01' is not a date in the form"),
        (lambda: days(edges=("30-02-2024", "01-01-2025")), "the edge '30-02-2024' is not a date"),
        (lambda: days(missing="24-12-2024"), "also a number inside the bins"),
        (lambda: age(date_format="%y", edges=(0, 2e9)), "the edge 0 is not a date in the form '%y', such as '24'"),
        (lambda: days(date_format="%y %Y"), "expected one such as"),
        (lambda: x_of(("a",), date_format="%Y"), "a form of dates belongs to numeric"),
        (lambda: days(edges=("0000", "2024"), date_format="%Y"), "the edge '0000' is not a date in the form '%Y'"),
        (lambda: days(other=1.7e9), "'other' 1700000000.0 is not a date in the form '%d-%m-%Y', such as '31-01-2024'"),
        (lambda: days(representatives=(1.7e9, 1.8e9)), "the representative 1700000000.0 is not a date in the form"),
        (
            lambda: Schema.from_json(
                {
                    "dpopt_schema": 1,
                    "attributes": [{"name": "d", "type": "date", "format": "%Y", "edges": [2000, 2025]}],
                }
            ),
            "the edge 2000 is not a date in the form '%Y', such as '2024'",
        ),
        (lambda: age(decimals=0), "'decimals' is a number from 1 to 15"),
        (lambda: x_of(("a",), decimals=1), "belongs to numeric"),
        (lambda: age(prefix=2), "a prefix belongs to categorical"),
        (lambda: x_of(("ab",), prefix=0), "'prefix' is a number of characters"),
        (lambda: x_of(("abc",), prefix=2), "would never occur"),
        (lambda: x_of((12,), prefix=2), "would never occur"),
        (lambda: Schema((age(),), reading=(("sheet", "a"),)), "unknown key 'sheet'"),
        (lambda: Schema((age(),), reading=(("separator", 1),)), "is a text, true or false"),  # type: ignore[arg-type]
        (
            lambda: Schema.from_json(
                {"dpopt_schema": 1, "attributes": [{"name": "d", "type": "date", "edges": ["2024", "2025"]}]}
            ),
            "a date needs its 'format'",
        ),
    ],
)
def test_dates_and_prefixes_that_contradict_themselves_are_refused(make: Callable[[], object], said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        make()
