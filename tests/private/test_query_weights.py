from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.accounting.dualquery import SAMPLER_SLACK, draw_range
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.private.selections.query_weights import ExactSampler, QueryWeights
from tests.exact_distribution import boundaries, integer_weights, logarithm, scripted_points, signed_scores, weight
from tests.scripted import ScriptedSampler, ScriptedWords

Answers = list[NDArray[np.bool_]]
REPLACE, ADD_REMOVE = NeighbouringRelation.REPLACE_ONE, NeighbouringRelation.ADD_REMOVE


def weights_after(
    counts: list[int], answers: Answers, *, rows: int, size: int, step: str, threads: int = 2
) -> QueryWeights:
    made = QueryWeights(np.array(counts, dtype=np.int64), rows=rows, size=size, step=Decimal(step), threads=threads)
    for record in answers:
        made.observe(record)
    return made


def drawn(weights: QueryWeights, points: list[int]) -> list[int]:
    """Draw once for each point, all of them in one call."""
    found: list[int] = weights.draw(len(points), scripted_points(points)).tolist()
    return found


def check_intervals(weights: QueryWeights, expected: list[int], *, singly: int = 40) -> None:
    """Each query owns the interval of points that its whole-number weight says: first and last point are its own."""
    ends = boundaries(expected)
    assert drawn(weights, [point for point, _ in ends]) == sorted(query for _, query in ends)
    for point, query in ends[:: max(1, len(ends) // singly)]:
        assert drawn(weights, [point]) == [query]
    beyond = scripted_points([sum(expected), 0])
    if sum(expected) & (sum(expected) - 1):  # else the mask alone keeps points below the total
        assert weights.draw(1, beyond).tolist() == [0]


def random_case(seed: int, queries: int, records: int, *, rows: int) -> tuple[list[int], Answers]:
    generator = np.random.default_rng(seed)
    counts = generator.integers(0, rows + 1, queries).tolist()
    return counts, [generator.random(queries) < 0.3 for _ in range(records)]


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize(
    ("queries", "records", "step"),
    [(1, 0, "1"), (1, 3, "0.7"), (5, 4, "1.3"), (8, 40, "2"), (8, 40, "0.01"), (3, 6, "120")],
)
def test_each_query_is_drawn_on_exactly_its_own_points(
    relation: NeighbouringRelation, queries: int, records: int, step: str
) -> None:
    size, rows = 20, 20 if relation is REPLACE else 17
    counts, answers = random_case(queries + records, queries, records, rows=rows)
    weights = weights_after(counts, [], rows=rows, size=size, step=step)
    for observed in range(records + 1):
        scores = signed_scores(counts, answers[:observed], rows=rows, size=size)
        check_intervals(weights, integer_weights(scores, Decimal(step), size))
        if observed < records:
            weights.observe(answers[observed])
    assert weights.observed == records


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("queries", [1024, 1025, 3000])
def test_intervals_run_on_across_blocks_and_threads(queries: int, threads: int) -> None:
    """More than 1,024 base queries: several blocks; 6,000 signed queries and twice as many points: several threads."""
    counts, answers = random_case(queries, queries, 3, rows=1000)
    weights = weights_after(counts, answers, rows=1000, size=1000, step="4", threads=threads)
    scores = signed_scores(counts, answers, rows=1000, size=1000)
    check_intervals(weights, integer_weights(scores, Decimal(4), 1000))


def test_the_edges_of_blocks_are_exact() -> None:
    counts, answers = random_case(11, 4096, 5, rows=500)
    weights = weights_after(counts, answers, rows=500, size=500, step="3")
    expected = integer_weights(signed_scores(counts, answers, rows=500, size=500), Decimal(3), 500)
    ends = list(accumulate(expected))
    for edge in (2047, 4095, 6143):  # the last signed query of a block
        assert drawn(weights, [ends[edge] - 1]) == [edge]
        assert drawn(weights, [ends[edge]]) == [edge + 1]
        assert drawn(weights, [ends[edge], ends[edge] - 1]) == [edge, edge + 1]


def test_carries_from_the_low_to_the_high_word_are_kept() -> None:
    """Sums with low words near 2**64 on either side, within a block and from one block to the next."""
    counts, answers = random_case(5, 2500, 2, rows=997)
    weights = weights_after(counts, answers, rows=997, size=997, step="2.5")
    expected = integer_weights(signed_scores(counts, answers, rows=997, size=997), Decimal("2.5"), 997)
    ends = list(accumulate(expected))
    carries = [i for i in range(1, len(ends)) if ends[i] % 2**64 < ends[i - 1] % 2**64]
    assert len(carries) > 1000
    chosen = carries[::40]
    points = [point for i in chosen for point in (ends[i - 1], ends[i - 1] | (2**64 - 1), ends[i] - 1)]
    owners = [int(np.searchsorted(np.array(ends, dtype=object), point, side="right")) for point in points]
    assert drawn(weights, points) == sorted(owners)
    assert all(drawn(weights, [p]) == [o] for p, o in zip(points[:60], owners[:60], strict=True))


def test_the_same_words_give_the_same_draw_whatever_the_number_of_threads() -> None:
    counts, answers = random_case(3, 5000, 4, rows=900)
    draws = [
        weights_after(counts, answers, rows=900, size=900, step="1.7", threads=threads).draw(777, SeededWords(9))
        for threads in (1, 2, 5, 400)
    ]
    assert all(np.array_equal(draws[0], other) for other in draws[1:])
    assert np.all(np.diff(draws[0]) >= 0)


@settings(max_examples=60)
@given(data=st.data())
def test_the_distribution_is_exact_for_any_small_workload(data: st.DataObject) -> None:
    rows = data.draw(st.integers(1, 30))
    size = data.draw(st.integers(1, 30))
    step = data.draw(st.sampled_from(["0.003", "0.4", "1", "7.25", "31"]))
    counts = data.draw(st.lists(st.integers(0, rows), min_size=1, max_size=6))
    answers = [
        np.array(data.draw(st.lists(st.booleans(), min_size=len(counts), max_size=len(counts))))
        for _ in range(data.draw(st.integers(0, 5)))
    ]
    weights = weights_after(counts, answers, rows=rows, size=size, step=step)
    scores = signed_scores(counts, answers, rows=rows, size=size)
    check_intervals(weights, integer_weights(scores, Decimal(step), size))


LARGE: list[Callable[[int], int]] = [lambda m: 0, lambda m: 1, lambda m: m, lambda m: 2 * m - 2, lambda m: 2 * m - 1]


@pytest.mark.parametrize(("queries", "unit"), [(2**22, 2**104), (2**22 + 1, 2**100), (2**23 + 3, 2**100)])
def test_sums_of_millions_of_weights_do_not_wrap_around(queries: int, unit: int) -> None:
    """Above 2**22 base queries 2 m 2**104 exceeds 2**127: a smaller unit is used, and the distribution stays exact."""
    weights = weights_after([0] * queries, [], rows=10, size=10, step="1")
    for place in LARGE:
        query = place(queries)
        assert drawn(weights, [query * unit, (query + 1) * unit - 1]) == [query, query]
    half = np.zeros(queries, dtype=np.bool_)
    half[1::2] = True
    weights.observe(half)  # base queries 0, 2, ...: score 0, their negations too; 1, 3, ...: -10 and 10
    depth = 50 if unit == 2**104 else 46
    pair = [int(weight(d, Decimal(1), 10, depth) * unit) for d in (10, 10, 20, 0)]
    ends = [0, *accumulate(pair)]
    for block in (0, 1, queries // 4, queries // 2 - 1):
        for third in range(4):
            start, end = block * ends[4] + ends[third], block * ends[4] + ends[third + 1]
            assert drawn(weights, [start, end - 1]) == [4 * block + third] * 2


def test_a_workload_beyond_the_samplers_room_is_refused() -> None:
    with pytest.raises(PlanError, match="at most 67,108,864 queries, found 67,108,865"):
        QueryWeights(np.broadcast_to(np.int64(0), 2**26 + 1), rows=1, size=1, step=Decimal(1))


def test_scores_that_could_leave_64_bits_are_refused_in_time() -> None:
    """They would wrap around in silence, and change the distribution. Public numbers alone decide whether they are refused."""
    weights = QueryWeights(np.array([0, 3]), rows=3, size=2**57, step=Decimal(10**12))
    answers = np.array([True, False])
    for observed in range(7):
        weights.observe(answers)
        assert weights._scores.tolist() == [-(observed + 1) * 2**57, (observed + 1) * 3]
    with pytest.raises(PlanError, match="the scores are too large for public size"):
        weights.observe(answers)
    assert weights.observed == 7


def test_scores_far_below_the_best_count_as_the_clamp() -> None:
    """A score at the clamp and one a million times farther away are drawn equally often: about 2**-50 each."""
    size, step = 10, Decimal(1)
    weights = weights_after([0, 0], [np.array([True, False])] * 100, rows=size, size=size, step="1")
    expected = integer_weights([-1000, 1000, 0, 0], step, size)
    assert expected[0] == expected[2] == expected[3]
    assert 2**54 <= expected[0] < 2**55
    check_intervals(weights, expected)


def neighbouring_counts(relation: NeighbouringRelation) -> list[tuple[list[int], int, list[int], int]]:
    """All pairs of tables of three base queries that can be neighbours, as counts and numbers of rows, few rows."""
    cases = []
    for counts in product(range(3), repeat=3):
        for record in product((0, 1), repeat=3):
            more = [c + r for c, r in zip(counts, record, strict=True)]
            if relation is ADD_REMOVE:
                cases.append((list(counts), 2, more, 3))
                continue
            cases.extend(
                ([c + r for c, r in zip(counts, other, strict=True)], 3, more, 3) for other in product((0, 1), repeat=3)
            )
    return cases


@pytest.mark.parametrize("step", ["0.05", "1.7", "40"])
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_no_two_neighbours_differ_by_more_than_the_charged_range(relation: NeighbouringRelation, step: str) -> None:
    """Range of the log of the ratio of the implemented weights, over all signed queries, for all neighbours; and it is
    reached. With step 40 most scores are clamped."""
    largest: dict[int, Decimal] = {}
    answers = [np.array(bits) for bits in [(True, False, True), (True, True, False), (False, False, True)]]
    for counts, rows, others, other_rows in neighbouring_counts(relation):
        for observed in range(4):
            one = signed_scores(counts, answers[:observed], rows=rows, size=3)
            two = signed_scores(others, answers[:observed], rows=other_rows, size=3)
            ratios = [
                Fraction(a, b)
                for a, b in zip(
                    integer_weights(one, Decimal(step), 3), integer_weights(two, Decimal(step), 3), strict=True
                )
            ]
            spread = logarithm(max(ratios) / min(ratios))
            largest[observed] = max(largest.get(observed, Decimal(0)), spread)
    for observed, found in largest.items():
        charged = Decimal(draw_range(observed + 1, float(step), 3, relation))
        assert found <= charged
        if step != "40" and observed:
            assert found > charged - Decimal(2 * SAMPLER_SLACK) - charged * Decimal("1e-14")
    assert largest[0] == 0


def test_the_weights_of_two_signed_queries_show_the_clamp_keeps_the_range() -> None:
    """Scores that pass the clamp under one table and not under the other still move within the charged range."""
    for gap in range(60):
        one = integer_weights([0, -gap, -25], Decimal(10), 3)
        two = integer_weights([-1, -gap + 1, -25], Decimal(10), 3)
        ratios = [Fraction(a, b) for a, b in zip(one, two, strict=True)]
        charged = Decimal(draw_range(2, 10.0, 3, REPLACE))
        assert logarithm(max(ratios) / min(ratios)) <= charged


def test_the_exact_sampler_draws_from_the_weights() -> None:
    weights = weights_after([3, 4], [], rows=10, size=10, step="1")
    words = [1, 5, 2, 0, 3, 2**64 - 1]  # masked to 106 bits, four weights of 2**104: 2**40 high words each
    sampler = ExactSampler(ScriptedWords([high << 40 if i % 2 == 0 else high for i, high in enumerate(words)]))
    assert sampler.draw(weights, 3).tolist() == [1, 2, 3]


def test_the_scripted_sampler_gives_its_script_whatever_the_weights() -> None:
    weights = weights_after([3, 4], [], rows=10, size=10, step="1")
    sampler = ScriptedSampler([[3, 0], [2, 2]])
    assert sampler.draw(weights, 2).tolist() == [0, 3]
    assert sampler.draw(weights, 2).tolist() == [2, 2]
    with pytest.raises(IndexError):
        sampler.draw(weights, 2)
    with pytest.raises(IndexError, match="the script holds 1 draws for this round, 2 were asked for"):
        ScriptedSampler([[1]]).draw(weights, 2)


@pytest.mark.parametrize(("rows", "size"), [(40, 40), (37, 45)])
def test_a_draw_at_a_place_is_the_inverse_of_the_distribution(rows: int, size: int) -> None:
    """The query on whose interval of exact whole-number weight the place lies, in the order of the workload."""
    counts, answers = random_case(3, 9, 4, rows=rows)
    weights = weights_after(counts, answers, rows=rows, size=size, step="0.9")
    owned = integer_weights(signed_scores(counts, answers, rows=rows, size=size), Decimal("0.9"), size)
    ends, places = list(accumulate(owned)), [k * 2**64 // 500 for k in range(500)]
    expected = [next(query for query, end in enumerate(ends) if place * ends[-1] >> 64 < end) for place in places]
    shuffled = np.random.default_rng(1).permutation(np.array(places, dtype=np.uint64))
    assert weights.draw_at(shuffled).tolist() == expected
    assert len(set(expected)) > 9
    assert weights.draw_at(np.array([0, 2**64 - 1], dtype=np.uint64)).tolist() == [0, 17]
