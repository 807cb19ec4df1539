"""Results: fields that contradict each other are refused; what is not there is not made up."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

from dpopt.errors import NoSolutionError, ProgramError
from dpopt.programs import Limit, SolveResult, Termination

RECORD = np.array([1, 0], dtype=np.int32)


def result(**changes: Any) -> SolveResult:
    fields: dict[str, Any] = {
        "termination": Termination.OPTIMAL,
        "limit": None,
        "solution": RECORD,
        "objective": 3.0,
        "bound": 3.0,
        "solver": "s",
        "version": "1",
        "native_status": "done",
        "seconds": 0.5,
    }
    return SolveResult(**(fields | changes))


@pytest.mark.parametrize("termination", [member for member in Termination if member is not Termination.LIMIT])
def test_a_limit_is_named_only_if_one_was_hit(termination: Termination) -> None:
    with pytest.raises(ProgramError, match="limit"):
        result(termination=termination, limit=Limit.TIME, solution=None, objective=None)


def test_a_limit_that_was_hit_is_named() -> None:
    with pytest.raises(ProgramError, match="limit"):
        result(termination=Termination.LIMIT, limit=None)


def test_a_solution_and_its_objective_come_together() -> None:
    with pytest.raises(ProgramError, match="objective"):
        result(objective=None)
    with pytest.raises(ProgramError, match="objective"):
        result(solution=None)


@pytest.mark.parametrize(
    "termination",
    [
        Termination.INFEASIBLE,
        Termination.UNBOUNDED,
        Termination.INFEASIBLE_OR_UNBOUNDED,
        Termination.FAILED,
    ],
)
def test_a_result_without_success_holds_no_solution(termination: Termination) -> None:
    with pytest.raises(ProgramError, match="no solution"):
        result(termination=termination)


def test_an_optimal_result_holds_a_solution() -> None:
    with pytest.raises(ProgramError, match="optimal"):
        result(solution=None, objective=None)


@pytest.mark.parametrize("field", ["objective", "bound"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_figure_is_none_never_nan_or_infinite(field: str, value: float) -> None:
    with pytest.raises(ProgramError, match=field):
        result(**{field: value})


@pytest.mark.parametrize("solution", [np.array([1, 2]), np.array([[1]], dtype=np.int32)])
def test_a_solution_is_a_flat_array_of_codes_or_values(solution: Any) -> None:
    with pytest.raises(ProgramError, match="flat int32 or float64"):
        result(solution=solution)


def test_a_solution_is_kept_read_only_and_apart_from_its_source() -> None:
    source = RECORD.copy()
    kept = result(solution=source).require_solution()
    source[0] = 9
    assert kept.tolist() == [1, 0]
    assert not kept.flags.writeable


def test_requiring_a_solution_that_is_not_there_raises_and_says_why() -> None:
    empty = result(termination=Termination.LIMIT, limit=Limit.TIME, solution=None, objective=None)
    with pytest.raises(NoSolutionError, match="limit.*done.*raise the limits"):
        empty.require_solution()


def test_a_point_of_a_mixed_integer_program_is_no_record() -> None:
    with pytest.raises(ProgramError, match="int32"):
        result(solution=np.array([1.0, 0.0])).require_record()


def test_a_result_survives_pickling_and_stays_read_only() -> None:
    copy = pickle.loads(pickle.dumps(result(report={"nodes": 4})))
    assert (copy.termination, copy.objective, copy.report) == (Termination.OPTIMAL, 3.0, {"nodes": 4})
    assert copy.solution.tolist() == [1, 0]
    assert not copy.solution.flags.writeable


class Strange(str):
    __slots__ = ()

    def __format__(self, spec: str) -> str:
        raise RuntimeError("formatted")


@pytest.mark.parametrize(
    "changes",
    [
        {"termination": "optimal"},
        {"termination": Termination.LIMIT, "limit": "time"},
        {"solver": 3},
        {"native_status": None},
        {"bound": "5"},
        {"bound": True},
        {"bound": 10**400},
    ],
)
def test_what_is_of_another_type_is_refused(changes: dict[str, Any]) -> None:
    usual: dict[str, Any] = {
        "termination": Termination.FAILED,
        "limit": None,
        "solution": None,
        "objective": None,
        "bound": None,
        "solver": "s",
        "version": "1",
        "native_status": "",
        "seconds": 0.0,
    }
    SolveResult(**usual)
    with pytest.raises(ProgramError):
        SolveResult(**{**usual, **changes})
    assert type(SolveResult(**{**usual, "solver": Strange("s")}).solver) is str
