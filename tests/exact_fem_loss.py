"""The exact distribution of everything a FEM run releases, on tiny tables, by the real driver, curator, ledger and responder.

A run releases the query selected in each round; batches of records are public functions of the selections before. The test
plays the real driver once for every history of selections, and at each selection finds by bisection which points of the range
that the uniform point is drawn from give which signed query: the distribution is read off the real draw, not off its weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Budget, Ledger
from dpopt.algorithms.fem.driver import run
from dpopt.algorithms.fem.plan import FemPlan
from dpopt.algorithms.fem.responder import Batch, PerturbedResponder
from dpopt.private.curators.fem_curator import FemCurator
from dpopt.private.mechanisms.randomness import RandomWords
from dpopt.private.selections.query_selection import QuerySelection
from dpopt.programs.results import SolveLimits
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.run import Walk
from dpopt.solvers.registry import get_solver
from tests.exact_distribution import logarithm
from tests.exact_loss import DIGITS, as_decimal, check_losses
from tests.tiny_jobs import plan_of
from tests.tiny_measuring import distinct_pairs
from tests.tiny_runs import EventJournal, Table, dataset_of

Distribution = list[Fraction]
History = tuple[int, ...]


@dataclass
class Watch:
    """The distributions of the selections that were made, and the events around them; selections follow a script."""

    script: Sequence[int] = ()
    events: list[str] = field(default_factory=list)
    distributions: list[Distribution] = field(default_factory=list)

    @contextmanager
    def selecting(self, signed: int) -> Iterator[None]:
        """Read the distribution of each of the real draws; 0 is drawn where the script has ended."""
        original = QuerySelection.draw

        def draw(
            selection: QuerySelection,
            satisfied: NDArray[np.int64],
            by: NDArray[np.int64],
            source: RandomWords,
        ) -> int:
            self.events.append("draw")
            points = Points()
            with mock.patch("dpopt.private.selections.query_selection.uniform_below", points.uniform_below):

                def drawn(point: int) -> int:
                    points.next = point
                    return original(selection, satisfied, by, source)

                self.distributions.append(points.distribution(drawn, signed))
            place = len(self.distributions) - 1
            return self.script[place] if place < len(self.script) else 0

        with mock.patch.object(QuerySelection, "draw", draw):
            yield


@dataclass
class Points:
    """A uniform point that the test chooses."""

    next: int = 0
    total: int = 1

    def uniform_below(self, total: int, count: int, source: RandomWords) -> NDArray[np.uint64]:
        assert count == 1
        self.total = total
        return np.array([[self.next >> 64, self.next & (2**64 - 1)]], dtype=np.uint64)

    def distribution(self, drawn: Callable[[int], int], signed: int) -> Distribution:
        """Return the probability of each signed query: the share of the points that give it."""
        owned, start = [0] * signed, 0
        drawn(0)
        while start < self.total:
            query, low, high = drawn(start), start, self.total - 1
            while low < high:
                middle = (low + high + 1) // 2
                low, high = (middle, high) if drawn(middle) == query else (low, middle - 1)
            owned[query] += low - start + 1
            start = low + 1
        return [Fraction(points, self.total) for points in owned]


@dataclass(frozen=True)
class FemGame:
    """A plan on a workload, small enough to enumerate."""

    workload: Workload
    plan: FemPlan

    @classmethod
    def of(cls, workload: Workload, *, range_: str, **fields: Any) -> FemGame:
        """Return the game of a plan within an ample budget: rounds, records, size and relation are named."""
        ample = Budget(1e9, 0.0, None, Accountant.PURE)
        plan = plan_of("fem", selection_range=Decimal(range_), budget=ample, seed=3, **fields)
        return cls(workload, plan)

    @property
    def signed(self) -> int:
        return 2 * len(self.workload)

    @cached_property
    def responder(self) -> PerturbedResponder:
        search, sizes = get_solver("local-search"), self.workload.schema.sizes
        return PerturbedResponder(
            queries=self.workload.queries,
            sizes=sizes,
            possible=np.ones(int(sizes.sum()), dtype=np.bool_),
            solver=search,
            fallback=search,
            limits=SolveLimits(work=5, seed=self.plan.seed, threads=1),
            records=self.plan.records,
            scale=self.plan.scale,
            signed=self.plan.algorithm == "sepfem",
        )

    def curator(self, table: Table, journal: EventJournal) -> tuple[FemCurator, Ledger]:
        """Return the private side and its ledger, in which the plan is reserved."""
        ledger = Ledger(self.plan.budget, self.plan.relation)
        ledger.reserve(self.plan.charges())
        return FemCurator(
            dataset_of(self.workload.schema, table),
            self.workload.queries,
            ledger,
            journal,
            size=self.plan.size,
            range_=self.plan.selection_range,
            records=self.plan.records,
            threads=1,
        ), ledger

    def play(
        self, table: Table, script: Sequence[int] = (), *, events: list[str] | None = None
    ) -> tuple[Watch, Ledger, list[Batch]]:
        """Play one run with the selections of the script; what happens is added to the events."""
        watch = Watch(script, [] if events is None else events)
        journal = EventJournal(watch.events)
        curator, ledger = self.curator(table, journal)
        with watch.selecting(self.signed):
            batches = run(Walk(ledger, curator, journal), self.plan, self.responder)
        return watch, ledger, batches

    def distributions(self, table: Table) -> tuple[dict[History, Distribution], tuple[Charge, ...]]:
        """Return the distribution of each selection, given those before it, and what was charged for them together."""
        found: dict[History, Distribution] = {}
        charged: set[tuple[Charge, ...]] = set()
        for script in product(range(self.signed), repeat=self.plan.rounds - 1):
            watch, ledger, _ = self.play(table, script)
            assert len(watch.distributions) == self.plan.rounds, (
                f"drawn {len(watch.distributions)} times in {self.plan.rounds} rounds"
            )
            found |= {
                script[:length]: distribution for length, distribution in enumerate(watch.distributions)
            }
            charged.add(ledger.entries)
        (charges,) = charged
        return found, charges

    def distribution(self, distributions: dict[History, Distribution]) -> list[Decimal]:
        """Return the probability of each sequence of selections, in one fixed order."""
        with localcontext(DIGITS):
            shares: dict[History, Fraction] = {(): Fraction(1)}
            for _ in range(self.plan.rounds):
                shares = {
                    (*past, query): share * of_query
                    for past, share in shares.items()
                    for query, of_query in enumerate(distributions[past])
                }
            return [as_decimal(share) for share in shares.values()]

    def pairs(self) -> list[tuple[Table, Table]]:
        """Return each pair of neighbours once."""
        return distinct_pairs(self.plan.relation, self.plan.size, self.workload.schema)


def check_fem_game(game: FemGame) -> Decimal:
    """Check every pair of neighbours; return the largest share of the range charged for a selection that a pair uses up."""
    tables = {table for pair in game.pairs() for table in pair}
    played = {table: game.distributions(table) for table in sorted(tables)}
    whole = {table: game.distribution(distributions) for table, (distributions, _) in played.items()}
    (charges,) = {charged for _, charged in played.values()}
    assert len(charges) == game.plan.rounds, f"charged {len(charges)} times in {game.plan.rounds} rounds"
    reached = Decimal(0)
    for one, two in game.pairs():
        distributions, others = played[one][0], played[two][0]
        for past, distribution in distributions.items():
            charged = Decimal(charges[len(past)].parameter)
            found = range_between(distribution, others[past])
            assert found <= charged, f"range {found}, charged {charged}"
            reached = max(reached, found / charged)
        check_losses(charges, whole[one], whole[two])
    return reached


def range_between(one: Distribution, two: Distribution) -> Decimal:
    """Return the largest minus the smallest log likelihood ratio of two distributions of one selection."""
    assert all(one), "range without bound: a signed query is never selected"
    assert all(two), "range without bound: a signed query is never selected"
    ratios = [p / q for p, q in zip(one, two, strict=True)]
    return logarithm(max(ratios) / min(ratios))
