"""MaxCsp: exact objective, refusals, a fingerprint that never changes."""

from __future__ import annotations

import pickle

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


def test_an_attribute_twice_in_a_clause_is_refused() -> None:
    with pytest.raises(WorkloadError, match="attribute twice"):
        MaxCsp(np.array([2, 3]), clauses_of([([(1, 0, True), (1, 2, False)], 4)]), np.array([1]))


def test_a_clause_outside_the_domains_is_refused() -> None:
    with pytest.raises(WorkloadError, match="code 3"):
        MaxCsp(np.array([2, 3, 3, 2]), CLAUSES, np.array([1, 1]))


def test_a_weight_of_zero_is_refused() -> None:
    with pytest.raises(ProgramError, match="clause 1 has weight 0"):
        MaxCsp(np.array(SIZES), CLAUSES, np.array([1, 0]))


def test_a_weight_per_clause_is_required() -> None:
    with pytest.raises(ProgramError, match="there are 2 clauses"):
        MaxCsp(np.array(SIZES), CLAUSES, np.array([1]))


def test_weights_that_are_not_whole_are_refused() -> None:
    with pytest.raises(ProgramError, match="whole numbers"):
        MaxCsp(np.array(SIZES), CLAUSES, np.array([1.5, 1.0]))


def test_weights_that_could_overflow_are_refused() -> None:
    with pytest.raises(ProgramError, match="scale them down"):
        MaxCsp(np.array(SIZES), CLAUSES, np.array([2**61, -(2**61)]))


@pytest.mark.parametrize("sizes", [[2, 0, 4, 2], [[2, 3], [4, 2]]])
def test_sizes_are_a_flat_array_of_numbers_of_at_least_one(sizes: list[int]) -> None:
    with pytest.raises(ProgramError, match="sizes"):
        MaxCsp(np.array(sizes), CLAUSES, np.array([1, 1]))


@pytest.mark.parametrize(
    ("record", "says"), [([0, 0, 4, 0], "code 4"), ([0, -1, 0, 0], "code -1"), ([0], "4 attr")]
)
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
