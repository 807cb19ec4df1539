"""Clauses and rules as rows: BR-1 to BR-12, TH-1 to TH-8, PA-1 to PA-6, RU-1 to RU-6."""

from __future__ import annotations

from dataclasses import replace
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.models import Formulation, max_csp_as_mip, point_from_record, record_from_point
from dpopt.models.best_responses.rows.clause_rows import MOST_ROWS, set_families
from dpopt.models.best_responses.rows.clique_rows import REPEATS, exclusive_clauses
from dpopt.models.best_responses.rows.rule_rows import gate_variables
from dpopt.programs import MaxCsp, MixedIntegerProgram
from dpopt.schema.rules.threshold_circuit import ThresholdCircuit
from tests.circuits import Amount, Gate, among, circuit_of, circuits, determines, every, every_record, outside, some
from tests.models.catalogue import all_records
from tests.models.draws import conjunctive_problems
from tests.models.linear_programs import envelope, one_hot, optimum, relaxed, with_x
from tests.strategies import Row, clauses_of

BOTH = st.sampled_from([Formulation.PER_LITERAL, Formulation.AGGREGATED])


@given(conjunctive_problems(max_clauses=4), BOTH)
def test_br_3_to_br_9_no_clause_variable_is_better_than_the_truth(program: MaxCsp, formulation: Formulation) -> None:
    """Moving c_j off the truth to the side that its weight rewards breaks a row (by half a step: not only if whole)."""
    mip = max_csp_as_mip(program, formulation)
    step = 0.5 if formulation is Formulation.PER_LITERAL else 1.0
    x = int(program.offsets()[-1])
    for record in all_records(program.sizes):
        point = point_from_record(program, record)
        for j, weight in enumerate(program.weights):
            better = point.copy()
            better[x + j] += step * np.sign(weight)
            assert mip.violation(better) > 0


@given(conjunctive_problems(max_clauses=3), BOTH)
def test_br_2_a_point_with_two_codes_or_none_is_infeasible(program: MaxCsp, formulation: Formulation) -> None:
    mip = max_csp_as_mip(program, formulation)
    point = np.zeros(mip.number_of_variables)
    assert mip.violation(point) >= 1
    point[: int(program.offsets()[-1])] = 1
    assert (mip.violation(point) >= 1) == bool((program.sizes > 1).any() or mip.violation(point))


@given(conjunctive_problems())
def test_the_size_is_that_of_the_page(program: MaxCsp) -> None:
    m, d, codes = len(program.clauses), program.sizes.size, int(program.sizes.sum())
    widths = program.clauses.widths()
    negation = program.clauses.accepted != 1 << widths
    every = (program.weights > 0) != negation
    tight = max_csp_as_mip(program, Formulation.PER_LITERAL)
    loose = max_csp_as_mip(program, Formulation.AGGREGATED)
    assert tight.number_of_rows == d + int(np.where(every, widths, 1).sum())
    assert loose.number_of_rows == d + m - int((every & (widths == 0)).sum())
    assert (tight.number_of_variables, int(tight.integrality.sum())) == (codes + m, codes)
    assert (loose.number_of_variables, int(loose.integrality.sum())) == (codes + m, codes + m)


def rows_of(mip: MixedIntegerProgram, row: int) -> tuple[dict[int, float], float, float]:
    span = slice(int(mip.row_starts[row]), int(mip.row_starts[row + 1]))
    entries = dict(zip(mip.columns[span].tolist(), mip.coefficients[span].tolist(), strict=True))
    return entries, float(mip.row_lower[row]), float(mip.row_upper[row])


INFINITY = float("inf")


@pytest.mark.parametrize(
    ("weight", "mask", "formulation", "expected"),
    [
        # Columns 0, 1: attribute 0; 2, 3: attribute 1; 4: c. Literals: x1 and 1 - x2.
        (2, 4, Formulation.PER_LITERAL, [({1: -1, 4: 1}, -INFINITY, 0), ({2: 1, 4: 1}, -INFINITY, 1)]),  # BR-3
        (-2, 4, Formulation.PER_LITERAL, [({1: -1, 2: 1, 4: 1}, 0, INFINITY)]),  # BR-4
        (-2, 3, Formulation.PER_LITERAL, [({1: 1, 4: 1}, 1, INFINITY), ({2: -1, 4: 1}, 0, INFINITY)]),  # BR-5
        (2, 3, Formulation.PER_LITERAL, [({1: 1, 2: -1, 4: 1}, -INFINITY, 1)]),  # BR-6
        (2, 4, Formulation.AGGREGATED, [({1: -1, 2: 1, 4: 2}, -INFINITY, 1)]),  # BR-8
        (-2, 4, Formulation.AGGREGATED, [({1: -1, 2: 1, 4: 1}, 0, INFINITY)]),  # BR-4
        (-2, 3, Formulation.AGGREGATED, [({1: 1, 2: -1, 4: 2}, 1, INFINITY)]),  # BR-9
        (2, 3, Formulation.AGGREGATED, [({1: 1, 2: -1, 4: 1}, -INFINITY, 1)]),  # BR-6
    ],
)
def test_the_rows_are_those_of_the_page(
    weight: int, mask: int, formulation: Formulation, expected: list[tuple[dict[int, float], float, float]]
) -> None:
    program = MaxCsp(np.array([2, 2]), clauses_of([([(0, 1, True), (1, 0, False)], mask)]), np.array([weight]))
    mip = max_csp_as_mip(program, formulation)
    assert [rows_of(mip, row) for row in range(2, mip.number_of_rows)] == expected
    assert [rows_of(mip, row) for row in range(2)] == [({0: 1, 1: 1}, 1, 1), ({2: 1, 3: 1}, 1, 1)]  # BR-2
    assert mip.objective.tolist() == [0, 0, 0, 0, weight]  # BR-1
    assert (mip.lower.tolist(), mip.upper.tolist()) == ([0] * 5, [1] * 5)  # BR-7


def test_rounding_errors_of_a_solver_do_no_harm_to_the_record() -> None:
    program = MaxCsp(np.array([3, 2]), clauses_of([([(0, 0, True)], 2)]), np.array([1]))
    point = np.array([1e-9, 0.9999999, 0.0, -1e-12, 1.0000001, 0.5])
    assert record_from_point(program, point).tolist() == [1, 1]


SHARES = st.integers(0, 8).map(lambda eighths: eighths / 8)


def single(mask: int, signs: list[bool], weight: int = 1) -> MaxCsp:
    """Return one clause over attributes of two codes, each with one literal "= 1" or "!= 1"."""
    literals = [(a, 1, sign) for a, sign in enumerate(signs)]
    return MaxCsp(np.full(len(signs), 2), clauses_of([(literals, mask)]), np.array([weight]))


def best_relaxed(program: MaxCsp, formulation: Formulation, shares: NDArray[np.float64]) -> float:
    """Return the relaxation's optimum where each literal is fixed at its share."""
    ones = np.where(program.clauses.signs[0], shares, 1 - shares)
    x = np.column_stack((1 - ones, ones)).reshape(-1)
    found = optimum(with_x(relaxed(max_csp_as_mip(program, formulation)), x))
    assert found is not None
    return found


@given(st.data(), st.integers(1, 4), st.sampled_from([1, -1]))
def test_th_1_to_th_3_the_clique_form_is_as_tight_as_one_threshold_allows(
    data: st.DataObject, width: int, weight: int
) -> None:
    signs = data.draw(st.lists(st.booleans(), min_size=width, max_size=width))
    shares = np.array(data.draw(st.lists(SHARES, min_size=width, max_size=width)))
    bound = data.draw(st.integers(0, width + 1))
    full = (2 << width) - 1
    at_least = full & -(1 << bound)
    mask = full ^ at_least if data.draw(st.booleans()) else at_least
    found = best_relaxed(single(mask, signs, weight), Formulation.CLIQUE, shares)
    rewarded = mask if weight > 0 else full ^ mask
    expected = envelope(shares, lambda number: bool(rewarded >> number & 1))
    assert found == pytest.approx(expected - (weight < 0), abs=1e-7)


def test_th_2_the_whole_row_cuts_off_what_the_smallest_sets_allow() -> None:
    """Two of three literals at one half each: pairs allow 1, the row over all three 3/4."""
    halves = np.full(3, 0.5)
    program = single(0b1100, [True] * 3)
    assert best_relaxed(program, Formulation.PER_LITERAL, halves) == pytest.approx(0.75)
    assert best_relaxed(program, Formulation.AGGREGATED, halves) == pytest.approx(0.75)
    uneven = np.array([0.0, 0.5, 1.0])
    assert best_relaxed(program, Formulation.PER_LITERAL, uneven) == pytest.approx(0.5)
    assert best_relaxed(program, Formulation.AGGREGATED, uneven) == pytest.approx(0.75)


@pytest.mark.parametrize("width", range(8))
@pytest.mark.parametrize("formulation", Formulation)
def test_no_threshold_has_more_rows_than_are_allowed(width: int, formulation: Formulation) -> None:
    for bound in range(width + 2):
        sets, exact = set_families(width, bound, formulation)
        rows = sum(comb(width, size) for size, _ in sets)
        assert rows <= MOST_ROWS
        assert exact or sets == [(width, bound)]  # TH-4: one row, and a whole variable


def test_th_4_thresholds_with_too_many_sets_fall_back() -> None:
    assert set_families(6, 3, Formulation.PER_LITERAL) == ([(4, 1), (6, 3)], True)
    assert set_families(6, 3, Formulation.CLIQUE) == ([(4, 1), (6, 3)], True)
    assert set_families(5, 3, Formulation.CLIQUE) == ([(3, 1), (4, 2), (5, 3)], True)
    assert set_families(8, 4, Formulation.PER_LITERAL) == ([(8, 4)], False)
    assert set_families(31, 31, Formulation.PER_LITERAL) == ([(1, 1)], True)  # a conjunction never does


def test_the_sizes_of_a_threshold_on_the_page() -> None:
    """Three of five: pairs of the page's Size."""
    literals = [(a, 0, True) for a in range(5)]
    program = MaxCsp(np.full(5, 3), clauses_of([(literals, 0b111000)]), np.array([4]))
    rows = {one: max_csp_as_mip(program, one).number_of_rows - 5 for one in Formulation}
    assert rows == {Formulation.AGGREGATED: 1, Formulation.PER_LITERAL: 11, Formulation.CLIQUE: 16}


@pytest.mark.parametrize("formulation", Formulation)
def test_th_5_to_th_7_the_rows_are_those_of_the_page(formulation: Formulation) -> None:
    """None or all three of "x1 = 1, x2 != 1, x3 = 1"; columns 0-5: x, 6: c, 7-10: y."""
    mip = max_csp_as_mip(single(0b1001, [True, False, True]), formulation)
    assert [rows_of(mip, row) for row in range(3, mip.number_of_rows)] == [
        ({7: 1, 8: 1, 9: 1, 10: 1}, 1, 1),
        ({1: 1, 3: -1, 5: 1, 8: -1, 9: -2, 10: -3}, -1, -1),
        ({6: 1, 7: -1, 10: -1}, 0, 0),
    ]


def test_th_7_a_negative_weight_changes_nothing_in_the_rows() -> None:
    mask = 0b1001
    plus, minus = (max_csp_as_mip(single(mask, [True] * 3, weight)) for weight in (1, -1))
    assert [rows_of(plus, row) for row in range(6)] == [rows_of(minus, row) for row in range(6)]


def test_th_8_y_must_be_whole_and_c_need_not() -> None:
    program = single(0b1001, [True] * 3)
    mip = max_csp_as_mip(program)
    assert mip.integrality.tolist() == [True] * 6 + [False] + [True] * 4
    x = np.array([1.0, 0, 0, 1, 1, 0])  # one of three
    assert optimum(with_x(mip, x)) == 0
    assert optimum(with_x(relaxed(mip), x)) == pytest.approx(1)  # two thirds of none and one third of all


def test_the_point_of_a_record_has_the_number_of_true_literals() -> None:
    program = single(0b1001, [True, False, True])
    point = point_from_record(program, np.array([1, 1, 1], dtype=np.int32))
    assert point.tolist() == [0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0]


ODD, EVEN = 0xAAAAAAAA, 0x55555555


@settings(max_examples=60)
@given(st.data(), st.integers(2, 6), st.sampled_from([ODD, EVEN]), st.sampled_from([1, -1]))
def test_pa_3_to_pa_6_cuts_and_links_are_as_tight_as_one_parity_allows(
    data: st.DataObject, width: int, parity: int, weight: int
) -> None:
    signs = data.draw(st.lists(st.booleans(), min_size=width, max_size=width))
    shares = np.array(data.draw(st.lists(SHARES, min_size=width, max_size=width)))
    full = (2 << width) - 1
    rewarded = full & (parity if weight > 0 else ~parity)
    expected = envelope(shares, lambda number: bool(rewarded >> number & 1)) - (weight < 0)
    program = single(parity & full, signs, weight)
    assert best_relaxed(program, Formulation.PER_LITERAL, shares) == pytest.approx(expected, abs=1e-7)
    assert best_relaxed(program, Formulation.CLIQUE, shares) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("parity", [ODD, EVEN])
@pytest.mark.parametrize("width", [2, 3, 4, 5, 7])
@pytest.mark.parametrize("formulation", Formulation)
@pytest.mark.parametrize("weight", [2, -2])
def test_pa_1_to_pa_6_tie_the_parity_to_records(parity: int, width: int, formulation: Formulation, weight: int) -> None:
    program = single(parity & ((2 << width) - 1), [place % 3 > 0 for place in range(width)], weight)
    mip = max_csp_as_mip(program, formulation)
    for record in every_record(program.sizes.tolist())[:: 1 if width < 6 else 9]:
        assert optimum(with_x(mip, one_hot(program, record))) == pytest.approx(program.objective(record))


def test_pa_1_and_pa_2_say_nothing_where_literals_are_halves() -> None:
    for mask in (0b1010, 0b0101):
        assert best_relaxed(single(mask, [True] * 3), Formulation.AGGREGATED, np.array([1.0, 0.0, 0.0])) == 1
        assert best_relaxed(single(mask, [True] * 3), Formulation.PER_LITERAL, np.full(3, 0.5)) == 1


def test_the_sizes_of_parities_are_those_of_the_page() -> None:
    for width, rows, links in ((2, 2, 0), (3, 4, 0), (4, 8, 0), (5, 14, 3), (9, 30, 7)):
        mip = max_csp_as_mip(single(ODD & ((2 << width) - 1), [True] * width), Formulation.PER_LITERAL)
        assert (mip.number_of_rows, mip.number_of_variables) == (width + rows, 2 * width + 1 + links)
        assert int(mip.integrality.sum()) == 2 * width
        loose = max_csp_as_mip(single(ODD & ((2 << width) - 1), [True] * width), Formulation.AGGREGATED)
        assert (loose.number_of_rows, loose.number_of_variables) == (width + 1, 2 * width + 2)
        assert loose.upper[-1] == width // 2
        assert relaxed(loose).integrality.sum() == 0


def problem(sizes: list[int], rows: list[Row], weights: list[int]) -> MaxCsp:
    return MaxCsp(np.array(sizes), clauses_of(rows), np.array(weights))


def new_rows(program: MaxCsp) -> list[tuple[dict[int, float], float, float]]:
    """Return the rows of the clique form after BR-2."""
    mip = max_csp_as_mip(program, Formulation.CLIQUE)
    return [rows_of(mip, row) for row in range(program.sizes.size, mip.number_of_rows)]


def test_br_10_clauses_that_need_different_codes_share_a_row() -> None:
    # Columns 0-2: a; 3-5: b; 6-8: c_0 to c_2.
    rows: list[Row] = [([(0, 1, True), (1, code, True)], 0b100) for code in range(3)]
    program = problem([3, 3], rows, [1, 2, 3])
    found = new_rows(program)
    assert ({1: -1, 6: 1, 7: 1, 8: 1}, -INFINITY, 0) in found
    # "b = code" has no companion that needs another code of a: BR-3 for each.
    assert sorted(next(iter(row[0])) for row in found) == [1, 3, 4, 5]
    assert len(found) == 4
    assert optimum(relaxed(max_csp_as_mip(program, Formulation.CLIQUE))) == pytest.approx(3)
    assert optimum(relaxed(max_csp_as_mip(program, Formulation.PER_LITERAL))) == pytest.approx(3)


def test_br_10_is_tighter_where_each_clause_alone_could_have_its_half() -> None:
    """Two records are pulled apart: each clause gets one half of every literal, both share "a = 0"."""
    rows: list[Row] = [([(0, 0, True), (1, 0, True)], 4), ([(0, 0, True), (1, 1, True)], 4), ([(0, 1, True)], 2)]
    program = problem([2, 2], rows, [1, 1, 1])
    assert optimum(relaxed(max_csp_as_mip(program, Formulation.PER_LITERAL))) == pytest.approx(1.5)
    assert optimum(relaxed(max_csp_as_mip(program, Formulation.CLIQUE))) == pytest.approx(1)


def test_br_10_holds_rewarded_falsity_too() -> None:
    """A negation with a negative weight asks for its conjunction: 1 - c stands in the row."""
    rows: list[Row] = [([(0, 1, True), (1, 0, True)], 0b100), ([(0, 1, True), (1, 2, True)], 0b011)]
    assert ({1: -1, 6: 1, 7: -1}, -INFINITY, -1) in new_rows(problem([3, 3], rows, [2, -2]))


def test_br_10_not_equal_over_two_codes_is_the_other_code() -> None:
    rows: list[Row] = [([(0, 1, True), (1, 0, False)], 4), ([(0, 1, True), (1, 1, False)], 4)]
    assert ({1: -1, 5: 1, 6: 1}, -INFINITY, 0) in new_rows(problem([3, 2], rows, [1, 1]))


def test_br_11_a_conjunction_that_falsifies_all_but_one_literal_of_a_disjunction() -> None:
    # w < 0 for the conjunction (a = 1, b = 2, c != 0): falsity is rewarded. The other clause makes a = 1 and b = 2.
    rows: list[Row] = [
        ([(0, 1, True), (1, 2, True), (2, 0, False)], 0b1000),
        ([(0, 1, True), (1, 2, True), (2, 1, False), (3, 0, True)], 0b10000),
    ]
    # (1 - c_0) + c_1 <= 1 + [c = 0];  columns 6-8: c; 11, 12: the clauses.
    assert ({6: -1, 11: -1, 12: 1}, -INFINITY, 0) in new_rows(problem([3, 3, 3, 2], rows, [-1, 1]))


def test_br_12_a_literal_that_disjunctions_share_counts_once() -> None:
    # (1 - c_0) + (1 - c_1) <= [b != 0] + [b != 1] + [a != 1];  columns 0-2: a, 3-5: b.
    rows: list[Row] = [([(0, 1, True), (1, code, True)], 0b100) for code in range(2)]
    assert ({1: 1, 3: 1, 4: 1, 6: -1, 7: -1}, -INFINITY, 1) in new_rows(problem([3, 3], rows, [-1, -1]))


def test_exclusive_clauses_are_arranged_by_weight_and_repeated_a_few_times() -> None:
    # Literal 1 (x[0] = 1) with code 1 of the second attribute six times, with code 2 once.
    keys = np.array([[1, 3]] * 6 + [[1, 5]])
    weights = np.array([1.0, 6, 2, 5, 3, 4, 7])
    found = exclusive_clauses(keys, np.ones(7, dtype=np.bool_), weights, np.array([0, 1, 1]))
    rows = [sorted(found.clause[found.row == row].tolist()) for row in range(found.literal.size)]
    assert rows == [[1, 6], [3, 6], [5, 6], [4, 6]]
    assert REPEATS == 4
    assert found.literal.tolist() == [1] * 4
    assert found.place.tolist() == [0] * 8


@pytest.mark.parametrize(("keys", "literals"), [([[1, 3], [1, 3]], []), ([[1, 3, 7], [1, 5, 9]], [1])])
def test_without_companions_there_are_no_rows_and_one_of_two_attributes_is_kept_once(
    keys: list[list[int]], literals: list[int]
) -> None:
    of_place = np.array([0, 1, 1, 2, 2][: 2 * len(keys[0]) - 1])
    found = exclusive_clauses(np.array(keys), np.ones(2, dtype=np.bool_), np.ones(2), of_place)
    assert found.literal.tolist() == literals
    assert bool(literals) == bool(found.clause.size)


SIZES = [3, 3, 2]


def ruled(rules: ThresholdCircuit, sizes: list[int] = SIZES) -> MaxCsp:
    return MaxCsp(np.array(sizes), clauses_of([([(0, 0, True)], 2)]), np.array([1]), rules)


def rows_after(mip: MixedIntegerProgram, first: int) -> list[tuple[dict[int, float], float, float]]:
    return [rows_of(mip, row) for row in range(first, mip.number_of_rows)]


def rule_rows_of(rules: ThresholdCircuit, formulation: Formulation) -> list[tuple[dict[int, float], float, float]]:
    """Return the rows after BR-2 (3) and the clause's (1); columns 0-2: a, 3-5: b, 6-7: c, 8: the clause, 9-: gates."""
    return rows_after(max_csp_as_mip(ruled(rules), formulation), 4)


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


def test_a_required_gate_that_no_record_makes_true_leaves_no_feasible_point() -> None:
    """Of too few inputs, or of none."""
    for inputs in (tuple(among(a, [1], SIZES) for a in range(3)), ()):
        for formulation in Formulation:
            rules = circuit_of({"r": [Gate(len(inputs) + 1, inputs)]})
            assert optimum(relaxed(max_csp_as_mip(ruled(rules), formulation))) is None


def test_a_required_gate_counts_as_true_where_it_is_an_input() -> None:
    zero, one = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    rules = ThresholdCircuit(
        ("r",), np.array([1, 2]), np.array([True, True]), np.array([0, 0], dtype=np.int32), np.array([0, 1, 2]),
        np.array([0, 1], dtype=np.int32), np.array([0, 3, 6]), np.array([0, 1, 0, 1, 0, 0]), np.array([0, 0, 1]),
        zero.astype(np.int32), one,
    )  # fmt: skip
    for formulation in Formulation:
        mip = max_csp_as_mip(ruled(rules), formulation)
        assert mip.number_of_variables == 9
        feasible = [r for r in every_record(SIZES) if optimum(with_x(mip, one_hot(ruled(rules), r))) is not None]
        assert [record.tolist()[:2] for record in feasible] == [[1, 0], [1, 0]]


@given(st.data())
def test_the_gates_that_are_not_whole_follow_from_the_record(data: st.DataObject) -> None:
    """Raising every z that is not whole as far as the rows allow gives the truth of its gate."""
    rules = data.draw(circuits(SIZES).filter(lambda one: not one.required.all()))
    program = ruled(rules)
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
