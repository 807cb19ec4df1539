"""Verification: what program and solution contradict is replaced."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpopt.programs import Limit, MaxCsp, Point, SolveResult, Termination, verified
from tests.programs.mixed_integer_programs import dense
from tests.strategies import clauses_of

PROBLEM = MaxCsp(
    np.array([2, 3]), clauses_of([([(0, 1, True), (1, 2, True)], 4), ([(1, 0, True)], 2)]), np.array([5, -2])
)
PROGRAM = dense([3, 1], [[1, 1]], [(0, 4)], [(0, 3), (0, 3)], [True, False])


def answer(
    solution: Point | None,
    bound: float | None = None,
    termination: Termination = Termination.OPTIMAL,
    limit: Limit | None = None,
) -> SolveResult:
    objective = None if solution is None else 1234.0
    return SolveResult(termination, limit, solution, objective, bound, "s", "", "native", 0.0)


def codes(*values: int) -> Point:
    return np.array(values, dtype=np.int32)


def test_the_objective_of_a_record_is_evaluated_exactly() -> None:
    assert verified(PROBLEM, answer(codes(1, 2))).objective == 5
    assert verified(PROBLEM, answer(codes(1, 0))).objective == -2


def test_the_objective_of_a_point_is_evaluated_anew_after_rounding() -> None:
    result = verified(PROGRAM, answer(np.array([2.9999999, 1.0]), 10.0))
    assert (result.objective, result.termination) == (10.0, Termination.OPTIMAL)
    assert result.require_solution().tolist() == [3.0, 1.0]


@pytest.mark.parametrize("record", [codes(0, 3), codes(-1, 0)])
def test_a_code_that_does_not_exist_is_not_passed_on(record: Point) -> None:
    result = verified(PROBLEM, answer(record))
    assert (result.termination, result.solution, result.objective) == (Termination.IMPRECISE, None, None)
    assert "refused" in result.native_status


@pytest.mark.parametrize("record", [codes(0), np.array([0.0, 1.0])])
def test_an_answer_of_another_form_is_a_failure(record: Point) -> None:
    assert verified(PROBLEM, answer(record)).termination is Termination.FAILED


@pytest.mark.parametrize("point", [np.array([3.0, 2.0]), np.array([0.0, -1.0])])
def test_a_point_that_breaks_a_row_is_not_passed_on(point: Point) -> None:
    result = verified(PROGRAM, answer(point))
    expected = Termination.OPTIMAL if point[1] < 0 else Termination.IMPRECISE
    assert result.termination is expected  # a bound that is broken is mended, a row is not
    assert (result.solution is None) is (expected is Termination.IMPRECISE)


def test_a_point_that_is_not_finite_is_a_failure() -> None:
    assert verified(PROGRAM, answer(np.array([np.nan, 0.0]))).termination is Termination.FAILED


def test_a_bound_that_falls_short_by_rounding_meets_the_objective() -> None:
    assert verified(PROBLEM, answer(codes(1, 2), 4.9999999)).bound == 5


def test_a_bound_that_the_objective_disproves_is_dropped() -> None:
    assert verified(PROBLEM, answer(codes(1, 2), 3.0)).bound is None
    assert verified(replace(PROGRAM, maximize=False), answer(np.array([0.0, 0.0]), 1.0)).bound is None


def test_the_bound_of_a_minimization_lies_below() -> None:
    result = verified(replace(PROGRAM, maximize=False), answer(np.array([1.0, 0.0]), 3.0000001))
    assert (result.bound, result.objective) == (3.0, 3.0)


def test_optimal_with_a_gap_left_is_a_gap_limit() -> None:
    for program, solution in ((PROBLEM, codes(0, 1)), (PROGRAM, np.array([1.0, 0.0]))):
        result = verified(program, answer(solution, 4.0))
        assert (result.termination, result.limit) == (Termination.LIMIT, Limit.GAP)


def test_a_whole_bound_that_meets_the_objective_proves_optimality() -> None:
    result = verified(PROBLEM, answer(codes(1, 2), 5.8, Termination.LIMIT, Limit.TIME))
    assert (result.termination, result.limit, result.bound) == (Termination.OPTIMAL, None, 5.0)


def test_a_limit_with_a_gap_stays_one() -> None:
    result = verified(PROBLEM, answer(codes(0, 1), 4.5, Termination.LIMIT, Limit.WORK))
    assert (result.termination, result.limit, result.bound) == (Termination.LIMIT, Limit.WORK, 4.0)


def test_a_result_without_a_solution_is_left_alone() -> None:
    result = answer(None, 7.0, Termination.LIMIT, Limit.TIME)
    assert verified(PROBLEM, result) is result


def test_a_claim_that_the_solution_contradicts_stays_in_the_report() -> None:
    found = verified(PROBLEM, replace(answer(codes(1, 2), 4.0), objective=9.0))
    assert (found.objective, found.bound) == (5.0, None)
    assert found.report == {"claimed_objective": 9.0, "claimed_bound": 4.0}
    again = verified(PROBLEM, found)
    assert again.report == found.report


def test_a_claim_that_holds_or_is_modest_leaves_no_trace() -> None:
    honest = replace(answer(codes(1, 2), 5.0), objective=5.0)
    assert verified(PROBLEM, honest).report == {}
    assert verified(PROBLEM, replace(honest, objective=2.0)).report == {}
    assert (
        verified(PROGRAM, replace(answer(np.array([2.9999999, 1.0]), 10.0), objective=10.0000001)).report
        == {}
    )


def test_for_a_minimization_a_claim_is_too_good_when_it_is_too_small() -> None:
    program = dense([1], [[1]], [(2, 4)], [(0, 9)], [True], maximize=False)
    claimed = [replace(answer(np.array([3.0])), objective=value) for value in (1.0, 5.0)]
    assert [verified(program, result).report for result in claimed] == [{"claimed_objective": 1.0}, {}]


@pytest.mark.parametrize("duals", [[1.0, 2.0], [np.nan], []])
def test_duals_that_do_not_fit_the_rows_are_dropped(duals: list[float]) -> None:
    found = replace(answer(np.array([3.0, 1.0])), duals=np.array(duals))
    assert verified(PROGRAM, found).duals is None
    assert (
        verified(PROGRAM, replace(found, solution=None, objective=None, termination=Termination.FAILED)).duals
        is None
    )
    fitting = verified(PROGRAM, replace(found, duals=np.array([2.0]))).duals
    assert fitting is not None
    assert fitting.tolist() == [2.0]
