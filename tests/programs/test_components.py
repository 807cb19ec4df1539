"""Parts of a problem: connected attributes are together, objectives add up, rules are kept; small ones are enumerated."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from dpopt.programs import MaxCsp
from dpopt.programs.components import attribute_labels, components
from dpopt.programs.enumeration import MOST_RECORDS, best_record, is_small
from dpopt.programs.presolve import presolve
from dpopt.queries import Clauses
from dpopt.schema.rules.threshold_circuit import NO_RULES, ThresholdCircuit
from tests.circuits import among, at_most, best_legal_value, circuit_of, circuits, every, every_record, some
from tests.strategies import clause_lists, clauses_of

SIZES = (2, 3, 2, 3, 2)


def weighted(clauses: Clauses, rules: ThresholdCircuit = NO_RULES) -> MaxCsp:
    weights = np.where(np.arange(len(clauses)) % 3, 2, -3).astype(np.int64)
    return MaxCsp(np.array(SIZES), clauses, weights, rules)


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
    assert sorted(np.concatenate([part.attributes for part in parts]).tolist()) == list(
        range(program.sizes.size)
    )
    assert [len(part.problem.clauses) for part in parts] == sorted(
        len(part.problem.clauses) for part in parts
    )
    for record in every_record(program.sizes.tolist()):
        own = [(part.problem, np.ascontiguousarray(record[part.attributes])) for part in parts]
        assert sum(problem.objective(piece) for problem, piece in own) == program.objective(record)
        broken = any(problem.broken_rules(piece) for problem, piece in own)
        assert broken == bool(program.broken_rules(record))


def test_a_chain_of_clauses_is_one_part_however_long() -> None:
    d = 1000
    order = np.random.default_rng(0).permutation(d)
    rows = [
        ([(int(order[i]), 1, True), (int(order[i + 1]), 1, True)], 0b010) for i in range(d - 1) if i != 600
    ]
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
    assert [(part.problem.rules.names, len(part.problem.rules)) for part in parts] == [
        (("both",), 1),
        (("both",), 2),
    ]


@given(clause_lists(SIZES, max_size=5, widest=4), circuits(SIZES))
def test_enumeration_finds_the_optimum(clauses: Clauses, rules: ThresholdCircuit) -> None:
    program = weighted(clauses, rules)
    assert is_small(program)
    found = best_record(program, np.zeros(5, dtype=np.int32))
    best = best_legal_value(program)
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
