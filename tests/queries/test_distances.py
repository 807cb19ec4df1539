"""Distances of marginals from predictions: what they are, and how far one record moves them."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpopt.errors import WorkloadError
from dpopt.queries.counting.kernels import shares_on_records
from dpopt.queries.distances import LARGEST_TOTAL, UNIT, Distances
from tests.queries.test_residuals import Sizes, sets_of

TINY: list[tuple[Sizes, list[tuple[int, ...]]]] = [
    ((2,), [(0,)]),
    ((3, 2), [(0,), (0, 1)]),
    ((2, 2, 2), [(0, 1), (0, 2), (1, 2)]),
]


@pytest.mark.parametrize(("sizes", "sets"), TINY)
@given(data=st.data())
@settings(max_examples=10)
def test_no_record_moves_distances_too_far(sizes: Sizes, sets: list[tuple[int, ...]], data: st.DataObject) -> None:
    marginals = sets_of(sizes, *sets)
    cells = marginals.number_of_cells
    predictions = data.draw(st.lists(st.integers(0, 5 * UNIT), min_size=cells, max_size=cells))
    distances = Distances(marginals, np.array(predictions))
    records = list(product(*map(range, sizes)))
    table = data.draw(st.lists(st.sampled_from(records), min_size=1, max_size=4))

    def of(rows: list[tuple[int, ...]]) -> np.ndarray:
        codes = np.array(rows, dtype=np.int32)
        shares = shares_on_records(marginals, codes, np.array(sizes))
        return distances.of(np.rint(shares * len(rows)).astype(np.int64))

    added = [of([*table, record]) for record in records]
    for power, squared in ((1, False), (2, True)):
        moves = max((np.abs(one - of(table)) ** power).sum() for one in added)
        assert moves <= distances.sensitivity(replaced=False, squared=squared)
        replaced = max([(np.abs(a - b) ** power).sum() for a, b in combinations(added, 2)])
        assert replaced <= distances.sensitivity(replaced=True, squared=squared)


def test_distances_reach_their_sensitivity() -> None:
    one = Distances(sets_of((2,), (0,)), np.zeros(2, dtype=np.int64) + 10 * UNIT)
    few, more, other = (one.of(np.array(counts)) for counts in ([0, 10], [0, 11], [10, 1]))
    assert int(np.abs(more - few)[0]) == one.sensitivity(replaced=False, squared=False) == UNIT
    assert (more - few) ** 2 == one.sensitivity(replaced=False, squared=True)
    swapped = one.of(np.array([12, 8])) - one.of(np.array([11, 9]))
    assert int(np.abs(swapped)[0]) == one.sensitivity(replaced=True, squared=False)
    assert int(other[0]) == 9 * UNIT


@pytest.mark.parametrize(
    ("predictions", "word"), [([1], "shape"), ([1, -1], "at least 0"), ([LARGEST_TOTAL, LARGEST_TOTAL], "2\\^40")]
)
def test_predictions_that_do_not_fit_are_refused(predictions: list[int], word: str) -> None:
    with pytest.raises(WorkloadError, match=word):
        Distances(sets_of((2,), (0,)), np.array(predictions))
