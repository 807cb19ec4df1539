"""Planted defects of the private side of DQRS, one at a time: each turns a named check red."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpopt.accounting import dqrs
from dpopt.accounting import dqrs as accounting
from dpopt.accounting.accountants import Accountant
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.conversions import Floats
from dpopt.accounting.ledger import Budget, Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery import plan
from dpopt.algorithms.dualquery.planning import make_dqrs_plan
from dpopt.algorithms.options import DQRS, PlanRequest
from dpopt.private.curators.door import Door
from dpopt.private.curators.dqrs_curator import DqrsCurator, signed_queries
from dpopt.private.curators.dualquery_curator import Curator
from dpopt.private.mechanisms.randomness import RandomWords
from dpopt.private.selections.query_weights import KeptQueries, QuerySampler, QueryWeights
from dpopt.private.tables.dataset import PrivateDataset
from dpopt.queries.counting.kernels import satisfied
from dpopt.transcript.released import SampledQueries
from tests.exact_distribution import distribution, exp_minus, signed_scores
from tests.exact_dqrs_loss import WORDS, DqrsGame, Watch, check_dqrs_game
from tests.exact_loss import Draw
from tests.tiny_runs import (
    ADD_REMOVE,
    REPLACE,
    EventJournal,
    Table,
    bits_schema,
    conjunctions,
)

Plant = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[NeighbouringRelation], None]

ONE_QUERY = conjunctions(bits_schema(1), "a")
THREE_QUERIES = conjunctions(bits_schema(2), "a", "b", "a !b")
X = np.array([1, 0], dtype=np.int32)


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
    assert check_dqrs_game(game(relation, "0.3")) > 0.98


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
            assert played.fresh == distribution(scores, one.plan.step, one.plan.size), (
                f"distribution of round {number + 1}"
            )
            if charge.kind is ChargeKind.BOUNDED_RANGE:
                assert played.keep is None, f"queries kept in round {number + 1}, charged as fresh draws"
                continue
            assert played.keep is not None, f"fresh draws in round {number + 1}, charged as kept queries"
            for query, found in zip(script[number - 1], played.keep, strict=True):
                expected = keep_probability(one, table, records[number - 1], query)
                assert abs(found - expected) <= Fraction(1, WORDS), f"query {query} is kept with {found}"
        kinds = [charge.kind for charge in ledger.entries]
        assert {ChargeKind.BOUNDED_RANGE, ChargeKind.CONCENTRATED} == set(kinds)


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
            keeps = ledger.entries[-1].kind is ChargeKind.CONCENTRATED
            held = [held[0], held[2], number] if keeps else [number] * 3
            expected.append(held)
            curator.observe(X)
    assert expected[3] in ([0, 2, 3], [1, 2, 3])
    fresh = [queries.count(number) for number, queries in enumerate(expected)]
    assert asked == fresh, "another number of draws"
    assert released == expected, "other queries are released"


def check_order_of_events(relation: NeighbouringRelation) -> None:
    """Spent, then on file as spent, then kept and drawn, then on file as drawn; once each per round."""
    one, events = game(relation), list[str]()
    with pytest.MonkeyPatch.context() as patch:
        spend = Ledger.spend

        def recording(self: Ledger, charge: Charge) -> None:
            spend(self, charge)
            events.append(f"spend {charge.label}")

        patch.setattr(Ledger, "spend", recording)
        one.play(((0,), (1,)), events=events)
    expected = []
    for charge in one.plan.charges():
        kept = ["kept"] if charge.kind is ChargeKind.CONCENTRATED else []
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
    attempts: list[Callable[[], object]] = [
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
    ]
    with watch.keeping():
        for attempt in attempts:
            try:
                attempt()
            except Exception:  # noqa: BLE001
                continue
    assert watch.events == ["drawn", "journal draw"]


def check_plans_pay_for_every_draw(relation: NeighbouringRelation) -> None:
    """Every round of a plan is charged, with every draw, and the budget covers the sum."""
    for budget in (Budget(1.0, 1e-9, None, Accountant.ZCDP), Budget(None, 1e-9, 0.02, Accountant.ZCDP)):
        plan = make_dqrs_plan(PlanRequest(3_000, relation, budget, DQRS()), THREE_QUERIES)
        charges = plan.charges()
        assert [charge.label for charge in charges] == [f"round {t}" for t in range(1, plan.rounds + 1)]
        assert {charge.count for charge in charges} == {plan.draws}, "count of the draws"
        each = accounting.round_rhos(plan.rounds, float(plan.step), float(plan.margin), plan.size, relation)
        assert budget.spent(charges).rho == pytest.approx(plan.draws * float(each.sum())), "rho of the draws"
        assert budget.covers(budget.spent(charges)), "the budget is exceeded"


def forget_the_fresh_draws(patch: pytest.MonkeyPatch) -> None:
    """That a query is drawn again is charged, what is drawn in its place is not."""
    patch.setattr(
        dqrs,
        "log_fresh_moment",
        lambda x, ranges: np.zeros(np.broadcast_shapes(x.shape, ranges.shape)),
    )


def charge_half_of_the_range_of_fresh_draws(patch: pytest.MonkeyPatch) -> None:
    original = dqrs.log_fresh_moment
    patch.setattr(dqrs, "log_fresh_moment", lambda x, ranges: original(x, ranges / 2))


def charge_outcomes(
    patch: pytest.MonkeyPatch, change: Callable[[float, float, int], tuple[float, float, int]]
) -> None:
    """Charge kept-or-redrawn outcomes as if step, margin and public size were others."""
    original = dqrs.log_outcome_moment

    def changed(x: Floats, ranges: Floats, eta: float, margin: float, n: int) -> Floats:
        return original(x, ranges, *change(eta, margin, n))

    patch.setattr(accounting, "log_outcome_moment", changed)


def take_answers_for_half_as_sensitive(patch: pytest.MonkeyPatch) -> None:
    """The log-probability that a query is kept moves by eta / n; half of that is charged."""
    charge_outcomes(patch, lambda eta, margin, n: (eta, margin, 2 * n))


def charge_four_times_the_margin(patch: pytest.MonkeyPatch) -> None:
    charge_outcomes(patch, lambda eta, margin, n: (eta, 4 * margin, n))


def charge_half_of_rho(patch: pytest.MonkeyPatch) -> None:
    original = accounting._cheaper
    patch.setattr(accounting, "_cheaper", lambda fresh, rho: original(fresh, rho / 2))


def charge_twice_rho(patch: pytest.MonkeyPatch) -> None:
    original = accounting._cheaper

    def double(fresh: Charge, rho: float) -> Charge:
        charge = original(fresh, rho)
        return charge if charge is fresh else replace(charge, parameter=2 * charge.parameter)

    patch.setattr(accounting, "_cheaper", double)


def keep_with_a_share_of_the_margin(patch: pytest.MonkeyPatch, share: float) -> None:
    original = KeptQueries.__init__

    def with_less(self: KeptQueries, *given: object) -> None:
        original(self, *given)  # type: ignore[arg-type]
        self._margin, self._most = self._margin * Decimal(share), self._most**share

    patch.setattr(KeptQueries, "__init__", with_less)


def forget_the_margin(patch: pytest.MonkeyPatch) -> None:
    """A query whose answer is as wrong as can be is nearly never drawn again, so drawing it again tells a lot."""
    keep_with_a_share_of_the_margin(patch, 2.0**-30)


def keep_with_half_of_the_margin(patch: pytest.MonkeyPatch) -> None:
    keep_with_a_share_of_the_margin(patch, 0.5)


def decide_without_drawing(patch: pytest.MonkeyPatch) -> None:
    """A query is kept if it is more likely kept than not."""
    patch.setattr(KeptQueries, "draw", lambda self, distances, source: distances <= self._size)


def observe_with(
    patch: pytest.MonkeyPatch,
    change: Callable[[DqrsCurator, NDArray[np.int64], NDArray[np.int32]], NDArray[np.int64]],
) -> None:
    """Change the distances k = n (1 - A) of the held queries: a function of those before and the record."""
    original = DqrsCurator.observe

    def changed(self: DqrsCurator, record: NDArray[np.int32]) -> None:
        before = self._distances
        original(self, record)
        self._distances = change(self, before, record)

    patch.setattr(DqrsCurator, "observe", changed)


def take_a_step_twice_as_long(patch: pytest.MonkeyPatch) -> None:
    """Keep with probability exp(2 eta (A - 1) - c)."""
    observe_with(patch, lambda curator, before, record: 2 * curator._distances)


def keep_what_the_record_answers_well(patch: pytest.MonkeyPatch) -> None:
    """The sign of the error is the wrong one; no loss shows that."""
    observe_with(patch, lambda curator, before, record: np.maximum(2 * curator._size - curator._distances, 0))


def keep_by_the_record_before(patch: pytest.MonkeyPatch) -> None:
    observe_with(
        patch, lambda curator, before, record: before if len(before) else np.zeros_like(curator._held)
    )


def measure_errors_by_the_true_number_of_records(patch: pytest.MonkeyPatch) -> None:
    """The private number of records in place of the public n0."""

    def with_rows(
        curator: DqrsCurator, before: NDArray[np.int64], record: NDArray[np.int32]
    ) -> NDArray[np.int64]:
        weights, rows, size = curator._weights, curator._dataset._rows, curator._size
        weights._size = rows
        changes = weights.changes(curator._held, satisfied(curator._record_clauses, record))
        weights._size = size
        return np.maximum(rows - changes, 0)

    observe_with(patch, with_rows)


def answer_a_negation_like_its_query(patch: pytest.MonkeyPatch) -> None:
    original = QueryWeights.changes
    patch.setattr(
        QueryWeights, "changes", lambda self, signed, answers: original(self, signed // 2 * 2, answers)
    )


def draw_as_if_charged(patch: pytest.MonkeyPatch, kind: ChargeKind) -> None:
    """Play every round after the first as one of this kind, whatever was charged."""
    original = DqrsCurator._draw

    def other(self: DqrsCurator, draws: int, charge: Charge) -> SampledQueries:
        return original(self, draws, replace(charge, kind=kind) if len(self._held) else charge)

    patch.setattr(DqrsCurator, "_draw", other)


def keep_queries_in_rounds_charged_as_fresh(patch: pytest.MonkeyPatch) -> None:
    draw_as_if_charged(patch, ChargeKind.CONCENTRATED)


def draw_afresh_in_rounds_charged_as_kept(patch: pytest.MonkeyPatch) -> None:
    draw_as_if_charged(patch, ChargeKind.BOUNDED_RANGE)


@dataclass
class Wasteful:
    """Draws as many queries as were charged, and hands out as many as were asked for."""

    sampler: QuerySampler
    charged: int
    is_private: bool = True

    def draw(self, weights: QueryWeights, draws: int) -> NDArray[np.int64]:
        return self.sampler.draw(weights, self.charged)[:draws]


def draw_every_query_and_use_a_few(patch: pytest.MonkeyPatch) -> None:
    original = DqrsCurator._draw

    def all_drawn(self: DqrsCurator, draws: int, charge: Charge) -> SampledQueries:
        usual, self._sampler = self._sampler, Wasteful(self._sampler, draws)
        try:
            return original(self, draws, charge)
        finally:
            self._sampler = usual

    patch.setattr(DqrsCurator, "_draw", all_drawn)


@dataclass
class Inverted:
    """Keeps what should be drawn again."""

    kept: KeptQueries

    def draw(self, distances: NDArray[np.int64], source: RandomWords) -> NDArray[np.bool_]:
        return ~self.kept.draw(distances, source)


def keep_what_should_be_drawn_again(patch: pytest.MonkeyPatch) -> None:
    original = DqrsCurator._draw

    def inverted(self: DqrsCurator, draws: int, charge: Charge) -> SampledQueries:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(self, "_kept", Inverted(self._kept))
            return original(self, draws, charge)

    patch.setattr(DqrsCurator, "_draw", inverted)


def keep_in_addition_to_what_is_drawn(patch: pytest.MonkeyPatch) -> None:
    """All queries of a round are drawn again, and the kept ones are drawn into them once more."""
    original = DqrsCurator._draw

    def both(self: DqrsCurator, draws: int, charge: Charge) -> SampledQueries:
        if charge.kind is ChargeKind.CONCENTRATED:
            self._held = self._sampler.draw(self._weights, draws)
        return original(self, draws, charge)

    patch.setattr(DqrsCurator, "_draw", both)


def charge_after_the_draw(patch: pytest.MonkeyPatch) -> None:
    def late(self: Curator, draws: int) -> SampledQueries:
        charge = self._next_charge(draws)
        sampled = self._draw(draws, charge)
        self._charged(charge, round=self._round)
        return sampled

    patch.setattr(Curator, "draw_queries", late)


def write_the_charge_before_it_is_spent(patch: pytest.MonkeyPatch) -> None:
    def early(self: Door[PrivateDataset], charge: Charge, **where: int) -> Charge:
        self._on_file(charge, **where)
        self._ledger.spend(charge)
        return charge

    patch.setattr(Door, "_charged", early)


def keep_queries_without_a_charge(patch: pytest.MonkeyPatch) -> None:
    """What was kept was paid for in the round before; what is drawn in place of the rest is not paid for."""
    original = Door._charged

    def fresh_alone(self: Door[PrivateDataset], charge: Charge, **where: int) -> Charge:
        if charge.kind is ChargeKind.CONCENTRATED:
            return self._on_file(charge, **where)
        return original(self, charge, **where)

    patch.setattr(Door, "_charged", fresh_alone)


def draw_a_round_twice(patch: pytest.MonkeyPatch) -> None:
    original = DqrsCurator._draw

    def twice(self: DqrsCurator, draws: int, charge: Charge) -> SampledQueries:
        original(self, draws, charge)
        return original(self, draws, charge)

    patch.setattr(DqrsCurator, "_draw", twice)


def pay_for_whatever_was_recalled(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Door, "_recalled", lambda self, expected, what: expected)


def repeat_a_torn_draw_unpaid(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        Door, "_exchanged", lambda self, charge, given_up, /, **where: self._on_file(charge, **where)
    )


def plan_with(patch: pytest.MonkeyPatch, rounds: int, draws: int) -> None:
    """Reserve so many rounds less, and the draws divided by so many."""
    original = accounting.dqrs_charges

    def fewer(planned: int, drawn: int, *rest: object) -> tuple[Charge, ...]:
        return original(planned - rounds, max(1, drawn // draws), *rest)  # type: ignore[arg-type]

    patch.setattr(plan, "dqrs_charges", fewer)


def leave_the_last_round_out_of_the_plan(patch: pytest.MonkeyPatch) -> None:
    plan_with(patch, 1, 1)


def plan_for_half_of_the_draws(patch: pytest.MonkeyPatch) -> None:
    plan_with(patch, 0, 2)


CHECKS = [
    check_exact_loss,
    check_exact_loss_of_short_steps,
    check_exact_loss_of_two_queries,
    check_charges_are_tight,
    check_exact_distribution,
    check_each_query_is_kept_or_drawn_again,
    check_order_of_events,
    check_nothing_is_drawn_unpaid,
    check_plans_pay_for_every_draw,
]


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize("check", CHECKS)
def test_without_a_defect_every_check_is_green(check: Check, relation: NeighbouringRelation) -> None:
    check(relation)


@pytest.mark.parametrize(
    ("plant", "check", "relation", "message"),
    [
        (forget_the_fresh_draws, check_exact_loss, REPLACE, "zcdp|order"),
        (forget_the_fresh_draws, check_exact_loss, ADD_REMOVE, "zcdp|order"),
        (charge_half_of_the_range_of_fresh_draws, check_exact_loss, REPLACE, "zcdp|order"),
        (charge_half_of_the_range_of_fresh_draws, check_exact_loss, ADD_REMOVE, "zcdp|order"),
        (take_answers_for_half_as_sensitive, check_exact_loss_of_short_steps, REPLACE, "zcdp|order"),
        (take_answers_for_half_as_sensitive, check_exact_loss, ADD_REMOVE, "zcdp|order"),
        (charge_four_times_the_margin, check_exact_loss, ADD_REMOVE, "zcdp|order"),
        (charge_half_of_rho, check_exact_loss, REPLACE, "zcdp|order"),
        (charge_half_of_rho, check_exact_loss_of_two_queries, REPLACE, "zcdp|order"),
        (charge_half_of_rho, check_exact_loss, ADD_REMOVE, "zcdp|order"),
        (charge_twice_rho, check_charges_are_tight, REPLACE, "0.98"),
        (charge_twice_rho, check_charges_are_tight, ADD_REMOVE, "0.98"),
        (forget_the_margin, check_exact_loss_of_short_steps, REPLACE, "zcdp|order"),
        (forget_the_margin, check_exact_loss, ADD_REMOVE, "zcdp|order"),
        (keep_with_half_of_the_margin, check_exact_loss_of_short_steps, ADD_REMOVE, "zcdp|order"),
        (keep_with_half_of_the_margin, check_exact_distribution, REPLACE, "is kept with"),
        (decide_without_drawing, check_exact_loss, REPLACE, "an outcome never happens"),
        (take_a_step_twice_as_long, check_exact_loss, REPLACE, "zcdp|order"),
        (take_a_step_twice_as_long, check_exact_loss, ADD_REMOVE, "zcdp|order"),
        (keep_what_the_record_answers_well, check_exact_distribution, REPLACE, "is kept with"),
        (keep_by_the_record_before, check_exact_distribution, REPLACE, "is kept with"),
        (measure_errors_by_the_true_number_of_records, check_exact_loss, ADD_REMOVE, "zcdp|order"),
        (answer_a_negation_like_its_query, check_exact_distribution, REPLACE, "is kept with"),
        (keep_queries_in_rounds_charged_as_fresh, check_exact_distribution, ADD_REMOVE, "charged as fresh"),
        (draw_afresh_in_rounds_charged_as_kept, check_exact_loss, REPLACE, "zcdp|order"),
        (draw_afresh_in_rounds_charged_as_kept, check_exact_distribution, ADD_REMOVE, "charged as kept"),
        (draw_every_query_and_use_a_few, check_each_query_is_kept_or_drawn_again, REPLACE, "another number"),
        (keep_what_should_be_drawn_again, check_each_query_is_kept_or_drawn_again, REPLACE, "another number"),
        (keep_in_addition_to_what_is_drawn, check_each_query_is_kept_or_drawn_again, REPLACE, "another"),
        (keep_in_addition_to_what_is_drawn, check_order_of_events, ADD_REMOVE, "drawn"),
        (charge_after_the_draw, check_order_of_events, REPLACE, "spend"),
        (write_the_charge_before_it_is_spent, check_order_of_events, REPLACE, "spend"),
        (keep_queries_without_a_charge, check_exact_loss, REPLACE, "charged 2 times"),
        (keep_queries_without_a_charge, check_order_of_events, ADD_REMOVE, "spend"),
        (draw_a_round_twice, check_exact_loss, REPLACE, "drawn 8 times"),
        (draw_a_round_twice, check_order_of_events, REPLACE, "drawn"),
        (pay_for_whatever_was_recalled, check_nothing_is_drawn_unpaid, REPLACE, "drawn"),
        (repeat_a_torn_draw_unpaid, check_nothing_is_drawn_unpaid, ADD_REMOVE, "drawn"),
        (leave_the_last_round_out_of_the_plan, check_plans_pay_for_every_draw, REPLACE, "round"),
        (plan_for_half_of_the_draws, check_plans_pay_for_every_draw, ADD_REMOVE, "count of the draws"),
    ],
)
def test_a_planted_defect_is_caught(
    plant: Plant,
    check: Check,
    relation: NeighbouringRelation,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plant(monkeypatch)
    with pytest.raises(AssertionError, match=message):
        check(relation)
