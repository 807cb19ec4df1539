"""Planted defects of intervals and boxes, one at a time: each turns a named check red."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.measurements import measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import BudgetError, PlanError
from dpopt.private.curators import searching_curator as interval_search
from dpopt.private.curators.door import Door
from dpopt.private.curators.searching_curator import IntervalSearch, MedianCut, SearchingCurator
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.synopses.intervals import interval_plan
from dpopt.synopses.intervals import release_intervals as driver
from dpopt.synopses.intervals.interval_plan import IntervalPlan
from tests.exact_counts_loss import AMPLE, ROWS
from tests.exact_interval_loss import (
    Deciding,
    SearchGame,
    check_draws_are_paid,
    check_search_game,
    interval_game,
    split_game,
)
from tests.tiny_intervals import tiny_intervals, tiny_split
from tests.tiny_runs import ADD_REMOVE, REPLACE, EventJournal

Plant = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[NeighbouringRelation], None]


def games(relation: NeighbouringRelation) -> dict[str, SearchGame]:
    """Return small games in which nearly all that is charged can be lost."""
    far = tiny_intervals(relation, gaussian=False, bins=3, intervals=2, threshold=9, mass_scale=None)
    return {
        "one search": interval_game(far),
        "one cut": split_game(
            tiny_split(relation, gaussian=False, shape=(3, 2), scale=0.5, mass_scales=(1e9,))
        ),
    }


def check_loss_of_intervals(relation: NeighbouringRelation) -> None:
    check_search_game(games(relation)["one search"])
    check_search_game(interval_game(tiny_intervals(relation, gaussian=False, bins=3)))


def check_loss_of_boxes(relation: NeighbouringRelation) -> None:
    check_search_game(games(relation)["one cut"])


def check_loss_of_boxes_with_gaussian_noise(relation: NeighbouringRelation) -> None:
    check_search_game(
        split_game(tiny_split(relation, gaussian=True, shape=(3, 2), scale=3.0, mass_scales=(1000.0,)))
    )


def check_all_is_paid(relation: NeighbouringRelation) -> None:
    check_draws_are_paid(interval_game(tiny_intervals(relation, gaussian=False)))
    check_draws_are_paid(split_game(tiny_split(relation, gaussian=False)))


def check_all_that_was_reserved_is_charged(relation: NeighbouringRelation) -> None:
    """Whatever comes out: searches that were not made could have been, and their number depends on the table."""
    plan = tiny_intervals(relation, gaussian=False)
    for path in interval_game(plan).paths((ROWS, 0, 0, 0)):
        charged = sorted(charge.label for charge in path.charges)
        assert charged == sorted(charge.label for charge in plan.charges()), f"charged {charged}"


def check_order_of_events(relation: NeighbouringRelation) -> None:
    """Spent, then on file as spent, then drawn, then on file as found: search by search."""
    events: list[str] = []
    plan = tiny_intervals(relation, gaussian=False, bins=2, intervals=2, mass_scale=5.0)
    noise = Deciding((True,), frozenset((5.0,)), gaussian=False)
    with pytest.MonkeyPatch.context() as patch:
        spend, draw = Ledger.spend, Deciding._draw

        def spending(self: Ledger, charge: Charge) -> None:
            spend(self, charge)
            events.append("spend")

        def drawing(self: Deciding, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
            events.append("draw")
            return draw(self, counts, scale)

        patch.setattr(Ledger, "spend", spending)
        patch.setattr(Deciding, "_draw", drawing)
        patch.setattr(driver, "MemoryJournal", lambda **_: EventJournal(events))
        driver.release_partition(BinCounts.from_counts([ROWS, 0]), plan, noise=noise)
    once = ["spend", "journal charge", "draw"]
    assert events == [*once, "journal search", *once, "journal measurement"], f"events: {events}"


def check_nothing_is_drawn_twice_or_unpaid(relation: NeighbouringRelation) -> None:
    """A search is made once, whatever was reserved; one that was not reserved never."""
    noise = Deciding((), frozenset(), gaussian=False)
    ledger = Ledger(AMPLE[False], relation)
    what = IntervalSearch(1, 0, 2, 2, 3.0, gaussian=False)
    other = IntervalSearch(2, 0, 2, 2, 3.0, gaussian=False)
    ledger.reserve([what.charge(relation)] * 2)
    curator = SearchingCurator(
        BinCounts.from_counts([ROWS, 0, 0, 0]), ledger, EventJournal([]), shape=(4,), size=ROWS, noise=noise
    )
    for search in (other, what, what, replace(what, start=1)):
        try:
            curator.search(search)
        except BudgetError:
            continue
    assert len(noise.draws) <= 2, f"drawn: {len(noise.draws)}"


def check_a_charge_of_the_callers_buys_nothing(relation: NeighbouringRelation) -> None:
    """A reservation under the right name for one comparison: nothing is drawn."""
    for what in (
        IntervalSearch(1, 0, 2, 2, 3.0, gaussian=False),
        MedianCut(1, 0, 2, 3.0, gaussian=False),
    ):
        right = what.charge(relation)
        assert right is not None
        noise, ledger = Deciding((), frozenset(), gaussian=False), Ledger(AMPLE[False], relation)
        ledger.reserve([replace(right, count=1)])
        held = BinCounts.from_counts([ROWS, 0, 0, 0])
        curator: SearchingCurator
        attempt: Callable[[], object]
        if isinstance(what, IntervalSearch):
            curator = SearchingCurator(held, ledger, EventJournal([]), shape=(4,), size=ROWS, noise=noise)
            attempt = partial(curator.search, what)
        else:
            curator = SearchingCurator(held, ledger, EventJournal([]), shape=(4, 1), size=ROWS, noise=noise)
            attempt = partial(curator.cut, what)
        with contextlib.suppress(BudgetError):
            attempt()
        assert noise.draws == [], "drawn for the price of one comparison"


def check_a_search_ends_within_its_comparisons(relation: NeighbouringRelation) -> None:
    """A search with fewer comparisons than it may need is refused, and nothing is spent."""
    ledger = Ledger(AMPLE[False], relation)
    what = IntervalSearch(1, 0, 2, 1, 3.0, gaussian=False)
    ledger.reserve([what.charge(relation)])
    noise = Deciding((True, True), frozenset(), gaussian=False)
    curator = SearchingCurator(
        BinCounts.from_counts([ROWS, 0, 0, 0]), ledger, EventJournal([]), shape=(4,), size=ROWS, noise=noise
    )
    with contextlib.suppress(PlanError):
        curator.search(what)
    assert len(noise.draws) <= 1, f"drawn {len(noise.draws)} times for one comparison"


Add = Callable[[NDArray[np.int64], float], NDArray[np.int64]]


def search_with(
    patch: pytest.MonkeyPatch, change: Callable[[Add, NDArray[np.int64], float], NDArray[np.int64]]
) -> None:
    """Change how noise is added to what is compared."""
    original = SearchingCurator._compared

    def changed(self: SearchingCurator, exact: NDArray[np.int64], what: Any) -> NDArray[np.int64]:
        def add(counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
            return original(self, counts, replace(what, scale=scale))

        return change(add, exact, what.scale)

    patch.setattr(SearchingCurator, "_compared", changed)


def draw_with_half_the_scale(patch: pytest.MonkeyPatch) -> None:
    search_with(patch, lambda add, exact, scale: add(exact, scale / 2))


def draw_twice(patch: pytest.MonkeyPatch) -> None:
    """Each comparison twice, which is paid once."""
    search_with(patch, lambda add, exact, scale: (add(exact, scale), add(exact, scale))[1])


def charge_one_comparison_of_a_search(patch: pytest.MonkeyPatch) -> None:
    original = interval_search.search_charge

    def cheap(number: int, comparisons: int, scale: float, **more: Any) -> Charge:
        return original(number, 1, scale, **more)

    patch.setattr(interval_search, "search_charge", cheap)
    patch.setattr(interval_plan, "search_charge", cheap)


def count_each_record_twice(patch: pytest.MonkeyPatch) -> None:
    search_with(patch, lambda add, exact, scale: add(2 * exact, scale))


def leave_searches_uncharged_that_were_not_made(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SearchingCurator, "spend_the_rest", lambda self: None)


def charge_a_replaced_record_like_an_added_one(patch: pytest.MonkeyPatch) -> None:
    """Under replace-one a record that changes sides moves a difference by 2."""

    def charge(self: MedianCut, relation: NeighbouringRelation) -> Charge | None:
        if not self.comparisons:
            return None
        single = measurement_charge(self.name, 1, self.scale, gaussian=self.gaussian, relation=relation)
        return replace(single, count=self.comparisons)

    patch.setattr(MedianCut, "charge", charge)


def take_the_distance_for_its_square(patch: pytest.MonkeyPatch) -> None:
    """2 in place of 4 with Gaussian noise: one difference moves by 2, not two by 1."""

    def charge(self: MedianCut, relation: NeighbouringRelation) -> Charge | None:
        if not self.comparisons:
            return None
        sensitivity = 1 if relation is ADD_REMOVE else 2
        single = measurement_charge(
            self.name, sensitivity, self.scale, gaussian=self.gaussian, relation=relation
        )
        return replace(single, count=self.comparisons)

    patch.setattr(MedianCut, "charge", charge)


def draw_before_the_charge(patch: pytest.MonkeyPatch) -> None:
    original = SearchingCurator.search

    def early(self: SearchingCurator, what: IntervalSearch) -> object:
        self._noise.discrete_laplace(np.zeros(1, dtype=np.int64), what.scale)
        return original(self, what)

    patch.setattr(SearchingCurator, "search", early)


def forget_what_was_searched(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Door, "_not_drawn", lambda self, label: None)


def take_whatever_was_reserved(patch: pytest.MonkeyPatch) -> None:
    def cheap(self: Door[Any], charge: Charge, **where: int) -> Charge:
        self._ledger.spend(self._ledger.unspent[0])
        return charge

    patch.setattr(Door, "_charged", cheap)


def search_as_long_as_it_takes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("dpopt.private.curators.searching_curator.comparisons_needed", lambda bins: 0)


LOSS = "charged"
DEFECTS: list[tuple[Plant, Check, NeighbouringRelation, str]] = [
    (draw_with_half_the_scale, check_loss_of_intervals, ADD_REMOVE, LOSS),
    (draw_with_half_the_scale, check_loss_of_intervals, REPLACE, LOSS),
    (draw_with_half_the_scale, check_loss_of_boxes, REPLACE, LOSS),
    (count_each_record_twice, check_loss_of_intervals, ADD_REMOVE, LOSS),
    (count_each_record_twice, check_loss_of_boxes, ADD_REMOVE, LOSS),
    (charge_one_comparison_of_a_search, check_loss_of_intervals, ADD_REMOVE, LOSS),
    (charge_one_comparison_of_a_search, check_all_is_paid, REPLACE, "charged for"),
    (draw_twice, check_all_is_paid, ADD_REMOVE, "charged for"),
    (draw_twice, check_loss_of_intervals, REPLACE, LOSS),
    (charge_a_replaced_record_like_an_added_one, check_loss_of_boxes, REPLACE, LOSS),
    (take_the_distance_for_its_square, check_loss_of_boxes_with_gaussian_noise, REPLACE, LOSS),
    (leave_searches_uncharged_that_were_not_made, check_all_that_was_reserved_is_charged, ADD_REMOVE, LOSS),
    (leave_searches_uncharged_that_were_not_made, check_loss_of_intervals, ADD_REMOVE, "what is charged"),
    (draw_before_the_charge, check_order_of_events, ADD_REMOVE, "events"),
    (forget_what_was_searched, check_nothing_is_drawn_twice_or_unpaid, ADD_REMOVE, "drawn: 4"),
    (take_whatever_was_reserved, check_a_charge_of_the_callers_buys_nothing, REPLACE, "price of one"),
    (search_as_long_as_it_takes, check_a_search_ends_within_its_comparisons, ADD_REMOVE, "drawn 2 times"),
]
CHECKS: list[Check] = [
    check_loss_of_intervals,
    check_loss_of_boxes,
    check_loss_of_boxes_with_gaussian_noise,
    check_all_is_paid,
    check_all_that_was_reserved_is_charged,
    check_order_of_events,
    check_nothing_is_drawn_twice_or_unpaid,
    check_a_charge_of_the_callers_buys_nothing,
    check_a_search_ends_within_its_comparisons,
]


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
@pytest.mark.parametrize("check", CHECKS)
def test_each_check_passes_without_a_defect(check: Check, relation: NeighbouringRelation) -> None:
    check(relation)


@pytest.mark.parametrize(("plant", "check", "relation", "message"), DEFECTS)
def test_a_planted_defect_is_caught(
    plant: Plant,
    check: Check,
    relation: NeighbouringRelation,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError, match=message):
        check(relation)


def test_a_driver_that_ignores_the_cap_is_stopped_by_the_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the cap on searches a run on many small intervals asks for more than was reserved, and gets nothing."""
    plan = tiny_intervals(ADD_REMOVE, gaussian=False, bins=4, intervals=2, mass_scale=None)
    reserved = plan.charges()
    monkeypatch.setattr(IntervalPlan, "charges", lambda self: reserved)
    monkeypatch.setattr(IntervalPlan, "searches", 1_000)
    noise = Deciding((True,) * 40, frozenset(), gaussian=False)
    with pytest.raises(BudgetError, match="search 2"):
        driver.release_partition(BinCounts.from_counts([9, 9, 9, 9]), plan, noise=noise)
    assert len(noise.draws) <= plan.comparisons


def test_the_boxes_of_a_cut_are_those_of_the_curator() -> None:
    """The driver says along which axis, never which boxes: it cannot name boxes that share cells."""
    assert {name for name in vars(MedianCut) if not name.startswith("_")} == {
        "axis",
        "charge",
        "comparisons",
        "gaussian",
        "name",
        "number",
        "scale",
    }
    assert vars(driver)["SearchingCurator"] is SearchingCurator
