"""Planted defects of the private side of DQRS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting import dqrs
from dpopt.accounting import dqrs as accounting
from dpopt.accounting.accountants import Accountant
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.ledger import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery import plan
from dpopt.algorithms.dualquery.planning import make_dqrs_plan
from dpopt.algorithms.options import DQRS as DQRS_OPTIONS
from dpopt.algorithms.options import PlanRequest
from dpopt.private.curators.door import Door
from dpopt.private.curators.dualquery_curator import Curator, DqrsCurator, signed_queries
from dpopt.private.selections.query_weights import KeptQueries, QuerySampler, QueryWeights
from dpopt.queries.counting.kernels import satisfied
from dpopt.transcript.released import SampledQueries
from tests.boundary.planted import (
    ADD,
    BOTH,
    REP,
    Mechanism,
    Plant,
    attempt,
    defect,
    is_reached,
    pay_for_whatever_was_recalled,
    spending,
    twice,
    wrap,
    write_the_charge_before_it_is_spent,
)
from tests.exact_distribution import distribution, exp_minus, signed_scores
from tests.exact_dqrs_loss import WORDS, DqrsGame, Watch, check_dqrs_game
from tests.exact_loss import Draw
from tests.tiny_runs import ADD_REMOVE, REPLACE, EventJournal, Table, bits_schema, conjunctions

ONE_QUERY = conjunctions(bits_schema(1), "a")
THREE_QUERIES = conjunctions(bits_schema(2), "a", "b", "a !b")
X = np.array([1, 0], dtype=np.int32)
CONCENTRATED, RANGED = ChargeKind.CONCENTRATED, ChargeKind.BOUNDED_RANGE


def game(relation: NeighbouringRelation, step: str = "1") -> DqrsGame:
    """Return a game whose last round keeps queries under add-remove, and whose last two do under replace-one."""
    return DqrsGame.of(ONE_QUERY, rounds=4, draws=1, step=step, margin="2", size=2, relation=relation)


def larger_game(relation: NeighbouringRelation) -> DqrsGame:
    return DqrsGame.of(THREE_QUERIES, rounds=4, draws=3, step="2", margin="2", size=2, relation=relation)


def check_exact_loss(relation: NeighbouringRelation) -> None:
    """No divergence over all outcomes, of a round or of the run, exceeds what the ledger says."""
    check_dqrs_game(game(relation))


def check_exact_loss_of_short_steps(relation: NeighbouringRelation) -> None:
    """As before, where what a kept query tells makes up more of the charge."""
    check_dqrs_game(game(relation, "0.3"))


def check_exact_loss_of_two_queries(relation: NeighbouringRelation) -> None:
    """As before, where a round may keep one query and draw the other again."""
    two = DqrsGame.of(ONE_QUERY, rounds=3, draws=2, step="2", margin="2", size=2, relation=relation)
    check_dqrs_game(two)


def check_charges_are_tight(relation: NeighbouringRelation) -> None:
    """Nearly all of the rho of a round that keeps queries is reached by some pair, at some order."""
    is_reached(check_dqrs_game(game(relation, "0.3")), "0.98")


def check_exact_distribution(relation: NeighbouringRelation) -> None:
    """A query is kept with probability exp(eta (A - 1) - c), and what is drawn has the distribution of DualQuery.

    Both are computed from the table on their own. Where the charge is one of fresh draws, nothing is kept. Under add-remove
    one table has many more records than n0.
    """
    one = larger_game(relation)
    script: list[Draw] = [(0, 3, 4), (1, 2, 5), (0, 0, 5), (2, 3, 4)]
    tables: list[Table] = [((0, 1), (1, 1)), ((0, 0), (1, 0))]
    if relation is ADD_REMOVE:
        tables = [((0, 1),), ((0, 0), (1, 0), (1, 1)), ((1, 0),) * 7]
    for table in tables:
        watch, ledger, rounds = one.play(table, script)
        records = [done.record.tolist() for done in rounds]
        for number, (played, charge) in enumerate(zip(watch.rounds, ledger.entries, strict=True)):
            scores = signed_scores(
                counts_of(table),
                [np.array(answers_of(record)) for record in records[:number]],
                rows=len(table),
                size=one.plan.size,
            )
            expected = distribution(scores, one.plan.step, one.plan.size)
            assert played.fresh == expected, f"distribution of round {number + 1}"
            if charge.kind is RANGED:
                assert played.keep is None, f"queries kept in round {number + 1}, charged as fresh draws"
                continue
            assert played.keep is not None, f"fresh draws in round {number + 1}, charged as kept queries"
            for query, found in zip(script[number - 1], played.keep, strict=True):
                share = keep_probability(one, table, records[number - 1], query)
                assert abs(found - share) <= Fraction(1, WORDS), f"query {query} is kept with {found}"
        assert {charge.kind for charge in ledger.entries} == {RANGED, CONCENTRATED}


def answers_of(record: Sequence[int]) -> list[bool]:
    a, b = map(bool, record)
    return [a, b, a and not b]


def counts_of(table: Table) -> list[int]:
    return [sum(column) for column in zip(*map(answers_of, table), strict=True)]


def keep_probability(one: DqrsGame, table: Table, record: Sequence[int], query: int) -> Fraction:
    size, negated = one.plan.size, query % 2 == 1
    answer, count = answers_of(record)[query // 2], counts_of(table)[query // 2]
    error = Fraction(len(table) - count if negated else count, size) - int(answer != negated)
    return exp_minus(Fraction(one.plan.step) * (1 - min(error, Fraction(1))) + Fraction(one.plan.margin))


def check_each_query_is_kept_or_drawn_again(relation: NeighbouringRelation) -> None:
    """A round asks for as many fresh draws as it does not keep, and releases these and the kept ones."""
    one, asked = larger_game(relation), list[int]()

    def choose(weights: QueryWeights, draws: int) -> Sequence[int]:
        asked.append(draws)
        return (weights.observed,) * draws

    curator, ledger = one.curator(((0, 1), (1, 1)), EventJournal([]), choose)
    held, expected, released = [0, 0, 0], list[list[int]](), list[list[int]]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KeptQueries, "draw", lambda self, distances, source: np.array([True, False, True]))
        for number in range(4):
            released.append(signed_queries(curator.draw_queries(3)).tolist())
            keeps = ledger.entries[-1].kind is CONCENTRATED
            held = [held[0], held[2], number] if keeps else [number] * 3
            expected.append(held)
            curator.observe(X)
    assert expected[3] in ([0, 2, 3], [1, 2, 3])
    fresh = [queries.count(number) for number, queries in enumerate(expected)]
    assert asked == fresh, "another number of draws"
    assert released == expected, "other queries are released"


def check_order_of_events(relation: NeighbouringRelation) -> None:
    """Spent, then on file as spent, then kept and drawn, then on file as drawn; once each per round."""
    one, events, expected = game(relation), list[str](), list[str]()
    with spending(events, lambda charge: f"spend {charge.label}"):
        one.play(((0,), (1,)), events=events)
    for charge in one.plan.charges():
        kept = ["kept"] if charge.kind is CONCENTRATED else []
        expected += [f"spend {charge.label}", "journal charge", *kept, "drawn", "journal draw"]
        expected.append("journal record (not waited for)")
    assert events == expected
    assert events.count("kept") == (2 if relation is REPLACE else 1)


def check_nothing_is_drawn_unpaid(relation: NeighbouringRelation) -> None:
    """A round draws once, on resuming too, and a torn draw is repeated only if an unspent round is given up."""
    one, watch = game(relation), Watch()
    first, second, third, last = one.plan.charges()
    curator, _ = one.curator(((0,), (1,)), EventJournal(watch.events), watch.choose)
    record = np.array([1], dtype=np.int32)
    with watch.keeping():
        attempt(
            curator.complete_draw,  # nothing was recalled
            lambda: curator.recall(first, drawn=True),
            curator.complete_draw,
            lambda: curator.draw_queries(1),
            lambda: curator.repeat_draw(1, given_up=first, given_up_round=1),  # which is spent
            lambda: curator.observe(record),
            lambda: curator.recall(second, drawn=False),
            curator.complete_draw,  # the one that is paid
            curator.complete_draw,
            lambda: curator.draw_queries(1),
            lambda: curator.observe(record),
            lambda: curator.recall(third, drawn=True),
            lambda: curator.recall(last, drawn=True),
            lambda: curator.repeat_draw(1, given_up=last, given_up_round=4),
        )
    assert watch.events == ["drawn", "journal draw"]


def check_plans_pay_for_every_draw(relation: NeighbouringRelation) -> None:
    """Every round of a plan is charged, with every draw, and the budget covers the sum."""
    for budget in (Budget(1.0, 1e-9, None, Accountant.ZCDP), Budget(None, 1e-9, 0.02, Accountant.ZCDP)):
        plan = make_dqrs_plan(PlanRequest(3_000, relation, budget, DQRS_OPTIONS()), THREE_QUERIES)
        charges = plan.charges()
        assert [charge.label for charge in charges] == [f"round {t}" for t in range(1, plan.rounds + 1)]
        assert {charge.count for charge in charges} == {plan.draws}, "count of the draws"
        each = accounting.round_rhos(plan.rounds, float(plan.step), float(plan.margin), plan.size, relation)
        assert budget.spent(charges).rho == pytest.approx(plan.draws * float(each.sum())), "rho of the draws"
        assert budget.covers(budget.spent(charges)), "the budget is exceeded"


def charge_outcomes(change: Callable[[float, float, int], tuple[float, float, int]]) -> Plant:
    """Return a plant that charges kept-or-redrawn outcomes as if step, margin and public size were others."""
    return wrap(
        accounting,
        "log_outcome_moment",
        lambda usual, x, ranges, eta, margin, n: usual(x, ranges, *change(eta, margin, n)),
    )


def twice_the_charge(usual: Callable[..., Charge], fresh: Charge, rho: float) -> Charge:
    charge = usual(fresh, rho)
    return charge if charge is fresh else replace(charge, parameter=2 * charge.parameter)


def keep_with_a_share_of_the_margin(share: float) -> Plant:
    def with_less(usual: Callable[..., None], self: KeptQueries, *given: object) -> None:
        usual(self, *given)
        self._margin, self._most = self._margin * Decimal(share), self._most**share

    return wrap(KeptQueries, "__init__", with_less)


def observe_with(change: Callable[..., NDArray[np.int64]]) -> Plant:
    """Return a plant that changes the distances k = n (1 - A) of the held queries, given those before and the record."""

    def observed(usual: Callable[..., None], self: DqrsCurator, record: NDArray[np.int32]) -> None:
        before = self._distances
        usual(self, record)
        self._distances = change(self, before, record)

    return wrap(DqrsCurator, "observe", observed)


def by_the_true_number(curator: DqrsCurator, before: object, record: NDArray[np.int32]) -> NDArray[np.int64]:
    """The private number of records in place of the public n0."""
    weights, rows, size = curator._weights, curator._dataset._rows, curator._size
    weights._size = rows
    changes = weights.changes(curator._held, satisfied(curator._record_clauses, record))
    weights._size = size
    return np.maximum(rows - changes, 0)


def draw_as_if_charged(kind: ChargeKind) -> Plant:
    """Return a plant that plays every round after the first as one of this kind, whatever was charged."""
    return wrap(
        DqrsCurator,
        "_draw",
        lambda usual, self, draws, charge: usual(
            self, draws, replace(charge, kind=kind) if len(self._held) else charge
        ),
    )


@dataclass
class Wasteful:
    """Draws as many queries as were charged, and hands out as many as were asked for."""

    sampler: QuerySampler
    charged: int
    is_private: bool = True

    def draw(self, weights: QueryWeights, draws: int) -> NDArray[np.int64]:
        return self.sampler.draw(weights, self.charged)[:draws]


@dataclass
class Inverted:
    """Keeps what should be drawn again."""

    kept: KeptQueries

    def draw(self, distances: NDArray[np.int64], source: Any) -> NDArray[np.bool_]:
        return ~self.kept.draw(distances, source)


def draw_with(name: str, make: Callable[[Any, int], object]) -> Plant:
    """Return a plant under which a round draws with something else in place of the curator's own."""

    def drawn(usual: Callable[..., SampledQueries], self: DqrsCurator, draws: int, charge: Charge) -> Any:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(self, name, make(getattr(self, name), draws))
            return usual(self, draws, charge)

    return wrap(DqrsCurator, "_draw", drawn)


def both(usual: Callable[..., Any], self: DqrsCurator, draws: int, charge: Charge) -> Any:
    """All queries of a round are drawn again, and the kept ones are drawn into them once more."""
    if charge.kind is CONCENTRATED:
        self._held = self._sampler.draw(self._weights, draws)
    return usual(self, draws, charge)


def late(usual: object, self: Curator, draws: int) -> SampledQueries:
    charge = self._next_charge(draws)
    sampled = self._draw(draws, charge)
    self._charged(charge, round=self._round)
    return sampled


def fresh_alone(usual: Callable[..., Charge], self: Door[Any], charge: Charge, **where: int) -> Charge:
    """What was kept was paid for in the round before; what is drawn in place of the rest is not paid for."""
    if charge.kind is CONCENTRATED:
        return self._on_file(charge, **where)
    return usual(self, charge, **where)


def plan_with(rounds: int, draws: int) -> Plant:
    """Return a plant that reserves so many rounds less, and the draws divided by so many."""
    return wrap(
        plan,
        "dqrs_charges",
        lambda usual, planned, drawn, *rest: usual(planned - rounds, max(1, drawn // draws), *rest),
    )


LOSS, KEPT, SPEND = "zcdp|order", "is kept with", "spend"
SHORT, DISTRIBUTION, ORDER = (
    check_exact_loss_of_short_steps,
    check_exact_distribution,
    check_order_of_events,
)
AGAIN, UNPAID = check_each_query_is_kept_or_drawn_again, check_nothing_is_drawn_unpaid
DQRS = Mechanism(
    [
        check_exact_loss,
        check_exact_loss_of_two_queries,
        check_charges_are_tight,
        check_exact_distribution,
        check_each_query_is_kept_or_drawn_again,
        check_order_of_events,
        check_nothing_is_drawn_unpaid,
        check_plans_pay_for_every_draw,
    ],
    {
        # That a query is drawn again is charged, what is drawn in its place is not.
        "forget the fresh draws": defect(
            wrap(
                dqrs,
                "log_fresh_moment",
                lambda usual, x, ranges: np.zeros(np.broadcast_shapes(x.shape, ranges.shape)),
            ),
            (check_exact_loss, BOTH, LOSS),
        ),
        "charge half of the range of fresh draws": defect(
            wrap(dqrs, "log_fresh_moment", lambda usual, x, ranges: usual(x, ranges / 2)),
            (check_exact_loss, BOTH, LOSS),
        ),
        # The log-probability that a query is kept moves by eta / n; half of that is charged.
        "take answers for half as sensitive": defect(
            charge_outcomes(lambda eta, margin, n: (eta, margin, 2 * n)),
            (SHORT, REP, LOSS),
            (check_exact_loss, ADD, LOSS),
        ),
        "charge four times the margin": defect(
            charge_outcomes(lambda eta, margin, n: (eta, 4 * margin, n)), (check_exact_loss, ADD, LOSS)
        ),
        "charge half of rho": defect(
            wrap(accounting, "_cheaper", lambda usual, fresh, rho: usual(fresh, rho / 2)),
            (check_exact_loss, BOTH, LOSS),
            (check_exact_loss_of_two_queries, REP, LOSS),
        ),
        "charge twice rho": defect(
            wrap(accounting, "_cheaper", twice_the_charge), (check_charges_are_tight, BOTH, "0.98")
        ),
        # A query whose answer is as wrong as can be is nearly never drawn again, so drawing it again tells a lot.
        "forget the margin": defect(
            keep_with_a_share_of_the_margin(2.0**-30), (SHORT, REP, LOSS), (check_exact_loss, ADD, LOSS)
        ),
        "keep with half of the margin": defect(
            keep_with_a_share_of_the_margin(0.5), (SHORT, ADD, LOSS), (DISTRIBUTION, REP, KEPT)
        ),
        # A query is kept if it is more likely kept than not.
        "decide without drawing": defect(
            wrap(KeptQueries, "draw", lambda usual, self, distances, source: distances <= self._size),
            (check_exact_loss, REP, "an outcome never happens"),
        ),
        # Keep with probability exp(2 eta (A - 1) - c).
        "take a step twice as long": defect(
            observe_with(lambda curator, before, record: 2 * curator._distances),
            (check_exact_loss, BOTH, LOSS),
        ),
        # The sign of the error is the wrong one; no loss shows that.
        "keep what the record answers well": defect(
            observe_with(
                lambda curator, before, record: np.maximum(2 * curator._size - curator._distances, 0)
            ),
            (DISTRIBUTION, REP, KEPT),
        ),
        "keep by the record before": defect(
            observe_with(
                lambda curator, before, record: before if len(before) else np.zeros_like(curator._held)
            ),
            (DISTRIBUTION, REP, KEPT),
        ),
        "measure errors by the true number of records": defect(
            observe_with(by_the_true_number), (check_exact_loss, ADD, LOSS)
        ),
        "answer a negation like its query": defect(
            wrap(
                QueryWeights,
                "changes",
                lambda usual, self, signed, answers: usual(self, signed // 2 * 2, answers),
            ),
            (DISTRIBUTION, REP, KEPT),
        ),
        "keep queries in rounds charged as fresh": defect(
            draw_as_if_charged(CONCENTRATED), (DISTRIBUTION, ADD, "charged as fresh")
        ),
        "draw afresh in rounds charged as kept": defect(
            draw_as_if_charged(RANGED),
            (check_exact_loss, REP, LOSS),
            (DISTRIBUTION, ADD, "charged as kept"),
        ),
        "draw every query and use a few": defect(
            draw_with("_sampler", Wasteful), (AGAIN, REP, "another number")
        ),
        "keep what should be drawn again": defect(
            draw_with("_kept", lambda kept, draws: Inverted(kept)), (AGAIN, REP, "another number")
        ),
        "keep in addition to what is drawn": defect(
            wrap(DqrsCurator, "_draw", both), (AGAIN, REP, "another"), (ORDER, ADD, "drawn")
        ),
        "charge after the draw": defect(wrap(Curator, "draw_queries", late), (ORDER, REP, SPEND)),
        "write the charge before it is spent": defect(
            write_the_charge_before_it_is_spent, (ORDER, REP, SPEND)
        ),
        "keep queries without a charge": defect(
            wrap(Door, "_charged", fresh_alone),
            (check_exact_loss, REP, "charged 2 times"),
            (ORDER, ADD, SPEND),
        ),
        "draw a round twice": defect(
            twice(DqrsCurator, "_draw"), (check_exact_loss, REP, "drawn 8 times"), (ORDER, REP, "drawn")
        ),
        "pay for whatever was recalled": defect(pay_for_whatever_was_recalled, (UNPAID, REP, "drawn")),
        "repeat a torn draw unpaid": defect(
            wrap(
                Door,
                "_exchanged",
                lambda usual, self, charge, given_up, /, **where: self._on_file(charge, **where),
            ),
            (UNPAID, ADD, "drawn"),
        ),
        "leave the last round out of the plan": defect(
            plan_with(1, 1), (check_plans_pay_for_every_draw, REP, "round")
        ),
        "plan for half of the draws": defect(
            plan_with(0, 2), (check_plans_pay_for_every_draw, ADD, "count of the draws")
        ),
    },
)
