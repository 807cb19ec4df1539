"""The game converges with the sign that is implemented, and not with the other one that could be read off the paper.

Six bits, 30 conjunctions of three literals, 400 rounds; the data player answers exactly, the query player is the real one,
drawing with seeded words. Everything is deterministic.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.private.selections.query_weights import ExactSampler, QueryWeights
from dpopt.queries.counting.kernels import count_on_records
from dpopt.queries.workloads.workload import parse_workload
from tests.tiny_runs import REPLACE, bits_schema, play, tiny_plan

SCHEMA = bits_schema(6)
WORKLOAD = parse_workload("conjunctions:3,count=30,seed=1", SCHEMA)
ROWS, ROUNDS, DRAWS = 500, 400, 300


def largest_error() -> float:
    generator = np.random.default_rng(4)
    shares = np.array([0.9, 0.2, 0.7, 0.4, 0.6, 0.1])
    bits = (generator.random((ROWS, 6)) < shares).astype(np.int32)
    bits[:, 1] |= bits[:, 0] & bits[:, 2]
    plan = tiny_plan(WORKLOAD, rounds=ROUNDS, draws=DRAWS, step="0.3", size=ROWS, relation=REPLACE)
    table = tuple(tuple(row) for row in bits.tolist())
    rounds, _ = play(table, WORKLOAD, plan, ExactSampler(SeededWords(5)))
    records = np.array([done.record for done in rounds], dtype=np.int32)
    truth = count_on_records(WORKLOAD.clauses, bits, SCHEMA.sizes) / ROWS
    found = count_on_records(WORKLOAD.clauses, records, SCHEMA.sizes) / ROUNDS
    return float(np.abs(found - truth).max())


def observe_with_the_wrong_sign(self: QueryWeights, satisfied: NDArray[np.bool_]) -> None:
    """A query gains weight when the records answer it too often: the published algorithm box, taken with section 5."""
    self._scores -= self._counts - self._size * satisfied
    self._observed += 1
    self._top = int(np.abs(self._scores).max())


def test_the_largest_error_becomes_small() -> None:
    assert largest_error() < 0.02


def test_with_the_wrong_sign_the_largest_error_stays_near_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QueryWeights, "observe", observe_with_the_wrong_sign)
    assert largest_error() > 0.9
