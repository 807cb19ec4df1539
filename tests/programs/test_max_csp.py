"""MaxCsp: exact objective, refusals, a fingerprint that never changes."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.errors import ProgramError, WorkloadError
from dpopt.programs import MaxCsp
from dpopt.queries import Clauses
from tests.strategies import clause_lists, clauses_of, naive_truth, tables

SIZES = (2, 3, 4, 2)
CLAUSES = clauses_of([([(0, 1, True), (1, 2, False)], 4), ([(2, 3, True)], 1)])


def problem() -> MaxCsp:
    return MaxCsp(np.array(SIZES, dtype=np.int32), CLAUSES, np.array([3, -2], dtype=np.int64))


@given(clause_lists(SIZES), tables(SIZES, max_rows=5), st.integers(1, 9))
def test_the_objective_is_the_weight_of_the_clauses_that_are_true(
    clauses: Clauses, records: np.ndarray[tuple[int, int], np.dtype[np.int32]], factor: int
) -> None:
    weights = factor * np.where(np.arange(len(clauses)) % 2, -1, 2)
    program = MaxCsp(np.array(SIZES), clauses, weights)
    truth = naive_truth(clauses, records)
    for i, record in enumerate(records):
        assert program.objective(record) == int(weights[truth[:, i]].sum())
        assert program.objective(record) <= program.upper_bound()


def test_large_weights_are_added_exactly() -> None:
    clauses = clauses_of([([(0, 0, True)], 2), ([(0, 0, True)], 2)])
    program = MaxCsp(np.array([2]), clauses, np.array([2**60 + 1, -(2**60)]))
    assert program.objective(np.array([0], dtype=np.int32)) == 1


@pytest.mark.parametrize(
    ("sizes", "clauses", "weights", "error", "says"),
    [
        ([2, 3, 3, 2], CLAUSES, [1, 1], WorkloadError, "code 3"),
        (SIZES, CLAUSES, [1, 0], ProgramError, "weight 0"),
        (SIZES, CLAUSES, [1], ProgramError, "2 clauses"),
        (SIZES, CLAUSES, [1.5, 1.0], ProgramError, "whole"),
        (SIZES, CLAUSES, [2**61, -(2**61)], ProgramError, "scale"),
        ([2, 0, 4, 2], CLAUSES, [1, 1], ProgramError, "sizes"),
        ([[2, 3], [4, 2]], CLAUSES, [1, 1], ProgramError, "sizes"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    sizes: Sequence[object], clauses: Clauses, weights: list[float], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        MaxCsp(np.array(sizes), clauses, np.array(weights))


@pytest.mark.parametrize(("record", "says"), [([0, 0, 4, 0], "code 4"), ([0, -1, 0, 0], "code -1"), ([0], "4 attr")])
def test_a_record_that_is_none_has_no_objective(record: list[int], says: str) -> None:
    with pytest.raises(ProgramError, match=says):
        problem().objective(np.array(record, dtype=np.int32))


def test_the_fingerprint_is_the_same_everywhere_and_for_ever() -> None:
    assert problem().fingerprint() == "6c74fbc4c3b109566328d396f891b603e2a4b5a1b670a15365488678dd28e343"


def test_the_fingerprint_tells_sizes_weights_and_clauses_apart() -> None:
    others = [
        MaxCsp(np.array([2, 3, 4, 3]), CLAUSES, np.array([3, -2])),
        MaxCsp(np.array(SIZES), CLAUSES, np.array([3, -1])),
        MaxCsp(np.array(SIZES), CLAUSES.negated(), np.array([3, -2])),
    ]
    assert len({problem().fingerprint(), *(other.fingerprint() for other in others)}) == 4


def test_a_problem_survives_pickling_and_stays_read_only() -> None:
    copy = pickle.loads(pickle.dumps(problem()))
    assert copy.fingerprint() == problem().fingerprint()
    assert not copy.weights.flags.writeable
    assert not copy.sizes.flags.writeable


def test_a_problem_without_clauses_is_worth_nothing_everywhere() -> None:
    empty = MaxCsp(np.array([2, 2]), CLAUSES.take([]), np.array([], dtype=np.int64))
    assert (empty.objective(np.array([1, 0], dtype=np.int32)), empty.upper_bound()) == (0, 0)
