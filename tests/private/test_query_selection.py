from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpopt.accounting.relations import NeighbouringRelation, once_or_twice
from dpopt.accounting.selections import selection_charge
from dpopt.errors import PlanError
from dpopt.private.selections.query_selection import QuerySelection
from dpopt.private.selections.query_weights import LARGEST
from tests.exact_distribution import boundaries, integer_weights, logarithm, scripted_points, weight

REPLACE, ADD_REMOVE = NeighbouringRelation.REPLACE_ONE, NeighbouringRelation.ADD_REMOVE


def selection_of(
    counts: list[int], *, range_: str, records: int, relation: NeighbouringRelation, hold_all: bool = False, **more: int
) -> QuerySelection:
    exact = np.array(counts, dtype=np.int64)
    held = np.arange(len(counts)) if hold_all else np.flatnonzero(exact)
    return QuerySelection(
        held.astype(np.int64),
        exact[held],
        queries=len(counts),
        records=records,
        range_=Decimal(range_),
        units=once_or_twice(records, relation),
        **more,
    )


def observed(by: list[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    numbers = np.array(by, dtype=np.int64)
    satisfied = np.flatnonzero(numbers)
    return satisfied, numbers[satisfied]


def scores_of(counts: list[int], by: list[int], *, rows: int, size: int, records: int) -> list[int]:
    scores = []
    for count, c in zip(counts, by, strict=True):
        scores += [records * count - size * c, records * (rows - count) - size * (records - c)]
    return scores


@settings(max_examples=60, deadline=None)
@given(
    cells=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), min_size=1, max_size=12),
    rows=st.integers(6, 9),
    records=st.integers(3, 5),
    range_=st.sampled_from(["0.01", "0.4", "3"]),
    relation=st.sampled_from(NeighbouringRelation),
    hold_all=st.booleans(),
)
def test_each_query_is_drawn_on_exactly_its_own_points(
    cells: list[tuple[int, int]], rows: int, records: int, range_: str, relation: NeighbouringRelation, hold_all: bool
) -> None:
    """As many points as its whole-number weight says: those held first, then the others by rank."""
    counts, by = [c for c, _ in cells], [c for _, c in cells]
    public = {"rows": rows, "size": rows if relation is REPLACE else 7, "records": records}
    selection = selection_of(counts, range_=range_, relation=relation, hold_all=hold_all, **public)
    weights = integer_weights(scores_of(counts, by, **public), Decimal(range_), once_or_twice(records, relation))
    seen = [hold_all or count > 0 or c > 0 for count, c in cells]
    order = [i for i, found in enumerate(seen) if found] + [i for i, found in enumerate(seen) if not found]
    signed = [2 * i + side for i in order for side in (0, 1)]
    for point, place in boundaries([weights[query] for query in signed]):
        assert selection.draw(*observed(by), scripted_points([point])) == signed[place]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_blocks_and_threads_do_not_change_what_a_point_selects(threads: int) -> None:
    generator = np.random.default_rng(1)
    counts = generator.integers(0, 3, 5000).tolist()
    by = generator.integers(0, 2, 5000).tolist()
    selection = selection_of(counts, rows=40, size=40, records=4, range_="0.5", relation=REPLACE, threads=threads)
    scores = scores_of(counts, by, rows=40, size=40, records=4)
    weights = integer_weights(scores, Decimal("0.5"), 8)
    seen = [i for i in range(5000) if counts[i] or by[i]]
    order = seen + sorted(set(range(5000)) - set(seen))
    signed = [2 * i + side for i in order for side in (0, 1)]
    ends = boundaries([weights[query] for query in signed])
    for point, place in ends[:: len(ends) // 60] + ends[-2:]:
        assert selection.draw(*observed(by), scripted_points([point])) == signed[place]


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_between_neighbours_the_log_ratio_of_weights_stays_within_the_charged_range(
    relation: NeighbouringRelation,
) -> None:
    """All changes that one record can make to three counts, with synthetic records fixed."""
    size, records, range_ = 6, 3, "0.9"
    counts, by = [2, 0, 5], [1, 2, 0]
    units = once_or_twice(records, relation)
    charged = Decimal(selection_charge(1, Decimal(range_), relation).parameter)
    widest = Decimal(0)
    moves = (-1, 0, 1) if relation is REPLACE else (0, 1)
    for a in moves:
        for b in moves:
            for c in moves:
                rows = size if relation is REPLACE else size + 1
                other = [counts[0] + a, counts[1] + b, counts[2] + c]
                if min(other) < 0:
                    continue
                logs = []
                for table, number in ((counts, size), (other, rows)):
                    scores = scores_of(table, by, rows=number, size=size, records=records)
                    top = max(scores)
                    logs.append([logarithm(weight(top - score, Decimal(range_), units)) for score in scores])
                changes = [two - one for one, two in zip(*logs, strict=True)]
                widest = max(widest, max(changes) - min(changes))
    assert Decimal(range_) * Decimal("0.999") < widest <= charged


def test_millions_of_queries_are_not_held() -> None:
    selection = QuerySelection(
        np.array([5, 40_000_000], dtype=np.int64),
        np.array([9, 1], dtype=np.int64),
        queries=48_000_000,
        rows=10,
        size=10,
        records=2,
        range_=Decimal("0.5"),
        units=4,
    )
    found = {selection.draw(*observed([0, 0, 0, 2]), words(seed)) for seed in range(50)}
    assert all(0 <= signed < 96_000_000 for signed in found)
    assert len(found) > 40


def words(seed: int):  # type: ignore[no-untyped-def]
    from dpopt.private.mechanisms.randomness import SeededWords

    return SeededWords(seed)


def test_a_query_that_everybody_satisfies_and_nobody_answers_is_selected_nearly_always() -> None:
    selection = selection_of([50, 0, 3], rows=50, size=50, records=2, range_="5", relation=ADD_REMOVE)
    found = [selection.draw(*observed([0, 2, 0]), words(seed)) for seed in range(30)]
    # Query 0 and the negation of query 1 have error 1 (250 in the exponent); all else is beyond exp(-200).
    assert set(found) <= {0, 3}
    assert set(found) == {0, 3}


@pytest.mark.parametrize("rows", [2, 10, 400, 430, 429, 1_000, 2_500, 100_000])
def test_a_table_far_from_the_public_size_selects_like_any_other(rows: int) -> None:
    """Whether a run ends must not depend on the number of records, even where every query is satisfied by somebody."""
    counts = [rows // 2, rows - rows // 2]
    for by in ([10, 10], [20, 0]):
        selection = selection_of(
            counts, rows=rows, size=1_000, records=20, range_="0.5", relation=ADD_REMOVE, hold_all=True
        )
        assert all(0 <= selection.draw(*observed(by), words(seed)) < 4 for seed in range(5))


def test_too_many_queries_and_scores_beyond_64_bits_are_refused() -> None:
    public = {"rows": 3, "size": 3, "units": 2, "range_": Decimal(1)}
    for queries, records, message in ((LARGEST + 1, 1, "at most 67,108,864"), (1, 2**21, "64-bit scores")):
        with pytest.raises(PlanError, match=message):
            QuerySelection(np.array([0]), np.array([1]), queries=queries, records=records, **public)  # type: ignore[arg-type]
