"""BR-10 to BR-12: what "one code per attribute" adds for clauses with a literal in common."""

from __future__ import annotations

import numpy as np
import pytest

from dpopt.models import Formulation, max_csp_as_mip
from dpopt.models.best_responses.rows.clique_rows import REPEATS, exclusive_clauses
from dpopt.programs import MaxCsp
from tests.models.linear_programs import optimum, relaxed
from tests.models.test_max_csp_as_mip import rows_of
from tests.strategies import Row, clauses_of

INFINITY = float("inf")


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
    rows: list[Row] = [
        ([(0, 0, True), (1, 0, True)], 4),
        ([(0, 0, True), (1, 1, True)], 4),
        ([(0, 1, True)], 2),
    ]
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


def test_without_companions_there_are_no_rows() -> None:
    keys = np.array([[1, 3], [1, 3]])
    found = exclusive_clauses(keys, np.ones(2, dtype=np.bool_), np.ones(2), np.array([0, 1, 1]))
    assert found.literal.size == found.clause.size == 0


def test_a_row_that_two_attributes_give_is_kept_once() -> None:
    keys = np.array([[1, 3, 7], [1, 5, 9]])
    found = exclusive_clauses(keys, np.ones(2, dtype=np.bool_), np.ones(2), np.array([0, 1, 1, 2, 2]))
    assert found.literal.tolist() == [1]
