from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpopt.errors import SchemaError
from dpopt.schema import (
    Attribute,
    AttributeKind,
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
from dpopt.schema.rules.formula import DEEPEST, Comparison, Formula, LinearSum, Negation
from dpopt.schema.rules.rule import Form, Rule
from dpopt.schema.rules.threshold_circuit import NO_RULES, ThresholdCircuit
from tests.schema.rules.rule_examples import (
    FORMS,
    FORMULAS,
    NUMBERS,
    RECORDS,
    RELATIONS,
    SCHEMA,
    combinations,
    decoded,
    mappings,
    obeys,
    orderings,
    schema_with,
)

CATEGORICAL = AttributeKind.CATEGORICAL
SOME = RECORDS[np.random.default_rng(1).permutation(len(RECORDS))[:90]]


def circuit_of(*forms: Form) -> ThresholdCircuit:
    return schema_with(*(Rule(form, f"rule {number}") for number, form in enumerate(forms))).circuit()


def expected(form: Form, records: np.ndarray[tuple[int, ...], np.dtype[np.int32]]) -> list[bool]:
    return [not obeys(form, decoded(record)) for record in records]


@given(FORMULAS)
@settings(max_examples=200)
def test_a_formula_is_broken_by_exactly_the_records_of_which_it_is_false(form: Form) -> None:
    assert circuit_of(form).broken(SOME)[:, 0].tolist() == expected(form, SOME)


@given(st.one_of(combinations(), mappings(), orderings()))
@settings(max_examples=150)
def test_a_short_form_is_broken_by_exactly_the_records_that_it_excludes(form: Form) -> None:
    assert circuit_of(form).broken(SOME)[:, 0].tolist() == expected(form, SOME)


@given(st.lists(FORMS, min_size=2, max_size=4))
@settings(max_examples=60)
def test_rules_of_one_schema_do_not_touch_each_other(forms: list[Form]) -> None:
    broken = circuit_of(*forms).broken(SOME)
    for rule, form in enumerate(forms):
        assert broken[:, rule].tolist() == circuit_of(form).broken(SOME)[:, 0].tolist()


@pytest.mark.parametrize("by", ["representative", "every value"])
@pytest.mark.parametrize("relation", sorted(RELATIONS))
def test_two_columns_are_compared_as_their_values_one_by_one(relation: str, by: str) -> None:
    for left, right in itertools.product(NUMBERS, repeat=2):
        if by == "every value" and relation == "!=" and {left, right} not in ({"n", "m"}, {"r", "q"}):
            continue
        for missing in ("holds", "fails"):
            comparison = Comparison(left, relation, right, by, missing)
            for form in (comparison, Negation(comparison)):
                broken = circuit_of(form).broken(SOME)[:, 0].tolist()
                assert broken == expected(form, SOME), form


@pytest.mark.parametrize("relation", ["<", "<=", ">", ">=", "="])
@pytest.mark.parametrize("number", [-1, 0, 1, 1.5, 2, 3.5])
def test_an_end_that_a_bin_does_not_hold_is_never_a_value(relation: str, number: float) -> None:
    # 1.5 is the open end of the middle bin of r, 0.5 and 3 are ends of others: sums meet the number at open ends.
    for terms in (((1, "r"),), ((-1, "r"),), ((1, "r"), (1, "q")), ((1, "r"), (-2, "q")), ((2, "q"), (-1, "n"))):
        form = Comparison(LinearSum(terms), relation, number, "every value", "holds")
        assert circuit_of(form).broken(RECORDS)[:, 0].tolist() == expected(form, RECORDS), form


X, Y = literal("colour", "=", "red"), literal("smoker", "=", True)
N, M = literal("n", "<", 3), literal("m", "<", 2)


def shape(*forms: Form) -> tuple[int, int]:
    """Return the number of gates, and of those that are required."""
    circuit = circuit_of(*forms)
    return len(circuit), int(circuit.required.sum())


def test_no_rules_make_no_gates() -> None:
    assert schema_with().circuit() is NO_RULES
    assert SCHEMA.circuit() is NO_RULES


def test_a_required_and_is_several_required_gates() -> None:
    assert shape(all_of(X, Y, any_of(N, M))) == (3, 3)
    assert shape(negation(any_of(X, all_of(Y, N)))) == (2, 2)


def test_this_or_all_of_those_is_several_required_gates() -> None:
    assert shape(implies(X, all_of(Y, N, M))) == (3, 3)
    assert shape(equivalent(X, all_of(Y, N, M))) == (4, 4)


def parity(number: int) -> Schema:
    """Return booleans b0, b1, ... of which "exactly if", nested, says how many may be false: an even number."""
    names = [f"b{place}" for place in range(number)]
    form: Formula = literal(names[0], "=", True)
    for name in names[1:]:
        form = equivalent(literal(name, "=", True), form)
    return Schema(tuple(Attribute(name, AttributeKind.BOOLEAN) for name in names), rules=(Rule(form),))


@pytest.mark.parametrize("number", range(2, 13))
def test_nested_equivalences_are_true_of_every_other_record(number: int) -> None:
    schema = parity(number)
    records = np.array(list(itertools.product((0, 1), repeat=number)), dtype=np.int32)
    false = np.array([attribute.label(0) == "false" for attribute in schema.attributes])
    falses = np.where(false, records == 0, records == 1).sum(axis=1)
    assert schema.circuit().broken(records)[:, 0].tolist() == (falses % 2 == 1).tolist()


@pytest.mark.parametrize("number", [14, 20, 30, 40, DEEPEST])
def test_nested_equivalences_have_a_few_gates_for_each_level(number: int) -> None:
    circuit = parity(number).circuit()
    assert len(circuit) <= 6 * number
    assert circuit.children.size <= 8 * number
    records = np.random.default_rng(number).integers(0, 2, size=(500, number)).astype(np.int32)
    broken = circuit.broken(records)[:, 0]
    odd = records.sum(axis=1) % 2 == 1
    assert broken.any()
    assert (broken == (broken[0] ^ (odd != odd[0]))).all()  # another value of one attribute breaks or mends it


@pytest.mark.parametrize("number", [3, 6])
def test_a_few_nested_equivalences_are_required_gates_only(number: int) -> None:
    circuit = parity(number).circuit()
    assert len(circuit) == 2 ** (number - 1)
    assert circuit.required.all()


def skips(number: int) -> tuple[Attribute, ...]:
    return tuple(Attribute(f"b{place}", AttributeKind.BOOLEAN) for place in range(number))


def test_a_long_or_of_one_long_and_is_split_if_the_parts_need_not_be_copied_too_often() -> None:
    attributes = skips(2000)
    true = [literal(attribute.name, "=", True) for attribute in attributes]
    circuit = Schema(attributes, rules=(Rule(implies(true[0], all_of(*true[1:]))),)).circuit()
    assert (len(circuit), int(circuit.required.sum())) == (1999, 1999)
    nested = implies(true[0], all_of(true[1], implies(true[2], all_of(*true[3:]))))
    circuit = Schema(attributes, rules=(Rule(nested),)).circuit()
    assert (len(circuit), int(circuit.required.sum())) == (1998, 1998)
    both = any_of(*true[:1000], all_of(*true[1000:]))  # 1,000 gates over 1,001 attributes, if it were split
    circuit = Schema(attributes, rules=(Rule(both),)).circuit()
    assert (len(circuit), int(circuit.required.sum()), circuit.term_attributes.size) == (2, 1, 2000)


def test_literals_over_one_attribute_become_one_set() -> None:
    circuit = circuit_of(any_of(X, literal("colour", "=", "green"), Y))
    assert circuit.term_attributes.tolist() == [0, 1]
    assert circuit.values.tolist() == [1, 1, 0, 0, 0, 1]
    assert shape(all_of(literal("n", ">=", 1), literal("n", "<", 3))) == (1, 1)
    assert shape(exactly(2, [literal("n", "<", 1), literal("n", "<", 3), literal("n", ">=", 1)])) == (1, 1)


def test_a_count_of_conditions_is_one_gate_and_weighs_nothing() -> None:
    circuit = circuit_of(at_most(2, [X, Y, N, M]))
    assert len(circuit) == 1
    assert circuit.bounds.tolist() == [2]
    assert circuit.number_of_weighted_rule() is None


def test_conditions_on_one_attribute_that_overlap_are_counted_one_by_one() -> None:
    overlapping = [literal("n", "<", 1), literal("n", "<", 3), X, Y]
    circuit = circuit_of(at_least(3, overlapping))
    assert circuit.number_of_weighted_rule() is None
    assert len(circuit) == 2


def test_a_comparison_of_two_columns_is_a_few_clauses() -> None:
    circuit = circuit_of(compare("n", "<", "m", by="representative"))
    assert circuit.number_of_weighted_rule() is None
    assert circuit.required.all()
    assert len(circuit) <= 3


def test_a_comparison_of_three_columns_is_one_gate() -> None:
    circuit = circuit_of(compare([(1, "m"), (1, "r"), (-1, "q")], ">=", 1, by="every value"))
    assert shape(compare([(1, "m"), (1, "r"), (-1, "q")], ">=", 1, by="every value")) == (1, 1)
    assert circuit.number_of_weighted_rule() == 0


def test_a_mapping_has_one_gate_for_each_group_of_values() -> None:
    many = [Attribute(name, CATEGORICAL, tuple(f"v{i}" for i in range(60))) for name in ("a", "b")]
    table = [(f"v{i}", f"v{i // 10}") for i in range(60)]
    schema = Schema(tuple(many), rules=(Rule(determines("a", "b", table)),))
    assert len(schema.circuit()) == 6
    both = Rule(determines("a", "b", [(f"v{i}", f"v{59 - i}") for i in range(60)], both_ways=True))
    assert len(Schema(tuple(many), rules=(both,)).circuit()) == 60
    pairs = Rule(allowed(["a", "b"], [[f"v{i}", f"v{i // 10}"] for i in range(60)]))
    assert len(Schema(tuple(many), rules=(pairs,)).circuit()) == 6
    assert len(Schema(tuple(many), rules=(Rule(forbidden(["a", "b"], table)),)).circuit()) == 6


def test_the_same_part_of_a_rule_is_one_gate() -> None:
    part = all_of(X, Y)
    circuit = circuit_of(any_of(all_of(part, N), all_of(any_of(part, M), literal("r", "<", 0.5))))
    assert len(circuit) == len({circuit_row(circuit, gate) for gate in range(len(circuit))})


@given(FORMS)
def test_no_required_gate_is_part_of_another(form: Form) -> None:
    circuit = circuit_of(form)
    assert not circuit.required[circuit.children].any()
    used = np.zeros(len(circuit), dtype=np.bool_)
    used[circuit.children] = True
    assert (used | circuit.required).all()


@given(FORMS)
def test_numbers_of_a_gate_are_no_larger_than_its_bound(form: Form) -> None:
    circuit = circuit_of(form)
    assert circuit.values.min(initial=0) >= 0
    assert (circuit.coefficients <= circuit.bounds[circuit.gate_of_child()]).all()
    assert (circuit.term_ranges()[1] <= circuit.bounds[circuit.gate_of_term()]).all()


def circuit_row(circuit: ThresholdCircuit, gate: int) -> tuple[object, ...]:
    """Return all that a gate says, to tell gates apart."""
    terms = slice(circuit.term_starts[gate], circuit.term_starts[gate + 1])
    values = slice(circuit.value_starts[terms.start], circuit.value_starts[terms.stop])
    children = slice(circuit.child_starts[gate], circuit.child_starts[gate + 1])
    return (
        int(circuit.bounds[gate]),
        bool(circuit.required[gate]),
        tuple(circuit.term_attributes[terms].tolist()),
        tuple(circuit.values[values].tolist()),
        tuple(circuit.children[children].tolist()),
    )


def test_a_rule_that_nothing_can_break_is_one_gate_that_is_always_true() -> None:
    circuit = circuit_of(any_of(X, negation(X)), Y)
    assert circuit.number_of_rules == 2
    assert (circuit.bounds[0], circuit.term_starts[1]) == (0, 0)
    assert not circuit.broken(RECORDS)[:, 0].any()


def test_a_rule_that_nothing_can_obey_is_one_gate_that_is_never_true() -> None:
    circuit = circuit_of(all_of(X, negation(X)), Y)
    assert (circuit.bounds[0], circuit.term_starts[1]) == (1, 0)
    assert circuit.broken(RECORDS)[:, 0].all()


def test_circuits_carry_the_names_of_the_rules() -> None:
    circuit = schema_with(Rule(X, "reds only"), Rule(Y)).circuit()
    assert circuit.names == ("reds only", "smoker = true")
    assert circuit.broken_by(np.array([1, 0, 0, 0, 0, 0])) == ("reds only", "smoker = true")


def test_decimals_are_added_as_they_are_written() -> None:
    tenths = Attribute("t", AttributeKind.NUMERIC, edges=(0, 0.2, 0.4), representatives=(0.1, 0.3))
    for relation, broken in ((">", True), (">=", False), ("=", False)):
        rule = Rule(compare([(3, "t")], relation, 0.3, by="representative"))
        circuit = Schema((tenths,), rules=(rule,)).circuit()
        assert circuit.broken(np.zeros((1, 1), dtype=np.int32)).tolist() == [[broken]]


def wide(edges: tuple[float, ...], count_of: int) -> tuple[Attribute, ...]:
    return tuple(Attribute(f"w{i}", AttributeKind.NUMERIC, edges=edges) for i in range(count_of))


NOTHING = literal("colur", "=", "red")
REFUSED: list[tuple[Form, str]] = [
    (compare([(0, count(NOTHING)), (1, "r")], "<", 2, by="representative"), "no attribute 'colur'"),
    (compare([(0, count(X, negation(NOTHING)))], "=", 0), "no attribute 'colur'"),
    (compare([(1, count(X)), (-0.0, count(NOTHING))], "!=", 1), "no attribute 'colur'"),
    (compare([(0, "x"), (1, "r")], "<", 2, by="every value"), "no attribute 'x'"),
    (compare([(0, count(literal("colour", "=", "rot"))), (1, count(X))], ">=", 1), "'colour' has no value 'rot'"),
    (literal("colur", "=", "red"), "rule number 1: the schema has no attribute 'colur'; did you mean 'colour'."),
    (compare("colour", "<", 3, by="representative"), "'colour' is categorical; comparisons take numeric attributes"),
    (compare("x", "<", 3, by="representative"), "the schema has no attribute 'x'"),
    (negation(compare("n", "<", "q", by="representative")), "n, q can be missing; say with 'missing'"),
    (forbid(compare("n", "<", "r", by="representative")), "n can be missing; say with 'missing' whether"),
    (compare("n", "!=", "r", by="every value"), "'!=' for every value is possible between columns of whole numbers"),
    (compare([(2, "n")], "!=", 1, by="every value"), "'!=' for every value is possible"),
    (compare([(1, "n"), (2, "m")], "!=", 1, by="every value"), "'!=' for every value is possible"),
    (ordered(["n", "smoker"], by="representative"), "'smoker' is boolean; comparisons take numeric attributes"),
    (forbidden(["n", "colour"], [[4, "red"]]), "'n' = 4 is undecided"),
    (allowed(["smoker"], [["yes"]]), "'smoker' has no value 'yes'"),
    (determines("smoker", "colour", [(True, "red")]), "no row for these values of 'smoker': false; give"),
    (
        determines("smoker", "colour", [(True, "red"), ([True, False], "green")]),
        "the mapping has 'true' of 'smoker' in two rows, the second with {true, false}",
    ),
    (
        determines("smoker", "colour", [(True, "red"), (False, "green")], both_ways=True),
        "no row for these values of 'colour': 3, missing",
    ),
    (
        determines("smoker", "colour", [(True, ["red", 3, None]), (False, ["green", "red"])], both_ways=True),
        "the mapping has 'red' of 'colour' in two rows",
    ),
]


@pytest.mark.parametrize(("form", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_a_rule_that_the_schema_cannot_tell_is_refused(form: Form, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        schema_with(Rule(form))


def test_a_refusal_names_the_rule_and_says_it_again_where_it_has_no_name() -> None:
    with pytest.raises(SchemaError, match="rule number 2 .'mine'.: the schema has no attribute 'x'"):
        schema_with(Rule(X), Rule(literal("x", "=", 1), "mine"))
    with pytest.raises(SchemaError, match=r"rule number 1: .* \[the rule: x = 1\]"):
        schema_with(Rule(literal("x", "=", 1)))


def test_numbers_too_large_to_be_added_exactly_are_refused() -> None:
    sums = compare([(1, "w0"), (1, "w1"), (1e-9, "w2")], "<=", 1200000001, by="representative")
    with pytest.raises(
        SchemaError, match="rule number 1: the numbers of a comparison are too large to be added exactly"
    ):
        Schema(wide((0, 1, 1000003, 1999999993), 3), rules=(Rule(sums),))


def test_rules_that_need_too_many_numbers_are_refused() -> None:
    values = tuple(range(60_000))
    attributes = tuple(Attribute(name, CATEGORICAL, values) for name in ("a", "b", "c"))
    rows = [[i, i, i] for i in range(200)]
    with pytest.raises(SchemaError, match="more than 16,777,216 numbers are needed; declare coarser values"):
        Schema(attributes, rules=(Rule(allowed(["a", "b", "c"], rows)),))


def test_what_is_no_rule_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"rules are given as Rule\(formula, name\); found"):
        Schema(SCHEMA.attributes, rules=(X,))  # type: ignore[arg-type]
