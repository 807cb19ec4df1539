from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.fem.algorithm import FemAlgorithm
from dpopt.algorithms.fem.plan import FemPlan
from dpopt.algorithms.options import FEM, PlanRequest
from dpopt.errors import PlanError
from dpopt.queries.workloads.workload import parse_workload
from tests.algorithms.test_fem import SCHEMA, plan_of

make_fem_plan = FemAlgorithm().plan

WORKLOAD = parse_workload("marginals:2", SCHEMA)
REPLACE, ADD_REMOVE = NeighbouringRelation.REPLACE_ONE, NeighbouringRelation.ADD_REMOVE
BUDGETS = [
    Budget(1.0, 1e-9, None, Accountant.ZCDP),
    Budget(None, 1e-9, 0.01, Accountant.ZCDP),
    Budget(1.0, 0.0, None, Accountant.PURE),
    Budget(1.0, 1e-6, None, Accountant.GDP),
    Budget(0.01, 1e-9, None, Accountant.ZCDP),
]


def request_of(budget: Budget, **options: Any) -> PlanRequest[FEM]:
    return PlanRequest(40_000, ADD_REMOVE, budget, FEM(**options))


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_plan_uses_the_budget_up_and_no_more(budget: Budget) -> None:
    plan = make_fem_plan(request_of(budget), WORKLOAD)
    assert budget.allows(plan.charges())
    wider = replace(plan, selection_range=plan.selection_range * Decimal("1.0001"))
    assert not budget.allows(wider.charges())
    assert plan.algorithm == FEM.algorithm
    assert FemPlan.from_json(plan.to_json()) == plan


def test_more_budget_means_more_rounds_and_replace_one_fewer() -> None:
    rounds = [
        make_fem_plan(request_of(Budget(epsilon, 1e-9, None, Accountant.ZCDP)), WORKLOAD).rounds
        for epsilon in (0.01, 0.1, 1.0)
    ]
    assert rounds == sorted(rounds)
    assert rounds[0] < rounds[-1]
    budget = Budget(0.05, 1e-9, None, Accountant.ZCDP)
    both = [
        make_fem_plan(replace(request_of(budget), relation=relation), WORKLOAD).rounds
        for relation in (REPLACE, ADD_REMOVE)
    ]
    assert both[0] < both[1]


def test_rounds_and_records_given_are_kept() -> None:
    plan = make_fem_plan(request_of(BUDGETS[0], rounds=33, draws=9, work=70, seed=4), WORKLOAD)
    assert (plan.rounds, plan.records, plan.work, plan.seed, plan.kept_from) == (33, 9, 70, 4, 17)


def test_no_budget_is_refused() -> None:
    with pytest.raises(PlanError, match="too small"):
        make_fem_plan(request_of(Budget(0.0, 0.0, None, Accountant.PURE)), WORKLOAD)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"algorithm": "dualquery"}, "expected fem, found"),
        ({"rounds": 0}, "number of rounds"),
        ({"records": 10**6}, "at most"),
        ({"kept_from": 99}, "first batch"),
        ({"selection_range": Decimal(0)}, "range eps0"),
        ({"selection_range": Decimal("NaN")}, "range eps0"),
        ({"scale": 0.0}, "scale lambda"),
        ({"seed": -1}, "seed"),
        ({"work": 0}, "work"),
    ],
)
def test_numbers_out_of_range_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        replace(plan_of(), **change)  # type: ignore[arg-type]
