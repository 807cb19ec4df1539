"""Dates, times of day, durations and numbers are different kinds: no rule compares two of them, and no draft proposes it."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpopt
from dpopt.errors import SchemaError
from dpopt.schema import Schema
from dpopt.schema.finer import rough_differences

KINDS: dict[str, dict[str, Any]] = {
    "dates": {"type": "date", "format": "%Y-%m-%d", "edges": ["1970-01-01", "1970-01-02", "1970-01-03"]},
    "times of day": {"type": "date", "format": "%I:%M %p", "edges": ["01:00 AM", "02:00 AM", "03:00 AM"]},
    "numbers": {"type": "numeric", "edges": [0, 1, 2]},
    "durations in minutes": {"type": "duration", "unit": "minutes", "edges": [0, 1, 2]},
    "durations in hours": {"type": "duration", "unit": "hours", "edges": [0, 1, 2]},
}
RULES: dict[str, Any] = {
    "ordered": {"ordered": ["a", "b"]},
    "ordered for every value": {"ordered": ["a", "b"], "by": "every value"},
    "compare": {"compare": ["a", "<=", "b"]},
    "compare a sum": {"compare": [[[1, "a"], [-1, "b"]], "<=", 0]},
    "compare within a condition": {
        "if": {"compare": ["a", "=", "b"], "by": "representative", "missing": "fails"},
        "then": ["c", "=", "x"],
    },
}


def declared(first: str, second: str, *rules: dict[str, Any]) -> Schema:
    columns = [{"name": "a", **KINDS[first]}, {"name": "b", **KINDS[second]}]
    columns.append({"name": "c", "type": "categorical", "values": ["x", "y"]})
    return Schema.from_json({"dpopt_schema": 1, "attributes": columns, "rules": [*rules]})


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("first", "second"), list(permutations(KINDS, 2)))
def test_no_rule_compares_two_kinds(first: str, second: str, rule: str) -> None:
    with pytest.raises(
        SchemaError, match=f"'a' holds {first} and 'b' holds {second}: a rule compares columns of one kind"
    ):
        declared(first, second, RULES[rule])
    assert rough_differences(declared(first, second)) is None


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_one_kind_are_compared(kind: str) -> None:
    for rule in RULES.values():
        assert len(declared(kind, kind, rule).rules) == 1
    noted = rough_differences(declared(kind, kind, RULES["ordered"]))
    assert (noted is not None) == ("durations" not in kind)  # they have no lengths


def test_a_number_beside_a_length_and_a_duration_is_still_another_kind() -> None:
    columns = [{"name": name, **KINDS[kind]} for name, kind in (("start", "dates"), ("b", "numbers"))]
    columns.append({"name": "a", **KINDS["durations in minutes"]})
    columns.append({"name": "end", "type": "numeric", "edges": [0, 5], "after": "start", "unit": "minutes"})

    def schema(*terms: str) -> Schema:
        rule = {"compare": [[[1, one] for one in terms], "<=", 9]}
        return Schema.from_json({"dpopt_schema": 1, "attributes": columns, "rules": [rule]})

    assert schema("end", "a").rules
    assert schema("end", "b").rules
    with pytest.raises(SchemaError, match="of one kind"):
        schema("end", "a", "b")


def test_a_draft_proposes_and_notes_nothing_across_kinds() -> None:
    rows = 3_000
    random = np.random.default_rng(4)
    days = np.datetime64("2023-01-01") + random.integers(0, 600, rows)
    minutes = random.integers(0, 700, rows)
    stay = random.integers(0, 30, rows)
    clock, later = (
        [f"{one // 60:02d}:{one % 60:02d}" for one in times.tolist()]
        for times in (minutes, minutes + random.integers(100, 700, rows))
    )
    table = pd.DataFrame(
        {
            "came": days.astype(str),
            "booked": (days - random.integers(100, 9000, rows)).astype(str),
            "arrived": clock,
            "left": later,
            "wait minutes": pd.to_timedelta(stay, unit="min"),
            "stay minutes": stay * 100 + random.integers(0, 90, rows),
        }
    )
    draft = dpopt.infer_schema(table)
    kinds = {one.name: one.quantity for one in draft.schema.attributes}
    assert set(kinds.values()) == {"dates", "times of day", "durations in minutes", "numbers"}
    rules: list[dict[str, Any]] = list(draft.rules)
    ordered = [rule["ordered"] for rule in rules if "ordered" in rule]
    assert ["arrived", "left"] in ordered
    assert ["booked", "came"] in ordered
    assert all(len({kinds[name] for name in names}) == 1 for names in ordered)
    (note,) = (one for one in draft.notes if one.startswith("differences"))
    assert note.startswith("differences between 'came', 'booked' and between 'arrived', 'left', such")
