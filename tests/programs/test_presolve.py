"""Presolve: the optimum stays, the hint stays at least as good, and what cannot matter is gone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpopt.programs import MaxCsp, dominance
from dpopt.programs.circuit_propagation import impossible_columns, simplified
from dpopt.programs.dominance import dominators
from dpopt.programs.presolve import presolve
from dpopt.queries import Clauses
from dpopt.schema.rules.threshold_circuit import NO_RULES, ThresholdCircuit
from tests.circuits import (
    Amount,
    Gate,
    among,
    at_most,
    best_legal_value,
    circuit_of,
    circuits,
    every,
    every_record,
    exactly_when,
    legal_records,
    outside,
    some,
)
from tests.strategies import clause_lists, clauses_of

SIZES = (2, 4, 3, 1, 3)
HINTS = st.tuples(*(st.integers(0, size - 1) for size in SIZES)).map(
    lambda codes: np.array(codes, dtype=np.int32)
)


def weighted(clauses: Clauses, rules: ThresholdCircuit = NO_RULES) -> MaxCsp:
    weights = np.where(np.arange(len(clauses)) % 3, 2, -3).astype(np.int64)
    return MaxCsp(np.array(SIZES), clauses, weights, rules)


@settings(max_examples=300)
@given(clause_lists(SIZES, max_size=5, widest=3), circuits(SIZES), HINTS)
def test_the_optimum_stays_and_every_record_can_be_written_back(
    clauses: Clauses, rules: ThresholdCircuit, hint: np.ndarray[tuple[int], np.dtype[np.int32]]
) -> None:
    program = weighted(clauses, rules)
    best = best_legal_value(program)
    smaller = presolve(program, hint)
    if smaller.impossible is not None:
        assert best is None
        return
    problem = smaller.reduction.problem
    values = []
    for record in legal_records(problem):
        full = smaller.reduction.expand(record)
        assert not program.broken_rules(full)
        assert program.objective(full) == problem.objective(record) + smaller.constant
        values.append(program.objective(full))
    assert max(values, default=None) == best


@given(clause_lists(SIZES, max_size=5, widest=3), circuits(SIZES), HINTS)
def test_a_legal_hint_stays_legal_and_at_least_as_good(
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
    for record in legal_records(program):
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
        {
            "one": [some(among(0, [1], sizes))],
            "then two": exactly_when((0, [1]), (1, [2]), sizes),
            "enough": [amounts],
        }
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


def test_dominated_codes_under_more_values_than_may_be_compared_are_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes = (3, 2)
    rules = circuit_of({"one": [some(among(0, [1, 2], sizes), among(1, [1], sizes))]})
    program = MaxCsp(np.array(sizes), clauses_of([([(0, 2, True), (1, 0, True)], 4)]), np.array([1]), rules)
    record = np.zeros(2, dtype=np.int32)
    assert dominators(program, record).tolist() == [2, 2, 2, 3, 4]
    monkeypatch.setattr(dominance, "LARGEST_COMPARISON", 1)
    assert dominators(program, record).tolist() == [0, 1, 2, 3, 4]
