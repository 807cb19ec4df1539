from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.dualquery import draw_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import TranscriptError
from dpopt.transcript.released import (
    NoisyAnswers,
    NoisySearch,
    Released,
    SampledQueries,
    SelectedCandidate,
    SelectedDatabase,
    SelectedMarginal,
    SelectedQuery,
)

CHARGE = draw_charge(2, 5, 0.4, 100, NeighbouringRelation.REPLACE_ONE)
NOISE_CHARGE = Charge("noise", ChargeKind.PURE, 0.1, 1, NeighbouringRelation.REPLACE_ONE, "a theorem")


def sampled(queries: object, counts: object, number: int = 2) -> SampledQueries:
    return SampledQueries(number, np.array(queries), np.array(counts), CHARGE)


def through_text(value: Released) -> dict[str, Any]:
    return json.loads(json.dumps(value.to_json()))  # type: ignore[no-any-return]


@given(st.dictionaries(st.integers(0, 2**40), st.integers(-(2**40), 2**40).filter(bool), max_size=20))
def test_a_draw_reads_back_as_it_was_written(net: dict[int, int]) -> None:
    queries = np.array(sorted(net), dtype=np.int64)
    counts = np.array([net[query] for query in sorted(net)], dtype=np.int64)
    charge = replace(CHARGE, count=sum(map(abs, net.values())) or 2)
    read = SampledQueries.from_json(through_text(SampledQueries(3, queries, counts, charge)), charge)
    assert (read.round, read.charge) == (3, charge)
    assert (read.queries.tolist(), read.counts.tolist()) == (queries.tolist(), counts.tolist())
    assert read.queries.dtype == read.counts.dtype == np.int64


def test_a_draw_of_an_earlier_transcript_reads_back_unless_it_holds_cancelled_pairs() -> None:
    """`pairs` were always empty in draws of DualQuery; those of DQRS are refused."""
    old = through_text(sampled([4], [5]))
    read = SampledQueries.from_json({**old, "pairs": []}, CHARGE)
    assert read.to_json() == old
    with pytest.raises(TranscriptError, match="pairs"):
        SampledQueries.from_json({**old, "pairs": [3]}, CHARGE)


@pytest.mark.parametrize(
    "value",
    [
        NoisyAnswers("ages", np.array([-3, 2**62]), "discrete Gaussian", 5e-324, NOISE_CHARGE),
        SelectedMarginal(4, 17, NOISE_CHARGE),
        SelectedQuery(2, 2**62 - 1, True, NOISE_CHARGE),
        SelectedDatabase(np.array([0, 4]), np.array([2, 1]), NOISE_CHARGE),
        SelectedCandidate(3, NOISE_CHARGE),
        NoisySearch("search 1", np.array([0, 7]), "discrete Laplace", 2.0, NOISE_CHARGE),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_value_reads_back_and_a_damaged_one_is_refused(value: Released) -> None:
    entry = through_text(value)
    assert "charge" not in entry
    read = type(value).from_json(entry, NOISE_CHARGE)
    assert (read.to_json(), read.charge) == (entry, NOISE_CHARGE)  # type: ignore[attr-defined]
    for name in entry:
        damaged: tuple[object, ...] = (None, {}, [0.5], 1 if entry[name] is True else True)
        for wrong in damaged:
            with pytest.raises(TranscriptError):
                type(value).from_json({**entry, name: wrong}, NOISE_CHARGE)
        with pytest.raises(TranscriptError):
            type(value).from_json({other: entry[other] for other in entry if other != name}, NOISE_CHARGE)
    with pytest.raises(TranscriptError, match="unknown key"):
        type(value).from_json({**entry, "more": 1}, NOISE_CHARGE)


@pytest.mark.parametrize("counts", [[4, -2], [2, -2], [1, 1], [2**62, 2**62]])
def test_net_counts_that_the_charged_draws_cannot_give_are_refused(counts: list[int]) -> None:
    """Five draws: their net counts add up to 5, 3 or 1 in size."""
    with pytest.raises(TranscriptError, match="do not come from the 5 draws charged"):
        SampledQueries.from_json(sampled([0, 7], counts).to_json(), CHARGE)
    SampledQueries.from_json(sampled([0, 7], [2, -1]).to_json(), CHARGE)


@pytest.mark.parametrize(
    ("queries", "counts", "message"),
    [
        ([2, 1], [1, 1], "strictly increasing"),
        ([1, 1], [1, 1], "strictly increasing"),
        ([-1, 2], [1, 1], "strictly increasing from 0"),
        ([1, 2], [1, 0], "net counts must not be 0"),
        ([1, 2], [1], "2 queries but 1 counts"),
        ([[1, 2]], [[1, 1]], "a flat array"),
        ([1, 2.5], [1, 1], "whole numbers"),
        ([1, 2], [1, 2**64], "whole numbers"),
        ([1, 2], ["1", "x"], "whole numbers"),
    ],
)
def test_a_draw_that_is_none_is_refused(queries: object, counts: object, message: str) -> None:
    with pytest.raises(TranscriptError, match=message):
        sampled(queries, counts)


@pytest.mark.parametrize("number", [0, -1, 1.5, "1"])
def test_rounds_are_numbered_from_one(number: int) -> None:
    with pytest.raises(TranscriptError, match="the number of a round must be a whole number of at least 1"):
        sampled([1], [1], number)


def test_a_draw_cannot_be_changed() -> None:
    drawn = sampled([1, 4], [2, -1])
    for array in (drawn.queries, drawn.counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    with pytest.raises(AttributeError):
        drawn.round = 3  # type: ignore[misc]


def test_a_draw_does_not_share_memory_with_what_it_was_made_of() -> None:
    queries = np.array([1, 4], dtype=np.int64)
    drawn = SampledQueries(1, queries, np.array([1, 1], dtype=np.int64), CHARGE)
    queries[0] = 3
    assert drawn.queries.tolist() == [1, 4]


def answers(values: object, scale: float = 2.5) -> NoisyAnswers:
    return NoisyAnswers("one-way marginals", np.array(values), "discrete Gaussian", scale, NOISE_CHARGE)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan")])
def test_a_scale_that_is_not_positive_is_refused(scale: float) -> None:
    with pytest.raises(TranscriptError, match="the scale of noise must be a finite number above 0"):
        answers([1], scale)


def test_measured_values_are_flat_and_cannot_be_changed() -> None:
    with pytest.raises(TranscriptError, match="a flat array"):
        answers([[1]])
    with pytest.raises(ValueError, match="read-only"):
        answers([1]).values[0] = 2
    values = np.array([1, 2], dtype=np.int64)
    measured = NoisyAnswers("x", values, "y", 1.0, NOISE_CHARGE)
    values[0] = 9
    assert measured.values.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("number", "candidate", "message"),
    [
        (0, 1, "at least 1"), (True, 1, "at least 1"), (2.0, 1, "at least 1"),
        (2, -1, "candidate must be a whole number of at least 0"), (2, 1.0, "at least 0"), (2, "1", "at least 0"),
        (2, None, "at least 0"),
    ],
)  # fmt: skip
def test_a_selection_that_is_none_is_refused(number: Any, candidate: Any, message: str) -> None:
    with pytest.raises(TranscriptError, match=message):
        SelectedMarginal(number, candidate, NOISE_CHARGE)
