"""Smaller problems: presolve, reduction and parts keep optimum, rules and hint, and lead back."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpopt.errors import ProgramError
from dpopt.programs import MaxCsp, reduce_max_csp, reduction
from dpopt.programs.presolve import (
    MOST_RECORDS,
    attribute_labels,
    best_record,
    components,
    dominators,
    is_small,
    presolve,
)
from dpopt.programs.reduction import distinguished_codes, impossible_columns, simplified, with_codes
from dpopt.queries import Clauses
from dpopt.schema.rules.threshold_circuit import NO_RULES, ThresholdCircuit
from tests.circuits import (
    Amount,
    Gate,
    among,
    at_most,
    best_feasible_value,
    circuit_of,
    circuits,
    every,
    every_record,
    exactly_when,
    feasible_records,
    outside,
    some,
)
from tests.strategies import clause_lists, clauses_of

SIZES = (2, 4, 3, 1, 3)
HINTS = st.tuples(*(st.integers(0, size - 1) for size in SIZES)).map(lambda codes: np.array(codes, dtype=np.int32))


def weighted(clauses: Clauses, rules: ThresholdCircuit = NO_RULES) -> MaxCsp:
    weights = np.where(np.arange(len(clauses)) % 3, 2, -3).astype(np.int64)
    return MaxCsp(np.array(SIZES), clauses, weights, rules)


@settings(max_examples=300)
@given(clause_lists(SIZES, max_size=5, widest=3), circuits(SIZES), HINTS)
def test_the_optimum_stays_and_every_record_can_be_written_back(
    clauses: Clauses, rules: ThresholdCircuit, hint: np.ndarray[tuple[int], np.dtype[np.int32]]
) -> None:
    program = weighted(clauses, rules)
    best = best_feasible_value(program)
    smaller = presolve(program, hint)
    if smaller.impossible is not None:
        assert best is None
        return
    problem = smaller.reduction.problem
    values = []
    for record in feasible_records(problem):
        full = smaller.reduction.expand(record)
        assert not program.broken_rules(full)
        assert program.objective(full) == problem.objective(record) + smaller.constant
        values.append(program.objective(full))
    assert max(values, default=None) == best


@given(clause_lists(SIZES, max_size=5, widest=3), circuits(SIZES), HINTS)
def test_a_feasible_hint_stays_feasible_and_at_least_as_good(
    clauses: Clauses, rules: ThresholdCircuit, hint: np.ndarray[tuple[int], np.dtype[np.int32]]
) -> None:
    program = weighted(clauses, rules)
    if program.broken_rules(hint):
        return
    smaller = presolve(program, hint)
    assert smaller.impossible is None
    start = smaller.reduction.shrink()
    assert smaller.reduction.expand(start).tolist() == smaller.reduction.background.tolist()
    assert not smaller.reduction.problem.broken_rules(start)
    assert program.objective(smaller.reduction.background) >= program.objective(hint)


@given(clause_lists(SIZES, max_size=3, widest=2), circuits(SIZES), HINTS)
def test_a_code_that_dominates_another_can_take_its_place_in_every_record(
    clauses: Clauses, rules: ThresholdCircuit, hint: np.ndarray[tuple[int], np.dtype[np.int32]]
) -> None:
    program = weighted(clauses, rules)
    offsets, places = program.offsets(), dominators(program, hint)
    assert places[places].tolist() == places.tolist()
    for record in feasible_records(program):
        for attribute in range(len(SIZES)):
            other = record.copy()
            other[attribute] = places[offsets[attribute] + record[attribute]] - offsets[attribute]
            assert 0 <= other[attribute] < SIZES[attribute]
            assert not program.broken_rules(other)
            assert program.objective(other) >= program.objective(record)


@given(circuits(SIZES))
def test_simplified_rules_are_obeyed_by_the_same_records(rules: ThresholdCircuit) -> None:
    records = every_record(SIZES)
    by_rule = rules.broken(records)
    broken = np.asarray(by_rule.any(axis=1))
    smaller, impossible = simplified(rules)
    if impossible is not None:
        assert by_rule[:, rules.names.index(impossible)].all()
        return
    assert smaller.broken(records).any(axis=1).tolist() == broken.tolist()
    least, most = smaller.sum_ranges()
    assert ((least < smaller.bounds) & (most >= smaller.bounds)).all()
    offsets = np.concatenate(([0], np.cumsum(SIZES)))
    for column in np.flatnonzero(impossible_columns(smaller, offsets)).tolist():
        attribute = int(np.searchsorted(offsets, column, side="right")) - 1
        assert broken[records[:, attribute] == column - offsets[attribute]].all()


def test_a_pure_attribute_is_fixed_and_its_clauses_become_shorter() -> None:
    rows = [
        ([(0, 1, True), (1, 2, True)], 4),  # wants x0 = 1
        ([(0, 0, True), (1, 1, True)], 4),  # penalized: wants x0 != 0
        ([(1, 2, False), (1 + 1, 0, True)], 4),
        ([(1, 1, True)], 2),
    ]
    program = MaxCsp(np.array([2, 3, 2]), clauses_of(rows), np.array([3, -2, -4, 1]))
    smaller = presolve(program)
    # x0 = 1 serves clauses 0 and 1; x2 = 1 serves clause 2: what is left is one attribute, in two clauses.
    assert smaller.reduction.problem.sizes.size == 0 or smaller.reduction.problem.sizes.tolist() == [2]
    assert smaller.reduction.background[[0, 2]].tolist() == [1, 1]
    assert smaller.reduction.problem.clauses.widths().max(initial=0) <= 1


def test_parities_have_no_direction() -> None:
    program = MaxCsp(np.array([2, 2]), clauses_of([([(0, 1, True), (1, 1, True)], 0b010)]), np.array([1]))
    smaller = presolve(program)
    assert smaller.reduction.problem.sizes.tolist() == [2, 2]


def test_thresholds_and_negations_have_one() -> None:
    at_least_two = ([(0, 1, True), (1, 1, True), (2, 1, False)], 0b1100)
    not_all = ([(0, 0, True), (3, 1, True)], 0b011)
    program = MaxCsp(np.array([2, 2, 2, 2]), clauses_of([at_least_two, not_all]), np.array([2, 1]))
    smaller = presolve(program)
    assert smaller.reduction.problem.sizes.size == 0
    assert smaller.constant == 3 == program.objective(smaller.reduction.background)


def test_under_a_rule_a_code_dominates_only_where_no_term_falls() -> None:
    sizes = (2, 2)
    rules = circuit_of({"not both": [at_most(1, [among(0, [1], sizes), among(1, [1], sizes)])]})
    clauses = clauses_of([([(0, 1, True)], 2), ([(1, 1, True)], 2)])
    smaller = presolve(MaxCsp(np.array(sizes), clauses, np.array([2, 1]), rules))
    assert smaller.reduction.problem.sizes.tolist() == [2, 2]
    rules = circuit_of({"either": [some(among(0, [1], sizes), among(1, [1], sizes))]})
    smaller = presolve(MaxCsp(np.array(sizes), clauses, np.array([2, 1]), rules))
    assert smaller.reduction.background.tolist() == [1, 1]
    assert smaller.reduction.problem.rules.number_of_rules == 0


def test_what_rules_force_is_known() -> None:
    """x0 = 1, so x1 = 2, so of the amounts only the largest will do; the rules are then gone."""
    sizes = (2, 3, 4)
    amounts = Gate(9, (Amount(2, (0, 4, 8, 9)), Amount(1, (5, 5, 0))))
    rules = circuit_of(
        {"one": [some(among(0, [1], sizes))], "then two": exactly_when((0, [1]), (1, [2]), sizes), "enough": [amounts]}
    )
    clauses = clauses_of([([(0, 0, True), (2, 1, True)], 4), ([(1, 2, True), (2, 3, True)], 4)])
    smaller = presolve(MaxCsp(np.array(sizes), clauses, np.array([5, -1]), rules))
    assert (smaller.impossible, smaller.constant) == (None, -1)
    assert smaller.reduction.problem.sizes.size == 0
    assert smaller.reduction.background.tolist() == [1, 2, 3]


def test_a_required_gate_that_needs_a_child_requires_it() -> None:
    sizes = (2, 2, 2)
    both = every(among(0, [1], sizes), among(1, [1], sizes))
    rules = circuit_of({"all": [every(both, some(among(2, [0, 1], sizes)))]})
    smaller, _ = simplified(rules)
    assert smaller.required.tolist() == [True]
    assert smaller.bounds.tolist() == [2]
    assert smaller.attributes().tolist() == [0, 1]


def test_rules_that_exclude_each_other_are_noticed() -> None:
    sizes = (3,)
    rules = circuit_of({"low": [some(among(0, [0], sizes))], "high": [some(outside(0, [0], sizes))]})
    program = MaxCsp(np.array(sizes), clauses_of([([(0, 1, True)], 2)]), np.array([1]), rules)
    assert presolve(program).impossible is not None


def test_dominated_codes_under_more_values_than_may_be_compared_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = (3, 2)
    rules = circuit_of({"one": [some(among(0, [1, 2], sizes), among(1, [1], sizes))]})
    program = MaxCsp(np.array(sizes), clauses_of([([(0, 2, True), (1, 0, True)], 4)]), np.array([1]), rules)
    record = np.zeros(2, dtype=np.int32)
    assert dominators(program, record).tolist() == [2, 2, 2, 3, 4]
    monkeypatch.setattr(sys.modules["dpopt.programs.presolve"], "LARGEST_COMPARISON", 1)
    assert dominators(program, record).tolist() == [0, 1, 2, 3, 4]


def test_codes_that_no_clause_names_become_one() -> None:
    program = MaxCsp(np.array([2, 100]), clauses_of([([(1, 7, True)], 2), ([(1, 0, False)], 2)]), np.array([1, 1]))
    reduction = reduce_max_csp(program)
    assert reduction.problem.sizes.tolist() == [3]
    assert reduction.codes.tolist() == [0, 7, 1]  # 1 is the smallest code that no clause names


def test_an_attribute_whose_codes_are_all_named_keeps_them() -> None:
    rows = [([(0, code, True)], 2) for code in (2, 0, 1)]
    reduction = reduce_max_csp(MaxCsp(np.array([3]), clauses_of(rows), np.array([1, 2, 3])))
    assert (reduction.problem.sizes.tolist(), reduction.codes.tolist()) == ([3], [0, 1, 2])


def test_attributes_in_no_clause_keep_the_hint_or_zero() -> None:
    program = MaxCsp(np.array([3, 4, 5]), clauses_of([([(1, 2, True)], 2)]), np.array([1]))
    assert reduce_max_csp(program).expand(np.array([0], dtype=np.int32)).tolist() == [0, 2, 0]
    hint = np.array([2, 3, 4], dtype=np.int32)
    assert reduce_max_csp(program, hint).expand(np.array([0], dtype=np.int32)).tolist() == [2, 2, 4]
    assert reduce_max_csp(program, hint).expand(np.array([1], dtype=np.int32)).tolist() == [2, 3, 4]


def test_without_a_literal_nothing_is_left() -> None:
    program = MaxCsp(np.array([3, 4]), clauses_of([([], 1)]), np.array([5]))
    reduction = reduce_max_csp(program)
    assert reduction.problem.sizes.size == 0
    assert program.objective(reduction.expand(np.array([], dtype=np.int32))) == 5


@pytest.mark.parametrize(
    "hint", [np.array([0.0, 1.0]), np.array([0, 9], dtype=np.int32), np.array([0], dtype=np.int32)]
)
def test_a_hint_that_is_no_record_is_refused(hint: np.ndarray[tuple[int], np.dtype[np.int32]]) -> None:
    program = MaxCsp(np.array([3, 4]), clauses_of([([(1, 2, True)], 2)]), np.array([1]))
    with pytest.raises(ProgramError):
        reduce_max_csp(program, hint)


@given(clause_lists(SIZES, max_size=4, widest=3), circuits(SIZES), HINTS)
def test_reduced_and_expanded_records_have_the_same_objective_and_gates(
    clauses: Clauses, rules: ThresholdCircuit, hint: np.ndarray[tuple[int], np.dtype[np.int32]]
) -> None:
    program = weighted(clauses, rules)
    reduction = reduce_max_csp(program, hint)
    assert reduction.expand(reduction.shrink()).tolist() == hint.tolist()
    reduced = every_record(reduction.problem.sizes.tolist())
    full = np.array([reduction.expand(record) for record in reduced])
    assert [program.objective(record) for record in full] == list(map(reduction.problem.objective, reduced))
    assert rules.gates(full).tolist() == reduction.problem.rules.gates(reduced).tolist()


@given(clause_lists(SIZES, max_size=4, widest=3), circuits(SIZES))
def test_a_reduction_keeps_the_optimum(clauses: Clauses, rules: ThresholdCircuit) -> None:
    program = weighted(clauses, rules)
    assert best_feasible_value(reduce_max_csp(program).problem) == best_feasible_value(program)


def test_codes_merge_only_where_the_rules_give_them_the_same_values() -> None:
    amount = Amount(1, (0, 5, 5, 5, 0, 9))
    rules = circuit_of({"amount": [Gate(5, (amount, among(0, [1], (2, 6, 3))))]})
    program = MaxCsp(np.array([2, 6, 3]), clauses_of([([(1, 2, True)], 2)]), np.array([1]), rules)
    reduction = reduce_max_csp(program, np.array([1, 3, 2], dtype=np.int32))
    assert reduction.attributes.tolist() == [0, 1]  # attribute 2 is in no clause and no rule
    # Attribute 1: code 2 is named; then 0 and 4 (as 0), 1 and 3 (as 3, the hint's), and 5.
    assert reduction.codes.tolist() == [0, 1, 2, 0, 3, 5]
    assert reduction.problem.sizes.tolist() == [2, 4]
    assert reduction.problem.rules.values.tolist() == [0, 1, 5, 0, 5, 9]


def test_an_attribute_in_a_rule_alone_stays() -> None:
    rules = circuit_of({"either": [some(among(0, [1], (3, 4)), among(1, [2], (3, 4)))]})
    program = MaxCsp(np.array([3, 4]), clauses_of([([(1, 2, True)], 2)]), np.array([-1]), rules)
    reduction = reduce_max_csp(program)
    assert reduction.problem.sizes.tolist() == [2, 2]
    assert reduction.codes.tolist() == [0, 1, 2, 0]


@settings(max_examples=30)
@given(clause_lists(SIZES, max_size=4, widest=3), circuits(SIZES), HINTS, st.integers(0, 2**32 - 1))
def test_attributes_that_nothing_names_do_not_matter(
    clauses: Clauses, rules: ThresholdCircuit, hint: np.ndarray[tuple[int], np.dtype[np.int32]], seed: int
) -> None:
    """The same problem spread over many attributes is reduced to the same one."""
    small = weighted(clauses, rules)
    generator = np.random.default_rng(seed)
    places = np.sort(generator.choice(300, len(SIZES), replace=False)).astype(np.int32)
    sizes, background = np.full(300, 2, dtype=np.int32), generator.integers(0, 2, 300).astype(np.int32)
    sizes[places], background[places] = SIZES, hint
    spread = Clauses(
        np.where(clauses.attributes >= 0, places[clauses.attributes], -1),
        clauses.values,
        clauses.signs,
        clauses.accepted,
    )
    number = np.arange(len(SIZES), dtype=np.int32)
    moved = with_codes(rules, number, small.sizes, np.concatenate([np.arange(n) for n in SIZES]))
    moved = replace(moved, term_attributes=places[moved.term_attributes])
    one = reduce_max_csp(small, hint)
    other = reduce_max_csp(MaxCsp(sizes, spread, small.weights, moved), background)
    assert other.problem.fingerprint() == one.problem.fingerprint()
    assert other.attributes.tolist() == places[one.attributes].tolist()
    assert other.codes.tolist() == one.codes.tolist()
    assert other.background.tolist() == background.tolist()


THREE = (4, 3, 5)
OFFSETS = np.array([0, 4, 7, 12])
NONE = np.zeros(0, dtype=np.int64)


def signatures(rules: ThresholdCircuit) -> dict[tuple[int, tuple[int, ...]], list[int]]:
    """Return the codes of each attribute that have the same values in every term, in plain Python."""
    classes: dict[tuple[int, tuple[int, ...]], list[int]] = {}
    for attribute in rules.attributes().tolist():
        terms = np.flatnonzero(rules.term_attributes == attribute)
        for code in range(THREE[attribute]):
            values = tuple(int(rules.values[rules.value_starts[term] + code]) for term in terms)
            classes.setdefault((attribute, values), []).append(code)
    return classes


@given(circuits(THREE))
def test_codes_with_the_same_values_are_one_class(rules: ThresholdCircuit) -> None:
    owners, codes = distinguished_codes(rules, OFFSETS, np.zeros(3, dtype=np.int32), NONE)
    expected = sorted((attribute, members[0]) for (attribute, _), members in signatures(rules).items())
    assert list(zip(owners.tolist(), codes.tolist(), strict=True)) == expected


@given(circuits(THREE))
def test_codes_whose_marks_agree_by_chance_are_kept_apart(rules: ThresholdCircuit) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reduction, "_marks", lambda term, values, column, columns: np.zeros(columns, np.uint64))
        owners, codes = distinguished_codes(rules, OFFSETS, np.zeros(3, dtype=np.int32), NONE)
    kept = set(zip(owners.tolist(), codes.tolist(), strict=True))
    for (attribute, _), members in signatures(rules).items():
        assert any((attribute, code) in kept for code in members)


def connected(program: MaxCsp) -> list[int]:
    """Return the smallest connected attribute of each attribute, edge by edge in plain Python."""
    groups = [set(row[row >= 0].tolist()) for row in program.clauses.attributes]
    rules = program.rules
    below: list[set[int]] = []
    for gate in range(len(rules)):
        own = set(rules.term_attributes[rules.term_starts[gate] : rules.term_starts[gate + 1]].tolist())
        for entry in range(rules.child_starts[gate], rules.child_starts[gate + 1]):
            own |= below[int(rules.children[entry])]
        below.append(own)
    label = list(range(program.sizes.size))
    for _ in label:
        for group in groups + below:
            least = min((label[a] for a in group), default=0)
            for attribute in group:
                label[attribute] = least
    return label


@given(clause_lists(SIZES, max_size=4, widest=2), circuits(SIZES, most=1))
def test_connected_attributes_have_one_label(clauses: Clauses, rules: ThresholdCircuit) -> None:
    program = weighted(clauses, rules)
    assert attribute_labels(program).tolist() == connected(program)


@given(clause_lists(SIZES, max_size=4, widest=2), circuits(SIZES, most=2))
def test_parts_add_up_to_the_whole(clauses: Clauses, rules: ThresholdCircuit) -> None:
    smaller = presolve(weighted(clauses, rules))
    program = smaller.reduction.problem
    if smaller.impossible is not None or program.sizes.size == 0:
        return
    parts = components(program)
    assert sorted(np.concatenate([part.attributes for part in parts]).tolist()) == list(range(program.sizes.size))
    assert [len(part.problem.clauses) for part in parts] == sorted(len(part.problem.clauses) for part in parts)
    for record in every_record(program.sizes.tolist()):
        own = [(part.problem, np.ascontiguousarray(record[part.attributes])) for part in parts]
        assert sum(problem.objective(piece) for problem, piece in own) == program.objective(record)
        broken = any(problem.broken_rules(piece) for problem, piece in own)
        assert broken == bool(program.broken_rules(record))


def test_a_chain_of_clauses_is_one_part_however_long() -> None:
    d = 1000
    order = np.random.default_rng(0).permutation(d)
    rows = [([(int(order[i]), 1, True), (int(order[i + 1]), 1, True)], 0b010) for i in range(d - 1) if i != 600]
    program = MaxCsp(np.full(d, 2), clauses_of(rows), np.ones(d - 2, dtype=np.int64))
    assert sorted(part.attributes.size for part in components(program)) == [399, 601]


def test_a_rule_of_several_conditions_is_divided_among_the_parts() -> None:
    sizes = (2, 2, 2, 2)
    rule = [
        at_most(1, [among(0, [1], sizes), among(1, [1], sizes)]),
        some(every(among(2, [1], sizes), among(3, [1], sizes)), among(2, [0], sizes)),
    ]
    clauses = clauses_of([([(a, 1, True)], 2) for a in range(4)])
    program = MaxCsp(np.array(sizes), clauses, np.array([1, 2, 3, -4]), circuit_of({"both": rule}))
    parts = components(program)
    assert [part.attributes.tolist() for part in parts] == [[0, 1], [2, 3]]
    assert [(part.problem.rules.names, len(part.problem.rules)) for part in parts] == [(("both",), 1), (("both",), 2)]


@given(clause_lists(SIZES, max_size=5, widest=4), circuits(SIZES))
def test_enumeration_finds_the_optimum(clauses: Clauses, rules: ThresholdCircuit) -> None:
    program = weighted(clauses, rules)
    assert is_small(program)
    found = best_record(program, np.zeros(5, dtype=np.int32))
    best = best_feasible_value(program)
    assert (None if found is None else program.objective(found)) == best
    if found is not None:
        assert not program.broken_rules(found)


def test_among_optimal_records_the_given_one_is_preferred() -> None:
    program = MaxCsp(np.array([2, 3]), clauses_of([([(0, 1, True)], 2)]), np.array([4]))
    for given_record, expected in (([1, 2], [1, 2]), ([0, 2], [1, 0])):
        found = best_record(program, np.array(given_record, dtype=np.int32))
        assert found is not None
        assert found.tolist() == expected


def test_only_problems_with_few_records_are_small() -> None:
    clauses = clauses_of([([(0, 1, True)], 2)])
    assert is_small(MaxCsp(np.array([MOST_RECORDS]), clauses, np.array([1])))
    assert not is_small(MaxCsp(np.array([MOST_RECORDS + 1]), clauses, np.array([1])))
    assert not is_small(MaxCsp(np.full(61, 1), clauses_of([([(0, 0, True)], 2)]), np.array([1])))
    many = clauses_of([([(0, code, True)], 2) for code in range(1024)])
    assert not is_small(MaxCsp(np.array([1024]), many, np.ones(1024, dtype=np.int64)))
