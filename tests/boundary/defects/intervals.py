"""Planted defects of intervals and boxes."""

from __future__ import annotations

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
from dpopt.private.curators import searching_curator
from dpopt.private.curators.door import Door
from dpopt.private.curators.searching_curator import IntervalSearch, MedianCut, SearchingCurator
from dpopt.private.tables.bin_counts import BinCounts
from dpopt.synopses import release as run_of_synopses
from dpopt.synopses.intervals import interval_plan
from dpopt.synopses.intervals import release_intervals as driver
from dpopt.synopses.intervals.interval_plan import IntervalPlan
from tests.boundary.planted import (
    ADD,
    BOTH,
    REP,
    Mechanism,
    Plant,
    attempt,
    defect,
    forget_what_was_drawn,
    spending,
    wrap,
)
from tests.exact_counts_loss import AMPLE, ROWS
from tests.exact_interval_loss import (
    Deciding,
    check_draws_are_paid,
    check_search_game,
    interval_game,
    split_game,
    tiny_intervals,
    tiny_split,
)
from tests.tiny_runs import ADD_REMOVE, EventJournal

SEARCH = IntervalSearch(1, 2, 3.0, gaussian=False, start=0, threshold=2)


def check_loss_of_intervals(relation: NeighbouringRelation) -> None:
    """Of games in which nearly all that is charged can be lost, and of two searches."""
    far = tiny_intervals(relation, gaussian=False, bins=3, intervals=2, threshold=9, mass_scale=1e9)
    check_search_game(interval_game(far))
    check_search_game(interval_game(tiny_intervals(relation, gaussian=False, bins=3)))


def check_loss_of_boxes(relation: NeighbouringRelation, *, gaussian: bool = False) -> None:
    scale, mass_scales = (3.0, (1000.0,)) if gaussian else (0.5, (1e9,))
    plan = tiny_split(relation, gaussian=gaussian, shape=(3, 2), scale=scale, mass_scales=mass_scales)
    check_search_game(split_game(plan))


def check_loss_of_boxes_with_gaussian_noise(relation: NeighbouringRelation) -> None:
    check_loss_of_boxes(relation, gaussian=True)


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
    noise, draw = Deciding((True,), frozenset((5.0,)), gaussian=False), Deciding._draw

    def drawing(self: Deciding, counts: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        events.append("draw")
        return draw(self, counts, scale)

    with pytest.MonkeyPatch.context() as patch, spending(events):
        patch.setattr(Deciding, "_draw", drawing)
        patch.setattr(run_of_synopses, "MemoryJournal", lambda **_: EventJournal(events))
        driver.release_partition(BinCounts.from_counts([ROWS, 0]), plan, noise=noise)
    once = ["spend", "journal charge", "draw"]
    assert events == [*once, "journal search", *once, "journal measurement"], f"events: {events}"


def curator_of(
    relation: NeighbouringRelation, *reserved: Charge | None, script: tuple[bool, ...] = (), axes: int = 1
) -> tuple[SearchingCurator, Deciding]:
    """Return a curator for which something is reserved, and its noise."""
    noise, ledger = Deciding(script, frozenset(), gaussian=False), Ledger(AMPLE[False], relation)
    ledger.reserve([charge for charge in reserved if charge is not None])
    held, shape = BinCounts.from_counts([ROWS, 0, 0, 0]), (4, 1)[:axes]
    journal = EventJournal([])
    return SearchingCurator(held, ledger, journal, shape=shape, size=ROWS, noise=noise), noise


def check_nothing_is_drawn_twice_or_unpaid(relation: NeighbouringRelation) -> None:
    """A search is made once, whatever was reserved; one that was not reserved never."""
    curator, noise = curator_of(relation, *[SEARCH.charge(relation)] * 2)
    searches = (replace(SEARCH, number=2), SEARCH, SEARCH, replace(SEARCH, start=1))
    attempt(*(partial(curator.search, what) for what in searches), refused=BudgetError)
    assert len(noise.draws) <= 2, f"drawn: {len(noise.draws)}"


def check_a_charge_of_the_callers_buys_nothing(relation: NeighbouringRelation) -> None:
    """A reservation under the right name for one comparison: nothing is drawn."""
    cut = MedianCut(1, 2, 3.0, gaussian=False, axis=0)
    one, two = SEARCH.charge(relation), cut.charge(relation)
    assert two is not None
    searching, noise = curator_of(relation, replace(one, count=1))
    cutting, other = curator_of(relation, replace(two, count=1), axes=2)
    attempt(lambda: searching.search(SEARCH), lambda: cutting.cut(cut), refused=BudgetError)
    assert noise.draws == other.draws == [], "drawn for the price of one comparison"


def check_a_search_ends_within_its_comparisons(relation: NeighbouringRelation) -> None:
    """A search with fewer comparisons than it may need is refused, and nothing is spent."""
    what = replace(SEARCH, comparisons=1)
    curator, noise = curator_of(relation, what.charge(relation), script=(True, True))
    attempt(lambda: curator.search(what), refused=PlanError)
    assert len(noise.draws) <= 1, f"drawn {len(noise.draws)} times for one comparison"


def check_a_driver_that_ignores_the_cap_is_stopped_by_the_ledger(relation: NeighbouringRelation) -> None:
    """Without the cap on searches a run on many small intervals asks for more than was reserved, and gets nothing."""
    plan = tiny_intervals(ADD_REMOVE, gaussian=False, bins=4, intervals=2)
    reserved, noise = plan.charges(), Deciding((True,) * 40, frozenset(), gaussian=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IntervalPlan, "charges", lambda self: reserved)
        patch.setattr(IntervalPlan, "searches", 1_000)
        with pytest.raises(BudgetError, match="search 2"):
            driver.release_partition(BinCounts.from_counts([9, 9, 9, 9]), plan, noise=noise)
    assert len(noise.draws) <= plan.comparisons


def check_the_boxes_of_a_cut_are_those_of_the_curator(relation: NeighbouringRelation) -> None:
    """The driver says along which axis, never which boxes: it cannot name boxes that share cells."""
    said = {"axis", "charge", "comparisons", "gaussian", "name", "number", "scale"}
    assert {name for name in dir(MedianCut) if not name.startswith("_")} == said
    assert vars(driver)["SearchingCurator"] is SearchingCurator


Add = Callable[[NDArray[np.int64], float], NDArray[np.int64]]


def search_with(change: Callable[[Add, NDArray[np.int64], float], NDArray[np.int64]]) -> Plant:
    """Return a plant that changes how noise is added to what is compared."""

    def compared(usual: Any, self: Any, exact: NDArray[np.int64], what: Any) -> NDArray[np.int64]:
        return change(lambda counts, scale: usual(self, counts, replace(what, scale=scale)), exact, what.scale)

    return wrap(SearchingCurator, "_compared", compared)


def charge_cuts(sensitivity: Callable[[NeighbouringRelation], int]) -> Plant:
    """Return a plant that charges each comparison of a cut for a difference that moves by this much."""

    def charge(usual: object, self: MedianCut, relation: NeighbouringRelation) -> Charge | None:
        if not self.comparisons:
            return None
        moved = sensitivity(relation)
        single = measurement_charge(self.name, moved, self.scale, gaussian=self.gaussian, relation=relation)
        return replace(single, count=self.comparisons)

    return wrap(MedianCut, "charge", charge)


def drawn_early(usual: Any, self: SearchingCurator, what: IntervalSearch) -> object:
    self._noise.discrete_laplace(np.zeros(1, dtype=np.int64), what.scale)
    return usual(self, what)


def paid_by_anything(usual: object, self: Door[Any], charge: Charge, **where: int) -> Charge:
    self._ledger.spend(self._ledger.unspent[0])
    return charge


INTERVALS_LOSE, BOXES_LOSE, LOSS = check_loss_of_intervals, check_loss_of_boxes, "charged"
INTERVALS = Mechanism(
    [
        check_loss_of_intervals,
        check_loss_of_boxes,
        check_loss_of_boxes_with_gaussian_noise,
        check_all_is_paid,
        check_all_that_was_reserved_is_charged,
        check_order_of_events,
        check_nothing_is_drawn_twice_or_unpaid,
        check_a_charge_of_the_callers_buys_nothing,
        check_a_search_ends_within_its_comparisons,
        check_a_driver_that_ignores_the_cap_is_stopped_by_the_ledger,
        check_the_boxes_of_a_cut_are_those_of_the_curator,
    ],
    {
        "draw with half the scale": defect(
            search_with(lambda add, exact, scale: add(exact, scale / 2)),
            (INTERVALS_LOSE, BOTH, LOSS),
            (BOXES_LOSE, REP, LOSS),
        ),
        "count each record twice": defect(
            search_with(lambda add, exact, scale: add(2 * exact, scale)),
            (INTERVALS_LOSE, ADD, LOSS),
            (BOXES_LOSE, ADD, LOSS),
        ),
        "charge one comparison of a search": defect(
            wrap(
                [searching_curator, interval_plan],
                "search_charge",
                lambda usual, number, comparisons, *rest, **more: usual(number, 1, *rest, **more),
            ),
            (INTERVALS_LOSE, ADD, LOSS),
            (check_all_is_paid, REP, "charged for"),
        ),
        # Each comparison twice, which is paid once.
        "draw twice": defect(
            search_with(lambda add, exact, scale: (add(exact, scale), add(exact, scale))[1]),
            (check_all_is_paid, ADD, "charged for"),
            (INTERVALS_LOSE, REP, LOSS),
        ),
        # Under replace-one a record that changes sides moves a difference by 2.
        "charge a replaced record like an added one": defect(charge_cuts(lambda relation: 1), (BOXES_LOSE, REP, LOSS)),
        # 2 in place of 4 with Gaussian noise: one difference moves by 2, not two by 1.
        "take the distance for its square": defect(
            charge_cuts(lambda relation: 1 if relation is ADD_REMOVE else 2),
            (check_loss_of_boxes_with_gaussian_noise, REP, LOSS),
        ),
        "leave searches uncharged that were not made": defect(
            wrap(SearchingCurator, "spend_the_rest", lambda usual, self: None),
            (check_all_that_was_reserved_is_charged, ADD, LOSS),
            (INTERVALS_LOSE, ADD, "what is charged"),
        ),
        "draw before the charge": defect(
            wrap(SearchingCurator, "search", drawn_early), (check_order_of_events, ADD, "events")
        ),
        "forget what was searched": defect(
            forget_what_was_drawn, (check_nothing_is_drawn_twice_or_unpaid, ADD, "drawn: 4")
        ),
        "take whatever was reserved": defect(
            wrap(Door, "_charged", paid_by_anything), (check_a_charge_of_the_callers_buys_nothing, REP, "price of one")
        ),
        "search as long as it takes": defect(
            wrap(searching_curator, "comparisons_needed", lambda usual, bins: 0),
            (check_a_search_ends_within_its_comparisons, ADD, "drawn 2 times"),
        ),
    },
)
