"""Tiny rounds of multiplicative weights, and the exact distribution of what their curator selects and measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.multiplicative_weights.plan import MultiplicativePlan
from dpopt.algorithms.options import MARGINALS, QUERIES
from dpopt.private.curators.multiplicative_curator import MultiplicativeCurator
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import parse_workload
from tests.exact_distribution import logarithm
from tests.exact_fem_loss import Points, weight_of
from tests.exact_loss import DIGITS, as_decimal, check_losses
from tests.exact_measuring_loss import joint_loss, pairs
from tests.noises import NoNoise
from tests.tiny_measuring import SCHEMA
from tests.tiny_runs import EventJournal, Table, dataset_of, trusted

SIZE = 2
CLAUSES = parse_workload("threshold:1of2,count=3,seed=4", SCHEMA).clauses
Distribution = list[Fraction]


def tiny_plan(
    relation: NeighbouringRelation,
    *,
    select: str = QUERIES,
    range_: str = "1.5",
    scale: float = 3.0,
    gaussian: bool = True,
    rounds: int = 1,
    size: int = SIZE,
) -> MultiplicativePlan:
    """Return a plan under a budget that covers everything."""
    budget = Budget(None, 1e-9, 1e9, Accountant.ZCDP) if gaussian else Budget(1e9, 0.0, None, Accountant.PURE)
    return MultiplicativePlan(
        algorithm="mwem",
        size=size,
        relation=relation,
        budget=budget,
        gaussian=gaussian,
        select=select,
        rounds=rounds,
        step=Decimal(range_),
        scale=scale,
    )


@dataclass
class TinyRound:
    """A curator whose plan is reserved, with zero noise and selections whose distribution is read, and the events."""

    table: Table
    plan: MultiplicativePlan
    queries: Clauses | MarginalSet
    events: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.noise = NoNoise(self.events)
        self.ledger = Ledger(self.plan.budget, self.plan.relation)
        self.ledger.reserve(self.plan.charges())
        with mock.patch("dpopt.private.curators.door.is_trusted", trusted):
            self.curator = MultiplicativeCurator(
                dataset_of(SCHEMA, self.table),
                self.queries,
                self.ledger,
                EventJournal(self.events),
                size=self.plan.size,
                range_=self.plan.step,
                scale=self.plan.scale,
                gaussian=self.plan.gaussian,
                whole_marginals=self.plan.select == MARGINALS,
                noise=self.noise,
            )

    def distribution_of_queries(self, public: NDArray[np.int64], *, number: int = 1) -> Distribution:
        """Select, and return the probability of each signed query, read off the real draw."""
        points, distributions = Points(), list[Distribution]()
        original = self.curator._queries.draw_against

        def draw(answers: NDArray[np.int64], words: object) -> int:
            self.events.append("draw")

            def drawn(point: int) -> int:
                points.next = point
                return original(answers, self.curator._words)

            selection = self.curator._queries
            scores = selection._base - answers
            top = max(int(scores.max()), selection._offset - int(scores.min()))

            def guess(query: int) -> int:
                return weight_of(selection, top, int(scores[query // 2]), query)

            distributions.append(points.distribution(drawn, 2 * len(public), guess))
            return 0

        with (
            mock.patch("dpopt.private.selections.query_selection.uniform_below", points.uniform_below),
            mock.patch.object(self.curator._queries, "draw_against", draw),
        ):
            self.curator.select_query(public, round=number)
        return distributions[0]

    def distribution_of_marginals(
        self, public: NDArray[np.int64], score: str, penalties: Sequence[int], *, number: int = 1
    ) -> Distribution:
        """Select, and return the probability of each marginal, read off the whole numbers that the draw is made from."""
        weights: list[int] = []

        def draw(found: Sequence[int], words: object) -> int:
            self.events.append("draw")
            weights.extend(found)
            return 0

        with mock.patch("dpopt.private.curators.multiplicative_curator.draw_candidate", draw):
            self.curator.select_marginal(
                public, score=score, penalties=np.array(penalties, dtype=np.int64), round=number
            )
        return [Fraction(weight, sum(weights)) for weight in weights]


def public_answers(queries: int, size: int = SIZE) -> NDArray[np.int64]:
    """Return some public answers, of fractions of a record."""
    return (np.arange(queries) * 577 + 301) % (1_024 * size)


@dataclass(frozen=True)
class RoundGame:
    """A round on a workload: a selection, then the measurement of what was selected."""

    plan: MultiplicativePlan
    queries: Clauses | MarginalSet
    score: str = "max"

    @property
    def choices(self) -> int:
        """Number of outcomes of a selection."""
        if self.plan.select == MARGINALS:
            return len(self.queries)
        return 2 * self.number

    @property
    def number(self) -> int:
        """Number of queries."""
        return len(self.queries) if isinstance(self.queries, Clauses) else self.queries.number_of_cells

    def distribution(self, table: Table) -> Distribution:
        """Return the distribution of the selection on a table."""
        one, public = TinyRound(table, self.plan, self.queries), public_answers(self.number, self.plan.size)
        if self.plan.select == MARGINALS:
            return one.distribution_of_marginals(public, self.score, range(len(self.queries)))
        return one.distribution_of_queries(public)

    def measured(self, table: Table) -> list[NDArray[np.int64]]:
        """Return for each choice the counts that get noise of the planned scale."""
        one = TinyRound(table, replace(self.plan, rounds=self.choices), self.queries)
        for choice in range(self.choices):
            one.curator.measure(choice if self.plan.select == MARGINALS else choice // 2, round=choice + 1)
        assert set(one.noise.scales) == {self.plan.scale}, "noise of another scale"
        assert len(one.noise.counts) == self.choices, "measured another number of times"
        return one.noise.counts


def check_round(game: RoundGame) -> tuple[Decimal, float]:
    """Check all neighbours; return the largest shares of the charged range, and of the round's charge, that are used up."""
    selection, measurement = game.plan.charges_of(1)
    distributions: dict[Table, Distribution] = {}
    counts: dict[Table, list[NDArray[np.int64]]] = {}
    ranges, losses = Decimal(0), 0.0

    def distribution(table: Table) -> Distribution:
        if table not in distributions:
            distributions[table] = game.distribution(table)
        return distributions[table]

    def counted(table: Table) -> list[NDArray[np.int64]]:
        if table not in counts:
            counts[table] = game.measured(table)
        return counts[table]

    # Pairs between which distributions and moves are the same lose the same.
    seen = set()
    for one, two in pairs(game.plan.relation):
        first, second = distribution(one), distribution(two)
        moves = [tuple(np.abs(mine - other).tolist()) for mine, other in zip(counted(one), counted(two), strict=True)]
        if (law := (tuple(first), tuple(second), tuple(moves))) in seen:
            continue
        seen.add(law)
        ratios = [a / b for a, b in zip(first, second, strict=True)]
        found = logarithm(max(ratios) / min(ratios))
        assert found <= Decimal(selection.parameter), f"range {found}, charged {selection.parameter}"
        ranges = max(ranges, found / Decimal(selection.parameter))
        with localcontext(DIGITS):
            check_losses([selection], *([as_decimal(share) for share in shares] for shares in (first, second)))
        for a, b in ((first, second), (second, first)):
            share = joint_loss([selection, measurement], a, b, moves, game.plan.scale, gaussian=game.plan.gaussian)
            losses = max(losses, share)
    return ranges, losses
