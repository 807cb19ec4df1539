"""Rules in JSON: one form, read strictly; schemas with rules."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.errors import SchemaError
from dpopt.schema import Rule, Schema
from dpopt.schema.rules.rule import Form
from dpopt.schema.rules.rule_json import rule_from_json, rule_to_json
from tests.schema.rules.rule_examples import FORMS, SCHEMA, schema_with
from tests.schema.rules.test_compile_rules import circuit_row
from tests.source_code import ROOT

A, B = ["colour", "=", "red"], ["n", "is", "missing"]

WRITTEN: list[dict[str, object]] = [
    {"require": A},
    {"require": ["n", "=", {"bin": 1}]},
    {"require": ["n", "not in", [{"bin": 1}, "[0, 1)", None]]},
    {"forbid": {"and": [A, B]}},
    {"and": [A, B]},
    {"or": [A, {"not": B}]},
    {"not": A},
    {"if": A, "then": {"if": B, "then": A}},
    {"iff": [A, B]},
    {"at_least": 1, "of": [A, B]},
    {"at_most": 1, "of": [A, B]},
    {"exactly": 1, "of": [A, B]},
    {"compare": ["n", "<=", "m"], "by": "representative"},
    {"compare": ["n", "!=", 3], "by": "every value", "missing": "fails"},
    {"compare": [[[2, "n"], [-0.5, {"count": [A, B]}], [1, 3]], "<", {"count": [A]}], "by": "representative"},
    {"forbidden": ["colour", "n"], "combinations": [["red", [{"bin": 0}, None]]]},
    {"allowed": ["colour", "smoker"], "combinations": [["red", True], [["green", 3, "?"], False]]},
    {"determines": ["smoker", "colour"], "mapping": [[True, ["red", "green"]], [False, [3, None]]], "both_ways": True},
    {"ordered": ["n", "m"], "strict": True, "by": "every value", "missing": "fails"},
]


@pytest.mark.parametrize("written", WRITTEN, ids=json.dumps)
@pytest.mark.parametrize("named", [{}, {"name": "r"}], ids=["unnamed", "named"])
def test_a_rule_is_read_and_written_in_one_form(written: dict[str, object], named: dict[str, object]) -> None:
    rule = rule_from_json(named | written, 0)
    assert rule.name == named.get("name", "")
    assert rule_to_json(rule) == named | written
    assert schema_with(rule).circuit().number_of_rules == 1


@given(FORMS, st.sampled_from(["", "r", "é"]))
def test_json_gives_the_same_rule_back(form: Form, name: str) -> None:
    rule = Rule(form, name)
    assert rule_from_json(json.loads(json.dumps(rule_to_json(rule))), 3) == rule


def test_options_may_be_left_out() -> None:
    ordered = rule_from_json({"ordered": ["n", "m"], "by": "representative"}, 0)
    assert rule_to_json(ordered)["missing"] == "holds"
    assert rule_to_json(ordered)["strict"] is False
    mapping = rule_from_json({"determines": ["smoker", "colour"], "mapping": [[[True, False], "red"]]}, 0)
    assert rule_to_json(mapping)["both_ways"] is False


def test_a_formula_that_is_required_is_that_formula() -> None:
    assert rule_from_json({"require": {"and": [A, B]}}, 0) == rule_from_json({"and": [A, B]}, 0)


REFUSED: list[tuple[object, str]] = [
    (["n", "<", 3], r"rule number 7: expected a JSON object \{...\}"),
    ({}, "rule number 7: expected the keys of one form out of require, forbid, .* none of them in {}"),
    ({"name": "x"}, "rule number 7 .'x'.: expected the keys of one form"),
    ({"name": "", "require": A}, "'name' is text that is not empty"),
    ({"name": 3, "require": A}, "'name' is text that is not empty, found 3"),
    ({"name": "a\nb", "require": A}, r"rule number 7 .'a\\nb'.: the name of a rule is printed .* U\+000A"),
    ({"requires": A}, "unknown key 'requires'; did you mean 'require'?"),
    ({"require": A, "forbid": A}, "expected the keys of one form .* more than one: require, forbid"),
    ({"require": A, "by": "representative"}, "unknown key 'by'"),
    ({"require": "n < 3"}, r"expected a literal \[name, relation, value\] or a formula \{...\}, found \"n < 3\""),
    ({"require": []}, r"a literal is \[name, relation, value\], found \[\]"),
    ({"require": ["n", "<"]}, r"a literal is \[name, relation, value\]"),
    ({"require": [3, "<", 3]}, "the name of an attribute, found 3"),
    ({"require": ["n", "=", {"bins": 3}]}, r"expected a value or \{\"bin\": number\}, found \{\"bins\": 3\}"),
    ({"require": ["n", "=", {"bin": "3"}]}, "a bin is given by its number"),
    ({"require": ["n", "in", [[1]]]}, r"values are text, .* found \[1\]"),
    ({"require": ["n", "in", []]}, "expected a list of values"),
    ({"require": {"forbid": A}}, "unknown key 'forbid'"),
    ({"require": {"require": A}}, "unknown key 'require'"),
    ({"require": {"and": [A], "or": [A]}}, "more than one: and, or"),
    ({"require": {"name": "inner", "and": [A]}}, "unknown key 'name'"),
    ({"and": A}, "expected a literal"),
    ({"and": []}, "and: expected one formula or more"),
    ({"or": {}}, "formulas: expected a list"),
    ({"if": A}, "'if' needs the key 'then' beside it"),
    ({"then": A}, "expected the keys of one form"),
    ({"if": A, "then": A, "else": A}, "unknown key 'else'"),
    ({"iff": [A]}, "'iff' has two formulas, found 1"),
    ({"at_most": 1}, "'at_most' needs the key 'of' beside it"),
    ({"at_most": "1", "of": [A]}, "the number of formulas must be a whole number of at least 0, found '1'"),
    ({"exactly": 2, "of": [A]}, "exactly 2 of 1 conditions"),
    ({"compare": ["n", "<"], "by": "representative"}, r"'compare' is \[expression, relation, expression\]"),
    ({"compare": ["n", "<", 3], "by": 3}, "'by' is representative or every value; found 3"),
    ({"compare": ["n", "<", 3], "by": None}, "'by' is null"),
    ({"compare": ["n", "<", 3], "by": "bins"}, "'by' is representative or every value"),
    ({"compare": ["n", "<", None], "by": "representative"}, "a finite number, the name of a numeric attribute"),
    ({"compare": ["n", "<", True], "by": "representative"}, "expected a finite number"),
    ({"compare": ["n", "<", {"sum": []}], "by": "representative"}, "unknown key 'sum'"),
    ({"compare": ["n", "<", [1, "m"]], "by": "representative"}, "expected a pair .* found 1"),
    ({"compare": ["n", "<", [["m", 1]]], "by": "representative"}, "expected a pair"),
    ({"compare": ["n", "<", [[True, "m"]]], "by": "representative"}, "expected a pair"),
    ({"compare": ["n", "<", []], "by": "representative"}, "a sum needs at least one pair"),
    ({"forbidden": ["n", "m"]}, "'forbidden' needs the key 'combinations' beside it"),
    ({"forbidden": "n", "combinations": [[1]]}, "the names of the attributes: expected a list"),
    ({"forbidden": ["n", 3], "combinations": [[1, 1]]}, "the name of an attribute, found 3"),
    ({"allowed": ["n"], "combinations": [3]}, "a combination: expected a list"),
    ({"allowed": ["n"], "combinations": []}, "combinations: expected a list that is not empty"),
    (
        {"allowed": ["n"], "combinations": [[["doctor"], 2]]},
        r'a combination has 2 values for the 1 attribute n: \["doctor", 2\]$',
    ),
    (
        {"forbidden": ["n", "m"], "combinations": [["doctor"]]},
        r'a combination has 1 value for the 2 attributes n, m: \["doctor"\]$',
    ),
    ({"require": ["n", "=", ["none", "clerk"]]}, r'expected one value, found \["none", "clerk"\]; use \'in\''),
    ({"forbidden": ["n"], "combinations": [[]]}, r"expected a list that is not empty, found \[\]"),
    ({"determines": ["n"], "mapping": [[1, 1]]}, "'determines' names two attributes, found 1"),
    ({"determines": ["n", "m"], "mapping": [[1, 1, 1]]}, r"a row of the mapping is .*; found \[1, 1, 1\]"),
    ({"determines": ["n", "m"], "mapping": [[1, 1]], "both_ways": "yes"}, "'both_ways' is true or false"),
    ({"ordered": ["n"], "by": "representative"}, "expected at least 2 attributes, found 1"),
    ({"ordered": ["n", "m"], "by": "representative", "strict": 1}, "'strict' is true or false, found 1"),
    ({"ordered": ["n", "m"], "by": "representative", "missing": None}, "'missing' is null"),
]


@pytest.mark.parametrize(("written", "message"), REFUSED, ids=[json.dumps(written) for written, _ in REFUSED])
def test_an_object_that_is_no_rule_is_refused_by_its_number(written: object, message: str) -> None:
    with pytest.raises(SchemaError, match=message) as refusal:
        rule_from_json(written, 6)
    assert str(refusal.value).startswith("rule number 7")
    assert str(refusal.value).count("rule number 7") == 1


def test_a_refusal_names_the_rule() -> None:
    with pytest.raises(SchemaError, match="rule number 2 .'children'.: 'x' <: expected a finite number"):
        rule_from_json({"name": "children", "require": ["x", "<", None]}, 1)


def test_formulas_nested_too_deeply_are_refused() -> None:
    formula: object = A
    for _ in range(500):
        formula = {"not": formula}
    with pytest.raises(SchemaError, match="rule number 1: formulas are nested more than 50 deep"):
        rule_from_json({"require": formula}, 0)


def test_the_rules_of_a_schema_are_part_of_its_json_and_of_its_fingerprint() -> None:
    rules = [{"name": "r", "if": A, "then": B}, {"require": ["n", "<", 3]}]
    schema = type(SCHEMA).from_json(SCHEMA.to_json() | {"rules": rules})
    assert schema.to_json()["rules"] == rules
    assert schema != SCHEMA
    assert type(SCHEMA).from_json(schema.to_json()) == schema
    assert schema.fingerprint() != SCHEMA.fingerprint()
    assert "rules" not in SCHEMA.to_json()


SCHEMAS = ROOT / "experiments" / "schemas"
WITH_RULES = ("adult-rules.json", "nist-acs-rules.json", "tic-tac-toe.json")
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))

pytestmark = pytest.mark.skipif(not SCHEMAS.is_dir(), reason="the experiments are not part of this copy")


def end_positions() -> set[str]:
    """Return the boards on which a game can end, found by playing every game."""
    ends: set[str] = set()
    seen = {"b" * 9}
    waiting = ["b" * 9]
    while waiting:
        board = waiting.pop()
        if "b" not in board or any(board[i] == board[j] == board[k] != "b" for i, j, k in LINES):
            ends.add(board)
            continue
        mark = "x" if board.count("x") == board.count("o") else "o"
        for square in range(9):
            after = board[:square] + mark + board[square + 1 :]
            if board[square] == "b" and after not in seen:
                seen.add(after)
                waiting.append(after)
    return ends


def test_the_rules_of_tic_tac_toe_leave_exactly_the_958_boards_on_which_a_game_ends() -> None:
    schema = Schema.read(SCHEMAS / "tic-tac-toe.json")
    sizes = schema.sizes.tolist()
    assert sizes == [3] * 9 + [2]
    records = np.array(list(itertools.product(*(range(size) for size in sizes))), dtype=np.int32)
    feasible = records[~schema.circuit().broken(records).any(axis=1)]
    assert len(feasible) == 958
    boards = {}
    for record in feasible.tolist():
        texts = [attribute.label(code) for attribute, code in zip(schema.attributes, record, strict=True)]
        boards["".join(texts[:9])] = texts[9]
    assert set(boards) == end_positions()
    for board, outcome in boards.items():
        won = any(board[i] == board[j] == board[k] == "x" for i, j, k in LINES)
        assert outcome == ("positive" if won else "negative")


@pytest.mark.parametrize("name", WITH_RULES)
def test_a_committed_schema_is_read_and_written_again(name: str) -> None:
    schema = Schema.read(SCHEMAS / name)
    assert not schema.draft
    assert all(rule.name for rule in schema.rules)
    assert Schema.from_json(schema.to_json()) == schema


@pytest.mark.parametrize("name", WITH_RULES)
def test_no_committed_rule_weighs_or_is_said_twice(name: str) -> None:
    circuit = Schema.read(SCHEMAS / name).circuit()
    assert circuit.number_of_weighted_rule() is None
    for rule in range(circuit.number_of_rules):
        alone = circuit.only([rule])
        rows = [circuit_row(alone, gate) for gate in range(len(alone))]
        assert len(rows) == len(set(rows))
