"""The page on rules: each example in JSON is a rule over the schema that the page declares.

Its Python is run by tests/repository/test_documents.py, like that of all documents.
"""

from __future__ import annotations

import json
import re

import pytest

from dpopt import schema as rules
from dpopt.schema import Schema
from dpopt.schema.rules.rule_json import _FORMULA_KEYS, _RULE_KEYS, rule_from_json, rule_to_json
from tests.repository.test_documents import blocks
from tests.source_code import ROOT

BUILDERS = [name for name, one in vars(rules).items() if callable(one) and name.islower()] + ["Bin"]
OWNED = ("insured", "owner", "pension")
PAGE = (ROOT / "docs" / "how-to" / "rules.md").read_text(encoding="utf-8")


def declared() -> Schema:
    """Return the schema of the page's first block of Python."""
    names: dict[str, object] = {}
    first = next(block for block in blocks(PAGE) if block.language == "python")
    exec(compile(first.text.replace("schema.write", "str"), "docs/how-to/rules.md", "exec"), names)
    schema = names["schema"]
    assert isinstance(schema, Schema)
    return schema


def examples() -> list[dict[str, object]]:
    """Return the rules in the page's blocks of JSON; each block holds one or more, one after the other."""
    found = []
    for block in blocks(PAGE):
        rest = block.text.strip() if block.language == "json" else ""
        while rest:
            item, end = json.JSONDecoder().raw_decode(rest)
            found.append(item)
            rest = rest[end:].strip()
    return found


@pytest.mark.parametrize("example", examples(), ids=json.dumps)
def test_each_example_is_a_rule_over_the_schema_of_the_page(example: dict[str, object]) -> None:
    rule = rule_from_json(example, 0)
    schema = Schema(declared().attributes, rules=(rule,))
    assert rule_from_json(rule_to_json(rule), 0) == rule
    assert schema.circuit().number_of_rules == 1


def test_each_builder_stands_in_the_table_with_an_example_that_is_a_rule() -> None:
    schema, names = declared(), {name: getattr(rules, name) for name in [*BUILDERS, "Rule"]}
    names |= {letter: rules.literal(word, "=", True) for letter, word in zip("abc", OWNED, strict=True)}
    table = re.findall(r"^\| `(\w+)` \| `(.+?\))` \|$", PAGE, re.MULTILINE)
    assert sorted(name for name, _ in table) == sorted(BUILDERS)
    for name, example in table:
        assert f"{name}(" in example
        rule = rules.Rule(eval(example, names))
        assert Schema(schema.attributes, rules=(rule,)).circuit().number_of_rules == 1


def test_the_page_shows_each_form_of_rules_and_each_key() -> None:
    keys = {key for forms in (_RULE_KEYS, _FORMULA_KEYS) for form in forms.values() for key in form}
    assert {key for key in keys if f'"{key}"' not in PAGE} == set()
    heads = {key for example in examples() for key in example}
    assert set(_RULE_KEYS) <= heads
