"""Certificates: computed from problem and record alone; a solver's bound is read with suspicion."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpopt.errors import NoSolutionError, ProgramError
from dpopt.programs import (
    Certificate,
    Limit,
    MaxCsp,
    SolveResult,
    Termination,
    certify,
    credible_bound,
    verified,
)
from tests.strategies import clauses_of

PROBLEM = MaxCsp(
    np.array([2, 3]), clauses_of([([(0, 1, True), (1, 2, True)], 4), ([(1, 0, True)], 2)]), np.array([5, -2])
)


def answer(record: list[int] | None, bound: float | None, objective: float = 99.0) -> SolveResult:
    return SolveResult(
        termination=Termination.LIMIT,
        limit=Limit.TIME,
        solution=None if record is None else np.array(record, dtype=np.int32),
        objective=None if record is None else objective,
        bound=bound,
        solver="s",
        version="",
        native_status="",
        seconds=0.0,
    )


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
def test_a_code_that_does_not_exist_is_not_feasible_and_worth_nothing(
    record: list[int], violation: int
) -> None:
    certificate = certify(PROBLEM, answer(record, 5.0))
    assert certificate == Certificate(
        feasible=False, objective=None, bound=None, gap=None, violation=violation
    )


def test_without_a_solution_there_is_nothing_to_certify() -> None:
    with pytest.raises(NoSolutionError):
        certify(PROBLEM, answer(None, 5.0))


def test_what_is_proven_and_what_is_reported_are_told_apart() -> None:
    certificate = certify(PROBLEM, answer([0, 0], 3.2), proven=Fraction(17, 4))
    assert (certificate.objective, certificate.proven_bound, certificate.proven_gap) == (-2, 4, 6)
    assert (certificate.reported_bound, certificate.reported_gap) == (3, 5)


@pytest.mark.parametrize(
    ("proven", "bound"), [(None, 5), (Fraction(5), 5), (Fraction(99, 20), 4), (Fraction(50), 5)]
)
def test_a_proven_bound_is_made_whole_and_never_exceeds_the_positive_weights(
    proven: Fraction | None, bound: int
) -> None:
    record = np.array([0, 1], dtype=np.int32)
    assert certify(PROBLEM, record, proven=proven).proven_bound == bound


def test_without_a_feasible_record_nothing_is_proven() -> None:
    certificate = certify(PROBLEM, answer([0, 3], 5.0), proven=Fraction(5))
    assert (certificate.proven_bound, certificate.proven_gap) == (None, None)


def test_a_proven_bound_that_the_record_exceeds_is_refused() -> None:
    with pytest.raises(ProgramError, match="worth 5, more than the bound 4 that is said to be proven"):
        certify(PROBLEM, answer([1, 2], None), proven=Fraction(49, 10))


def test_a_record_of_another_length_is_refused() -> None:
    with pytest.raises(ProgramError, match="2 attributes"):
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
    told = SolveResult(Termination.LIMIT, Limit.TIME, record, 0.0, 1.7976931348623157e308, "s", "", "", 0.0)
    bound = verified(program, told).bound
    assert bound is not None
    assert bound < 2.0**63
