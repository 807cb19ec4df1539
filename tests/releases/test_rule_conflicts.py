from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpopt.errors import RulesError, SolverUnavailableError
from dpopt.programs import Capability
from dpopt.releases import rule_conflicts
from dpopt.releases.rule_conflicts import conflicting_rules, feasible_record, require_rules_taken
from dpopt.schema.rules.threshold_circuit import NO_RULES, ThresholdCircuit
from tests.algorithms.test_dualquery import Fake, codes_of
from tests.circuits import Gate, among, at_most, circuit_of, every, outside, some

SIZES = (3, 2, 4, 2)
ALL = np.array(list(itertools.product(*(range(size) for size in SIZES))), dtype=np.int32)
sizes = np.array(SIZES, dtype=np.int32)


def possible(rules: ThresholdCircuit, chosen: tuple[int, ...]) -> bool:
    """Return by enumeration whether some record obeys these rules."""
    return bool((~rules.broken(ALL)[:, list(chosen)]).all(axis=1).any())


def smallest(rules: ThresholdCircuit) -> int:
    """Return by enumeration how many rules contradict each other at least."""
    every_number = range(1, rules.number_of_rules + 1)
    return next(
        number
        for number in every_number
        if any(not possible(rules, one) for one in itertools.combinations(range(rules.number_of_rules), number))
    )


CONTRADICTION = circuit_of(
    {
        "a is 0": [every(among(0, [0], SIZES))],
        "b or c": [some(among(1, [1], SIZES), among(2, [1], SIZES))],
        "not b": [every(outside(1, [1], SIZES))],
        "d": [every(among(3, [1], SIZES))],
        "c is not 1 if d": [some(among(3, [0], SIZES), outside(2, [1], SIZES))],
        "c is 2 or 3": [every(among(2, [2, 3], SIZES))],
    }
)


def test_without_rules_the_first_value_of_every_attribute_is_feasible() -> None:
    assert feasible_record(NO_RULES, sizes).tolist() == [0, 0, 0, 0]


def test_a_feasible_record_obeys_every_rule_and_is_the_same_each_time() -> None:
    rules = CONTRADICTION.only([0, 1, 3, 4])
    record = feasible_record(rules, sizes)
    assert rules.broken_by(record) == ()
    assert np.array_equal(record, feasible_record(CONTRADICTION.only([0, 1, 3, 4]), sizes))  # searched anew


def test_a_circuit_is_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = CONTRADICTION.only([0, 3])
    record = feasible_record(rules, sizes)
    monkeypatch.setattr(rule_conflicts, "_searched", lambda rules, sizes: pytest.fail("asked again"))
    assert feasible_record(rules, sizes) is record


def test_what_the_search_does_not_find_is_decided_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule_conflicts, "_searched", lambda rules, sizes: None)
    rules = CONTRADICTION.only([0, 1, 3, 4])
    assert rules.broken_by(feasible_record(rules, sizes)) == ()


def test_contradicting_rules_are_named_and_none_of_the_others() -> None:
    names, proven = conflicting_rules(CONTRADICTION, sizes)
    assert proven
    assert set(names) == {"b or c", "not b", "c is 2 or 3"}
    with pytest.raises(RulesError, match=r"contradict each other.*'b or c'; 'not b'; 'c is 2 or 3'.*Nothing"):
        feasible_record(CONTRADICTION, sizes)


def test_a_rule_that_nobody_can_obey_is_named_alone() -> None:
    rules = circuit_of(
        {
            "d": [every(among(3, [1], SIZES))],
            "never": [every(among(0, [0], SIZES), among(1, [0], SIZES)), every(among(0, [1], SIZES))],
        }
    )
    with pytest.raises(RulesError, match="no record can obey the rule 'never'"):
        feasible_record(rules, sizes)


def test_rules_that_do_not_contradict_have_no_conflict() -> None:
    with pytest.raises(RulesError, match="do not contradict"):
        conflicting_rules(CONTRADICTION.only([0, 3]), sizes)


def test_when_time_is_up_the_conflict_is_irreducible() -> None:
    clock = iter([0.0, 1e9])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: next(clock, 2e9))
        names, proven = conflicting_rules(CONTRADICTION, sizes)
    chosen = [CONTRADICTION.names.index(name) for name in names]
    assert not proven
    assert not possible(CONTRADICTION, tuple(chosen))
    assert all(possible(CONTRADICTION, tuple(x for x in chosen if x != left)) for left in chosen)


@st.composite
def random_rules(draw: st.DrawFn) -> dict[str, list[Gate]]:
    def literal(a: int) -> object:
        codes = draw(st.sets(st.integers(0, SIZES[a] - 1), min_size=1, max_size=SIZES[a]))
        return among(a, codes, SIZES)

    rules: dict[str, list[Gate]] = {}
    for number in range(draw(st.integers(3, 8))):
        attributes = draw(st.sets(st.integers(0, 3), min_size=1, max_size=2))
        parts = [literal(a) for a in sorted(attributes)]
        kind = draw(st.sampled_from(["some", "every", "at most"]))
        gate = {"some": some, "every": every}.get(kind)
        rules[f"rule {number}"] = [gate(*parts) if gate else at_most(1, parts)]  # type: ignore[arg-type]
    return rules


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(declared=random_rules())
def test_the_conflict_found_is_a_smallest_one(declared: dict[str, list[Gate]]) -> None:
    rules = circuit_of(declared)
    everything = tuple(range(rules.number_of_rules))
    if possible(rules, everything):
        assert rules.broken_by(feasible_record(rules, sizes)) == ()
        return
    names, proven = conflicting_rules(rules, sizes)
    assert proven
    assert not possible(rules, tuple(rules.names.index(name) for name in names))
    assert len(names) == smallest(rules)


def test_a_solver_that_takes_no_rules_is_refused_with_the_reason() -> None:
    with pytest.raises(SolverUnavailableError, match="fake takes no rules on records.*cp-sat, or .* such"):
        require_rules_taken(Fake(codes_of(0)), CONTRADICTION, sizes)
    counting = Fake(codes_of(0), capabilities=frozenset({Capability.MAX_CSP, Capability.CARDINALITY_RULES}))
    require_rules_taken(counting, CONTRADICTION, sizes)
