"""Best response: a draw becomes weighted clauses, and its objective is the draw's score up to a constant."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.accounting import Charge, ChargeKind, NeighbouringRelation
from dpopt.errors import ProgramError, WorkloadError
from dpopt.models import best_response
from dpopt.queries import Clauses
from dpopt.transcript.released import SampledQueries
from tests.models.catalogue import all_records
from tests.strategies import clause_lists, naive_truth

SIZES = np.array([2, 3, 2], dtype=np.int32)
CHARGE = Charge("a draw", ChargeKind.BOUNDED_RANGE, 0.5, 1, NeighbouringRelation.REPLACE_ONE, "a theorem")


def sampled(net: NDArray[np.int64]) -> SampledQueries:
    """Return the draw with these net counts."""
    queries = np.flatnonzero(net).astype(np.int64)
    return SampledQueries(3, queries, net[queries], CHARGE)


@given(clause_lists((2, 3, 2), min_size=5, max_size=5), st.lists(st.integers(0, 9), min_size=5, max_size=5))
def test_the_objective_is_the_number_of_true_draws_up_to_a_constant(
    workload: Clauses, draws: list[int]
) -> None:
    """Queries 0 .. 4 and, from 5 on, their negations, drawn one after another."""
    net = np.zeros(5, dtype=np.int64)
    for draw in draws:
        net[draw % 5] += 1 if draw < 5 else -1
    program = best_response(workload, SIZES, sampled(net))
    records = all_records(SIZES)
    truth = naive_truth(workload, records)
    score = np.array([[truth[draw % 5] if draw < 5 else ~truth[draw % 5]] for draw in draws]).sum(axis=(0, 1))
    objectives = np.array([program.objective(record) for record in records])
    assert len(set((score - objectives).tolist())) == 1


def test_a_query_drawn_as_often_as_its_negation_leaves_no_clause() -> None:
    workload = Clauses.conjunctions([[0], [1]], [[1], [2]], [[True], [False]])
    program = best_response(workload, SIZES, sampled(np.array([0, -2])))
    assert (len(program.clauses), program.weights.tolist()) == (1, [-2])
    empty = best_response(workload, SIZES, sampled(np.array([0, 0])))
    assert len(empty.clauses) == 0


def test_a_draw_from_another_workload_is_refused() -> None:
    workload = Clauses.conjunctions([[0]], [[1]], [[True]])
    with pytest.raises(ProgramError, match="round 3 names query 1; the workload has 1"):
        best_response(workload, SIZES, sampled(np.array([0, 1])))


def test_a_workload_of_another_schema_is_refused() -> None:
    workload = Clauses.conjunctions([[2]], [[5]], [[True]])
    with pytest.raises(WorkloadError):
        best_response(workload, SIZES, sampled(np.array([1])))
