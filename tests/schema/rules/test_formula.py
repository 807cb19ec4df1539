"""Formulas and the codes that they name: what is true, what is refused, and in which words."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given

from dpopt.errors import SchemaError
from dpopt.schema import (
    Attribute,
    AttributeKind,
    Bin,
    Rule,
    Schema,
    all_of,
    allowed,
    any_of,
    at_least,
    at_most,
    compare,
    count,
    determines,
    equivalent,
    exactly,
    forbid,
    forbidden,
    implies,
    literal,
    negation,
    ordered,
)
from dpopt.schema.rules.code_sets import Columns, whole_numbers
from dpopt.schema.rules.formula import DEEPEST, Formula, Literal
from dpopt.schema.rules.rule import Form, rule_titles
from tests.schema.rules.rule_examples import FORMS

A, B, C = literal("a", "=", 1), literal("b", "in", ["x", "y"]), literal("n", "<", 3.0)

DESCRIBED = [
    (A, "a = 1"),
    (B, "b in {x, y}"),
    (literal("b", "not in", list("abcdefgh")), "b not in {a, b, c, d, e, f, ... 8 in all}"),
    (literal("b", "=", ""), "b = ''"),
    (literal("b", "!=", None), "b != missing"),
    (literal("b", "is", "missing"), "b is missing"),
    (literal("n", "=", Bin(2)), "n = bin 2"),
    (C, "n < 3"),
    (all_of(A, any_of(B, C)), "a = 1 and (b in {x, y} or n < 3)"),
    (negation(all_of(A, B)), "not (a = 1 and b in {x, y})"),
    (implies(A, all_of(B, C)), "if a = 1 then (b in {x, y} and n < 3)"),
    (equivalent(A, negation(B)), "a = 1 exactly if not (b in {x, y})"),
    (at_least(1, [A, B]), "at least 1 of (a = 1; b in {x, y})"),
    (at_most(0, [A]), "at most 0 of (a = 1)"),
    (exactly(1, [A] * 8), "exactly 1 of (a = 1; a = 1; a = 1; a = 1; a = 1; a = 1; ... 8 in all)"),
    (compare("n", "<", "m", by="representative"), "n < m (by representatives)"),
    (
        compare([(2, "n"), (-1, "m"), (-0.5, count(A))], "<=", 3, by="every value", missing="fails"),
        "2 * n - m - 0.5 * count of (a = 1) <= 3 (for every value of the bins), and none is missing",
    ),
    (
        compare([(2, "n"), (-1000, 1), (3, -2), (1.5, 3), (-1, 0.5)], ">=", 0, by="representative"),
        "2 * n - 1000 - 6 + 1.5 * 3 - 0.5 >= 0 (by representatives)",
    ),
    (compare([(1000, 1)], "<", count(A)), "1000 < count of (a = 1)"),
    (compare("n", ">", 3, by="representative", missing="holds"), "n > 3 (by representatives), or a number is missing"),
    (forbid(A), "never: a = 1"),
    (forbidden(["a", "b"], [[1, ["x", "y"]]]), "(a, b) is none of: 1, {x, y}"),
    (allowed(["a"], [[1], [2], [3], [4]]), "(a) is one of: 1; 2; 3; ... 4 in all"),
    (determines("a", "b", [(1, "x")]), "a determines b, by a table of 1 row"),
    (determines("a", "b", [(1, "x"), (2, "y")], both_ways=True), "a and b determine each other, by a table of 2 rows"),
    (ordered(["n", "m", "k"], by="every value"), "n <= m <= k (for every value of the bins, where given)"),
    (
        ordered(["n", "m"], by="representative", strict=True, missing="fails"),
        "n < m (by representatives, and all given)",
    ),
]


@pytest.mark.parametrize(("form", "text"), DESCRIBED, ids=[text for _, text in DESCRIBED])
def test_a_rule_is_described_in_words(form: Form, text: str) -> None:
    assert Rule(form).describe() == text
    assert Rule(form).title() == text
    assert Rule(form, "short").title() == "short"
    assert Rule(form, "short").describe() == text


def test_a_long_rule_has_a_title_of_bounded_length() -> None:
    title = Rule(any_of(*[literal("a", "=", "x" * 90)] * 5)).title()
    assert len(title) == 200
    assert title.endswith("...")


def test_rules_of_the_same_words_have_different_titles() -> None:
    assert rule_titles([Rule(A), Rule(B), Rule(A)]) == ("a = 1", "b in {x, y}", "a = 1 (rule number 3)")


def test_two_rules_of_one_name_are_refused() -> None:
    with pytest.raises(SchemaError, match="rule number 2 has the same name as an earlier one: 'r'; rename one"):
        rule_titles([Rule(A, "r"), Rule(B, "r")])


@given(FORMS)
def test_a_rule_survives_pickle(form: Form) -> None:
    assert pickle.loads(pickle.dumps(Rule(form, "r"))) == Rule(form, "r")


REFUSED = [
    (lambda: literal(3, "=", 1), "expected the name of an attribute, found 3"),  # type: ignore[arg-type]
    (lambda: literal("a", "==", 1), "the relation is one of =, .*; found '=='; did you mean '='?"),
    (lambda: literal("a", "in", 1), "'a' in: expected a list of values, found 1"),
    (lambda: literal("a", "not in", []), "'a' not in: expected a list of values"),
    (lambda: literal("a", "=", [1]), "'a' =: expected one value, found .*; use 'in'"),
    (lambda: literal("a", "<", True), "'a' <: expected a finite number, or a date as its column writes it, found true"),
    (
        lambda: literal("a", ">", float("nan")),
        "'a' >: expected a finite number, or a date as its column writes it, found NaN",
    ),
    (lambda: literal("a", "is", "there"), "'a' is: expected missing or given, found \"there\""),
    (lambda: literal("a", "=", float("inf")), "values are text, finite numbers"),
    (lambda: literal("a", "in", [1, (2,)]), "values are text, finite numbers"),  # type: ignore[list-item]
    (lambda: Bin(-1), "a bin is given by its number, 0, 1, ...; found -1"),
    (lambda: Bin(True), "a bin is given by its number"),
    (all_of, "and: expected one formula or more"),
    (any_of, "or: expected one formula or more"),
    (lambda: all_of("a"), 'expected a formula, such as .* found "a"'),  # type: ignore[arg-type]
    (lambda: negation(True), "expected a formula"),  # type: ignore[arg-type]
    (lambda: implies(A, None), "expected a formula"),  # type: ignore[arg-type]
    (lambda: equivalent(1, A), "expected a formula"),  # type: ignore[arg-type]
    (lambda: at_least(3, [A, B]), "at least 3 of 2 conditions: expected a number from 0 to 2"),
    (lambda: at_most(-1, [A]), "the number of formulas must be a whole number of at least 0, found -1"),
    (lambda: exactly(1, []), "exactly: expected one formula or more"),
    (lambda: exactly(True, [A]), "the number of formulas must be a whole number of at least 0, found True"),
    (lambda: exactly(1.0, [A]), "the number of formulas must be a whole number of at least 0, found 1.0"),  # type: ignore[arg-type]
    (count, "count: expected one formula or more"),
    (
        lambda: compare("n", "<", 3, by="every"),
        "'by' is representative or every value; found 'every'; did you mean 'every value'?",
    ),
    (lambda: compare("n", "<", 3, by="representative", missing="ok"), "'missing' is holds or fails"),
    (lambda: compare("n", "in", 3, by="representative"), "the comparison is one of <, <=, >, >=, =, !="),
    (lambda: compare(None, "<", 3), "expected a finite number, the name of a numeric attribute or a count"),  # type: ignore[arg-type]
    (lambda: compare(float("nan"), "<", 3), "expected a finite number"),
    (lambda: compare([], "<", 3), "a sum needs at least one pair"),
    (lambda: compare([(1,)], "<", 3), r"expected a pair \(coefficient, term\)"),  # type: ignore[list-item]
    (lambda: compare([("2", "n")], "<", 3), r"expected a pair \(coefficient, term\)"),  # type: ignore[list-item]
    (lambda: forbid("a"), "expected a formula"),  # type: ignore[arg-type]
    (lambda: forbidden([], [[1]]), "names of the attributes: expected a list that is not empty"),
    (lambda: forbidden(["a", "a"], [[1, 2]]), "an attribute is named twice: a, a"),
    (lambda: forbidden(["a"], []), "combinations: expected a list that is not empty"),
    (
        lambda: forbidden(["a", "b"], [[("x", "y")]]),
        r'a combination has 1 value for the 2 attributes a, b: \[\["x", "y"\]\]',
    ),
    (lambda: literal("a", "in", ()), r"expected a list of values, found \[\]"),
    (lambda: literal("a", "=", ("none", Bin(2))), r'found \["none", {"bin": 2}\]; use \'in\''),
    (
        lambda: literal("a", "=", {"bin": 0}),  # type: ignore[arg-type]
        r'found {"bin": 0}; in Python a bin is Bin\(number\), from dpopt.queries',
    ),
    (lambda: literal("a", "=", {(1,): 0}), r"found {\(1,\): 0}$"),  # type: ignore[arg-type]
    (lambda: forbidden(["a", "b"], ["xy"]), "a combination: expected a list"),
    (lambda: allowed(["a"], [[[]]]), "values: expected a list that is not empty"),
    (lambda: allowed(["a"], [[{}]]), "values are text"),  # type: ignore[list-item]
    (lambda: determines("a", "a", [(1, 1)]), "an attribute is named twice"),
    (lambda: determines("a", "b", []), "the mapping: expected a list that is not empty"),
    (lambda: determines("a", "b", [(1, 2, 3)]), "a row of the mapping is .* found"),  # type: ignore[list-item]
    (lambda: determines("a", "b", [(1, 2)], both_ways=1), "'both_ways' is true or false"),  # type: ignore[arg-type]
    (lambda: ordered(["n"], by="representative"), "expected at least 2 attributes, found 1"),
    (lambda: ordered(["n", "m"], by="value"), "'by' is representative or every value"),
    (lambda: ordered(["n", "m"], by="representative", missing=""), "'missing' is holds or fails"),
    (lambda: ordered(["n", "m"], by="representative", strict=1), "'strict' is true or false"),  # type: ignore[arg-type]
    (lambda: Rule("a = 1"), "expected a formula"),  # type: ignore[arg-type]
    (lambda: Rule(A, None), "the name of a rule is text, found null"),  # type: ignore[arg-type]
    (lambda: Rule(A, "a\x1b[31m"), r"'a\\x1b\[31m' has the control character U\+001B; leave it out"),
    *(
        (lambda bad=bad: Rule(A, f"a{bad}b"), f"control character U.{ord(bad):04X}; leave it out")
        for bad in "\n\r\t\0\x7f\x9b\u2028\u202e\ud800"
    ),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_is_no_rule_is_refused(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(SchemaError, match=message):
        make()


def test_names_of_rules_may_use_any_script() -> None:
    assert Rule(A, "Größe \u2264 年\u00a0\U0001f600").name == "Größe \u2264 年\u00a0\U0001f600"


def test_formulas_nested_too_deeply_are_refused() -> None:
    formula: Formula = A
    for _ in range(DEEPEST - 1):
        formula = negation(formula)
    assert Rule(formula).describe().count("not") == DEEPEST - 1
    with pytest.raises(SchemaError, match="nested more than 50 deep"):
        Rule(negation(formula))
    with pytest.raises(SchemaError, match="nested more than 50 deep"):
        Rule(forbid(compare(count(formula), "=", 1)))


def test_a_formula_that_is_written_out_to_a_monster_is_refused() -> None:
    formula: Formula = A
    for _ in range(30):
        formula = all_of(formula, formula)
    with pytest.raises(SchemaError, match="more than 100,000 parts"):
        Rule(formula)


def test_a_literal_of_several_values_keeps_them_in_order() -> None:
    assert Literal("a", "in", ["y", "x"]).value == ("y", "x")  # type: ignore[arg-type]


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
        with pytest.raises(SchemaError, match="is true of some values of the bin .* and false of others; move an edge"):
            codes(condition)
    else:
        assert codes(condition) == found


def test_values_in_order_are_compared_and_missing_ones_are_not() -> None:
    grade = Attribute("grade", AttributeKind.CATEGORICAL, ("low", "mid", "high"), missing="?", ordered=True)
    for relation, true in (("<", [0]), ("<=", [0, 1]), (">", [2]), (">=", [1, 2])):
        schema = Schema((grade,), rules=(Rule(literal("grade", relation, "mid"), "x"),))
        broken = schema.circuit().broken(np.arange(4, dtype=np.int32)[:, None])[:, 0]
        assert np.flatnonzero(~broken).tolist() == true
    with pytest.raises(SchemaError, match="a missing value has no place in the order"):
        Schema((grade,), rules=(Rule(literal("grade", "<", "?"), "x"),))


REFUSED_VALUES = [
    (literal("jbo", "=", "nurse"), "the schema has no attribute 'jbo'; did you mean 'job'?"),
    (
        literal("job", "=", "nurs"),
        "'job' has no value 'nurs'; did you mean 'nurse'. .there are clerk, nurse, 1, 1.5, missing",
    ),
    (literal("job", "=", "1"), "'job' has no value '1'; write it without quotes"),
    (literal("job", "=", "missing"), "'job' has no value 'missing'; name a missing value by null or its text '.'"),
    (literal("job", "=", 1.5), "'job' has no value '1.5'; write it as text, in quotes"),
    (literal("job", "in", ["clerk", "qqqqqq"]), "'job' has no value 'qqqqqq'; name a declared value"),
    (literal("job", "=", Bin(0)), "'job' has no value 'bin 0'"),
    (literal("job", "<", 3), "'job' is categorical; '<' is for numbers and for values in order: use 'in'"),
    (literal("insured", ">=", 1), "'insured' is boolean"),
    (literal("insured", "=", 1), "'insured' has no value '1'"),
    (literal("insured", "=", None), "'insured' has no missing values, and null"),
    (literal("insured", "is", "given"), "'insured' is never missing: its declaration has no 'missing'"),
    (
        literal("age", "=", "[3, 15)"),
        r"did you mean '\[3, 15.5\)'\? Or name a bin by {\"bin\": number}, in Python Bin\(number\) \(there are",
    ),
    (literal("age", "=", Bin(4)), "'age' has no value 'bin 4'; name a declared value or a bin by"),
    (literal("age", "=", True), "'age' has no value 'true'"),
    (
        literal("age", "=", 4),
        r"'age' = 4 is undecided: the bin \[3, 15.5\) holds other values too; .* {\"bin\": 1} \(in Python Bin\(1\)\)",
    ),
    (literal("age", "=", 4.5), "'age' cannot be 4.5; its values lie in"),
    (literal("age", "=", 20), r"'age' cannot be 20; its values lie in \[0, 18.5\]"),
    (literal("height", "=", 1.5), "'height' = 1.5 is undecided"),
    (literal("height", "=", ""), "'height' has no value"),
    (literal("age", "<", "3"), "'age' <: expected a finite number, found \"3\"$"),
    (
        literal("age", "<", "height"),
        (
            '\'age\' <: expected a finite number, found "height"; to compare two columns use {"ordered": ."age", '
            '"height"., '
        ),
    ),
]


@pytest.mark.parametrize(("condition", "message"), REFUSED_VALUES, ids=[one.describe() for one, _ in REFUSED_VALUES])
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
