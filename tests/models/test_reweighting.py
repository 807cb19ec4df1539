"""The likelihood of a transcript (RW-1 to RW-5), against the definition written out query by query."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.accounting.dualquery import plan_charges
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import ProgramError
from dpopt.models.records import reweighting
from dpopt.models.records.reweighting import TranscriptLikelihood, maximize_likelihood
from dpopt.queries.clauses import Clauses
from dpopt.queries.counting.binary_columns import BitRecords
from dpopt.transcript.released import SampledQueries

BITS = 4
CLAUSES = Clauses.conjunctions(
    [[0, 1], [1, 2], [2, 3], [0, 3], [1, 3]], [[1, 1], [1, 0], [1, 1], [0, 1], [0, 0]], np.ones((5, 2), dtype=bool)
)
CHARGES = plan_charges(9, 6, 0.7, 100, NeighbouringRelation.REPLACE_ONE)


def transcript(seed: int, rounds: int) -> tuple[NDArray[np.int32], list[SampledQueries], list[list[int]]]:
    """Return random records and draws: as released, and one by one (signed queries)."""
    generator = np.random.default_rng(seed)
    records = generator.integers(0, 2, (rounds, BITS)).astype(np.int32)
    drawn = generator.integers(0, 2 * len(CLAUSES), (rounds, 6))
    released = []
    for t, signed in enumerate(drawn):
        net = np.bincount(signed // 2, weights=1 - 2 * (signed % 2), minlength=len(CLAUSES)).astype(int)
        queries = np.flatnonzero(net)
        released.append(SampledQueries(t + 1, queries, net[queries], CHARGES[t]))
    return records, released, drawn.tolist()


def likelihood_of(seed: int, rounds: int) -> TranscriptLikelihood:
    records, released, _ = transcript(seed, rounds)
    return TranscriptLikelihood.of(CLAUSES, records, released, draws=6, step=0.7)


def test_records_as_bits_have_the_likelihood_of_their_codes() -> None:
    records, released, _ = transcript(3, 7)
    expected = likelihood_of(3, 7)
    bits = [BitRecords.of(record[None, :]) for record in records]
    found = TranscriptLikelihood.of(CLAUSES, bits, released, draws=6, step=0.7)
    assert np.array_equal(found.answers, expected.answers)
    assert np.array_equal(found.before, expected.before)


def weights_of(seed: int, rounds: int) -> NDArray[np.float64]:
    weights = np.random.default_rng(seed + 1).random(rounds)
    return np.asarray(weights / weights.sum())


def truth(record: NDArray[np.int32]) -> list[float]:
    rows = zip(CLAUSES.attributes.tolist(), CLAUSES.values.tolist(), strict=True)
    base = [float(all(record[a] == v for a, v in zip(*row, strict=True))) for row in rows]
    return [value for q in base for value in (q, 1.0 - q)]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), rounds=st.integers(1, 7))
def test_the_value_is_the_log_probability_of_all_draws(seed: int, rounds: int) -> None:
    """RW-1 to RW-3: every signed query on its own; a query drawn with its negation included."""
    records, released, drawn = transcript(seed, rounds)
    weights = weights_of(seed, rounds)
    answers = np.array([truth(record) for record in records])  # (T, 2 m)
    answered = weights @ answers
    expected = 0.0
    for t in range(rounds):
        scores = 0.7 * (t * answered - answers[:t].sum(axis=0))
        logs = scores - np.log(np.exp(scores).sum())
        expected += logs[drawn[t]].sum()
    likelihood = TranscriptLikelihood.of(CLAUSES, records, released, draws=6, step=0.7)
    assert likelihood.value(weights) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), rounds=st.integers(2, 7), small=st.booleans())
def test_derivatives_are_those_of_the_value(seed: int, rounds: int, small: bool) -> None:
    """RW-4: central differences, with one block and with many."""
    with pytest.MonkeyPatch.context() as patch:
        if small:
            patch.setattr(reweighting, "_BLOCK", 2 * rounds)
        likelihood, weights = likelihood_of(seed, rounds), weights_of(seed, rounds)
        value, gradient, curvature = likelihood.derivatives(weights)
        assert value == pytest.approx(likelihood.value(weights))
        step = 1e-5
        for r in range(rounds):
            ahead, behind = weights.copy(), weights.copy()
            ahead[r] += step
            behind[r] -= step
            slope = (likelihood.value(ahead) - likelihood.value(behind)) / (2 * step)
            assert slope == pytest.approx(gradient[r], rel=1e-5, abs=1e-5)
            bend = (likelihood.derivatives(ahead)[1] - likelihood.derivatives(behind)[1]) / (2 * step)
            assert -bend == pytest.approx(curvature[r], rel=1e-4, abs=1e-4)
        assert np.linalg.eigvalsh(curvature).min() > -1e-9


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), rounds=st.integers(2, 9))
def test_no_weights_are_likelier_than_the_certificate_says(seed: int, rounds: int) -> None:
    """RW-5: against random weights and the corners of the simplex."""
    likelihood = likelihood_of(seed, rounds)
    best = maximize_likelihood(likelihood)
    assert best.gap <= 1e-3
    assert best.after >= best.before - 1e-9
    assert best.weights.min() >= 0.0
    assert best.weights.sum() == pytest.approx(1.0)
    generator = np.random.default_rng(seed)
    others = [*generator.dirichlet(np.full(rounds, 0.5), 30), *np.eye(rounds)]
    assert max(likelihood.value(other) for other in others) <= best.after + best.gap + 1e-9


def test_large_logits_do_not_overflow() -> None:
    records, released, _ = transcript(1, 7)
    likelihood = TranscriptLikelihood.of(CLAUSES, records, released, draws=6, step=900.0)
    value, gradient, _ = likelihood.derivatives(weights_of(1, 7))
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))


def test_a_transcript_that_does_not_fit_is_refused() -> None:
    records, released, _ = transcript(0, 3)
    with pytest.raises(ProgramError, match="rounds"):
        TranscriptLikelihood.of(CLAUSES, records, released[::-1], draws=6, step=0.7)
    few = CLAUSES.take([0])
    with pytest.raises(ProgramError, match="workload"):
        TranscriptLikelihood.of(few, records, released, draws=6, step=0.7)


def test_the_worked_example_of_the_page() -> None:
    one = Clauses.conjunctions([[0]], [[1]], [[True]])
    records = np.array([[1], [0], [0]], dtype=np.int32)
    charges = plan_charges(3, 1, 1.0, 100, NeighbouringRelation.REPLACE_ONE)
    released = [SampledQueries(t + 1, np.array([0]), np.array([net]), charges[t]) for t, net in enumerate((1, -1, 1))]
    likelihood = TranscriptLikelihood.of(one, records, released, draws=1, step=1.0)
    best = maximize_likelihood(likelihood, gap=1e-9)
    assert best.weights[0] == pytest.approx(0.833, abs=1e-3)
    slope = likelihood.derivatives(np.full(3, 1 / 3))[1]
    assert slope[0] - slope[1] == pytest.approx(2.23, abs=0.01)
