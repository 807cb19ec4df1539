from __future__ import annotations

import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.errors import SchemaError
from dpopt.schema import Rule, Schema, all_of, forbid, literal
from dpopt.schema.rules.threshold_circuit import NO_RULES, ThresholdCircuit
from tests.circuits import (
    Amount,
    Gate,
    among,
    at_most,
    circuit_of,
    circuits,
    every,
    every_record,
    gates,
    naive_truth,
    some,
)
from tests.tiny_runs import bits_schema

SIZES = (2, 3, 4)
RECORDS = every_record(SIZES)
ONE, TWO = among(0, [1], SIZES), among(1, [0, 2], SIZES)
SMALL = circuit_of(
    {"either": [some(ONE, TWO)], "both parts": [every(ONE, some(TWO, among(2, [3], SIZES))), at_most(1, [ONE, TWO])]}
)


@given(st.lists(st.lists(gates(SIZES), min_size=1, max_size=3), min_size=1, max_size=3))
def test_a_record_breaks_a_rule_if_one_of_its_required_gates_is_false(rules: list[list[Gate]]) -> None:
    circuit = circuit_of({f"rule {number}": required for number, required in enumerate(rules)})
    expected = [[not all(naive_truth(gate, record) for gate in required) for required in rules] for record in RECORDS]
    assert circuit.broken(RECORDS).tolist() == expected
    for record, broken in zip(RECORDS, expected, strict=True):
        named = tuple(name for name, wrong in zip(circuit.names, broken, strict=True) if wrong)
        assert circuit.broken_by(record) == named


@given(circuits(SIZES))
def test_a_gate_is_true_if_its_sum_reaches_the_bound_and_sums_stay_in_their_ranges(circuit: ThresholdCircuit) -> None:
    true = circuit.gates(RECORDS)
    sums = np.zeros(true.shape, dtype=np.int64)
    for term, gate in enumerate(circuit.gate_of_term().tolist()):
        numbers = circuit.values[circuit.value_starts[term] : circuit.value_starts[term + 1]]
        sums[:, gate] += numbers[RECORDS[:, circuit.term_attributes[term]]]
    for entry, gate in enumerate(circuit.gate_of_child().tolist()):
        sums[:, gate] += circuit.coefficients[entry] * true[:, circuit.children[entry]]
    assert (true == (sums >= circuit.bounds)).all()
    least, most = circuit.sum_ranges()
    assert (least <= sums).all()
    assert (sums <= most).all()
    low, high = circuit.term_ranges()
    assert low.shape == high.shape == circuit.term_attributes.shape


@given(circuits(SIZES, most=4), st.data())
def test_some_rules_alone_say_what_they_said(circuit: ThresholdCircuit, data: st.DataObject) -> None:
    chosen = [rule for rule in range(circuit.number_of_rules) if data.draw(st.booleans())]
    alone = circuit.only(chosen)
    assert alone.names == tuple(circuit.names[rule] for rule in chosen)
    assert alone.broken(RECORDS).tolist() == circuit.broken(RECORDS)[:, chosen].tolist()


def test_all_rules_in_their_order_are_the_same_circuit() -> None:
    assert SMALL.only(range(2)).fingerprint() == SMALL.fingerprint()
    assert SMALL.only([1, 0]).fingerprint() == SMALL.fingerprint()
    assert SMALL.only([]).fingerprint() == NO_RULES.fingerprint()


def test_no_rules_are_obeyed_by_every_record() -> None:
    assert len(NO_RULES) == NO_RULES.number_of_rules == 0
    assert NO_RULES.broken(RECORDS).shape == (len(RECORDS), 0)
    assert NO_RULES.gates(RECORDS).shape == (len(RECORDS), 0)
    assert NO_RULES.broken_by(RECORDS[0]) == ()
    assert NO_RULES.number_of_weighted_rule() is None
    assert NO_RULES.attributes().size == 0
    NO_RULES.check_against(np.array(SIZES))


def test_the_attributes_of_a_circuit_are_those_that_a_rule_looks_at() -> None:
    assert SMALL.attributes().tolist() == [0, 1, 2]
    assert SMALL.only([0]).attributes().tolist() == [0, 1]


def test_a_rule_weighs_if_a_term_has_other_than_two_numbers_one_apart_or_a_child_counts_more_than_once() -> None:
    weighs = circuit_of({"counts": [at_most(1, [ONE, TWO])], "weighs": [Gate(2, (Amount(1, (0, 2, 2)), ONE))]})
    assert weighs.number_of_weighted_rule() == 1
    assert weighs.only([0]).number_of_weighted_rule() is None
    child = SMALL.coefficients.copy()
    child[0] = 2
    assert replace(SMALL, coefficients=child).number_of_weighted_rule() == 1
    assert SMALL.number_of_weighted_rule() is None


def test_a_fingerprint_leaves_names_out_and_is_the_same_for_ever() -> None:
    assert replace(SMALL, names=("a", "b")).fingerprint() == SMALL.fingerprint()
    assert SMALL.fingerprint() == "65332379e992a52796b14bb78c0282b1f208400f4d6776c3fd3ac6086ca85174"


def test_a_circuit_survives_pickle_with_its_arrays_read_only() -> None:
    again = pickle.loads(pickle.dumps(SMALL))
    assert again.fingerprint() == SMALL.fingerprint()
    assert again.names == SMALL.names
    for field in fields(again)[1:]:
        with pytest.raises(ValueError, match="read-only"):
            getattr(again, field.name)[:1] = 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"required": [True]}, r"'required' has shape \(1,\); expected \(4,\)"),
        ({"rule_of": [0]}, "'rule_of' has shape"),
        ({"term_starts": [0, 1]}, "'term_starts' has shape"),
        ({"value_starts": [0]}, "'value_starts' has shape"),
        ({"child_starts": [0]}, "'child_starts' has shape"),
        ({"coefficients": []}, "'coefficients' has shape"),
        ({"term_starts": [0, 2, 1, 5, 7]}, "'term_starts' must rise from 0 to 7"),
        ({"term_starts": [1, 2, 4, 5, 7]}, "'term_starts' must rise from 0 to 7"),
        ({"term_starts": [0, 2, 4, 5, 6]}, "'term_starts' must rise from 0 to 7"),
        ({"value_starts": [0, 0, 5, 8, 12, 14, 16, 19]}, "'value_starts' must rise from 0 to 19"),
        ({"child_starts": [0, 1, 0, 1, 1]}, "'child_starts' must rise from 0 to 1"),
        ({"rule_of": [0, 1, 2, 1]}, "a gate belongs to a rule that does not exist"),
        ({"rule_of": [-1, 1, 1, 1]}, "a gate belongs to a rule that does not exist"),
        ({"required": [False, True, True, True]}, "every rule needs a gate that must be true"),
        ({"term_attributes": [1, 0, 1, 2, 0, 0, 1]}, "the attributes of a gate's terms must increase"),
        ({"term_attributes": [0, 0, 1, 2, 0, 0, 1]}, "the attributes of a gate's terms must increase"),
        ({"children": [2]}, "a child must come before its parent"),
        ({"children": [-1]}, "a child must come before its parent"),
        ({"children": [0]}, "a child belongs to the rule of its parent"),
        ({"coefficients": [0]}, "the coefficient of a child must be positive"),
        ({"coefficients": [2**53]}, "the numbers of a comparison are too large"),
        ({"bounds": [1, 1, 2, -(2**53)]}, "the numbers of a comparison are too large"),
        ({"values": [0] * 18 + [-(2**53)]}, "the numbers of a comparison are too large"),
        ({"names": ("one", "two", "three")}, "every rule needs a gate that must be true"),
    ],
)
def test_arrays_that_are_no_circuit_are_refused(changes: dict[str, object], message: str) -> None:
    changed = {name: np.array(value) if name != "names" else value for name, value in changes.items()}
    with pytest.raises(SchemaError, match=message):
        replace(SMALL, **changed)  # type: ignore[arg-type]


def test_a_name_without_gates_is_refused() -> None:
    with pytest.raises(SchemaError, match="a rule without a gate; leave it out"):
        replace(NO_RULES, names=("nothing",))


def test_rules_that_do_not_fit_the_codes_of_a_record_are_refused() -> None:
    SMALL.check_against(np.array(SIZES))
    with pytest.raises(SchemaError, match="a rule names an attribute outside 0 .. 1"):
        SMALL.check_against(np.array(SIZES[:2]))
    with pytest.raises(SchemaError, match="a rule gives 3 values to attribute number 1, which has 5 codes"):
        SMALL.check_against(np.array((2, 5, 4)))


def test_records_without_a_code_that_rules_need_are_refused() -> None:
    both = Rule(forbid(all_of(literal("a", "=", True), literal("b", "=", True))))
    circuit = Schema(bits_schema(2).attributes, rules=(both,)).circuit()
    assert circuit.broken_by(np.array([1, 1])) == circuit.names
    with pytest.raises(SchemaError, match="2 of them at least"):
        circuit.broken_by(np.array([1]))
