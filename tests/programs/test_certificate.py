"""Certificates and verification: what a solver claims is computed anew from program and solution alone."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpopt.errors import NoSolutionError, ProgramError
from dpopt.programs import (
    Certificate,
    Limit,
    MaxCsp,
    Point,
    SolveResult,
    Termination,
    certify,
    credible_bound,
    verified,
)
from tests.programs.mixed_integer_programs import dense
from tests.strategies import clauses_of

PROBLEM = MaxCsp(
    np.array([2, 3]), clauses_of([([(0, 1, True), (1, 2, True)], 4), ([(1, 0, True)], 2)]), np.array([5, -2])
)


def claimed(
    solution: Point | None,
    bound: float | None = None,
    termination: Termination = Termination.OPTIMAL,
    limit: Limit | None = None,
    *,
    objective: float = 1234.0,
) -> SolveResult:
    value = None if solution is None else objective
    return SolveResult(termination, limit, solution, value, bound, "s", "", "native", 0.0)


def answer(record: list[int] | None, bound: float | None, objective: float = 99.0) -> SolveResult:
    solution = None if record is None else np.array(record, dtype=np.int32)
    return claimed(solution, bound, Termination.LIMIT, Limit.TIME, objective=objective)


@pytest.mark.parametrize("record", list(itertools.product(range(2), range(3))))
def test_the_objective_is_recomputed_whatever_the_solver_says(record: tuple[int, int]) -> None:
    certificate = certify(PROBLEM, answer(list(record), None))
    expected = 5 * (record == (1, 2)) - 2 * (record[1] == 0)
    assert certificate == Certificate(
        feasible=True, objective=expected, bound=None, gap=None, violation=0, proven_bound=5
    )


@pytest.mark.parametrize(
    ("claimed", "bound"),
    [
        (5.0, 5),
        (4.9999999, 5),  # HiGHS rounds like this
        (5.4, 5),  # objectives are whole
        (77.0, 5),  # nothing exceeds the sum of the positive weights
        (4.9, None),  # disproved by the record itself
        (None, None),
    ],
)
def test_a_bound_is_made_whole_or_dropped(claimed: float | None, bound: int | None) -> None:
    certificate = certify(PROBLEM, answer([1, 2], claimed))
    assert (certificate.bound, certificate.gap) == (bound, None if bound is None else 0)


def test_the_gap_is_bound_minus_objective() -> None:
    assert certify(PROBLEM, answer([0, 0], 3.2)).gap == 5


def test_a_record_may_be_given_with_a_bound_of_its_own() -> None:
    record = np.array([0, 1], dtype=np.int32)
    assert certify(PROBLEM, record) == Certificate(
        feasible=True, objective=0, bound=None, gap=None, violation=0, proven_bound=5
    )
    assert certify(PROBLEM, record, bound=4.0).gap == 4


@pytest.mark.parametrize(("record", "violation"), [([0, 3], 1), ([-2, 0], 2), ([5, 0], 4)])
def test_a_code_that_does_not_exist_is_not_feasible_and_worth_nothing(record: list[int], violation: int) -> None:
    certificate = certify(PROBLEM, answer(record, 5.0))
    assert certificate == Certificate(feasible=False, objective=None, bound=None, gap=None, violation=violation)


def test_without_a_solution_there_is_nothing_to_certify() -> None:
    with pytest.raises(NoSolutionError):
        certify(PROBLEM, answer(None, 5.0))


def test_what_is_proven_and_what_is_reported_are_distinguished() -> None:
    certificate = certify(PROBLEM, answer([0, 0], 3.2), proven=Fraction(17, 4))
    assert (certificate.objective, certificate.proven_bound, certificate.proven_gap) == (-2, 4, 6)
    assert (certificate.reported_bound, certificate.reported_gap) == (3, 5)


@pytest.mark.parametrize(("proven", "bound"), [(None, 5), (Fraction(5), 5), (Fraction(99, 20), 4), (Fraction(50), 5)])
def test_a_proven_bound_is_made_whole_and_never_exceeds_the_positive_weights(
    proven: Fraction | None, bound: int
) -> None:
    record = np.array([0, 1], dtype=np.int32)
    assert certify(PROBLEM, record, proven=proven).proven_bound == bound


def test_without_a_feasible_record_nothing_is_proven() -> None:
    certificate = certify(PROBLEM, answer([0, 3], 5.0), proven=Fraction(5))
    assert (certificate.proven_bound, certificate.proven_gap) == (None, None)


def test_a_proven_bound_that_the_record_exceeds_is_refused() -> None:
    with pytest.raises(ProgramError, match="worth"):
        certify(PROBLEM, answer([1, 2], None), proven=Fraction(49, 10))


def test_a_record_of_another_length_is_refused() -> None:
    with pytest.raises(ProgramError, match="attributes"):
        certify(PROBLEM, np.array([0], dtype=np.int32))


@pytest.mark.parametrize(
    ("claimed", "objective", "bound"),
    [(None, 1.0, None), (3.0, 2.0, 3.0), (1.9999999, 2.0, 2.0), (1.9, 2.0, None), (-5.0, -5.0, -5.0)],
)
def test_a_bound_below_the_objective_is_a_rounding_error_or_a_mistake(
    claimed: float | None, objective: float, bound: float | None
) -> None:
    assert credible_bound(claimed, objective) == bound


def test_a_bound_near_the_largest_float_is_the_sum_of_the_positive_weights() -> None:
    program = MaxCsp(np.array([2]), clauses_of([([(0, 1, True)], 2)]), np.array([5]))
    record = np.array([0], dtype=np.int32)
    assert certify(program, record, bound=1.7976931348623157e308).reported_bound == 5
    stated = SolveResult(Termination.LIMIT, Limit.TIME, record, 0.0, 1.7976931348623157e308, "s", "", "", 0.0)
    bound = verified(program, stated).bound
    assert bound is not None
    assert bound < 2.0**63


PROGRAM = dense([3, 1], [[1, 1]], [(0, 4)], [(0, 3), (0, 3)], [True, False])


def codes(*values: int) -> Point:
    return np.array(values, dtype=np.int32)


def test_the_objective_of_a_record_is_evaluated_exactly() -> None:
    assert verified(PROBLEM, claimed(codes(1, 2))).objective == 5
    assert verified(PROBLEM, claimed(codes(1, 0))).objective == -2


def test_the_objective_of_a_point_is_evaluated_anew_after_rounding() -> None:
    result = verified(PROGRAM, claimed(np.array([2.9999999, 1.0]), 10.0))
    assert (result.objective, result.termination) == (10.0, Termination.OPTIMAL)
    assert result.require_solution().tolist() == [3.0, 1.0]


@pytest.mark.parametrize("record", [codes(0, 3), codes(-1, 0)])
def test_a_code_that_does_not_exist_is_not_passed_on(record: Point) -> None:
    result = verified(PROBLEM, claimed(record))
    assert (result.termination, result.solution, result.objective) == (Termination.IMPRECISE, None, None)
    assert "refused" in result.native_status


@pytest.mark.parametrize("record", [codes(0), np.array([0.0, 1.0])])
def test_an_answer_of_another_form_is_a_failure(record: Point) -> None:
    assert verified(PROBLEM, claimed(record)).termination is Termination.FAILED


@pytest.mark.parametrize("point", [np.array([3.0, 2.0]), np.array([0.0, -1.0])])
def test_a_point_that_breaks_a_row_is_not_passed_on(point: Point) -> None:
    result = verified(PROGRAM, claimed(point))
    expected = Termination.OPTIMAL if point[1] < 0 else Termination.IMPRECISE
    assert result.termination is expected  # a bound that is broken is mended, a row is not
    assert (result.solution is None) is (expected is Termination.IMPRECISE)


def test_a_point_that_is_not_finite_is_a_failure() -> None:
    assert verified(PROGRAM, claimed(np.array([np.nan, 0.0]))).termination is Termination.FAILED


def test_a_bound_that_falls_short_by_rounding_meets_the_objective() -> None:
    assert verified(PROBLEM, claimed(codes(1, 2), 4.9999999)).bound == 5


def test_a_bound_that_the_objective_disproves_is_dropped() -> None:
    assert verified(PROBLEM, claimed(codes(1, 2), 3.0)).bound is None
    assert verified(replace(PROGRAM, maximize=False), claimed(np.array([0.0, 0.0]), 1.0)).bound is None


def test_the_bound_of_a_minimization_lies_below() -> None:
    result = verified(replace(PROGRAM, maximize=False), claimed(np.array([1.0, 0.0]), 3.0000001))
    assert (result.bound, result.objective) == (3.0, 3.0)


def test_optimal_with_a_gap_left_is_a_gap_limit() -> None:
    for program, solution in ((PROBLEM, codes(0, 1)), (PROGRAM, np.array([1.0, 0.0]))):
        result = verified(program, claimed(solution, 4.0))
        assert (result.termination, result.limit) == (Termination.LIMIT, Limit.GAP)


def test_a_whole_bound_that_meets_the_objective_proves_optimality_and_one_above_it_does_not() -> None:
    result = verified(PROBLEM, claimed(codes(1, 2), 5.8, Termination.LIMIT, Limit.TIME))
    assert (result.termination, result.limit, result.bound) == (Termination.OPTIMAL, None, 5.0)
    result = verified(PROBLEM, claimed(codes(0, 1), 4.5, Termination.LIMIT, Limit.WORK))
    assert (result.termination, result.limit, result.bound) == (Termination.LIMIT, Limit.WORK, 4.0)


def test_a_result_without_a_solution_is_left_alone() -> None:
    result = claimed(None, 7.0, Termination.LIMIT, Limit.TIME)
    assert verified(PROBLEM, result) is result


def test_a_claim_that_the_solution_contradicts_stays_in_the_report() -> None:
    found = verified(PROBLEM, replace(claimed(codes(1, 2), 4.0), objective=9.0))
    assert (found.objective, found.bound) == (5.0, None)
    assert found.report == {"claimed_objective": 9.0, "claimed_bound": 4.0}
    again = verified(PROBLEM, found)
    assert again.report == found.report


def test_a_claim_that_holds_or_is_modest_leaves_no_trace() -> None:
    honest = replace(claimed(codes(1, 2), 5.0), objective=5.0)
    assert verified(PROBLEM, honest).report == {}
    assert verified(PROBLEM, replace(honest, objective=2.0)).report == {}
    assert verified(PROGRAM, replace(claimed(np.array([2.9999999, 1.0]), 10.0), objective=10.0000001)).report == {}


def test_for_a_minimization_a_claim_is_too_good_when_it_is_too_small() -> None:
    program = dense([1], [[1]], [(2, 4)], [(0, 9)], [True], maximize=False)
    results = [replace(claimed(np.array([3.0])), objective=value) for value in (1.0, 5.0)]
    assert [verified(program, result).report for result in results] == [{"claimed_objective": 1.0}, {}]


@pytest.mark.parametrize("duals", [[1.0, 2.0], [np.nan], []])
def test_duals_that_do_not_fit_the_rows_are_dropped(duals: list[float]) -> None:
    found = replace(claimed(np.array([3.0, 1.0])), duals=np.array(duals))
    assert verified(PROGRAM, found).duals is None
    assert (
        verified(PROGRAM, replace(found, solution=None, objective=None, termination=Termination.FAILED)).duals is None
    )
    fitting = verified(PROGRAM, replace(found, duals=np.array([2.0]))).duals
    assert fitting is not None
    assert fitting.tolist() == [2.0]
