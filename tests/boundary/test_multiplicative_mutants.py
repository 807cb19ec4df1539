"""Planted defects of the private side of pmw and mwem, one at a time: each turns a named check red."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant, ChargeColumns
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.measurements import measurement_charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.selections import score_range, selection_charge
from dpopt.algorithms.multiplicative_weights import plan as multiplicative_plan
from dpopt.algorithms.multiplicative_weights import planning as multiplicative_planning
from dpopt.algorithms.multiplicative_weights.planning import make_multiplicative_plan
from dpopt.algorithms.options import MARGINALS, MWEM, PMW, QUERIES, PlanRequest
from dpopt.private.curators import multiplicative_curator
from dpopt.private.curators.door import Door
from dpopt.private.curators.multiplicative_curator import MultiplicativeCurator, RoundMeasurement
from dpopt.private.engines.exact_counts import exact_counts
from dpopt.private.measurements.noisy_counts import with_noise
from dpopt.private.selections import multiplicative_scores
from dpopt.private.selections.multiplicative_scores import SignedQueryDistribution
from dpopt.queries.workloads.workload import parse_workload
from tests.tiny_measuring import SCHEMA, marginals
from tests.tiny_multiplicative import CLAUSES, RoundGame, TinyRound, check_round, public_answers, tiny_plan
from tests.tiny_runs import ADD_REMOVE, REPLACE

Plant = Callable[[pytest.MonkeyPatch], None]
Check = Callable[[NeighbouringRelation], None]
WHOLE = marginals([0], [0, 1])


def check_queries(relation: NeighbouringRelation) -> None:
    """Neither the range of a selection nor the loss of a round exceeds what the ledger says; nearly all of it is reached."""
    ranges, _ = check_round(RoundGame(tiny_plan(relation, range_="3", gaussian=False), CLAUSES.take([0, 1])))
    assert ranges > Decimal("0.99"), f"only {ranges} of the range is reached"


def check_concentrated(relation: NeighbouringRelation) -> None:
    """As before, where Renyi divergences come close to the charged rho."""
    check_round(RoundGame(tiny_plan(relation, range_="0.2", scale=8.0), CLAUSES.take([0, 1])))


def check_marginals(relation: NeighbouringRelation) -> None:
    """The same of marginals, by both scores."""
    for score in ("l1", "max"):
        plan = tiny_plan(relation, select=MARGINALS, range_="3", gaussian=False)
        ranges, _ = check_round(RoundGame(plan, WHOLE, score))
        assert ranges > Decimal("0.6"), f"only {ranges} of the range is reached"


def check_noise(relation: NeighbouringRelation) -> None:
    """As before, of rounds that cost little beside their measurement."""
    for select, queries in ((QUERIES, CLAUSES.take([0])), (MARGINALS, WHOLE)):
        plan = tiny_plan(relation, select=select, range_="0.1", scale=0.8, gaussian=False)
        check_round(RoundGame(plan, queries))


def check_order_of_events(relation: NeighbouringRelation) -> None:
    """Spent, then on file as spent, then drawn, then on file as drawn; for selection and measurement, once each."""
    plan = tiny_plan(relation, rounds=2)
    one = TinyRound(((0, 1), (1, 1)), plan, CLAUSES)
    events, spend = one.events, one.ledger.spend
    with pytest.MonkeyPatch.context() as patch:

        def recording(self: Ledger, charge: Charge) -> None:
            spend(charge)
            events.append(charge.label)

        patch.setattr(Ledger, "spend", recording)
        one.distribution_of_queries(public_answers(3))
        one.curator.measure(0, round=1)
    assert events == [
        *["selection of round 1", "journal charge", "draw", "journal query selection"],
        *["round 1", "journal charge", "gaussian", "journal measurement"],
    ]


def check_nothing_is_drawn_unpaid(relation: NeighbouringRelation) -> None:
    """A round draws once, on resuming too, and no more rounds draw than were planned."""
    plan, public = tiny_plan(relation, rounds=2), public_answers(3)
    one = TinyRound(((0, 1), (1, 1)), plan, CLAUSES)
    curator, (first, second) = one.curator, (plan.charges_of(1), plan.charges_of(2))
    attempts: list[Callable[[], object]] = [
        lambda: curator.select_query(public, round=1, again=True),  # nothing was recalled
        lambda: curator.recall(first[0], drawn=True),
        lambda: curator.select_query(public, round=1, again=True),
        lambda: curator.select_query(public, round=1),
        lambda: curator.recall(first[1], drawn=True),
        lambda: curator.measure(0, round=1),
        lambda: curator.recall(second[0], drawn=False),
        lambda: curator.measure(0, round=2, again=True),  # paid for a selection
        lambda: curator.recall(second[1], drawn=False),
        lambda: curator.measure(0, round=2, again=True),  # the one that is paid
        lambda: curator.measure(0, round=2, again=True),
        lambda: curator.measure(0, round=2),
        lambda: curator.select_query(public, round=3),
        lambda: curator.measure(0, round=3),
    ]
    for attempt in attempts:
        try:
            attempt()
        except Exception:  # noqa: BLE001
            continue
    assert one.events == ["gaussian", "journal measurement"]


def check_plans_keep_their_budget(relation: NeighbouringRelation) -> None:
    """Selections and measurements of all rounds cost the budget at most, and nearly all of it."""
    workload, rho, epsilon = parse_workload("marginals:2", SCHEMA), 0.02, 0.7
    sensitivity = {QUERIES: 1, MARGINALS: 2 if relation is REPLACE else 1}
    for kind in (PMW, MWEM):
        for rounds in (None, 12):
            asked = kind(rounds=rounds)
            request = PlanRequest(5_000, relation, Budget(None, 1e-9, rho, Accountant.ZCDP), asked)
            plan = make_multiplicative_plan(request, workload)
            each = float(plan.step) ** 2 / 8 + sensitivity[plan.select] / (2 * plan.scale**2)
            assert len(plan.charges()) == 2 * plan.rounds, "charges of another number of rounds"
            assert 0.999 < plan.rounds * each / rho <= 1 + 1e-9, "budget of rho"
            pure = PlanRequest(5_000, relation, Budget(epsilon, 0.0, None, Accountant.PURE), asked)
            plan = make_multiplicative_plan(pure, workload)
            each = float(plan.step) + sensitivity[plan.select] / plan.scale
            assert 0.999 < plan.rounds * each / epsilon <= 1 + 1e-9, "budget of epsilon"


def halve_the_sensitivity_of_scores(patch: pytest.MonkeyPatch) -> None:
    """Under replace-one: two queries that move apart are taken for one that moves."""
    patch.setattr(multiplicative_scores, "units_per_range", lambda units, relation: units)


def forget_the_units_of_scores(patch: pytest.MonkeyPatch) -> None:
    """Scores in units of 1/1,024 record, their sensitivity in records."""
    patch.setattr(multiplicative_scores, "units_per_range", lambda units, relation: 1_000)


def double_the_sensitivity_of_scores(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(multiplicative_scores, "units_per_range", lambda units, relation: 4 * units)


def halve_the_sensitivity_of_marginals(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        multiplicative_scores, "score_range", lambda score, relation: score_range(score, relation) // 2
    )


def charge_half_of_the_range(patch: pytest.MonkeyPatch) -> None:
    """Plan and curator agree on an epsilon per selection that is half of what is drawn with."""

    def half(number: int, range_: Decimal, relation: NeighbouringRelation) -> Charge:
        return selection_charge(number, range_ / 2, relation)

    patch.setattr(multiplicative_plan, "selection_charge", half)
    patch.setattr(multiplicative_curator, "selection_charge", half)


def charge_for_twice_the_noise(patch: pytest.MonkeyPatch) -> None:
    def less(
        name: str, sensitivity: int, scale: float, *, gaussian: bool, relation: NeighbouringRelation
    ) -> Charge:
        return measurement_charge(name, sensitivity, 2 * scale, gaussian=gaussian, relation=relation)

    patch.setattr(multiplicative_plan, "measurement_charge", less)
    patch.setattr(multiplicative_curator, "measurement_charge", less)


def charge_one_cell_where_two_move(patch: pytest.MonkeyPatch) -> None:
    def one(
        name: str, sensitivity: int, scale: float, *, gaussian: bool, relation: NeighbouringRelation
    ) -> Charge:
        return measurement_charge(name, 1, scale, gaussian=gaussian, relation=relation)

    patch.setattr(multiplicative_plan, "measurement_charge", one)
    patch.setattr(multiplicative_curator, "measurement_charge", one)


def charge_half_of_rho(patch: pytest.MonkeyPatch) -> None:
    original = ChargeColumns.rho
    patch.setattr(ChargeColumns, "rho", lambda self: original(self) / 2)


def select_with(patch: pytest.MonkeyPatch, change: Callable[[dict[str, object]], None]) -> None:
    """Change the named arguments of every distribution of signed queries."""
    original = SignedQueryDistribution.__init__

    def changed(self: SignedQueryDistribution, counts: object, **rest: object) -> None:
        change(rest)
        original(self, counts, **rest)  # type: ignore[arg-type]

    patch.setattr(SignedQueryDistribution, "__init__", changed)


def select_with_twice_the_range(patch: pytest.MonkeyPatch) -> None:
    select_with(patch, lambda rest: rest.update(range_=2 * Decimal(str(rest["range_"]))))


def score_a_negation_as_minus_its_query(patch: pytest.MonkeyPatch) -> None:
    """Right under replace-one; under add-remove it doubles the sensitivity, since both move at once and apart."""
    select_with(patch, lambda rest: rest.update(rows=rest["size"]))


def count_each_record_twice(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        multiplicative_curator, "exact_counts", lambda *given, **named: 2 * exact_counts(*given, **named)
    )


def add_half_of_the_noise(patch: pytest.MonkeyPatch) -> None:
    original = MultiplicativeCurator.__init__

    def less(self: MultiplicativeCurator, *given: object, **named: object) -> None:
        original(self, *given, **named)  # type: ignore[arg-type]
        self._scale /= 2

    charge = MultiplicativeCurator._measurement_charge

    def usual(self: MultiplicativeCurator, planned: RoundMeasurement) -> Charge:
        self._scale *= 2
        try:
            return charge(self, replace(planned, scale=self._scale))
        finally:
            self._scale /= 2

    patch.setattr(MultiplicativeCurator, "__init__", less)
    patch.setattr(MultiplicativeCurator, "_measurement_charge", usual)


def write_the_charge_before_it_is_spent(patch: pytest.MonkeyPatch) -> None:
    def early(self: MultiplicativeCurator, charge: Charge, **where: int) -> Charge:
        self._on_file(charge, **where)
        self._ledger.spend(charge)
        return charge

    patch.setattr(Door, "_charged", early)


def draw_without_a_charge(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MultiplicativeCurator, "_charged", lambda self, charge, **where: charge)


def draw_a_measurement_twice(patch: pytest.MonkeyPatch) -> None:

    def twice(*given: object, **named: object) -> object:
        with_noise(*given, **named)  # type: ignore[arg-type]
        return with_noise(*given, **named)  # type: ignore[arg-type]

    patch.setattr("dpopt.private.curators.door.with_noise", twice)


def pay_for_whatever_was_recalled(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Door, "_recalled", lambda self, expected, what: expected)


def forget_what_was_drawn(patch: pytest.MonkeyPatch) -> None:
    """A round can be paid for by the reservation of none: the ledger alone stands in the way."""
    patch.setattr(MultiplicativeCurator, "recall", lambda self, charge, **rest: None)


def plan_for_half_of_the_rounds(patch: pytest.MonkeyPatch) -> None:
    original = multiplicative_planning._Maker.costs
    patch.setattr(
        multiplicative_planning._Maker, "costs", lambda self, rounds: original(self, (rounds + 1) // 2)
    )
    patch.setattr(multiplicative_planning, "_refuse_costs_beyond", lambda request, plan: None)


def leave_the_measurements_out_of_the_plan(patch: pytest.MonkeyPatch) -> None:
    original = multiplicative_plan.MultiplicativePlan.charges_of
    patch.setattr(
        multiplicative_plan.MultiplicativePlan, "charges", lambda self: (original(self, 1)[0],) * self.rounds
    )


CHECKS = [
    check_queries,
    check_concentrated,
    check_marginals,
    check_noise,
    check_order_of_events,
    check_nothing_is_drawn_unpaid,
    check_plans_keep_their_budget,
]


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize("check", CHECKS)
def test_without_a_defect_every_check_is_green(check: Check, relation: NeighbouringRelation) -> None:
    check(relation)


@pytest.mark.parametrize(
    ("plant", "check", "relation", "message"),
    [
        (halve_the_sensitivity_of_scores, check_queries, REPLACE, "range .*, charged"),
        (forget_the_units_of_scores, check_queries, ADD_REMOVE, "range .*, charged"),
        (double_the_sensitivity_of_scores, check_queries, REPLACE, "is reached"),
        (double_the_sensitivity_of_scores, check_queries, ADD_REMOVE, "is reached"),
        (halve_the_sensitivity_of_marginals, check_marginals, REPLACE, "range .*, charged"),
        (halve_the_sensitivity_of_marginals, check_marginals, ADD_REMOVE, "range .*, charged"),
        (charge_half_of_the_range, check_queries, REPLACE, "range .*, charged"),
        (charge_half_of_the_range, check_marginals, ADD_REMOVE, "range .*, charged"),
        (charge_for_twice_the_noise, check_noise, REPLACE, "pure loss"),
        (charge_for_twice_the_noise, check_noise, ADD_REMOVE, "pure loss"),
        (charge_one_cell_where_two_move, check_noise, REPLACE, "pure loss"),
        (charge_half_of_rho, check_concentrated, REPLACE, "order|zcdp"),
        (select_with_twice_the_range, check_queries, ADD_REMOVE, "range .*, charged"),
        (score_a_negation_as_minus_its_query, check_queries, ADD_REMOVE, "range .*, charged"),
        (count_each_record_twice, check_queries, REPLACE, "range .*, charged"),
        (add_half_of_the_noise, check_queries, REPLACE, "another scale"),
        (write_the_charge_before_it_is_spent, check_order_of_events, REPLACE, "selection of round 1"),
        (draw_without_a_charge, check_order_of_events, REPLACE, "selection of round 1"),
        (draw_without_a_charge, check_nothing_is_drawn_unpaid, REPLACE, "draw|gaussian"),
        (draw_a_measurement_twice, check_order_of_events, REPLACE, "gaussian"),
        (draw_a_measurement_twice, check_queries, REPLACE, "another number of times"),
        (pay_for_whatever_was_recalled, check_nothing_is_drawn_unpaid, REPLACE, "gaussian"),
        (forget_what_was_drawn, check_nothing_is_drawn_unpaid, REPLACE, "journal"),
        (plan_for_half_of_the_rounds, check_plans_keep_their_budget, ADD_REMOVE, "budget of rho"),
        (leave_the_measurements_out_of_the_plan, check_plans_keep_their_budget, REPLACE, "another number"),
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


def test_a_public_answer_is_never_taken_from_the_records() -> None:
    """The distribution of a selection is a function of counts and public answers; other public answers give another."""
    one = TinyRound(((0, 1), (1, 1)), tiny_plan(REPLACE, rounds=2), CLAUSES)
    first = one.distribution_of_queries(public_answers(3))
    second = one.distribution_of_queries(np.zeros(3, dtype=np.int64), number=2)
    assert first != second
