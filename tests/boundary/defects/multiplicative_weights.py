"""Planted defects of the private side of pmw and mwem."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.multiplicative_weights import algorithm as multiplicative_algorithm
from dpopt.algorithms.multiplicative_weights import plan as multiplicative_plan
from dpopt.algorithms.multiplicative_weights import planning as multiplicative_planning
from dpopt.algorithms.multiplicative_weights.algorithm import MultiplicativeAlgorithm
from dpopt.algorithms.multiplicative_weights.plan import MultiplicativePlan
from dpopt.algorithms.options import MARGINALS, MWEM, PMW, QUERIES, PlanRequest
from dpopt.private.curators import multiplicative_curator
from dpopt.private.curators.multiplicative_curator import MultiplicativeCurator
from dpopt.private.measurements import noisy_counts
from dpopt.private.measurements.noisy_counts import NamedNoise
from dpopt.private.selections.query_selection import QuerySelection
from dpopt.queries.workloads.workload import parse_workload
from tests.boundary.planted import (
    ADD,
    BOTH,
    REP,
    Mechanism,
    Plant,
    attempt,
    charge_half_of_rho,
    charge_half_of_the_range,
    check_share,
    defect,
    draw_noise_twice,
    is_reached,
    label_of,
    named,
    pay_for_whatever_was_recalled,
    several,
    spending,
    wrap,
    write_the_charge_before_it_is_spent,
)
from tests.tiny_measuring import SCHEMA, marginals
from tests.tiny_multiplicative import CLAUSES, RoundGame, TinyRound, check_round, public_answers, tiny_plan
from tests.tiny_runs import REPLACE

make_multiplicative_plan = MultiplicativeAlgorithm().plan

WHOLE = marginals([0], [0, 1])
TABLE = ((0, 1), (1, 1))


def check_queries(relation: NeighbouringRelation) -> None:
    """Neither the range of a selection nor the loss of a round exceeds what the ledger says; nearly all of it is reached."""
    ranges, _ = check_round(RoundGame(tiny_plan(relation, range_="3", gaussian=False), CLAUSES.take([0, 1])))
    is_reached(ranges, "0.99", "of the range")


def check_concentrated(relation: NeighbouringRelation) -> None:
    """As before, where Renyi divergences come close to the charged rho."""
    check_round(RoundGame(tiny_plan(relation, range_="0.2", scale=8.0), CLAUSES.take([0, 1])))


def check_marginals(relation: NeighbouringRelation) -> None:
    """The same of marginals, by both scores."""
    for score in ("l1", "max"):
        plan = tiny_plan(relation, select=MARGINALS, range_="3", gaussian=False)
        is_reached(check_round(RoundGame(plan, WHOLE, score))[0], "0.6", "of the range")


def check_noise(relation: NeighbouringRelation) -> None:
    """As before, of rounds that cost little beside their measurement."""
    for select, queries in ((QUERIES, CLAUSES.take([0])), (MARGINALS, WHOLE)):
        plan = tiny_plan(relation, select=select, range_="0.1", scale=0.8, gaussian=False)
        check_round(RoundGame(plan, queries))


def check_order_of_events(relation: NeighbouringRelation) -> None:
    """Spent, then on file as spent, then drawn, then on file as drawn; for selection and measurement, once each."""
    one = TinyRound(TABLE, tiny_plan(relation, rounds=2), CLAUSES)
    with spending(one.events, label_of):
        one.distribution_of_queries(public_answers(3))
        one.curator.measure(0, round=1)
    assert one.events == [
        *["selection of round 1", "journal charge", "draw", "journal query selection"],
        *["round 1", "journal charge", "gaussian", "journal measurement"],
    ]


def check_nothing_is_drawn_unpaid(relation: NeighbouringRelation) -> None:
    """A round draws once, on resuming too, and no more rounds draw than were planned."""
    plan, public = tiny_plan(relation, rounds=2), public_answers(3)
    one = TinyRound(TABLE, plan, CLAUSES)
    curator, (first, second) = one.curator, (plan.charges_of(1), plan.charges_of(2))
    attempt(
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
    )
    assert one.events == ["gaussian", "journal measurement"]


def check_plans_keep_their_budget(relation: NeighbouringRelation) -> None:
    """Selections and measurements of all rounds cost the budget at most, and nearly all of it."""
    workload, rho, epsilon = parse_workload("marginals:2", SCHEMA), 0.02, 0.7
    sensitivity = {QUERIES: 1, MARGINALS: 2 if relation is REPLACE else 1}
    concentrated, pure = (Budget(None, 1e-9, rho, Accountant.ZCDP), Budget(epsilon, 0.0, None, Accountant.PURE))
    for asked in (kind(rounds=rounds) for kind in (PMW, MWEM) for rounds in (None, 12)):
        plan = make_multiplicative_plan(PlanRequest(5_000, relation, concentrated, asked), workload)
        each = float(plan.step) ** 2 / 8 + sensitivity[plan.select] / (2 * plan.scale**2)
        assert len(plan.charges()) == 2 * plan.rounds, "charges of another number of rounds"
        check_share("rho", plan.rounds * each / rho)
        plan = make_multiplicative_plan(PlanRequest(5_000, relation, pure, asked), workload)
        each = float(plan.step) + sensitivity[plan.select] / plan.scale
        check_share("epsilon", plan.rounds * each / epsilon)


def check_a_public_answer_is_never_taken_from_the_records(relation: NeighbouringRelation) -> None:
    """The distribution of a selection is a function of counts and public answers; other public answers give another."""
    one = TinyRound(TABLE, tiny_plan(relation, rounds=2), CLAUSES)
    first = one.distribution_of_queries(public_answers(3))
    assert first != one.distribution_of_queries(np.zeros(3, dtype=np.int64), number=2)


def units_of_scores(change: Any) -> Plant:
    return wrap(multiplicative_curator, "once_or_twice", lambda usual, units, relation: change(units))


def charges_of_measurements(change: Any) -> Plant:
    """Return a plant under which plan and curator charge for another sensitivity and scale."""
    return wrap(
        [multiplicative_plan, noisy_counts],
        "measurement_charge",
        lambda usual, name, sensitivity, scale, **more: usual(name, *change(sensitivity, scale), **more),
    )


def less_noise(usual: Any, self: MultiplicativeCurator, *given: Any, **more: Any) -> None:
    usual(self, *given, **more)
    self._scale /= 2


def charged_as_usual(usual: Any, self: MultiplicativeCurator, planned: NamedNoise) -> Charge:
    self._scale *= 2
    try:
        charge: Charge = usual(self, replace(planned, scale=self._scale))
    finally:
        self._scale /= 2
    return charge


RANGE, PURE, ORDER = "range .*, charged", "pure loss", check_order_of_events
UNPAID, PLANS = check_nothing_is_drawn_unpaid, check_plans_keep_their_budget
MULTIPLICATIVE = Mechanism(
    [
        check_queries, check_concentrated, check_marginals, check_noise, check_order_of_events,
        check_nothing_is_drawn_unpaid, check_plans_keep_their_budget,
        check_a_public_answer_is_never_taken_from_the_records,
    ],
    {
        # Under replace-one: two queries that move apart are taken for one that moves.
        "halve the sensitivity of scores": defect(units_of_scores(lambda units: units), (check_queries, REP, RANGE)),
        # Scores in units of 1/1,024 record, their sensitivity in records.
        "forget the units of scores": defect(units_of_scores(lambda units: 1_000), (check_queries, ADD, RANGE)),
        "double the sensitivity of scores": defect(
            units_of_scores(lambda units: 4 * units), (check_queries, BOTH, "is reached")
        ),
        "halve the sensitivity of marginals": defect(
            wrap(multiplicative_curator, "score_range", lambda usual, *given: usual(*given) // 2),
            (check_marginals, BOTH, RANGE),
        ),
        "charge half of the range": defect(
            charge_half_of_the_range(multiplicative_plan), (check_queries, REP, RANGE), (check_marginals, ADD, RANGE)
        ),
        "charge for twice the noise": defect(
            charges_of_measurements(lambda sensitivity, scale: (sensitivity, 2 * scale)), (check_noise, BOTH, PURE)
        ),
        "charge one cell where two move": defect(
            charges_of_measurements(lambda sensitivity, scale: (1, scale)), (check_noise, REP, PURE)
        ),
        "charge half of rho": defect(charge_half_of_rho, (check_concentrated, REP, "order|zcdp")),
        "select with twice the range": defect(
            named(QuerySelection, "__init__", range_=lambda range_: 2 * Decimal(str(range_))),
            (check_queries, ADD, RANGE),
        ),
        # Right under replace-one; under add-remove it doubles the sensitivity, since both move at once and apart.
        "score a negation as minus its query": defect(
            wrap(
                QuerySelection,
                "__init__",
                lambda usual, *given, **more: usual(*given, **{**more, "rows": more["size"]}),
            ),
            (check_queries, ADD, RANGE),
        ),
        "count each record twice": defect(
            wrap(multiplicative_curator, "exact_counts", lambda usual, *given, **more: 2 * usual(*given, **more)),
            (check_queries, REP, RANGE),
        ),
        "add half of the noise": defect(
            several(
                wrap(MultiplicativeCurator, "__init__", less_noise),
                wrap(MultiplicativeCurator, "_measurement_charge", charged_as_usual),
            ),
            (check_queries, REP, "another scale"),
        ),
        "write the charge before it is spent": defect(
            write_the_charge_before_it_is_spent, (ORDER, REP, "selection of round 1")
        ),
        "draw without a charge": defect(
            wrap(MultiplicativeCurator, "_charged", lambda usual, self, charge, **where: charge),
            (ORDER, REP, "selection of round 1"),
            (UNPAID, REP, "draw|gaussian"),
        ),
        "draw a measurement twice": defect(
            draw_noise_twice, (ORDER, REP, "gaussian"), (check_queries, REP, "another number of times")
        ),
        "pay for whatever was recalled": defect(pay_for_whatever_was_recalled, (UNPAID, REP, "gaussian")),
        # A round can be paid for by the reservation of none: the ledger alone stands in the way.
        "forget what was drawn": defect(
            wrap(MultiplicativeCurator, "recall", lambda usual, *given, **more: None), (UNPAID, REP, "journal")
        ),
        "plan for half of the rounds": defect(
            several(
                wrap(
                    multiplicative_planning.Maker, "costs", lambda usual, self, rounds: usual(self, (rounds + 1) // 2)
                ),
                wrap(multiplicative_algorithm, "refuse_costs_beyond", lambda usual, *given: None),
            ),
            (PLANS, ADD, "budget of rho"),
        ),
        "leave the measurements out of the plan": defect(
            wrap(MultiplicativePlan, "charges", lambda usual, self: (self.charges_of(1)[0],) * self.rounds),
            (PLANS, REP, "another number"),
        ),
    },
)  # fmt: skip
