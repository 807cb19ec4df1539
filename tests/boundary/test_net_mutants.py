"""Planted defects of the private side of the net mechanism, one at a time: each turns a named check red."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting.charges import Charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import selection_charge
from dpopt.private.curators import net_curator
from dpopt.private.curators.door import Door
from dpopt.private.curators.net_curator import NetCurator
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.mechanisms.net import net_boxes
from dpopt.private.mechanisms.net.net_boxes import BoxSampler
from dpopt.private.mechanisms.net.net_distribution import Multisets, NetDistribution
from dpopt.private.mechanisms.net.net_draw import draw_listed
from dpopt.private.mechanisms.randomness import RandomWords, SeededWords
from dpopt.transcript.released import SelectedDatabase
from tests.exact_distribution import exp_minus
from tests.exact_fem_loss import range_between
from tests.exact_net_loss import NetGame, check_net_game
from tests.tiny_nets import all_multisets, cells, distance_of
from tests.tiny_runs import ADD_REMOVE, REPLACE, Table, bits_schema, conjunctions

Plant = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[NeighbouringRelation], None]
ONE_QUERY = conjunctions(bits_schema(1), "a")
TABLE: Table = ((0,), (1,))


def game(relation: NeighbouringRelation, range_: str = "1.5") -> NetGame:
    return NetGame(ONE_QUERY, records=2, range_=range_, size=2, relation=relation)


def check_exact_loss(relation: NeighbouringRelation) -> None:
    """No divergence exceeds what the ledger says, of multisets and of listed candidates."""
    check_net_game(game(relation))
    check_net_game(NetGame(ONE_QUERY, records=2, range_="1.5", size=2, relation=relation, listed=True))


def check_charges_are_tight(relation: NeighbouringRelation) -> None:
    """The whole charged range is reached by some pair."""
    one = game(relation)
    spans = [range_between(one.distribution(a)[0], one.distribution(b)[0]) for a, b in one.pairs()]
    assert max(spans) > Decimal("1.4999"), f"only {max(spans)} of the range is used"


def check_exact_distribution(relation: NeighbouringRelation) -> None:
    """Each database has the weight exp(-epsilon n e / 2) for its largest error e, by arithmetic of its own."""
    one = game(relation)
    table = (*TABLE, (1,)) if relation is ADD_REMOVE else TABLE
    targets = [2 * sum(record[0] for record in table)]
    weights = [
        exp_minus(Fraction(3, 2) * distance_of(one.answers, targets, 2, counts) / 4) for counts in one.outputs
    ]
    for found, weight in zip(one.distribution(table)[0], weights, strict=True):
        assert abs(found * sum(weights) / weight - 1) < Fraction(1, 2**100), "distribution"


def check_bounds(relation: NeighbouringRelation) -> None:
    """No box has a bound above a distance in it, and no database is missing or held twice."""
    answers, records, size = cells(2, 2), 3, 7
    targets = records * (answers.astype(np.int64) @ np.array([3, 0, 2, 2]))
    distribution = NetDistribution(Decimal(4), 2 * records, 100)
    for seed in range(3):
        sampler = BoxSampler(
            Multisets(answers, records),
            targets,
            size=size,
            distribution=distribution,
            source=SeededWords(seed),
        )
        for place in (0, 0, 1, 2, 0):
            sampler._cut(place % len(sampler._boxes))
        held = 0
        for box in sampler._boxes:
            inside = [
                counts
                for counts in all_multisets(4, records)
                if np.all(box.low <= counts) and np.all(counts <= box.high)
            ]
            held += len(inside)
            nearest = min(distance_of(answers, targets.tolist(), size, counts) for counts in inside)
            assert box.bound <= nearest, "bound above a distance"
        assert held == len(all_multisets(4, records)), "databases missing or held twice"
        expected = sum(sampler._rate(box) for box in sampler._boxes)
        assert sampler._sums.total == expected, "rates"


def check_order_of_events(relation: NeighbouringRelation) -> None:
    """Spent and on file as spent, then drawn, then on file as drawn; once."""
    one = game(relation)
    _, charges = one.distribution(TABLE)
    assert one.events == ["journal charge", "draw", "journal database"]
    assert len(charges) == 1, f"charged {len(charges)} times"


def check_nothing_is_drawn_unpaid(relation: NeighbouringRelation) -> None:
    """A curator selects once, on resuming too."""
    one = game(relation)
    curator, _ = one.curator(TABLE)
    multisets, (charge,) = Multisets(one.answers, 2), (selection_charge(1, Decimal("1.5"), relation),)
    attempts: list[Callable[[], object]] = [
        lambda: curator.select_database(multisets, reach=Decimal(2), again=True),  # nothing was recalled
        lambda: curator.recall(charge, drawn=False),
        lambda: curator.select_database(multisets, reach=Decimal(2), again=True),  # the one that is paid
        lambda: curator.select_database(multisets, reach=Decimal(2), again=True),
        lambda: curator.select_database(multisets, reach=Decimal(2)),
    ]
    for attempt in attempts:
        try:
            attempt()
        except Exception:  # noqa: BLE001
            continue
    assert one.events == ["journal database"]


def halve_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    """A distance that goes up for one database and down for another is taken for one that goes up alone."""
    patch.setattr(net_curator, "score_range", lambda score, relation: 1)


def double_the_sensitivity(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(net_curator, "score_range", lambda score, relation: 4)


def leave_out_the_factor_of_one_half(patch: pytest.MonkeyPatch) -> None:
    """Weights exp(epsilon n u) as for a monotone score, which a largest absolute error is not: twice the epsilon."""
    original = NetDistribution.__init__

    def doubled(self: NetDistribution, range_: Decimal, spread: int, clamp: int) -> None:
        original(self, 2 * range_, spread, clamp)

    patch.setattr(NetDistribution, "__init__", doubled)


def forget_the_records_of_the_database(patch: pytest.MonkeyPatch) -> None:
    """Distances in units of 1 / (m n), their sensitivity in units of 1 / n."""
    original = NetDistribution.__init__

    def short(self: NetDistribution, range_: Decimal, spread: int, clamp: int) -> None:
        original(self, range_, spread // 2, clamp)

    patch.setattr(NetDistribution, "__init__", short)


def charge_half(patch: pytest.MonkeyPatch) -> None:
    def half(number: int, range_: Decimal, relation: NeighbouringRelation) -> Charge:
        return selection_charge(number, range_ / 2, relation)

    patch.setattr(net_curator, "selection_charge", half)
    patch.setattr("tests.exact_net_loss.selection_charge", half)


def count_each_record_twice(patch: pytest.MonkeyPatch) -> None:
    original = exact_counts

    def twice(*given: object, **more: object) -> NDArray[np.int64]:
        return 2 * original(*given, **more)  # type: ignore[arg-type]

    patch.setattr("dpopt.private.curators.net_curator.exact_counts", twice)


def take_the_nearest(patch: pytest.MonkeyPatch) -> None:
    """The database with the least error, whatever point was drawn."""

    def nearest(distances: NDArray[np.int64], weight: Callable[[int], int], source: RandomWords) -> int:
        draw_listed(distances, weight, source)
        return int(np.argmin(distances))

    patch.setattr("tests.exact_net_loss.draw_listed", nearest)


def measure_the_clamp_from_the_best_alone(patch: pytest.MonkeyPatch) -> None:
    """Beyond the nearest database all weigh the same: the clamp moves, and the distribution is another one."""
    original = NetDistribution.__init__

    def none(self: NetDistribution, range_: Decimal, spread: int, clamp: int) -> None:
        original(self, range_, spread, 1)

    patch.setattr(NetDistribution, "__init__", none)


def bound_too_high(patch: pytest.MonkeyPatch) -> None:
    original = BoxSampler._bounded

    def high(self: BoxSampler, *given: object) -> net_boxes._Box:
        box = original(self, *given)  # type: ignore[arg-type]
        return net_boxes._Box(box.low, box.high, box.multipliers, box.bound + 3)

    patch.setattr(BoxSampler, "_bounded", high)


def lose_the_upper_half(patch: pytest.MonkeyPatch) -> None:
    original = BoxSampler._cut

    def lost(self: BoxSampler, place: int) -> None:
        original(self, place)
        self._boxes.pop()
        self._sums.set(len(self._boxes), 0)

    patch.setattr(BoxSampler, "_cut", lost)


def keep_the_old_rate(patch: pytest.MonkeyPatch) -> None:
    original = BoxSampler._cut

    def kept(self: BoxSampler, place: int) -> None:
        rate = self._rate(self._boxes[place])
        original(self, place)
        self._sums.set(place, rate)

    patch.setattr(BoxSampler, "_cut", kept)


def charge_after_the_draw(patch: pytest.MonkeyPatch) -> None:
    def late(
        self: NetCurator, multisets: Multisets, *, reach: Decimal, again: bool = False
    ) -> SelectedDatabase:
        charge = self._charge()
        selected = self._selected(multisets, self._distribution_of(multisets, reach), charge)
        self._charged(charge)
        return selected

    patch.setattr(NetCurator, "select_database", late)


def select_without_a_charge(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(NetCurator, "_charged", lambda self, charge, **where: self._on_file(charge, **where))


def pay_for_whatever_was_recalled(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Door, "_recalled", lambda self, expected, what: expected)
    patch.setattr(NetCurator, "_not_drawn", lambda self, label: None)


def forget_that_it_selected(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(NetCurator, "_not_drawn", lambda self, label: None)
    patch.setattr(Door, "_charged", lambda self, charge, **where: charge)


CHECKS = [
    check_exact_loss,
    check_charges_are_tight,
    check_exact_distribution,
    check_bounds,
    check_order_of_events,
    check_nothing_is_drawn_unpaid,
]


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize("check", CHECKS)
def test_without_a_defect_every_check_is_green(check: Check, relation: NeighbouringRelation) -> None:
    check(relation)


@pytest.mark.parametrize(
    ("plant", "check", "relation", "message"),
    [
        (halve_the_sensitivity, check_exact_loss, REPLACE, "range .*, charged"),
        (halve_the_sensitivity, check_exact_loss, ADD_REMOVE, "range .*, charged"),
        (double_the_sensitivity, check_charges_are_tight, REPLACE, "only"),
        (leave_out_the_factor_of_one_half, check_exact_loss, REPLACE, "range .*, charged"),
        (leave_out_the_factor_of_one_half, check_exact_loss, ADD_REMOVE, "range .*, charged"),
        (forget_the_records_of_the_database, check_exact_loss, REPLACE, "range .*, charged"),
        (charge_half, check_exact_loss, REPLACE, "range .*, charged"),
        (count_each_record_twice, check_exact_loss, REPLACE, "range .*, charged"),
        (count_each_record_twice, check_exact_distribution, REPLACE, "distribution"),
        (take_the_nearest, check_exact_distribution, REPLACE, "distribution"),
        (measure_the_clamp_from_the_best_alone, check_exact_distribution, REPLACE, "distribution"),
        (bound_too_high, check_bounds, REPLACE, "bound above"),
        (lose_the_upper_half, check_bounds, REPLACE, "missing"),
        (keep_the_old_rate, check_bounds, REPLACE, "rates"),
        (charge_after_the_draw, check_order_of_events, REPLACE, "journal"),
        (select_without_a_charge, check_order_of_events, REPLACE, "charged 0 times"),
        (select_without_a_charge, check_exact_loss, REPLACE, "charged 0 times"),
        (pay_for_whatever_was_recalled, check_nothing_is_drawn_unpaid, REPLACE, "journal database"),
        (forget_that_it_selected, check_nothing_is_drawn_unpaid, REPLACE, "journal database"),
    ],
)
def test_a_planted_defect_is_caught(
    plant: Plant, check: Check, relation: NeighbouringRelation, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError, match=message):
        check(relation)
