"""A rule that names a missing value by null: where values can be missing it holds, and elsewhere the words are clear."""

from __future__ import annotations

from typing import Any

import pytest

import dpopt
from dpopt.errors import SchemaError

KINDS: dict[str, dict[str, Any]] = {
    "date": {"type": "date", "format": "%Y-%m-%d", "edges": ["2024-01-01", "2024-02-01", "2024-03-01"]},
    "number": {"type": "numeric", "edges": [0, 1, 2]},
    "duration": {"type": "duration", "unit": "days", "edges": [0, 1, 2]},
    "text": {"type": "categorical", "values": ["a", "b"]},
    "boolean": {"type": "boolean"},
}


def ruled(kind: str, relation: str, value: object, **more: object) -> dpopt.Schema:
    rule = {"name": "known", "forbid": ["x", relation, value]}
    return dpopt.Schema.from_json(
        {"dpopt_schema": 1, "attributes": [{"name": "x", **KINDS[kind], **more}], "rules": [rule]}
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("relation", "value"), [("=", None), ("!=", None), ("in", [None])])
def test_null_is_a_missing_value_or_refused_in_clear_words(kind: str, relation: str, value: object) -> None:
    assert ruled(kind, relation, value, missing="").circuit().number_of_rules == 1
    with pytest.raises(SchemaError, match="'x' has no missing values, and null .* leave the condition out, or declare"):
        ruled(kind, relation, value).circuit()


def test_the_word_missing_is_not_read_as_a_date() -> None:
    with pytest.raises(SchemaError, match="'x' has no value 'missing'; name a missing value by null or its text"):
        ruled("date", "=", "missing", missing="").circuit()
