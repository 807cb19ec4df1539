from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import ChargeKind
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery.driver import BestResponder, run
from dpopt.algorithms.dualquery.free_attributes import FreeAttributeRule
from dpopt.algorithms.dualquery.plan import DqrsPlan, DualQueryPlan
from dpopt.algorithms.dualquery.planning import make_dqrs_plan
from dpopt.algorithms.options import DQRS, PlanRequest
from dpopt.errors import PlanError
from dpopt.private.curators.dualquery_curator import DqrsCurator, signed_queries
from dpopt.private.mechanisms.randomness import SeededWords
from dpopt.private.selections.query_weights import ExactSampler
from dpopt.programs.results import SolveLimits
from dpopt.queries.counting.kernels import count_on_records
from dpopt.releases.kept_records import Round
from dpopt.releases.plan import Encoding, FreeAttributes
from dpopt.releases.run import Walk
from dpopt.solvers.registry import get_solver
from dpopt.transcript.journal import MemoryJournal
from tests.algorithms.test_fem import SCHEMA, TABLE, WORKLOAD, N
from tests.tiny_runs import ADD_REMOVE, REPLACE, dataset_of

BUDGET = Budget(1.0, 1e-9, None, Accountant.ZCDP)
AMPLE = Budget(1e9, 1e-9, None, Accountant.ZCDP)


def plan_of(rounds: int = 30, draws: int = 60) -> DqrsPlan:
    return DqrsPlan(
        rounds=rounds,
        draws=draws,
        step=Decimal("0.5"),
        size=N,
        relation=REPLACE,
        budget=AMPLE,
        attributes=len(SCHEMA),
    )


def game_of(plan: DqrsPlan, seed: int) -> tuple[DqrsCurator, BestResponder, MemoryJournal, Ledger]:
    ledger, journal = Ledger(plan.budget, plan.relation), MemoryJournal()
    ledger.reserve(plan.charges())
    curator = DqrsCurator(
        dataset_of(SCHEMA, TABLE),
        WORKLOAD.clauses,
        ledger,
        journal,
        size=plan.size,
        step=plan.step,
        margin=plan.margin,
        sampler=ExactSampler(SeededWords(seed)),
        words=SeededWords(seed + 1),
    )
    search = get_solver("local-search")
    responder = BestResponder(
        clauses=WORKLOAD.clauses,
        sizes=SCHEMA.sizes,
        solver=search,
        fallback=search,
        limits=SolveLimits(work=100),
        free_attributes=FreeAttributeRule(FreeAttributes.FIRST, SCHEMA, Encoding.RECORDS, seed=0),
    )
    return curator, responder, journal, ledger


def played(plan: DqrsPlan) -> tuple[list[Round], MemoryJournal, Ledger]:
    curator, responder, journal, ledger = game_of(plan, 1)
    return run(Walk(ledger, curator, journal), plan, responder), journal, ledger


def test_queries_are_kept_and_the_records_answer_the_workload() -> None:
    plan = plan_of(60, 100)
    rounds, _, ledger = played(plan)
    assert [charge for charge in ledger.entries if charge.label] == list(plan.charges())
    held = [signed_queries(done.sampled) for done in rounds]
    shared = [
        sum(min(int(np.sum(one == q)), int(np.sum(two == q))) for q in np.unique(one))
        for one, two in pairwise(held[40:])
    ]
    # A kept query has probability exp(0.5 (A - 1) - 0.05); |A| is near 0 for most, so about 0.58.
    assert 0.4 < np.mean(shared) / 100 < 0.9
    clauses = WORKLOAD.clauses
    truth = count_on_records(clauses, np.array(TABLE, dtype=np.int32), SCHEMA.sizes) / N
    records = np.stack([done.record for done in rounds])
    found = count_on_records(clauses, records, SCHEMA.sizes) / len(records)
    assert np.abs(found - truth).max() < 0.15


@pytest.mark.parametrize(
    "budget", [BUDGET, Budget(0.2, 1e-9, None, Accountant.ZCDP), Budget(None, 1e-9, 0.02, Accountant.ZCDP)]
)
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_a_plan_uses_the_budget_up_and_no_more(budget: Budget, relation: NeighbouringRelation) -> None:
    plan = make_dqrs_plan(PlanRequest(30_000, relation, budget, DQRS()), WORKLOAD)
    assert budget.allows(plan.charges())
    assert not budget.allows(replace(plan, rounds=plan.rounds + 2).charges())
    assert plan.margin == plan.step / 10
    assert DqrsPlan.from_json(plan.to_json()) == plan
    assert plan.algorithm == "dqrs"
    kinds = {charge.kind for charge in plan.charges()}
    assert kinds == {ChargeKind.BOUNDED_RANGE, ChargeKind.CONCENTRATED}


def test_a_plan_of_the_same_numbers_costs_less_than_dualquery() -> None:
    plan = make_dqrs_plan(PlanRequest(30_000, REPLACE, BUDGET, DQRS()), WORKLOAD)
    fields = {k: v for k, v in plan.to_json().items() if k != "margin"}
    same = DualQueryPlan.from_json({**fields, "algorithm": "dualquery"})
    assert plan.budget.spent(plan.charges()).rho < 0.9 * plan.budget.spent(same.charges()).rho


def test_numbers_that_are_given_are_kept_and_open_ones_fitted() -> None:
    request = PlanRequest(30_000, ADD_REMOVE, BUDGET, DQRS(rounds=50))
    plan = make_dqrs_plan(request, WORKLOAD)
    assert plan.rounds == 50
    assert not BUDGET.allows(replace(plan, draws=plan.draws + 3).charges())
    plan = make_dqrs_plan(
        PlanRequest(30_000, ADD_REMOVE, BUDGET, DQRS(draws=64, step=Decimal("0.3"))), WORKLOAD
    )
    assert (plan.draws, plan.step) == (64, Decimal("0.3"))
    plan = make_dqrs_plan(PlanRequest(30_000, ADD_REMOVE, BUDGET, DQRS(draws=9, rounds=7)), WORKLOAD)
    assert (plan.draws, plan.rounds, plan.chosen_by) == (9, 7, "given")
    with pytest.raises(PlanError, match="more than epsilon"):
        make_dqrs_plan(PlanRequest(300, ADD_REMOVE, BUDGET, DQRS(draws=900, rounds=700)), WORKLOAD)


def test_a_measured_share_is_taken_from_the_rounds() -> None:
    request = PlanRequest(30_000, ADD_REMOVE, BUDGET, DQRS(free_attributes="estimated"))
    plan = make_dqrs_plan(request, WORKLOAD)
    assert plan.one_way is not None
    assert BUDGET.allows(plan.charges())
    assert len(plan.charges()) == plan.rounds + 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step": Decimal(9)}, "too large for dqrs"),
        ({"margin": Decimal("1e-12")}, "margin c"),
        ({"margin": Decimal("NaN")}, "margin c"),
        ({"budget": Budget(1.0, 0.0, None, Accountant.PURE)}, "zcdp alone"),
    ],
)
def test_what_cannot_be_played_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        replace(plan_of(), **change)  # type: ignore[arg-type]


def test_a_budget_too_small_for_two_rounds_is_refused() -> None:
    with pytest.raises(PlanError, match="too small for two rounds"):
        make_dqrs_plan(PlanRequest(50, REPLACE, Budget(None, 1e-9, 1e-9, Accountant.ZCDP), DQRS()), WORKLOAD)
