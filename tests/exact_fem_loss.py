"""The exact distribution of everything a FEM run releases, on tiny tables, by the real driver, curator, ledger and responder.

A run releases the query selected in each round; batches of records are public functions of the selections before. The test
plays the real driver once for every history of selections, and at each selection finds by bisection which points of the range
that the uniform point is drawn from give which signed query: the distribution is read off the real draw, not off its weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
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
from dpopt.algorithms.fem.algorithm import run
from dpopt.algorithms.fem.plan import FemPlan
from dpopt.algorithms.fem.responder import Batch, PerturbedResponder
from dpopt.private.curators.fem_curator import FemCurator
from dpopt.private.mechanisms.randomness import RandomWords
from dpopt.private.selections.query_selection import QuerySelection
from dpopt.private.selections.query_weights import SignedDraws
from dpopt.programs.results import SolveLimits
from dpopt.queries.workloads.workload import Workload
from dpopt.releases.run import Walk
from dpopt.solvers.registry import get_solver
from tests.exact_distribution import logarithm
from tests.exact_loss import History, RunGame, check_losses, check_runs
from tests.tiny_jobs import plan_of
from tests.tiny_runs import EventJournal, Table, dataset_of

Distribution = list[Fraction]


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
            selection: QuerySelection, satisfied: NDArray[np.int64], by: NDArray[np.int64], source: RandomWords
        ) -> int:
            self.events.append("draw")
            points = Points()
            with mock.patch("dpopt.private.selections.query_selection.uniform_below", points.uniform_below):

                def drawn(point: int) -> int:
                    points.next = point
                    return original(selection, satisfied, by, source)

                held, scores = selection._with(satisfied, by)
                known = dict(zip(held.tolist(), scores.tolist(), strict=True))
                top = selection._top(scores, selection._queries - len(held))

                def guess(query: int) -> int:
                    return weight_of(selection, top, known.get(query // 2, 0), query)

                self.distributions.append(points.distribution(drawn, signed, guess))
            place = len(self.distributions) - 1
            return self.script[place] if place < len(self.script) else 0

        with mock.patch.object(QuerySelection, "draw", draw):
            yield


def weight_of(draws: SignedDraws, top: int, score: int, query: int) -> int:
    """Return the whole number that a signed query weighs, given the score of its base query: where to look for its points."""
    table, signed = draws._table, draws._offset - score if query % 2 else score  # type: ignore[attr-defined]
    distance = min(top - signed, table.clamp)
    weight = float(table.high[distance >> table.bits] * table.low[distance & ((1 << table.bits) - 1)])
    return int(Fraction(weight) * 4**draws._half_bits)


@dataclass
class Points:
    """A uniform point that the test chooses."""

    next: int = 0
    total: int = 1

    def uniform_below(self, total: int, count: int, source: RandomWords) -> NDArray[np.uint64]:
        assert count == 1
        self.total = total
        return np.array([[self.next >> 64, self.next & (2**64 - 1)]], dtype=np.uint64)

    def distribution(
        self, drawn: Callable[[int], int], signed: int, guess: Callable[[int], int] = lambda query: 0
    ) -> Distribution:
        """Return the probability of each signed query: the share of the points that give it."""
        owned = [0] * signed
        for query, points in self.intervals(drawn, guess):
            owned[query] += points
        return [Fraction(points, self.total) for points in owned]

    def intervals(
        self, drawn: Callable[[int], int], guess: Callable[[int], int] = lambda query: 0
    ) -> Iterator[tuple[int, int]]:
        """Yield what each run of points gives, and how many they are, by bisection.

        A right guess of a length is confirmed by two draws, and a wrong one narrows the bisection.
        """
        drawn(0)
        start = 0
        while start < self.total:
            query, low, high = drawn(start), start, self.total - 1
            last = start + guess(query) - 1
            tried = [one for one in (last, last + 1) if start < one < self.total]
            while low < high:
                middle = tried.pop(0) if tried else (low + high + 1) // 2
                if low < middle <= high:
                    low, high = (middle, high) if drawn(middle) == query else (low, middle - 1)
            yield query, low - start + 1
            start = low + 1


def responder_of(workload: Workload, plan: FemPlan, *, work: int, threads: int = 1) -> PerturbedResponder:
    """Return what searches the records of a plan's batches."""
    search, sizes = get_solver("local-search"), workload.schema.sizes
    return PerturbedResponder(
        queries=workload.queries,
        sizes=sizes,
        possible=np.ones(int(sizes.sum()), dtype=np.bool_),
        solver=search,
        fallback=search,
        limits=SolveLimits(work=work, seed=plan.seed, threads=threads),
        records=plan.records,
        scale=plan.scale,
    )


def curator_of(
    workload: Workload, plan: FemPlan, table: Table, journal: Any, words: RandomWords | None = None
) -> tuple[FemCurator, Ledger]:
    """Return the private side of a plan and its ledger, in which the plan is reserved."""
    ledger, dataset = Ledger(plan.budget, plan.relation), dataset_of(workload.schema, table)
    ledger.reserve(plan.charges())
    how: dict[str, Any] = {"size": plan.size, "range_": plan.selection_range, "records": plan.records, "words": words}
    return FemCurator(dataset, workload.queries, ledger, journal, **how), ledger


@dataclass(frozen=True)
class FemGame(RunGame):
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
        return responder_of(self.workload, self.plan, work=5)

    def play(
        self, table: Table, script: Sequence[int] = (), *, events: list[str] | None = None
    ) -> tuple[Watch, Ledger, list[Batch]]:
        """Play one run with the selections of the script; what happens is added to the events."""
        watch = Watch(script, [] if events is None else events)
        journal = EventJournal(watch.events)
        curator, ledger = curator_of(self.workload, self.plan, table, journal)
        with watch.selecting(self.signed):
            batches = run(Walk(ledger, curator, journal), self.plan, self.responder)
        return watch, ledger, batches

    def histories(self) -> Iterable[History]:
        return product(range(self.signed), repeat=self.plan.rounds - 1)

    def rounds(self, table: Table, script: Sequence[int]) -> tuple[Sequence[Distribution], tuple[Charge, ...]]:
        watch, ledger, _ = self.play(table, script)
        return watch.distributions, ledger.entries

    def outcomes(self, played: Distribution, past: History) -> Iterable[tuple[int, Fraction]]:
        return enumerate(played)


def check_fem_game(game: FemGame) -> Decimal:
    """Check every pair of neighbours; return the largest share of the range charged for a selection that a pair uses up."""

    def check_round(charge: Charge, past: History, one: Distribution, two: Distribution) -> Decimal:
        charged, found = Decimal(charge.parameter), range_between(one, two)
        assert found <= charged, f"range {found}, charged {charged}"
        return found / charged

    return Decimal(check_runs(game, check_round, check_losses))


def range_between(one: Distribution, two: Distribution) -> Decimal:
    """Return the largest minus the smallest log likelihood ratio of two distributions of one selection."""
    assert all(one), "range without bound: a signed query is never selected"
    assert all(two), "range without bound: a signed query is never selected"
    ratios = [p / q for p, q in zip(one, two, strict=True)]
    return logarithm(max(ratios) / min(ratios))
