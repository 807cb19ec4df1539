"""Reading a record: what is no record of the problem is not passed on, and the reason is told."""

from __future__ import annotations

import numpy as np
import pytest

from dpopt.models import read_record
from dpopt.programs import Limit, MaxCsp, Point, SolveResult, Termination
from tests.strategies import clauses_of

PROBLEM = MaxCsp(np.array([2, 3]), clauses_of([([(0, 1, True)], 2)]), np.array([5]))


def answer(solution: Point | None) -> SolveResult:
    objective = None if solution is None else 5.0
    return SolveResult(Termination.LIMIT, Limit.TIME, solution, objective, None, "s", "", "", 0.0)


def test_a_record_is_read_without_a_reason() -> None:
    record, reason = read_record(PROBLEM, answer(np.array([1, 2], dtype=np.int32)))
    assert record is not None
    assert (record.tolist(), reason) == ([1, 2], None)


@pytest.mark.parametrize(
    ("solution", "says"),
    [
        (None, "s ended 'limit' without a solution"),
        (np.array([1.0, 2.0]), "wrong shape or type"),
        (np.array([1], dtype=np.int32), "wrong shape or type"),
        (np.array([1, 3], dtype=np.int32), "does not exist"),
        (np.array([-1, 2], dtype=np.int32), "does not exist"),
    ],
)
def test_what_is_no_record_gives_a_reason(solution: Point | None, says: str) -> None:
    record, reason = read_record(PROBLEM, answer(solution))
    assert record is None
    assert reason is not None
    assert says in reason
