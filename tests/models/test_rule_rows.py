"""RU-1 to RU-6: the gates of rules as rows, and what is tighter than one row per gate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.models import Formulation, max_csp_as_mip
from dpopt.models.best_responses.rows.rule_rows import gate_variables
from dpopt.programs import MaxCsp, MixedIntegerProgram
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit
from tests.circuits import (
    Amount,
    Gate,
    among,
    circuit_of,
    circuits,
    determines,
    every,
    every_record,
    outside,
    some,
)
from tests.models.linear_programs import one_hot, optimum, relaxed, with_x
from tests.models.test_max_csp_as_mip import rows_of
from tests.strategies import clauses_of

INFINITY = float("inf")
SIZES = [3, 3, 2]


def problem(rules: ThresholdCircuit, sizes: list[int] = SIZES) -> MaxCsp:
    return MaxCsp(np.array(sizes), clauses_of([([(0, 0, True)], 2)]), np.array([1]), rules)


def rows_after(mip: MixedIntegerProgram, first: int) -> list[tuple[dict[int, float], float, float]]:
    return [rows_of(mip, row) for row in range(first, mip.number_of_rows)]


def rule_rows_of(
    rules: ThresholdCircuit, formulation: Formulation
) -> list[tuple[dict[int, float], float, float]]:
    """Return the rows after BR-2 (3) and the clause's (1); columns 0-2: a, 3-5: b, 6-7: c, 8: the clause, 9-: gates."""
    return rows_after(max_csp_as_mip(problem(rules), formulation), 4)


def test_ru_1_a_required_gate_is_a_row() -> None:
    rules = circuit_of({"at least 4": [Gate(4, (Amount(0, (-1, 0, 5)), Amount(1, (0, 2, 3))))]})
    # Less the least values: 1 and 6 for a; the need rises to 5.
    row = ({1: 1, 2: 6, 4: 2, 5: 3}, 5, INFINITY)
    assert rule_rows_of(rules, Formulation.AGGREGATED) == [row]


def test_ru_4_and_ru_5_cut_off_what_is_more_than_needed_and_ask_for_what_cannot_be_missed() -> None:
    rules = circuit_of({"at least 4": [Gate(4, (Amount(0, (-1, 0, 5)), Amount(1, (0, 2, 3))))]})
    # Largest 6 + 3, spare 4: attribute a must add 2 at least, so its code is 2.
    expected = [({1: 1, 2: 5, 4: 2, 5: 3}, 5, INFINITY), ({2: 1}, 1, INFINITY)]
    assert rule_rows_of(rules, Formulation.PER_LITERAL) == expected


def test_ru_2_and_ru_3_inner_gates_have_whole_variables_in_the_aggregated_form() -> None:
    rules = circuit_of({"r": [some(every(among(0, [1], SIZES), among(1, [2], SIZES)), among(2, [0], SIZES))]})
    assert rule_rows_of(rules, Formulation.AGGREGATED) == [
        ({1: 1, 5: 1, 9: -2}, 0, INFINITY),
        ({6: 1, 9: 1}, 1, INFINITY),
    ]
    assert gate_variables(rules, Formulation.AGGREGATED).tolist() == [True]


def test_ru_5_alone_is_an_and_and_its_variable_need_not_be_whole() -> None:
    rules = circuit_of({"r": [some(every(among(0, [1], SIZES), among(1, [2], SIZES)), among(2, [0], SIZES))]})
    assert rule_rows_of(rules, Formulation.PER_LITERAL) == [
        ({6: 1, 9: 1}, 1, INFINITY),
        ({1: 1, 9: -1}, 0, INFINITY),
        ({5: 1, 9: -1}, 0, INFINITY),
    ]
    assert gate_variables(rules, Formulation.PER_LITERAL).tolist() == [False]


def test_ru_3_only_a_gate_that_needs_several_and_can_miss_some_is_whole() -> None:
    literals = [among(a, [1], SIZES) for a in range(3)]
    inner = [Gate(bound, tuple(literals)) for bound in (0, 1, 2, 3, 4)]
    rules = circuit_of({"r": [Gate(1, tuple(inner))]})
    assert gate_variables(rules, Formulation.CLIQUE).tolist() == [False, False, True, False, False]


def test_ru_6_a_functional_dependency_is_one_row_per_image() -> None:
    rules = circuit_of({"r": determines(0, 1, {0: 2, 1: 2, 2: 0}, SIZES)})
    # a = 0 or a = 1 has b = 2, a = 2 has b = 0: x[0] + x[1] <= x[b, 2] as x[2] + x[b, 2] >= 1.
    expected = [({2: 1.0, 5: 1.0}, 1.0, INFINITY), ({0: 1.0, 1: 1.0, 3: 1.0}, 1.0, INFINITY)]
    found = rule_rows_of(rules, Formulation.CLIQUE)
    assert sorted(map(str, found)) == sorted(map(str, expected))
    separate = rule_rows_of(rules, Formulation.PER_LITERAL)
    assert len(separate) == 3
    assert ({1: 1, 2: 1, 5: 1}, 1, INFINITY) in separate


def test_ru_6_is_tighter_than_the_rules_one_by_one() -> None:
    rules = circuit_of({"r": determines(0, 1, {0: 2, 1: 2, 2: 2}, SIZES)})
    program = MaxCsp(np.array(SIZES), clauses_of([([(1, 2, False)], 2)]), np.array([3]), rules)
    bounds = {one: optimum(relaxed(max_csp_as_mip(program, one))) for one in Formulation}
    assert bounds[Formulation.PER_LITERAL] == pytest.approx(2)
    assert bounds[Formulation.CLIQUE] == pytest.approx(0)


def test_a_gate_that_no_record_makes_true_leaves_no_feasible_point() -> None:
    rules = circuit_of({"r": [Gate(4, tuple(among(a, [1], SIZES) for a in range(3)))]})
    for formulation in Formulation:
        assert optimum(relaxed(max_csp_as_mip(problem(rules), formulation))) is None


def test_a_required_gate_without_inputs_is_a_row_of_zeros() -> None:
    rules = circuit_of({"r": [Gate(1, ())]})
    for formulation in Formulation:
        assert optimum(max_csp_as_mip(problem(rules), formulation)) is None


def test_a_required_gate_counts_as_true_where_it_is_an_input() -> None:
    zero, one = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    rules = ThresholdCircuit(
        ("r",),
        np.array([1, 2]),
        np.array([True, True]),
        np.array([0, 0], dtype=np.int32),
        np.array([0, 1, 2]),
        np.array([0, 1], dtype=np.int32),
        np.array([0, 3, 6]),
        np.array([0, 1, 0, 1, 0, 0]),
        np.array([0, 0, 1]),
        zero.astype(np.int32),
        one,
    )
    for formulation in Formulation:
        mip = max_csp_as_mip(problem(rules), formulation)
        assert mip.number_of_variables == 9
        legal = [
            r for r in every_record(SIZES) if optimum(with_x(mip, one_hot(problem(rules), r))) is not None
        ]
        assert [record.tolist()[:2] for record in legal] == [[1, 0], [1, 0]]


@given(st.data())
def test_the_gates_that_are_not_whole_follow_from_the_record(data: st.DataObject) -> None:
    """Raising every z that is not whole as far as the rows allow gives the truth of its gate."""
    rules = data.draw(circuits(SIZES).filter(lambda one: not one.required.all()))
    program = problem(rules)
    record = data.draw(st.sampled_from(list(every_record(SIZES))))
    mip = with_x(max_csp_as_mip(program, Formulation.CLIQUE), one_hot(program, record))
    true = rules.gates(record[None, :])[0][~rules.required]
    for gate in np.flatnonzero(~gate_variables(rules, Formulation.CLIQUE)).tolist():
        objective = np.zeros(mip.number_of_variables)
        objective[9 + gate] = 1
        highest = optimum(replace(mip, objective=objective))
        assert highest is None or highest == pytest.approx(float(true[gate]), abs=1e-7)


def test_outside_is_what_it_says() -> None:
    """The literal of the dependency's rows: all other codes."""
    assert outside(0, [1], SIZES).numbers == (1, 0, 1)
