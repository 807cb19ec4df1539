from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import accumulate, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.accounting.charges import ChargeKind
from dpopt.accounting.dualquery import SAMPLER_SLACK
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import selection_charge
from dpopt.errors import PlanError
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.private.mechanisms.selection_distribution import clamp_of, draw_candidate, selection_weights
from dpopt.private.selections.selection import Selection
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.exact_distribution import exp_minus, logarithm, scripted_points
from tests.scripted import ScriptedWords
from tests.tiny_measuring import MULTIPLICITY, RECORDS, SCHEMA, marginals, selection
from tests.tiny_runs import ADD_REMOVE, REPLACE

CANDIDATES = marginals([0], [1])
WIDE = Schema(tuple(Attribute(f"a{i}", AttributeKind.CATEGORICAL, tuple(map(str, range(150)))) for i in range(3)))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"number": 0}, "the number of a round must be a whole number of at least 1"),
        ({"number": True}, "the number of a round must be a whole number of at least 1"),
        ({"score": "L1"}, "the score of candidates is l1 or max"),
        ({"penalties": [0]}, "2 candidates need as many penalties"),
        ({"penalties": [0, 0.5]}, "whole numbers"),
        ({"penalties": [0, 2**70]}, "whole numbers"),
        ({"range_": Decimal(0)}, "a finite number above 0"),
        ({"range_": Decimal("inf")}, "a finite number above 0"),
        ({"range_": 1.0}, "a finite number above 0"),
        ({"candidates": marginals([0]).take([])}, "one of 1 to 10,000 candidates"),
        ({"candidates": marginals([0]).take([0] * 10_001)}, "found 10,001"),
        ({"candidates": marginals([0], [0, 1, 2], schema=WIDE)}, "candidate 1 has 3,375,000 cells"),
    ],
)
def test_a_selection_that_is_none_is_refused(fields: dict[str, object], message: str) -> None:
    given: dict[str, object] = {
        "number": 1,
        "candidates": CANDIDATES,
        "score": "max",
        "penalties": [0, 0],
        "range_": Decimal(1),
    } | fields
    with pytest.raises(PlanError, match=message):
        Selection(*given.values())  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_it_is_charged_by_its_round_and_range(relation: NeighbouringRelation) -> None:
    charge = selection(number=7, range_="0.25").charge(relation)
    assert charge == selection_charge(7, Decimal("0.25"), relation)
    assert charge.kind is ChargeKind.BOUNDED_RANGE
    assert Decimal("0.25") < Decimal(charge.parameter) < Decimal("0.2500001")


@pytest.mark.parametrize(
    ("score", "relation", "spread"),
    [("l1", ADD_REMOVE, 2), ("l1", REPLACE, 4), ("max", ADD_REMOVE, 2), ("max", REPLACE, 2)],
)
def test_the_spread_is_in_units_of_the_public_records(score: str, relation: NeighbouringRelation, spread: int) -> None:
    assert selection(score).spread(relation, 5) == 5 * spread


@pytest.mark.parametrize(
    ("records", "multiplicity", "message"),
    [
        (RECORDS[:, :1], MULTIPLICITY, "do not fit a schema of 2 attributes"),
        (RECORDS, MULTIPLICITY[:2], "do not fit a schema"),
        (RECORDS[0], MULTIPLICITY, "do not fit a schema"),
        (RECORDS + np.int32(1), MULTIPLICITY, "codes that the schema does not have"),
        (RECORDS - np.int32(1), MULTIPLICITY, "codes that the schema does not have"),
        (RECORDS, MULTIPLICITY - 2, "must not be negative"),
        (RECORDS, MULTIPLICITY * 0, "not all of them 0"),
        (RECORDS, MULTIPLICITY / 2, "multiplicities whole numbers"),
        (RECORDS, MULTIPLICITY * 2**20, "too many to score marginals at public size 100 in 64 bits"),
        (RECORDS, MULTIPLICITY * 2**61, "too many to score"),
    ],
)
def test_records_without_any_score_are_refused(records: np.ndarray, multiplicity: np.ndarray, message: str) -> None:
    with pytest.raises(PlanError, match=f"round 1: .*{message}"):
        selection().check_records(records, multiplicity, SCHEMA.sizes, 100)


def test_whole_numbers_of_any_type_are_taken() -> None:
    records, multiplicity = selection().check_records(
        RECORDS.astype(np.uint8), MULTIPLICITY.astype(np.float64), SCHEMA.sizes, 100
    )
    assert records.dtype == np.int32
    assert multiplicity.dtype == np.int64
    assert records.tolist() == RECORDS.tolist()


# Selection distribution.

FLOOR = Fraction(1, 2**50)


def distribution(scores: list[int], range_: str, spread: int) -> list[Fraction]:
    """Return the weights of the docstring, without rounding, written with whole numbers alone."""
    rate = Fraction(Decimal(range_)) / spread
    return [max(exp_minus(rate * (max(scores) - score)), FLOOR) for score in scores]


@given(
    st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=12),
    st.sampled_from(["0.001", "0.25", "1", "3.7", "60"]),
    st.sampled_from([2, 4, 40, 80_000]),
)
def test_weights_are_the_exponentials_rounded_to_whole_numbers(scores: list[int], range_: str, spread: int) -> None:
    """The clamp is at the last whole distance before the floor, so clamped weights lie above it by less than one step."""
    weights = selection_weights(scores, range_=Decimal(range_), spread=spread)
    step = exp_minus(Fraction(Decimal(range_)) / spread)
    for weight, exact in zip(weights, distribution(scores, range_, spread), strict=True):
        if exact > FLOOR:
            assert abs(Fraction(weight) - exact * 2**112) <= Fraction(1, 2) + Fraction(1, 10**20)
        else:
            assert weight + 1 >= 2**62
            assert Fraction(weight) * step <= 2**62 * (1 + Fraction(1, 10**15))


def test_scores_beyond_the_clamp_count_as_the_clamp() -> None:
    clamp = clamp_of(Decimal(2), 7)
    assert exp_minus(Fraction(2, 7) * clamp) >= FLOOR > exp_minus(Fraction(2, 7) * (clamp + 1))
    weights = selection_weights([0, -clamp, -clamp - 1, -(10**18)], range_=Decimal(2), spread=7)
    assert weights[0] == 2**112
    assert weights[1] == weights[2] == weights[3] >= 2**62


@pytest.mark.parametrize("shift", [0, 10**30, -(10**30)])
def test_only_differences_of_scores_matter(shift: int) -> None:
    scores = [3, 17, -5, 17]
    assert selection_weights([s + shift for s in scores], range_=Decimal(1), spread=4) == selection_weights(
        scores, range_=Decimal(1), spread=4
    )


@pytest.mark.parametrize(("range_", "spread"), [("0.3", 2), ("2", 2), ("2", 4), ("9", 4), ("30", 2)])
def test_scores_that_move_apart_by_the_spread_never_cost_more_than_the_range(range_: str, spread: int) -> None:
    """Changes of three scores within [-spread / 2, spread / 2], near the top and around the clamp."""
    clamp = clamp_of(Decimal(range_), spread)
    half = spread // 2
    worst = Decimal(0)
    for base in ([0, -3, -clamp], [0, -clamp - 1, -clamp + 1], [0, 0, -clamp - half]):
        one = selection_weights(base, range_=Decimal(range_), spread=spread)
        for moves in product(range(-half, half + 1), repeat=3):
            sensitivity = [score + move for score, move in zip(base, moves, strict=True)]
            two = selection_weights(sensitivity, range_=Decimal(range_), spread=spread)
            ratios = [Fraction(a, b) for a, b in zip(one, two, strict=True)]
            worst = max(worst, logarithm(max(ratios) / min(ratios)))
    assert worst <= Decimal(range_) + Decimal(SAMPLER_SLACK)
    assert worst >= Decimal(range_) * (1 - Decimal("1e-15"))


@given(st.lists(st.integers(-40, 0), min_size=1, max_size=8))
def test_each_candidate_is_drawn_on_exactly_its_own_points(scores: list[int]) -> None:
    weights = selection_weights(scores, range_=Decimal(3), spread=2)
    ends = list(accumulate(weights))
    for number, (weight, end) in enumerate(zip(weights, ends, strict=True)):
        for point in (end - weight, end - 1):
            assert draw_candidate(weights, scripted_points([point])) == number


def test_a_point_beyond_all_weights_is_rejected() -> None:
    weights = [2**112, 2**112, 2**111]
    words = [word for point in (sum(weights), 2**112) for word in (point >> 64, point & (2**64 - 1))]
    assert draw_candidate(weights, ScriptedWords(words)) == 1


def test_ten_thousand_equal_candidates_fit_into_the_words() -> None:
    weights = selection_weights([5] * 10_000, range_=Decimal(1), spread=2)
    assert sum(weights) == 10_000 * 2**112 < 2**127
    drawn = {draw_candidate(weights, SeededWords(seed)) for seed in range(200)}
    assert len(drawn) > 190
    assert max(drawn) > 9_000


def test_a_range_that_tells_no_scores_apart_is_refused() -> None:
    with pytest.raises(PlanError, match="could not distinguish scores.*choose a smaller range"):
        selection_weights([1, 2], range_=Decimal(70), spread=2)
    assert clamp_of(Decimal(69), 2) == 1


def test_the_callers_decimal_context_plays_no_part() -> None:
    from decimal import ROUND_UP, Context, localcontext

    scores = [0, -1, -50]
    usual = selection_weights(scores, range_=Decimal("1.25"), spread=6)
    with localcontext(Context(prec=4, rounding=ROUND_UP)):
        assert selection_weights(scores, range_=Decimal("1.25"), spread=6) == usual
