"""The exact distribution of everything a DualQuery run releases, on tiny tables, through the real driver, curator and ledger.

A run releases the net counts of each round's draw; records are functions of them, and the next round's weights are functions
of the records. The test plays the real driver with draws that the test chooses, and reads at each draw the whole-number
weights that the sampler would have drawn from. It plays the first tables, and in some games all, once for every history of
net counts before the last draw, and refuses weights that do not follow from the records; it plays the others once for every
history of records. Multiplied along a history, the weights give the distribution of all draws, as an unordered sample with its
multiplicity: finer than what is released, so no divergence can be larger for the release. Probabilities are ratios of whole
numbers, evaluated to 60 digits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache, cached_property, partial
from itertools import combinations_with_replacement, product
from math import factorial, prod
from typing import Any

import numpy as np

from dpopt.accounting.accountants import COMPARED, Accountant, Composition, columns_of
from dpopt.accounting.charges import Charge
from dpopt.algorithms.dualquery.plan import DualQueryPlan
from dpopt.private.selections.query_weights import QueryWeights
from dpopt.queries.workloads.workload import Workload
from tests.tiny_measuring import distinct_pairs, pairs_of
from tests.tiny_runs import ADD_REMOVE, CallbackSampler, Record, Table, play, tiny_plan

DIGITS = Context(prec=60)
DELTAS = (1e-9, 1e-6, 1e-3, 0.05, 0.3)
ORDERS = (1.25, 2.0, 4.0, 16.0, 64.0)
NEGLIGIBLE = Decimal("1e-40")
PLAYED_WHOLE = 2
"""Number of tables of a DualQuery game that are played along every script of draws, unless all are."""

Draw = tuple[int, ...]
History = tuple[Any, ...]
Past = tuple[Record, ...]
"""The records before a draw."""


def implemented_weights(weights: QueryWeights) -> list[Fraction]:
    """Return the weight of every signed query as the sampler's tables and scores give it.

    That the sampler draws exactly in proportion to them is tested in tests/private/test_query_weights.py.
    """
    table, offset, top = weights._table, weights._offset(), weights._top
    found = []
    for score in weights._scores.tolist():
        for signed in (score, offset - score):
            distance = min(top - signed, table.clamp)
            high, low = table.high[distance >> table.bits], table.low[distance & ((1 << table.bits) - 1)]
            found.append(Fraction(float(high * low)))
    return found


def as_decimal(value: Fraction) -> Decimal:
    return DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


def multiplicity(draw: Draw) -> int:
    """Return in how many orders the same sample can be drawn."""
    return factorial(len(draw)) // prod(factorial(draw.count(query)) for query in set(draw))


def net(draw: Draw) -> tuple[tuple[int, int], ...]:
    """Return the net counts of a sample: what is released of it."""
    counts: dict[int, int] = {}
    for signed in draw:
        counts[signed // 2] = counts.get(signed // 2, 0) + (-1 if signed % 2 else 1)
    return tuple(sorted((query, count) for query, count in counts.items() if count))


@dataclass(frozen=True)
class Game:
    """A plan on a workload, small enough to enumerate."""

    workload: Workload
    plan: DualQueryPlan
    whole: bool = False
    """Whether every table is played along every script."""
    _played: list[Table] = field(default_factory=list)
    _records: dict[tuple[Draw, ...], Past] = field(default_factory=dict)
    """The records that follow from draws: the same for every table."""

    @classmethod
    def of(cls, workload: Workload, *, whole: bool = False, **fields: Any) -> Game:
        """Return the game of a plan within an ample budget: `fields` are those of `tiny_plan`."""
        return cls(workload, tiny_plan(workload, **fields), whole)

    @cached_property
    def samples(self) -> list[Draw]:
        """Every unordered sample of one round."""
        return list(combinations_with_replacement(range(2 * len(self.workload)), self.plan.draws))

    @cached_property
    def classes(self) -> list[Draw]:
        """One sample for each possible value of the net counts."""
        return list({net(draw): draw for draw in self.samples}.values())

    def play(
        self, table: Table, script: Sequence[Draw]
    ) -> tuple[list[tuple[Past, list[Fraction]]], tuple[Charge, ...]]:
        """Play one run with the draws of the script.

        Return the records before each draw with the weights of the draw, and what was charged.
        """
        drawn: list[tuple[int, list[Fraction]]] = []

        def choose(weights: QueryWeights, draws: int) -> Sequence[int]:
            drawn.append((weights.observed, implemented_weights(weights)))
            return script[len(drawn) - 1] if len(drawn) <= len(script) else (0,) * draws

        rounds, ledger = play(table, self.workload, self.plan, CallbackSampler(choose))
        records = tuple(tuple(done.record.tolist()) for done in rounds)
        return [(records[:observed], weights) for observed, weights in drawn], ledger.entries

    def charges(self, table: Table) -> tuple[Charge, ...]:
        """Return what a run on a table is charged."""
        return self.play(table, [])[1]

    def distribution(self, table: Table) -> list[Decimal]:
        """Return the probability of each sequence of samples, in one fixed order."""
        with localcontext(DIGITS):
            return self._distribution(table)

    def _distribution(self, table: Table) -> list[Decimal]:
        calls = len(self.play(table, [])[0])
        probabilities = {past: self._probabilities(weights) for past, weights in self._weights(table, calls).items()}
        representative = {net(draw): draw for draw in self.classes}
        histories: dict[tuple[Draw, ...], Decimal] = {(): Decimal(1)}
        for call in range(calls):
            histories = {
                (*past, draw): share * of_draw
                for past, share in histories.items()
                for draw, of_draw in zip(
                    self.samples, probabilities[self._records[tuple(representative[net(d)] for d in past)]], strict=True
                )
            }
            assert len(histories) == len(self.samples) ** (call + 1)
        return list(histories.values())

    def _weights(self, table: Table, calls: int) -> dict[Past, list[Fraction]]:
        """Return the weights of each of so many draws, given the records before it.

        The first tables, or all of a game that is played whole, are played along every script, and weights that do not
        follow from the records are refused; each later table along one script for each sequence of records.
        """
        scripts = list(product(self.classes, repeat=calls - 1))
        if not self.whole and len(self._played) >= PLAYED_WHOLE:
            scripts = list({self._records[script]: script for script in scripts}.values())
        self._played.append(table)
        found: dict[Past, list[Fraction]] = {}
        for script in scripts:
            for length, (past, weights) in enumerate(self.play(table, script)[0]):
                assert self._records.setdefault(script[:length], past) == past, "records that differ between tables"
                assert found.setdefault(past, weights) == weights, "weights that do not follow from the records"
        return found

    def _probabilities(self, weights: list[Fraction]) -> list[Decimal]:
        total = sum(weights, Fraction(0))
        shares = [as_decimal(weight / total) for weight in weights]
        return [prod((shares[query] for query in draw), start=Decimal(multiplicity(draw))) for draw in self.samples]


def neighbours(game: Game, sizes: Sequence[int]) -> list[tuple[Table, Table]]:
    """Return every pair of neighbouring tables with numbers of records from `sizes`."""
    relation = game.plan.relation
    rows = [size for size in sizes if size + 1 in sizes] if relation is ADD_REMOVE else sizes
    return pairs_of(relation, rows, game.workload.schema)


@dataclass(frozen=True)
class Divergences:
    """What tells two distributions apart, each computed once; nothing of it depends on what is charged."""

    one: list[Decimal]
    two: list[Decimal]
    _beyond: dict[Decimal, Decimal] = field(default_factory=dict)

    @cached_property
    def ratios(self) -> list[Decimal]:
        with localcontext(DIGITS):
            for distribution in (self.one, self.two):
                assert (sum(distribution, Decimal(0)) - 1).copy_abs() < NEGLIGIBLE
            assert all(share > 0 for share in (*self.one, *self.two)), "rho without bound: an outcome never happens"
            return [p / q for p, q in zip(self.one, self.two, strict=True)]

    @cached_property
    def worst(self) -> Decimal:
        """The pure loss."""
        with localcontext(DIGITS):
            return max(max(self.ratios).ln(), -min(self.ratios).ln())

    def beyond(self, epsilon: Decimal) -> Decimal:
        """Return the smallest delta for an epsilon: none where no outcome's probability grows by more than exp(epsilon)."""
        if epsilon not in self._beyond:
            with localcontext(DIGITS):
                self._beyond[epsilon] = (
                    max(hockey_stick(self.one, self.two, self.ratios, epsilon.exp()))
                    if epsilon < self.worst
                    else Decimal(0)
                )
        return self._beyond[epsilon]

    @cached_property
    def renyi(self) -> dict[float, float]:
        """The larger Renyi divergence of each order, of both ways round."""
        losses = np.log(np.array([float(ratio) for ratio in self.ratios]))
        found = dict.fromkeys((1.0, *ORDERS), -np.inf)
        for shares, signed in ((self.one, losses), (self.two, -losses)):
            logs = np.log(np.array([float(value) for value in shares]))
            found[1.0] = max(found[1.0], float(np.exp(logs) @ signed))
            for order in ORDERS:
                exponents = (order - 1) * signed + logs
                top = float(exponents.max())
                moment = top + float(np.log(np.exp(exponents - top).sum()))
                found[order] = max(found[order], moment / (order - 1))
        return found


class RunGame(ABC):
    """A plan on a workload, small enough to enumerate: the distribution of a round is a function of the outcomes before it."""

    workload: Workload
    plan: Any

    @abstractmethod
    def histories(self) -> Iterable[History]:
        """Return every sequence of outcomes of all rounds but the last."""

    @abstractmethod
    def rounds(self, table: Table, script: Sequence[Any]) -> tuple[Sequence[Any], tuple[Charge, ...]]:
        """Play a run with the outcomes of a script; return the distribution of each round, and what was charged."""

    @abstractmethod
    def outcomes(self, played: Any, past: History) -> Iterable[tuple[Any, Fraction]]:
        """Return each outcome of a round and its probability, in one fixed order."""

    def pairs(self) -> list[tuple[Table, Table]]:
        """Return each pair of neighbours once."""
        return distinct_pairs(self.plan.relation, self.plan.size, self.workload.schema)

    def distributions(self, table: Table) -> tuple[dict[History, Any], tuple[Charge, ...]]:
        """Return the distribution of each round, given the outcomes before it, and what was charged for all of them."""
        found: dict[History, Any] = {}
        charged: set[tuple[Charge, ...]] = set()
        for script in self.histories():
            rounds, charges = self.rounds(table, script)
            assert len(rounds) == self.plan.rounds, f"drawn {len(rounds)} times in {self.plan.rounds} rounds"
            found |= {script[:length]: played for length, played in enumerate(rounds)}
            charged.add(charges)
        (only,) = charged
        return found, only

    def distribution(self, distributions: dict[History, Any]) -> list[Decimal]:
        """Return the probability of each sequence of outcomes, in one fixed order."""
        shares: list[tuple[History, Fraction]] = [((), Fraction(1))]
        for _ in range(self.plan.rounds):
            shares = [
                ((*past, outcome), share * of_outcome)
                for past, share in shares
                for outcome, of_outcome in self.outcomes(distributions[past], past)
            ]
        return [as_decimal(share) for _, share in shares]


def check_runs(
    game: RunGame,
    check_round: Callable[[Charge, History, Any, Any], float | Decimal],
    check_run: Callable[[tuple[Charge, ...], list[Decimal], list[Decimal]], object],
) -> float | Decimal:
    """Check every pair of neighbours, each round on its own and all of them together; return the largest share of a round."""
    tables = sorted({table for pair in game.pairs() for table in pair})
    played = {table: game.distributions(table) for table in tables}
    whole = {table: game.distribution(distributions) for table, (distributions, _) in played.items()}
    (charges,) = {charged for _, charged in played.values()}
    assert len(charges) == game.plan.rounds, f"charged {len(charges)} times in {game.plan.rounds} rounds"
    shares = [
        share
        for one, two in game.pairs()
        for past, distribution in played[one][0].items()
        for share in [check_round(charges[len(past)], past, distribution, played[two][0][past])]
    ]
    for one, two in game.pairs():
        check_run(charges, whole[one], whole[two])
    return max(shares)


WITH_DELTA = tuple(one for one in COMPARED if one is not Accountant.PURE)


def check_losses(charges: Sequence[Charge], one: list[Decimal], two: list[Decimal]) -> Decimal:
    """Assert that no divergence of two distributions exceeds what the charges say; return the share of epsilon used."""
    return check_divergences(charges, Divergences(one, two))


@cache
def charged(charges: tuple[Charge, ...], accountant: Composition, delta: float) -> float:
    """Return what charges cost together: the same for every pair of neighbours.

    `tests/boundary/conftest.py` has each test add up anew, as some plant defects.
    """
    return columns_of(charges).epsilon(accountant, delta)


def check_divergences(charges: Sequence[Charge], apart: Divergences) -> Decimal:
    """Assert that nothing that tells two distributions apart exceeds what the charges say; return the share of epsilon."""
    with localcontext(DIGITS):
        pure = Decimal(charged(tuple(charges), Accountant.PURE, 0.0))
        assert apart.worst <= pure + NEGLIGIBLE, f"pure loss {apart.worst}, charged {pure}"
        check_deltas(apart, WITH_DELTA, partial(charged, tuple(charges)))
        check_renyi(columns_of(charges).rho(), apart)
        return apart.worst / pure if pure else Decimal(0)


def check_deltas(
    apart: Divergences, accountants: Iterable[Composition], epsilon: Callable[[Composition, float], float]
) -> None:
    """Assert that delta is at most what an accountant charges it with, given epsilon by accountant and delta."""
    for accountant in accountants:
        for delta in DELTAS:
            found = apart.beyond(Decimal(epsilon(accountant, delta)))
            assert found <= Decimal(delta), f"{accountant.value}: {found}, charged delta {delta}"


def hockey_stick(
    one: list[Decimal], two: list[Decimal], ratios: list[Decimal], growth: Decimal
) -> tuple[Decimal, Decimal]:
    """Return the smallest deltas with P <= growth Q + delta, and the other way round."""
    forward = [p - growth * q for p, q, ratio in zip(one, two, ratios, strict=True) if ratio > growth]
    backward = [q - growth * p for p, q, ratio in zip(one, two, ratios, strict=True) if ratio * growth < 1]
    return sum(forward, Decimal(0)), sum(backward, Decimal(0))


def check_renyi(rho: float, apart: Divergences) -> None:
    """Assert that the Renyi divergence of each order a is at most rho a: what zCDP means."""
    for order, divergence in apart.renyi.items():
        assert divergence <= rho * order * (1 + 1e-9) + 1e-13, f"order {order}: {divergence}, rho {rho}"


def check_rho(charges: Sequence[Charge], log_moment: Callable[[float], float], slack: float = 1e-9) -> float:
    """Assert that rho covers the divergence of each order, given ln of its moment; return the largest share used up."""
    charged, reached = columns_of(charges).rho(), 0.0
    for order in ORDERS:
        rho = log_moment(order) / (order * (order - 1))
        assert rho <= charged * (1 + slack), f"order {order}: rho {rho}, charged {charged}"
        reached = max(reached, rho / charged)
    return reached


def check_game(game: Game, sizes: Sequence[int]) -> Decimal:
    """Check every pair of neighbours; return the largest share of the charged pure epsilon that a pair uses up."""
    pairs = neighbours(game, sizes)
    # Tables of different records first: these are played along every script.
    tables = sorted({table for pair in pairs for table in pair}, key=lambda table: (-len(set(table)), table))
    distributions = {table: game.distribution(table) for table in tables}
    charges = {table: game.charges(table) for table in tables}
    shares = [Decimal(0)]
    for one, two in pairs:
        assert charges[one] == charges[two]
        shares.append(check_losses(charges[one], distributions[one], distributions[two]))
    assert len(shares) > 1
    return max(shares)
