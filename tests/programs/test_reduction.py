"""Reduction: a smaller problem with the same objective, and the way back."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpopt.errors import ProgramError
from dpopt.programs import MaxCsp, reduce_max_csp
from dpopt.programs.circuit_reduction import with_codes
from dpopt.queries import Clauses
from dpopt.schema.rules.threshold_circuit import NO_RULES, ThresholdCircuit
from tests.circuits import Amount, Gate, among, best_legal_value, circuit_of, circuits, every_record, some
from tests.strategies import clause_lists, clauses_of

SIZES = (2, 5, 3, 1, 4)
HINTS = st.tuples(*(st.integers(0, size - 1) for size in SIZES)).map(
    lambda codes: np.array(codes, dtype=np.int32)
)


def weighted(clauses: Clauses, rules: ThresholdCircuit = NO_RULES) -> MaxCsp:
    weights = np.where(np.arange(len(clauses)) % 3, 2, -1).astype(np.int64)
    return MaxCsp(np.array(SIZES), clauses, weights, rules)


def records(
    sizes: np.ndarray[tuple[int], np.dtype[np.int32]],
) -> list[np.ndarray[tuple[int], np.dtype[np.int32]]]:
    return [np.array(codes, dtype=np.int32) for codes in itertools.product(*map(range, sizes.tolist()))]


@given(clause_lists(SIZES, max_size=4, widest=3), HINTS)
def test_reduced_and_expanded_records_have_the_same_objective(
    clauses: Clauses, hint: np.ndarray[tuple[int], np.dtype[np.int32]]
) -> None:
    program = weighted(clauses)
    reduction = reduce_max_csp(program, hint)
    for reduced in records(reduction.problem.sizes):
        assert program.objective(reduction.expand(reduced)) == reduction.problem.objective(reduced)


@given(clause_lists(SIZES, max_size=4, widest=3))
def test_the_optimum_stays(clauses: Clauses) -> None:
    program = weighted(clauses)
    reduced = reduce_max_csp(program).problem
    assert max(map(program.objective, records(program.sizes))) == max(
        map(reduced.objective, records(reduced.sizes))
    )


@given(clause_lists(SIZES, max_size=4, widest=3), HINTS)
def test_the_hint_shrinks_and_expands_to_itself(
    clauses: Clauses, hint: np.ndarray[tuple[int], np.dtype[np.int32]]
) -> None:
    reduction = reduce_max_csp(weighted(clauses), hint)
    assert reduction.expand(reduction.shrink()).tolist() == hint.tolist()


def test_codes_that_no_clause_names_become_one() -> None:
    program = MaxCsp(
        np.array([2, 100]), clauses_of([([(1, 7, True)], 2), ([(1, 0, False)], 2)]), np.array([1, 1])
    )
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
def test_with_rules_every_record_keeps_its_objective_and_its_gates(
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
def test_with_rules_the_optimum_stays(clauses: Clauses, rules: ThresholdCircuit) -> None:
    program = weighted(clauses, rules)
    assert best_legal_value(reduce_max_csp(program).problem) == best_legal_value(program)


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
    clauses: Clauses,
    rules: ThresholdCircuit,
    hint: np.ndarray[tuple[int], np.dtype[np.int32]],
    seed: int,
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
