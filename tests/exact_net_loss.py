"""The exact distribution of what a net mechanism releases, on tiny tables, through the real curator and ledger.

The distribution is read off the real draw: at the one point that is drawn, the test finds by bisection which points give
which database.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Budget, Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import selection_charge
from dpopt.algorithms.small_database.universe import Universe
from dpopt.private.curators.net_curator import NetCurator
from dpopt.private.mechanisms.net.net_boxes import draw_listed, multiset_of
from dpopt.private.mechanisms.net.net_distribution import Multisets
from dpopt.private.mechanisms.randomness import RandomWords, SystemWords
from dpopt.queries.workloads.workload import Workload
from tests.exact_fem_loss import Points, range_between
from tests.exact_loss import DIGITS, as_decimal, check_losses
from tests.tiny_measuring import distinct_pairs
from tests.tiny_nets import Counts, all_multisets
from tests.tiny_runs import EventJournal, Table, dataset_of

REACH = Decimal(2)


@dataclass
class Point(Points):
    """A uniform point that the test chooses, and how often it is asked for."""

    drawn: int = 0

    def whole_below(self, total: int, source: RandomWords) -> int:
        self.total = total
        self.drawn += 1
        return self.next


@dataclass(frozen=True)
class NetGame:
    """A net mechanism over all multisets of m classes, small enough to enumerate."""

    workload: Workload
    records: int
    range_: str
    size: int
    relation: NeighbouringRelation
    events: list[str] = field(default_factory=list)

    @property
    def answers(self) -> NDArray[np.int8]:
        return Universe.of(self.workload).answers

    @property
    def outputs(self) -> list[Counts]:
        return all_multisets(self.answers.shape[1], self.records)

    def curator(self, table: Table) -> tuple[NetCurator, Ledger]:
        """Return the private side and its ledger, in which the selection is reserved."""
        ledger = Ledger(Budget(1e9, 0.0, None, Accountant.PURE), self.relation)
        ledger.reserve((selection_charge(1, Decimal(self.range_), self.relation),))
        return NetCurator(
            dataset_of(self.workload.schema, table),
            self.workload.queries,
            ledger,
            EventJournal(self.events),
            size=self.size,
            range_=Decimal(self.range_),
        ), ledger

    def select(self, curator: NetCurator) -> int:
        """Select once; return the place of what was selected among the outputs."""
        selected = curator.select_database(Multisets(self.answers, self.records), reach=REACH)
        counts = np.zeros(self.answers.shape[1], dtype=np.int64)
        counts[selected.elements] = selected.counts
        return self.outputs.index(tuple(counts.tolist()))

    def distribution(self, table: Table) -> tuple[list[Fraction], tuple[Charge, ...]]:
        """Return the probability of every output, and what was charged: one real selection, whose draw is then taken apart."""
        watched: list[tuple[NDArray[np.int64], Callable[[int], int]]] = []

        def watching(distances: NDArray[np.int64], weight: Callable[[int], int], source: RandomWords) -> int:
            watched.append((distances, weight))
            self.events.append("draw")
            return draw_listed(distances, weight, source)

        curator, ledger = self.curator(table)
        with mock.patch("dpopt.private.mechanisms.net.net_boxes.draw_listed", watching):
            self.select(curator)
        assert len(watched) == 1, f"drawn {len(watched)} times"
        point, owned = Point(), [0] * len(self.outputs)

        def drawn(at: int) -> int:
            point.next, point.drawn = at, 0
            place = draw_listed(*watched[0], SystemWords())
            assert point.drawn == 1, f"drawn {point.drawn} times"
            return place

        with mock.patch("dpopt.private.mechanisms.net.net_boxes.whole_below", point.whole_below):
            distances, weight = watched[0]
            for rank, points in point.intervals(drawn, lambda rank: weight(int(distances[rank]))):
                owned[self.place_of(rank)] += points
        return [Fraction(points, point.total) for points in owned], ledger.entries

    def place_of(self, rank: int) -> int:
        """Return the place among the outputs of what a draw of this rank selects."""
        counts = multiset_of(Multisets(self.answers, self.records), rank)
        return self.outputs.index(tuple(counts.tolist()))

    def pairs(self) -> list[tuple[Table, Table]]:
        """Return each pair of neighbours once."""
        return distinct_pairs(self.relation, self.size, self.workload.schema)


def check_net_game(game: NetGame) -> Decimal:
    """Check every pair of neighbours; return the largest share of the charged epsilon that a pair uses up."""
    tables = {table for pair in game.pairs() for table in pair}
    distributions = {table: game.distribution(table) for table in sorted(tables)}
    (charges,) = {charged for _, charged in distributions.values()}
    assert len(charges) == 1, f"charged {len(charges)} times"
    reached = Decimal(0)
    for one, two in game.pairs():
        distribution, other = distributions[one][0], distributions[two][0]
        found = range_between(distribution, other)
        assert found <= Decimal(charges[0].parameter), f"range {found}, charged {charges[0].parameter}"
        with localcontext(DIGITS):
            share = check_losses(charges, list(map(as_decimal, distribution)), list(map(as_decimal, other)))
        reached = max(reached, share)
    return reached
