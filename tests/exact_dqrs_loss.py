"""The exact distribution of everything a DQRS run releases, on tiny tables, through the real driver, curator and ledger.

A round releases the multiset of its signed queries; records are functions of the multisets before. The test plays the real
driver once for every history of multisets, with outcomes that the test chooses, and reads at each round the probability that
each query is kept, by bisection over the words that the real decision takes, and the distribution of the queries that are
drawn. The distribution of all outcomes, which of the queries are kept and what the others become, is finer than what is
released, so no divergence can be larger for the release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, product
from math import prod
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant, total_epsilon, total_rho
from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.algorithms.dualquery.driver import BestResponder, run
from dpopt.algorithms.dualquery.free_attributes import FreeAttributeRule
from dpopt.algorithms.dualquery.plan import DqrsPlan
from dpopt.private.curators.dualquery_curator import DqrsCurator
from dpopt.private.mechanisms.randomness import RandomWords
from dpopt.private.selections.query_weights import KeptQueries, QueryWeights
from dpopt.programs.results import SolveLimits
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.kept_records import Round
from dpopt.releases.plan import Encoding, FreeAttributes
from dpopt.releases.run import Walk
from tests.exact_loss import (
    ORDERS,
    Divergences,
    Draw,
    History,
    RunGame,
    as_decimal,
    check_deltas,
    check_renyi,
    check_runs,
    implemented_weights,
    multiplicity,
)
from tests.tiny_jobs import plan_of
from tests.tiny_runs import CallbackSampler, Enumeration, EventJournal, Table, dataset_of, trusted

Shares = list[Fraction]
WORDS = 2**64


@dataclass
class OneWord:
    """Words that begin with the one that the test chooses; all further ones are 0."""

    first: int
    is_private: bool = False

    def words(self, count: int) -> NDArray[np.uint64]:
        taken, self.first = self.first, 0
        return np.array([taken, *[0] * (count - 1)], dtype=np.uint64)


@dataclass(frozen=True)
class Played:
    """One round: how often each held query is kept (None where all are drawn afresh), and the distribution of a fresh draw."""

    keep: Shares | None
    fresh: Shares

    def outcomes(self, held: Draw, draws: int) -> list[tuple[Draw, Fraction]]:
        """Return the multiset and the probability of each outcome, in one fixed order."""
        if self.keep is None:
            return [
                (draw, multiplicity(draw) * prod((self.fresh[q] for q in draw), start=Fraction(1)))
                for draw in combinations_with_replacement(range(len(self.fresh)), draws)
            ]
        each = [
            [(query, keep), *((q, (1 - keep) * share) for q, share in enumerate(self.fresh))]
            for query, keep in zip(held, self.keep, strict=True)
        ]
        return [
            (tuple(sorted(q for q, _ in parts)), prod((share for _, share in parts), start=Fraction(1)))
            for parts in product(*each)
        ]


@dataclass
class Watch:
    """The distributions of the rounds that were played, and their events; the queries of each round follow a script."""

    script: Sequence[Draw] = ()
    events: list[str] = field(default_factory=list)
    rounds: list[Played] = field(default_factory=list)
    _keep: Shares | None = None

    def choose(self, weights: QueryWeights, draws: int) -> Sequence[int]:
        """Draw what the script says of the round; every query is drawn again."""
        self.events.append("drawn")
        found = implemented_weights(weights)
        total = sum(found, Fraction(0))
        self.rounds.append(Played(self._keep, [weight / total for weight in found]))
        self._keep = None
        place = len(self.rounds) - 1
        return self.script[place] if place < len(self.script) else (0,) * draws

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Read how often the real decision keeps each query, then keep none."""
        original = KeptQueries.draw

        def draw(kept: KeptQueries, distances: NDArray[np.int64], source: RandomWords) -> NDArray[np.bool_]:
            self.events.append("kept")

            def keeps(distance: int, word: int) -> bool:
                return bool(original(kept, np.array([distance], dtype=np.int64), OneWord(word))[0])

            self._keep = [
                Fraction(_first_dropped(partial(keeps, distance)), WORDS) for distance in distances.tolist()
            ]
            return np.zeros(len(distances), dtype=np.bool_)

        with mock.patch.object(KeptQueries, "draw", draw):
            yield


@dataclass(frozen=True)
class DqrsGame(RunGame):
    """A plan on a workload, small enough to enumerate."""

    workload: Workload
    plan: DqrsPlan

    @classmethod
    def of(cls, workload: Workload, *, step: str, margin: str, **fields: Any) -> DqrsGame:
        """Return the game of a plan within an ample budget: rounds, draws, size and relation are named."""
        fields |= {"step": Decimal(step), "margin": Decimal(margin), "attributes": len(workload.schema)}
        return cls(workload, plan_of("dqrs", **fields))

    def curator(
        self, table: Table, journal: EventJournal, choose: Callable[[QueryWeights, int], Sequence[int]]
    ) -> tuple[DqrsCurator, Ledger]:
        """Return the private side and its ledger, in which the plan is reserved; fresh draws are those of a function."""
        plan, ledger = self.plan, Ledger(self.plan.budget, self.plan.relation)
        ledger.reserve(plan.charges())
        # The scripted draws of these tests follow the real distribution, so their claim to be private is taken.
        with mock.patch("dpopt.private.curators.door.is_trusted", trusted):
            return DqrsCurator(
                dataset_of(self.workload.schema, table),
                self.workload.clauses,
                ledger,
                journal,
                size=plan.size,
                step=plan.step,
                margin=plan.margin,
                sampler=CallbackSampler(choose),
                threads=1,
            ), ledger

    def play(
        self, table: Table, script: Sequence[Draw] = (), *, events: list[str] | None = None
    ) -> tuple[Watch, Ledger, list[Round]]:
        """Play one run with the queries of the script; what happens is added to the events."""
        watch = Watch(script, [] if events is None else events)
        journal = EventJournal(watch.events)
        curator, ledger = self.curator(table, journal, watch.choose)
        schema = self.workload.schema
        responder = BestResponder(
            clauses=self.workload.clauses,
            sizes=schema.sizes,
            solver=Enumeration(),
            fallback=Enumeration(),
            limits=SolveLimits(),
            free_attributes=FreeAttributeRule(FreeAttributes.FIRST, schema, Encoding.RECORDS, seed=0),
        )
        with watch.keeping():
            rounds = run(Walk(ledger, curator, journal), self.plan, responder)
        return watch, ledger, rounds

    def histories(self) -> Iterable[History]:
        samples = list(combinations_with_replacement(range(2 * len(self.workload)), self.plan.draws))
        return product(samples, repeat=self.plan.rounds - 1)

    def rounds(self, table: Table, script: Sequence[Draw]) -> tuple[Sequence[Played], tuple[Charge, ...]]:
        watch, ledger, _ = self.play(table, script)
        return watch.rounds, ledger.entries

    def outcomes(self, played: Played, past: History) -> list[tuple[Draw, Fraction]]:
        return played.outcomes(past[-1] if past else (), self.plan.draws)


def check_dqrs_game(game: DqrsGame) -> float:
    """Check every pair of neighbours, each round on its own and all of them together.

    Returns the largest share of the rho of a round that keeps queries which a pair uses up.
    """

    def check_round(charge: Charge, past: History, one: Played, two: Played) -> float:
        shares = ([as_decimal(share) for _, share in game.outcomes(played, past)] for played in (one, two))
        renyi = check_kept([charge], *shares).renyi
        if one.keep is None:
            return 0.0
        return max(renyi[order] / order for order in ORDERS) / total_rho([charge])

    return float(check_runs(game, check_round, check_kept))


def check_kept(charges: Sequence[Charge], one: list[Decimal], two: list[Decimal]) -> Divergences:
    """Assert that no divergence between two distributions exceeds what the charges say, of which some are no pure ones."""
    apart = Divergences(one, two)
    check_deltas(apart, [Accountant.ZCDP], lambda by, delta: total_epsilon(charges, by, delta))
    check_renyi(total_rho(charges), apart)
    return apart


def _first_dropped(kept: Callable[[int], bool]) -> int:
    """Return how many words keep a query: all below the first one that does not."""
    low, high = 0, WORDS
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if kept(middle) else (low, middle)
    return low
