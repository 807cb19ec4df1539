"""Limits and results of a solve: what is out of range or contradicts itself is refused; nothing is made up."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

from dpopt.errors import NoSolutionError, ProgramError
from dpopt.programs import Limit, SolveLimits, SolveResult, Termination

RECORD = np.array([1, 0], dtype=np.int32)


WITHOUT_SUCCESS = [
    Termination.INFEASIBLE,
    Termination.UNBOUNDED,
    Termination.INFEASIBLE_OR_UNBOUNDED,
    Termination.FAILED,
]


def result(**changes: Any) -> SolveResult:
    fields: dict[str, Any] = {
        "termination": Termination.OPTIMAL, "limit": None, "solution": RECORD, "objective": 3.0, "bound": 3.0,
        "solver": "s", "version": "1", "native_status": "done", "seconds": 0.5,
    }  # fmt: skip
    return SolveResult(**(fields | changes))


EMPTY: dict[str, Any] = {"solution": None, "objective": None}


@pytest.mark.parametrize(
    ("says", "changes"),
    [
        *(("limit", {"termination": t, "limit": Limit.TIME, **EMPTY}) for t in set(Termination) - {Termination.LIMIT}),
        ("limit", {"termination": Termination.LIMIT}),
        ("objective", {"objective": None}),
        ("objective", {"solution": None}),
        *(("no solution", {"termination": t}) for t in WITHOUT_SUCCESS),
        ("optimal", EMPTY),
        *((field, {field: value}) for field in ("objective", "bound") for value in (math.nan, math.inf, -math.inf)),
        ("flat", {"solution": np.array([1, 2])}),
        ("flat", {"solution": np.array([[1]], dtype=np.int32)}),
    ],
)
def test_fields_that_contradict_each_other_are_refused(says: str, changes: dict[str, Any]) -> None:
    with pytest.raises(ProgramError, match=says):
        result(**changes)


def test_a_solution_is_kept_read_only_and_apart_from_its_source() -> None:
    source = RECORD.copy()
    kept = result(solution=source).require_solution()
    source[0] = 9
    assert kept.tolist() == [1, 0]
    assert not kept.flags.writeable


def test_requiring_a_solution_that_is_not_there_raises_and_says_why() -> None:
    empty = result(termination=Termination.LIMIT, limit=Limit.TIME, **EMPTY)
    with pytest.raises(NoSolutionError, match="done.*raise the limits"):
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
    usual: dict[str, Any] = {"termination": Termination.FAILED, "bound": None, **EMPTY}
    result(**usual)
    with pytest.raises(ProgramError):
        result(**{**usual, **changes})
    assert type(result(**{**usual, "solver": Strange("s")}).solver) is str


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("seconds", [0.0, -1.0, math.nan, math.inf, 1e10]),
        ("work", [0]),
        ("gap", [-0.1, math.nan, math.inf]),
        ("threads", [0]),
        ("seed", [-1, 2**31]),
    ],
)
def test_a_limit_outside_its_range_is_refused(field: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(ProgramError, match=field):
            SolveLimits(**{field: value})
