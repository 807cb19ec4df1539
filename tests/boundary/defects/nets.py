"""Planted defects of the private side of the net mechanism."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import selection_charge
from dpopt.private.curators import net_curator
from dpopt.private.curators.door import Door
from dpopt.private.curators.net_curator import NetCurator
from dpopt.private.mechanisms.net import net_boxes
from dpopt.private.mechanisms.net.net_boxes import BoxSampler
from dpopt.private.mechanisms.net.net_distribution import Multisets, NetDistribution
from dpopt.private.mechanisms.randomness import SeededWords
from tests import exact_net_loss
from tests.boundary.planted import (
    BOTH,
    REP,
    Mechanism,
    attempt,
    charge_after_the_selection,
    charge_half_of_the_range,
    defect,
    forget_what_was_drawn,
    is_reached,
    pay_for_whatever_was_recalled,
    put_on_file_unspent,
    several,
    wrap,
)
from tests.exact_distribution import exp_minus
from tests.exact_fem_loss import range_between
from tests.exact_net_loss import NetGame, check_net_game
from tests.tiny_nets import all_multisets, cells, distance_of
from tests.tiny_runs import ADD_REMOVE, Table, bits_schema, conjunctions

ONE_QUERY = conjunctions(bits_schema(1), "a")
TABLE: Table = ((0,), (1,))


def game(relation: NeighbouringRelation) -> NetGame:
    return NetGame(ONE_QUERY, records=2, range_="1.5", size=2, relation=relation)


def check_exact_loss(relation: NeighbouringRelation) -> None:
    """No divergence exceeds what the ledger says."""
    check_net_game(game(relation))


def check_charges_are_tight(relation: NeighbouringRelation) -> None:
    """The whole charged range is reached by some pair."""
    one = game(relation)
    spans = [range_between(one.distribution(a)[0], one.distribution(b)[0]) for a, b in one.pairs()]
    is_reached(max(spans), "1.4999", "of the range")


def check_exact_distribution(relation: NeighbouringRelation) -> None:
    """Each database has the weight exp(-epsilon n e / 2) for its largest error e, by arithmetic of its own."""
    one = game(relation)
    table = (*TABLE, (1,)) if relation is ADD_REMOVE else TABLE
    targets = [2 * sum(record[0] for record in table)]
    weights = [exp_minus(Fraction(3, 2) * distance_of(one.answers, targets, 2, counts) / 4) for counts in one.outputs]
    for found, weight in zip(one.distribution(table)[0], weights, strict=True):
        assert abs(found * sum(weights) / weight - 1) < Fraction(1, 2**100), "distribution"


def check_bounds(relation: NeighbouringRelation) -> None:
    """No box has a bound above a distance in it, and no database is missing or held twice."""
    answers, records, size = cells(2, 2), 3, 7
    targets = records * (answers.astype(np.int64) @ np.array([3, 0, 2, 2]))
    distribution = NetDistribution(Decimal(4), 2 * records, 100)
    everything = all_multisets(4, records)
    for seed in range(3):
        sampler = BoxSampler(
            Multisets(answers, records), targets, size=size, distribution=distribution, source=SeededWords(seed)
        )
        for place in (0, 0, 1, 2, 0):
            sampler._cut(place % len(sampler._boxes))
        held = 0
        for box in sampler._boxes:
            inside = [one for one in everything if np.all(box.low <= one) and np.all(one <= box.high)]
            held += len(inside)
            nearest = min(distance_of(answers, targets.tolist(), size, counts) for counts in inside)
            assert box.bound <= nearest, "bound above a distance"
        assert held == len(everything), "databases missing or held twice"
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
    multisets, charge = Multisets(one.answers, 2), selection_charge(1, Decimal("1.5"), relation)
    attempt(
        lambda: curator.select_database(multisets, reach=Decimal(2), again=True),  # nothing was recalled
        lambda: curator.recall(charge, drawn=False),
        lambda: curator.select_database(multisets, reach=Decimal(2), again=True),  # the one that is paid
        lambda: curator.select_database(multisets, reach=Decimal(2), again=True),
        lambda: curator.select_database(multisets, reach=Decimal(2)),
    )
    assert one.events == ["journal database"]


def nearest(usual: Any, distances: Any, *rest: Any) -> int:
    """The database with the least error, whatever point was drawn."""
    usual(distances, *rest)
    return int(np.argmin(distances))


def higher(usual: Any, *given: Any) -> net_boxes._Box:
    box = usual(*given)
    return net_boxes._Box(box.low, box.high, box.multipliers, box.bound + 3)


def lost(usual: Any, self: BoxSampler, place: int) -> None:
    usual(self, place)
    self._boxes.pop()
    self._sums.set(len(self._boxes), 0)


def kept(usual: Any, self: BoxSampler, place: int) -> None:
    rate = self._rate(self._boxes[place])
    usual(self, place)
    self._sums.set(place, rate)


RANGE, PAID_ONCE = "range .*, charged", "journal database"
UNPAID = check_nothing_is_drawn_unpaid
NETS = Mechanism(
    [
        check_exact_loss, check_charges_are_tight, check_exact_distribution, check_bounds, check_order_of_events,
        check_nothing_is_drawn_unpaid,
    ],
    {
        # A distance that goes up for one database and down for another is taken for one that goes up alone.
        "halve the sensitivity": defect(
            wrap(net_curator, "score_range", lambda usual, *given: 1), (check_exact_loss, BOTH, RANGE)
        ),
        "double the sensitivity": defect(
            wrap(net_curator, "score_range", lambda usual, *given: 4), (check_charges_are_tight, REP, "is reached")
        ),
        # Weights exp(epsilon n u) as for a monotone score, which a largest absolute error is not: twice the epsilon.
        "leave out the factor of one half": defect(
            wrap(NetDistribution, "__init__", lambda usual, self, range_, *rest: usual(self, 2 * range_, *rest)),
            (check_exact_loss, BOTH, RANGE),
        ),
        # Distances in units of 1 / (m n), their sensitivity in units of 1 / n.
        "forget the records of the database": defect(
            wrap(
                NetDistribution,
                "__init__",
                lambda usual, self, range_, spread, clamp: usual(self, range_, spread // 2, clamp),
            ),
            (check_exact_loss, REP, RANGE),
        ),
        "charge half": defect(charge_half_of_the_range(exact_net_loss), (check_exact_loss, REP, RANGE)),
        "count each record twice": defect(
            wrap(net_curator, "exact_counts", lambda usual, *given, **more: 2 * usual(*given, **more)),
            (check_exact_loss, REP, RANGE),
            (check_exact_distribution, REP, "distribution"),
        ),
        "take the nearest": defect(
            wrap(exact_net_loss, "draw_listed", nearest), (check_exact_distribution, REP, "distribution")
        ),
        # Beyond the nearest database all weigh the same: the clamp moves, and the distribution is another one.
        "measure the clamp from the best alone": defect(
            wrap(
                NetDistribution, "__init__", lambda usual, self, range_, spread, clamp: usual(self, range_, spread, 1)
            ),
            (check_exact_distribution, REP, "distribution"),
        ),
        "bound too high": defect(wrap(BoxSampler, "_bounded", higher), (check_bounds, REP, "bound above")),
        "lose the upper half": defect(wrap(BoxSampler, "_cut", lost), (check_bounds, REP, "missing")),
        "keep the old rate": defect(wrap(BoxSampler, "_cut", kept), (check_bounds, REP, "rates")),
        "charge after the draw": defect(charge_after_the_selection, (check_order_of_events, REP, "journal")),
        "select without a charge": defect(
            put_on_file_unspent(NetCurator),
            (check_order_of_events, REP, "charged 0 times"),
            (check_exact_loss, REP, "charged 0 times"),
        ),
        "pay for whatever was recalled": defect(
            several(pay_for_whatever_was_recalled, forget_what_was_drawn), (UNPAID, REP, PAID_ONCE)
        ),
        "forget that it selected": defect(
            several(forget_what_was_drawn, wrap(Door, "_charged", lambda usual, self, charge, **where: charge)),
            (UNPAID, REP, PAID_ONCE),
        ),
    },
)  # fmt: skip
