"""The curators of intervals and boxes: what they find, what it costs, and what they refuse."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.errors import BudgetError, PlanError, PrivateDataError, TranscriptError
from dpopt.private.curators.door import NOT_PRIVATE_DRAWS
from dpopt.private.curators.searching_curator import IntervalSearch, MedianCut, SearchingCurator, comparisons_needed
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.transcript.journal import MemoryJournal
from dpopt.transcript.released import NoisySearch
from tests.noises import NoNoise
from tests.tiny_runs import ADD_REMOVE, REPLACE

EVERYTHING = Budget(1e9, 0.0, None, Accountant.PURE)
COUNTS = [3, 0, 2, 7, 0, 0, 1, 4]


def search(number: int = 1, start: int = 0, threshold: int = 5, comparisons: int = 3) -> IntervalSearch:
    return IntervalSearch(number, comparisons, 2.0, gaussian=False, start=start, threshold=threshold)


def curator(*charges: Charge, counts: list[int] = COUNTS) -> tuple[SearchingCurator, Ledger, MemoryJournal]:
    ledger, journal = Ledger(EVERYTHING, ADD_REMOVE), MemoryJournal()
    ledger.reserve(charges)
    held = BinCounts.from_counts(counts)
    return (SearchingCurator(held, ledger, journal, shape=(len(counts),), size=9, noise=NoNoise()), ledger, journal)


@pytest.mark.parametrize(("bins", "needed"), [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (2**20, 20), (2**20 + 1, 21)])
def test_so_many_comparisons_find_one_of_so_many_bins(bins: int, needed: int) -> None:
    assert comparisons_needed(bins) == needed


def test_without_noise_a_search_ends_at_the_first_bin_that_reaches_the_threshold() -> None:
    for start, threshold in product(range(8), (1, 3, 6, 99)):
        what = search(1, start, threshold)
        made, _, _ = curator(what.charge(ADD_REMOVE))
        sums = np.cumsum(COUNTS[start:])
        reached = np.flatnonzero(sums >= threshold)
        expected = start + int(reached[0]) if reached.size else 7
        assert made.search(what).ends.tolist() == [expected]


def test_all_comparisons_are_charged_and_the_rest_of_the_plan_at_the_end() -> None:
    first, second = search(1, 7), search(2, 0)
    made, ledger, journal = curator(first.charge(ADD_REMOVE), second.charge(ADD_REMOVE))
    found = made.search(first)  # from the last bin on: nothing is compared
    assert found.charge is not None
    assert found.charge.count == 3
    assert found.charge.parameter == pytest.approx(0.5)
    made.spend_the_rest()
    assert [charge.label for charge in ledger.entries if charge.mechanism != NOT_PRIVATE_DRAWS] == [
        "comparisons of search 1",
        "comparisons of search 2",
    ]
    assert [entry["kind"] for entry in journal.entries] == ["charge", "search", "charge"]
    with pytest.raises(BudgetError):
        made.search(second)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (search(comparisons=2), "it may need 3"),
        (search(start=8), "from bin 8 of 8"),
        (MedianCut(1, 3, 2.0, gaussian=False, axis=0), "found a MedianCut"),
    ],
)
def test_searches_that_cannot_be_made_are_refused_before_anything_is_spent(what: IntervalSearch, message: str) -> None:
    made, ledger, journal = curator(search().charge(ADD_REMOVE))
    spent = len(ledger.entries)
    with pytest.raises(PlanError, match=message):
        made.search(what)
    assert len(ledger.entries) == spent
    assert journal.entries == []


def test_a_search_is_made_once() -> None:
    made, _, _ = curator(*[search().charge(ADD_REMOVE)] * 2)
    made.search(search())
    with pytest.raises(BudgetError, match="drawn before"):
        made.search(search())


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((0, 0, 5, 3), "the number of a search"),
        ((1, -1, 5, 3), "the first bin of an interval"),
        ((1, 0, 0, 3), "the threshold of a search"),
    ],
)
def test_numbers_out_of_range_are_refused(numbers: tuple[int, int, int, int], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        search(*numbers)
    with pytest.raises(PlanError, match="scale of the noise"):
        IntervalSearch(1, 3, 0.0, gaussian=False, start=0, threshold=5)
    with pytest.raises(PlanError, match="scale of the noise"):
        MedianCut(1, 3, 1e16, gaussian=True, axis=0)
    with pytest.raises(PlanError, match="the axis of a cut"):
        MedianCut(1, 3, 1.0, gaussian=True, axis=-1)


def splitter(*cuts: MedianCut, shape: tuple[int, ...] = (4, 3)) -> tuple[SearchingCurator, np.ndarray]:
    cells = np.arange(12, dtype=np.int64).reshape(4, 3) ** 2
    ledger = Ledger(EVERYTHING, ADD_REMOVE)
    ledger.reserve([charge for cut in cuts if (charge := cut.charge(ADD_REMOVE)) is not None])
    held = BinCounts.from_counts(cells.reshape(-1))
    return SearchingCurator(held, ledger, MemoryJournal(), shape=shape, size=9, noise=NoNoise()), cells


def test_without_noise_a_cut_is_at_the_median_of_each_box() -> None:
    cuts = [MedianCut(1, 2, 2.0, gaussian=False, axis=0), MedianCut(2, 1, 2.0, gaussian=False, axis=1)]
    made, cells = splitter(*cuts)
    sums = cells.sum(axis=1)
    (first,) = made.cut(cuts[0]).ends.tolist()
    halves = [int(sums[: end + 1].sum() - sums[end + 1 :].sum()) for end in range(3)]
    assert first == next(end for end in range(3) if halves[end] >= 0 or end == 2)
    second = made.cut(cuts[1]).ends.tolist()
    for box, end in zip((cells[: first + 1], cells[first + 1 :]), second, strict=True):
        along = box.sum(axis=0)
        assert end == (0 if along[0] >= along[1:].sum() else 1)


def test_boxes_of_one_bin_stay_whole_and_two_bins_need_no_comparison() -> None:
    cuts = [MedianCut(number, 0, 2.0, gaussian=False, axis=0) for number in (1, 2)]
    ledger = Ledger(EVERYTHING, ADD_REMOVE)
    ledger.reserve([])
    held = BinCounts.from_counts([5, 1])
    made = SearchingCurator(held, ledger, MemoryJournal(), shape=(2, 1), size=9, noise=NoNoise())
    first = made.cut(cuts[0])
    assert (first.ends.tolist(), first.charge) == ([0], None)
    assert made.cut(cuts[1]).ends.tolist() == [0, 1]
    assert [charge.mechanism for charge in ledger.entries] == [NOT_PRIVATE_DRAWS]


def test_cuts_that_cannot_be_made_are_refused() -> None:
    cut = MedianCut(1, 1, 2.0, gaussian=False, axis=0)
    made, _ = splitter(cut)
    with pytest.raises(PlanError, match="it may need 2"):
        made.cut(cut)
    with pytest.raises(PlanError, match="one of 2 axes"):
        made.cut(MedianCut(1, 3, 2.0, gaussian=False, axis=2))
    with pytest.raises(PrivateDataError, match="made for 15 bins, and 12 were counted"):
        splitter(shape=(5, 3))


@pytest.mark.parametrize(("gaussian", "add_remove", "replace"), [(False, 1 / 2, 2 / 2), (True, 1 / 8, 4 / 8)])
def test_a_cut_costs_what_its_differences_move(gaussian: bool, add_remove: float, replace: float) -> None:
    cut = MedianCut(1, 5, 2.0, gaussian=gaussian, axis=0)
    for relation, cost in ((ADD_REMOVE, add_remove), (REPLACE, replace)):
        charge = cut.charge(relation)
        assert charge is not None
        assert charge.count == 5
        assert charge.parameter == pytest.approx(cost)


def test_graphs_are_not_searched() -> None:
    graph = BinCounts.of_degrees(np.array([1, 1, 0, 0]), 1)
    ledger = Ledger(EVERYTHING, ADD_REMOVE)
    ledger.reserve([search().charge(ADD_REMOVE)])
    made = SearchingCurator(graph, ledger, MemoryJournal(), shape=(4,), size=9, noise=NoNoise())
    with pytest.raises(PlanError, match="nodes"):
        made.search(search())
    with pytest.raises(PrivateDataError, match="made for 5 bins, and 4 were counted"):
        SearchingCurator(graph, ledger, MemoryJournal(), shape=(5,), size=9, noise=NoNoise())


def test_ends_that_are_no_positions_are_refused() -> None:
    for ends, scale, message in (([-1], 1.0, "positions"), ([0.5], 1.0, "whole numbers"), ([1], 0.0, "scale")):
        with pytest.raises(TranscriptError, match=message):
            NoisySearch("x", np.array(ends), "discrete Laplace", scale, None)
