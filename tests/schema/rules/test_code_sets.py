from __future__ import annotations

import pytest

from dpopt.errors import SchemaError
from dpopt.schema import Attribute, AttributeKind, Bin, Schema, literal
from dpopt.schema.rules.code_sets import Columns, whole_numbers
from dpopt.schema.rules.formula import Literal

NUMERIC = AttributeKind.NUMERIC
SCHEMA = Schema(
    (
        Attribute("job", AttributeKind.CATEGORICAL, ("clerk", "nurse", 1, "1.5"), missing="?"),
        Attribute("insured", AttributeKind.BOOLEAN),
        Attribute("age", NUMERIC, edges=(0, 3, 15.5, 18, 18.5), integer=True, missing="N"),
        Attribute("height", NUMERIC, edges=(1, 1.5, 2)),
    )
)
COLUMNS = Columns(SCHEMA.attributes, SCHEMA.index)


def codes(condition: Literal) -> list[int]:
    """Return the codes for which a literal is true."""
    position, found = COLUMNS.literal(condition)
    assert SCHEMA.names[position] == condition.attribute
    return [code for code in range(SCHEMA.attributes[position].size) if found >> code & 1]


# Ages: [0, 3), [3, 15.5), [15.5, 18), [18, 18.5], missing.
ACCEPTED = [
    (literal("job", "=", "nurse"), [1]),
    (literal("job", "=", 1), [2]),
    (literal("job", "!=", "nurse"), [0, 2, 3, 4]),
    (literal("job", "in", ["?", "clerk"]), [0, 4]),
    (literal("job", "not in", [None, "clerk"]), [1, 2, 3]),
    (literal("job", "is", "missing"), [4]),
    (literal("job", "is", "given"), [0, 1, 2, 3]),
    (literal("insured", "=", True), [1]),
    (literal("insured", "!=", True), [0]),
    (literal("age", "=", "[3, 15.5)"), [1]),
    (literal("age", "=", Bin(3)), [3]),
    (literal("age", "=", 18), [3]),
    (literal("age", "!=", 18.0), [0, 1, 2, 4]),
    (literal("age", "=", None), [4]),
    (literal("age", "=", "N"), [4]),
    (literal("age", "<", 3), [0]),
    (literal("age", "<=", 2), [0]),
    (literal("age", "<=", 2.5), [0]),
    (literal("age", "<", 16), [0, 1]),
    (literal("age", "<=", 15), [0, 1]),
    (literal("age", ">", 15), [2, 3]),
    (literal("age", ">", 15.7), [2, 3]),
    (literal("age", ">=", 18), [3]),
    (literal("age", ">", 17), [3]),
    (literal("age", "<", 0), []),
    (literal("age", ">=", -1), [0, 1, 2, 3]),
    (literal("age", "<=", 18), [0, 1, 2, 3]),
    (literal("age", ">", 18), []),
    (literal("height", "<", 1.5), [0]),
    (literal("height", ">=", 1.5), [1]),
    (literal("height", "<=", 2), [0, 1]),
    (literal("height", "<=", 1.75), None),
    (literal("height", "<=", 1.5), None),
    (literal("height", ">", 1.5), None),
    (literal("height", "<", 2), None),
    (literal("height", ">=", 2), None),
    (literal("height", "<", 2.1), [0, 1]),
    (literal("height", ">", 2), []),
    (literal("height", ">", 0.9), [0, 1]),
    (literal("height", ">", 1), None),
    (literal("age", "<", 2), None),
    (literal("age", ">=", 17), None),
]


@pytest.mark.parametrize(("condition", "found"), ACCEPTED, ids=[one.describe() for one, _ in ACCEPTED])
def test_a_literal_is_true_of_the_codes_that_it_names(condition: Literal, found: list[int] | None) -> None:
    if found is None:
        with pytest.raises(
            SchemaError, match="is true of some values of the bin .* and false of others; move an edge"
        ):
            codes(condition)
    else:
        assert codes(condition) == found


REFUSED = [
    (literal("jbo", "=", "nurse"), "the schema has no attribute 'jbo'; did you mean 'job'?"),
    (
        literal("job", "=", "nurs"),
        "'job' has no value 'nurs'; did you mean 'nurse'. .there are clerk, nurse, 1, 1.5, missing",
    ),
    (literal("job", "=", "1"), "'job' has no value '1'; write it without quotes"),
    (
        literal("job", "=", "missing"),
        "'job' has no value 'missing'; name a missing value by null or its text '.'",
    ),
    (literal("job", "=", 1.5), "'job' has no value '1.5'; write it as text, in quotes"),
    (literal("job", "in", ["clerk", "qqqqqq"]), "'job' has no value 'qqqqqq'; name a declared value"),
    (literal("job", "=", Bin(0)), "'job' has no value 'bin 0'"),
    (literal("job", "<", 3), "'job' is categorical; '<' is for numeric attributes: use 'in'"),
    (literal("insured", ">=", 1), "'insured' is boolean"),
    (literal("insured", "=", 1), "'insured' has no value '1'"),
    (literal("insured", "=", None), "'insured' has no value 'missing'"),
    (literal("insured", "is", "given"), "'insured' is never missing: its declaration has no 'missing'"),
    (
        literal("age", "=", "[3, 15)"),
        r"did you mean '\[3, 15.5\)'\? Or name a bin by {\"bin\": number}, in Python Bin\(number\) \(there are",
    ),
    (literal("age", "=", Bin(4)), "'age' has no value 'bin 4'; name a declared value or a bin by"),
    (literal("age", "=", True), "'age' has no value 'true'"),
    (
        literal("age", "=", 4),
        r"'age' = 4 cannot be told: the bin \[3, 15.5\) holds other values too; .* {\"bin\": 1} \(in Python Bin\(1\)\)",
    ),
    (literal("age", "=", 4.5), "'age' cannot be 4.5; its values lie in"),
    (literal("age", "=", 20), r"'age' cannot be 20; its values lie in \[0, 18.5\]"),
    (literal("height", "=", 1.5), "'height' = 1.5 cannot be told"),
    (literal("height", "=", ""), "'height' has no value"),
]


@pytest.mark.parametrize(("condition", "message"), REFUSED, ids=[one.describe() for one, _ in REFUSED])
def test_a_literal_that_the_schema_cannot_tell_is_refused(condition: Literal, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        codes(condition)


def test_the_whole_numbers_of_a_bin_are_those_inside_it() -> None:
    age = SCHEMA.attributes[2]
    assert [whole_numbers(age, code) for code in range(4)] == [(0, 2), (3, 15), (16, 17), (18, 18)]
    closed = Attribute("n", NUMERIC, edges=(-2.5, 0, 2), integer=True)
    assert [whole_numbers(closed, code) for code in range(2)] == [(-2, -1), (0, 2)]


def test_true_and_false_name_the_values_of_any_boolean() -> None:
    words = Schema((Attribute("smoker", AttributeKind.BOOLEAN, ("no", "yes")),))
    columns = Columns(words.attributes, words.index)
    assert columns.set_of("smoker", [False]) == columns.set_of("smoker", ["no"]) == 0b01
    assert columns.set_of("smoker", [True]) == columns.set_of("smoker", ["yes"]) == 0b10
    turned = Schema((Attribute("child", AttributeKind.BOOLEAN, (True, False)),))
    assert Columns(turned.attributes, turned.index).set_of("child", [True]) == 0b01


def test_what_to_compare_instead_is_said() -> None:
    with pytest.raises(SchemaError) as refusal:
        codes(literal("age", "<", 2))
    assert '{"compare": ["age", "<", 2], "by": "representative"}' in str(refusal.value)
