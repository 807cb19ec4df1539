"""Rules on dates: the form of the column is read in every place where a rule names a value, and bare numbers nowhere."""

from __future__ import annotations

import json
import pickle
import re
from itertools import product
from typing import Any

import numpy as np
import pytest

from dpopt.errors import SchemaError
from dpopt.schema import Attribute, AttributeKind, Rule, Schema, compare, literal, ordered
from dpopt.schema.rules.rule_json import rule_from_json

# Of each form three months, of which the second is February 2024, as people write the last day of January and the first
# of February, and something that is not a date in the form.
FORMS = {
    "%Y-%m-%d": ("2024-01-01 2024-02-01 2024-03-01 2024-04-01", "2024-01-31", "2024-02-01", "01-02-2024"),
    "%d.%m.%y": ("01.01.24 01.02.24 01.03.24 01.04.24", "31.01.24", "01.02.24", "2024-02-01"),
    "%Y%m%d": ("20240101 20240201 20240301 20240401", "20240131", "20240201", "2024-02-01"),
    "%B %d, %Y": (
        "January 01, 2024|February 01, 2024|March 01, 2024|April 01, 2024",
        "January 31, 2024",
        "February 01, 2024",
        "February 30, 2024",
    ),
    "%Y-%m-%d %H:%M": (
        "2024-01-01 00:00|2024-02-01 00:00|2024-03-01 00:00|2024-04-01 00:00",
        "2024-01-31 23:59",
        "2024-02-01 00:00",
        "2024-02-01",
    ),
    "%Y-%m": ("2024-01 2024-02 2024-03 2024-04", "2024-01", "2024-02", "2024"),
}


def dated(form: str) -> tuple[dict[str, Any], str, str, str]:
    """Return an attribute as JSON, the last date of its first bin, the first one of its second, and what is no date."""
    listed, last, first, wrong = FORMS[form]
    edges = listed.split("|") if "|" in listed else listed.split()
    declared = {"name": "day", "type": "date", "format": form, "edges": edges, "missing": ""}
    return declared, last, first, wrong


def schema_of(form: str, rule: dict[str, Any] | Rule | None = None) -> Schema:
    attributes = [dated(form)[0], {"name": "x", "type": "numeric", "edges": [0, 1, 2], "integer": True}]
    plain = Schema.from_json({"dpopt_schema": 1, "attributes": attributes})
    if rule is None:
        return plain
    made = rule if isinstance(rule, Rule) else rule_from_json(rule, 0)
    return Schema(plain.attributes, rules=(made,))


def allowed(schema: Schema) -> list[int]:
    """Return the codes of the day, that of missing last, that the rules allow."""
    records = np.zeros((4, 2), dtype=np.int32)
    records[:, 0] = range(4)
    return [code for code in range(4) if not schema.circuit().broken(records[[code]]).any()]


EXPECTED = {"<": [0], "<=": [0], ">=": [1, 2], ">": [1, 2]}


@pytest.mark.parametrize("relation", EXPECTED)
@pytest.mark.parametrize("form", FORMS)
def test_a_condition_names_dates_as_the_column_writes_them(form: str, relation: str) -> None:
    _, last, first, _ = dated(form)
    limit = first if relation in {"<", ">="} else last
    for rule in (
        {"require": ["day", relation, limit]},
        Rule(literal("day", relation, limit)),
        {"forbid": {"not": ["day", relation, limit]}},
    ):
        schema = schema_of(form, rule)
        assert allowed(schema) == EXPECTED[relation]
        assert limit in schema.rules[0].describe()
        assert Schema.from_json(schema.to_json()) == schema == pickle.loads(pickle.dumps(schema))


@pytest.mark.parametrize("relation", EXPECTED)
@pytest.mark.parametrize("form", FORMS)
def test_a_comparison_by_representatives_takes_dates(form: str, relation: str) -> None:
    _, _, first, _ = dated(form)
    sides: tuple[tuple[Any, str, Any], ...] = (
        ("day", relation, first),
        ([(2, "day")], relation, [(2, first)]),
        ([(1, "day"), (-1, first)], relation, 0),
    )
    for one in sides:
        schema = schema_of(form, Rule(compare(*one)))
        days = schema.attributes[0].representatives
        least = schema.attributes[0].number(first)
        meant = {"<": int.__lt__, "<=": int.__le__, ">=": int.__ge__, ">": int.__gt__}[relation]
        assert allowed(schema) == [*(code for code in range(3) if meant(int(days[code]), int(least))), 3]
        assert Schema.from_json(schema.to_json()) == schema
        assert [one.name for one in schema.attributes] == ["day", "x"]


def test_a_date_alone_in_its_bin_is_named_wherever_a_value_is() -> None:
    months = schema_of("%Y-%m").attributes
    for rule in (
        {"require": ["day", "=", "2024-02"]},
        {"require": ["day", "in", ["2024-02"]]},
        {"require": ["day", "not in", ["2024-01", "[2024-03, 2024-04]", None]]},
        {"allowed": ["day", "x"], "combinations": [["2024-02", "[0, 1)"]]},
        {
            "determines": ["x", "day"],
            "mapping": [[{"bin": 0}, "2024-02"], [{"bin": 1}, ["2024-01", "[2024-03, 2024-04]", None]]],
        },
    ):
        assert allowed(Schema(months, rules=(rule_from_json(rule, 0),))) == [1]
    with pytest.raises(SchemaError, match="'day' = 2024-02-01 is undecided: the bin .2024-02-01, 2024-03-01"):
        schema_of("%Y-%m-%d", {"require": ["day", "=", "2024-02-01"]})
    with pytest.raises(SchemaError, match=r"cannot be 2025-02; its values lie in \[2024-01, 2024-04\]"):
        schema_of("%Y-%m", {"require": ["day", "=", "2025-02"]})


NUMBERS = (2024, 20240201, 1706745600, 1706745600.0, 19754, 0)


@pytest.mark.parametrize(("form", "number"), list(product(FORMS, NUMBERS)))
def test_bare_numbers_and_other_forms_are_refused_with_the_form(form: str, number: float) -> None:
    _, _, first, wrong = dated(form)
    for found in (number, wrong):
        for rule in (
            {"require": ["day", ">=", found]},
            {"require": ["day", "=", found]},
            {"require": ["day", "in", [found]]},
            {"forbidden": ["day", "x"], "combinations": [[found, {"bin": 0}]]},
            {"compare": ["day", "<", found]},
            {"compare": [[[1, "day"], [-1, first]], "<=", found]},
        ):
            if rule == {"compare": [[[1, "day"], [-1, first]], "<=", 0]}:
                continue  # a difference is compared with 0
            with pytest.raises(SchemaError, match=f"in the form '{re.escape(form)}'.*, such as"):
                schema_of(form, rule)


def test_dates_are_not_compared_with_numbers_of_other_columns() -> None:
    for form in (compare("day", "<", "x"), ordered(["x", "day"])):
        with pytest.raises(SchemaError, match="a rule compares columns of one kind"):
            schema_of("%Y-%m-%d", Rule(form))
    with pytest.raises(SchemaError, match="compared with dates, such as '2024-01-01', and not with numbers"):
        schema_of("%Y-%m-%d", Rule(compare("day", "<", [(2, "day")])))
    with pytest.raises(SchemaError, match="did you mean 'day'.*'dya' is not a date in the form"):
        schema_of("%Y-%m-%d", Rule(compare("day", "<", "dya")))


def test_every_value_of_a_bin_is_a_date_of_the_form() -> None:
    """The last day of a month comes before the first of the next, and nothing lies between them."""
    first, second = (
        Attribute(name, AttributeKind.NUMERIC, edges=edges, date_format="%Y-%m-%d")  # type: ignore[arg-type]
        for name, edges in (("a", ("2024-01-01", "2024-02-01", "2024-04-01")), ("b", ("2024-01-31", "2024-03-01")))
    )
    gap = compare([(1, "a"), (-1, "b")], "<=", [(1, "2024-01-30"), (-1, "2024-01-30")], by="every value")
    strict = ordered(["a", "b"], by="every value", strict=True)
    record = np.zeros((1, 2), dtype=np.int32)
    for form, broken in ((gap, False), (strict, True)):
        assert Schema((first, second), rules=(Rule(form),)).circuit().broken(record).any() == broken


def test_an_undecided_date_shows_a_comparison_that_can_be_used() -> None:
    with pytest.raises(SchemaError) as refused:
        schema_of("%Y-%m-%d", {"require": ["day", ">=", "2024-02-10"]})
    shown = str(refused.value).split("representatives: ")[1].split(" [the rule")[0]
    schema = schema_of("%Y-%m-%d", json.loads(shown))
    assert allowed(schema) == [1, 2, 3]
