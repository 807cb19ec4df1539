from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from dpopt.errors import SchemaError
from dpopt.schema import Attribute, AttributeKind, Rule, Schema, literal
from tests.strategies import schemas

AGE = Attribute("age", AttributeKind.NUMERIC, edges=(0, 20, 30), integer=True, missing="?")
SEX = Attribute("sex", AttributeKind.CATEGORICAL, ("F", "M"), occurring=(0,))
SMOKER = Attribute("smoker", AttributeKind.BOOLEAN)
SCHEMA = Schema((AGE, SEX, SMOKER))

WRITTEN = {
    "dpopt_schema": 1,
    "draft": False,
    "attributes": [
        {"name": "age", "type": "numeric", "edges": [0, 20, 30], "integer": True, "missing": "?"},
        {"name": "sex", "type": "categorical", "values": ["F", "M"], "occurring": ["F"]},
        {"name": "smoker", "type": "boolean"},
    ],
}


def declared(**changes: object) -> dict[str, object]:
    """A schema of one attribute, with keys changed; None takes a key away."""
    attribute: dict[str, object] = {"name": "age", "type": "numeric", "edges": [0, 20, 30]}
    attribute.update(changes)
    return {"dpopt_schema": 1, "attributes": [{key: value for key, value in attribute.items() if value is not None}]}


def test_flat_columns_number_the_codes_of_all_attributes() -> None:
    assert SCHEMA.names == ("age", "sex", "smoker")
    assert SCHEMA.sizes.tolist() == [3, 2, 2]
    assert SCHEMA.sizes.dtype == np.int32
    assert SCHEMA.offsets.tolist() == [0, 3, 5, 7]
    assert SCHEMA.offsets.dtype == np.int64
    assert SCHEMA.number_of_columns == 7
    assert len(SCHEMA) == 3


def test_a_schema_survives_pickle_and_copy_and_its_arrays_cannot_be_changed() -> None:
    assert pickle.loads(pickle.dumps(SCHEMA)) == SCHEMA
    assert copy.deepcopy(SCHEMA) == SCHEMA
    for schema in (SCHEMA, pickle.loads(pickle.dumps(SCHEMA))):
        for array in (schema.sizes, schema.offsets):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1


def test_an_attribute_is_found_by_its_name_and_another_name_is_refused_with_what_there_is() -> None:
    assert SCHEMA.index("smoker") == 2
    with pytest.raises(SchemaError, match=r"no attribute 'smokr'; did you mean 'smoker'\?"):
        SCHEMA.index("smokr")
    with pytest.raises(SchemaError, match=r"there are 'age', 'sex', 'smoker'$"):
        SCHEMA.index("qqqqqq")
    many = Schema(tuple(Attribute(f"x{i}", AttributeKind.BOOLEAN) for i in range(20)))
    with pytest.raises(SchemaError, match="'x7' and 12 more"):
        many.index("qqqqqq")


def test_no_attribute_and_two_of_one_name_are_refused() -> None:
    with pytest.raises(SchemaError, match="two attributes are named 'age'"):
        Schema((AGE, AGE))
    with pytest.raises(SchemaError, match="at least one attribute"):
        Schema(())


def test_the_json_form_is_as_documented() -> None:
    assert SCHEMA.to_json() == WRITTEN
    assert Schema.from_json(WRITTEN) == SCHEMA


@given(schemas())
def test_json_gives_the_same_schema_back(schema: Schema) -> None:
    again = Schema.from_json(json.loads(json.dumps(schema.to_json())))
    assert again == schema
    assert again.fingerprint() == schema.fingerprint()
    assert [[type(v) for v in a.decoded()] for a in again.attributes] == [
        [type(v) for v in a.decoded()] for a in schema.attributes
    ]


@given(schemas())
def test_labels_of_different_codes_differ(schema: Schema) -> None:
    for attribute in schema.attributes:
        labels = [attribute.label(code) for code in range(attribute.size)]
        assert len(set(labels)) == attribute.size == len(attribute.decoded())


@given(schemas())
def test_representatives_lie_in_their_own_bin(schema: Schema) -> None:
    for attribute in schema.attributes:
        for code, number in enumerate(attribute.representatives):
            assert attribute.edges[code] <= number <= attribute.edges[code + 1]
            assert number < attribute.edges[code + 1] or code == len(attribute.edges) - 2


def test_the_fingerprint_tells_schemas_apart() -> None:
    others = [
        Schema((AGE, SEX, SMOKER), draft=True),
        Schema((SEX, AGE, SMOKER)),
        Schema((AGE, Attribute("sex", AttributeKind.CATEGORICAL, ("M", "F"), occurring=(0,)), SMOKER)),
        Schema((AGE, SEX, Attribute("smoker", AttributeKind.BOOLEAN, (0, 1)))),
    ]
    assert len({SCHEMA.fingerprint(), *(other.fingerprint() for other in others)}) == 5


def test_a_schema_is_written_and_read(tmp_path: Path) -> None:
    SCHEMA.write(tmp_path / "schema.json")
    assert Schema.read(tmp_path / "schema.json") == SCHEMA
    lines = (tmp_path / "schema.json").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line.strip(" ,"))["name"] for line in lines if '"name"' in line] == list(SCHEMA.names)
    assert [path.name for path in tmp_path.iterdir()] == ["schema.json"]


def test_the_bits_of_a_schema_are_one_boolean_per_flat_column() -> None:
    bits = SCHEMA.as_bits()
    assert bits.names == ("age=[0, 20)", "age=[20, 30]", "age=missing", "sex=F", "sex=M", "smoker=false", "smoker=true")
    assert bits.sizes.tolist() == [2] * 7
    assert all(bit.values == (0, 1) and type(bit.values[0]) is int for bit in bits.attributes)
    assert [bit.occurring for bit in bits.attributes] == [None, None, None, None, (0,), None, None]


def test_rules_survive_pickle_and_are_left_out_of_the_bits() -> None:
    rules = (Rule(literal("age", "<", 20), "young"), Rule(literal("smoker", "=", False)))
    schema = Schema(SCHEMA.attributes, rules=rules)
    again = pickle.loads(pickle.dumps(schema))
    assert again == schema
    assert again.circuit().fingerprint() == schema.circuit().fingerprint()
    assert schema.circuit() is schema.circuit()
    assert schema.as_bits() == SCHEMA.as_bits()


def test_rules_do_not_change_the_fingerprint_of_a_schema_without_them() -> None:
    pinned = "babc5ef963def75aa6ca06e9a98b6e0e83084228f7480a9ac0beca0652a0491d"
    assert SCHEMA.fingerprint() == Schema(SCHEMA.attributes, rules=()).fingerprint() == pinned
    assert Schema.from_json(WRITTEN | {"rules": []}).fingerprint() == pinned


def test_bins_and_range_are_short_for_edges_of_equal_width() -> None:
    schema = Schema.from_json(declared(edges=None, bins=3, range=[0, 0.3]))
    assert schema.attributes[0].edges == (0.0, 0.1, 0.2, 0.3)


def test_tokens_of_a_boolean_are_read_and_written() -> None:
    obj = declared(type="boolean", edges=None, false="no", true="yes", occurring=["yes"])
    schema = Schema.from_json(obj)
    assert schema.attributes[0].values == ("no", "yes")
    assert schema.attributes[0].occurring == (1,)
    assert schema.to_json()["attributes"] == obj["attributes"]


def test_occurring_names_bins_by_index_and_missing_by_its_text() -> None:
    schema = Schema.from_json(declared(missing="?", occurring=["?", 1]))
    assert schema.attributes[0].occurring == (1, 2)
    listed = schema.to_json()["attributes"]
    assert isinstance(listed, list)
    assert listed[0]["occurring"] == [1, "?"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"edgs": [0, 1]}, r"attribute 'age' \(numeric\): unknown key 'edgs'; did you mean 'edges'\?"),
        ({"values": ["a"]}, r"attribute 'age' \(numeric\): unknown key 'values'"),
        ({"name": None}, "attribute number 1: expected a 'name' .* found none"),
        ({"name": 3}, "attribute number 1: expected a 'name' .* found 3"),
        ({"type": None}, "attribute 'age': expected a 'type' .* found none"),
        (
            {"type": "number"},
            "expected a 'type' out of categorical, boolean, numeric, date, duration; found \"number\"",
        ),
        ({"edges": None}, "needs 'edges', or 'bins' with 'range'"),
        ({"bins": 3}, "give either 'edges', or 'bins' with 'range'"),
        ({"edges": "0,1"}, "'edges': expected a list"),
        ({"edges": [0, "1"]}, "edge '1' is not a number"),
        ({"edges": [0, float("nan")]}, "edge nan is not finite"),
        ({"edges": [0, True]}, "edge True is not a number"),
        ({"edges": [3, 1]}, "attribute 'age': the edges must increase, found 3 before 1"),
        ({"edges": None, "bins": 0, "range": [0, 1]}, "'bins' is a whole number from 1 to 65,535, found 0"),
        ({"edges": None, "bins": 2, "range": [1, 1]}, r"'range' is \[low, high\] with low below high"),
        ({"edges": None, "bins": 2, "range": [1]}, r"'range' is \[low, high\]"),
        ({"edges": None, "bins": 2}, "needs 'edges', or 'bins' with 'range'"),
        ({"integer": 1}, "'integer' is true or false, found 1"),
        ({"missing": 0}, "'missing' is the text of a missing value"),
        ({"occurring": []}, "'occurring' is empty"),
        ({"occurring": [2]}, "'occurring' names 2; expected a bin index or the missing text"),
        ({"occurring": ["x"]}, "'occurring' names \"x\""),
        ({"occurring": [True]}, "'occurring' names true"),
        ({"occurring": 1}, "'occurring': expected a list"),
        ({"type": "categorical", "edges": None}, "the key 'values' is missing"),
        ({"type": "categorical", "edges": None, "values": []}, "no values are declared"),
        ({"type": "categorical", "edges": None, "values": [None]}, "None cannot be a value"),
        ({"type": "categorical", "edges": None, "values": [[1]]}, "values are text, finite numbers, true"),
        ({"type": "categorical", "edges": None, "values": [float("inf")]}, "inf cannot be a value"),
        ({"type": "categorical", "edges": None, "values": ["a"], "other": "b"}, "not one of the declared"),
        (
            {"type": "categorical", "edges": None, "values": ["a"], "occurring": ["b"]},
            "'occurring' names \"b\"; expected a declared value or the missing text",
        ),
        ({"type": "boolean", "edges": None, "true": "yes"}, "give both 'false' and 'true', or neither"),
    ],
)
def test_an_attribute_that_contradicts_itself_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema.from_json(declared(**changes))


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        ([], r"schema: expected a JSON object \{...\}, found \[\]"),
        ({"attributes": []}, 'expected "dpopt_schema": 1, found no such key'),
        ({"dpopt_schema": 2, "attributes": []}, 'expected "dpopt_schema": 1, found 2'),
        ({"dpopt_schema": True, "attributes": []}, 'expected "dpopt_schema": 1, found true'),
        ({"dpopt_schema": 1}, "the key 'attributes' is missing"),
        ({"dpopt_schema": 1, "attributes": []}, "at least one attribute"),
        ({"dpopt_schema": 1, "attributes": {}}, "'attributes': expected a list"),
        ({"dpopt_schema": 1, "attributes": [3]}, "attribute number 1: expected a JSON object"),
        ({"dpopt_schema": 1, "draft": 0, "attributes": []}, "'draft' is true or false, found 0"),
        ({"dpopt_schema": 1, "attributes": WRITTEN["attributes"], "rules": {}}, "schema: 'rules': expected"),
        ({"dpopt_schema": 1, "attributes": WRITTEN["attributes"], "rules": ["r"]}, "rule number 1: expected"),
        ({"dpopt_schema": 1, "attributes": WRITTEN["attributes"], "rule": []}, "unknown key 'rule'; did you"),
        ({"dpopt_schema": 1, "atributes": []}, "unknown key 'atributes'; did you mean 'attributes'"),
    ],
)
def test_an_object_that_is_no_schema_is_refused(obj: dict[str, object], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema.from_json(obj)
