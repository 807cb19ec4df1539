from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest

from dpopt.errors import SchemaError
from dpopt.queries.workloads.workload import parse_workload
from dpopt.schema.attribute import Attribute, AttributeKind
from dpopt.schema.binary_attributes import BinaryAttributes
from dpopt.schema.domains import Domains
from dpopt.schema.schema import Schema

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
    assert all(
        np.array_equal(getattr(mine, name), getattr(other, name)) for name in ("counts", "starts", "codes")
    )
    workload = "conjunctions:3,count=50,seed=2"
    assert parse_workload(workload, wide).fingerprint == parse_workload(workload, listed).fingerprint


@pytest.mark.parametrize(
    "name", ["item07", "item7", "item-1", "item", "items", "item 1", "7", "item٣", "item1" * 9]
)
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
        (0, None, "from 1 to"),
        (True, None, "from 1 to"),
        (2, ["a"], "1 names were given"),
        (2, ["a", "a"], "two columns are named 'a'"),
        (2, ["a", " "], "name number 2 is empty"),
        (2, ["a", 7], "name number 2 is 7, no text"),
        (2, ["a", "b\nc"], "line break"),
    ],
)
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
