from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from dpopt.accounting.accountants import COMPARED, Accountant, costs
from dpopt.accounting.dualquery import run_columns
from dpopt.accounting.ledger import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery.accuracy import log_universe, parameters_for_accuracy
from dpopt.algorithms.dualquery.plan import OneWayMeasurement
from dpopt.algorithms.explain import explain, explain_accuracy
from dpopt.errors import AccountingError, PlanError
from dpopt.releases.plan import FreeAttributes
from tests.algorithms.small_runs import ADD_REMOVE, REPLACE, plan, workload

WORKLOAD = workload()


def explained(**changes: Any) -> dict[str, Any]:
    usual = {"size": 10_000, "relation": REPLACE, "epsilon": 1.0, "delta": 1e-6}
    return explain_accuracy(
        changes.pop("accuracy", 0.2), changes.pop("confidence", 0.95), WORKLOAD, **{**usual, **changes}
    )


@pytest.mark.parametrize("relation", [REPLACE, ADD_REMOVE], ids=lambda relation: str(relation.value))
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_the_size_needed_is_enough_and_a_thousandth_less_is_not(epsilon: float, relation: NeighbouringRelation) -> None:
    found = explained(epsilon=epsilon, relation=relation)
    assert [row["accountant"] for row in found["accountants"]] == [one.value for one in COMPARED]
    run = found["rounds"], found["draws"], float(found["step"])
    for row, composition in zip(found["accountants"], COMPARED, strict=True):
        charged = [
            run_columns(*run, size, relation).epsilon(composition, row["delta"])
            for size in (row["size_needed"], math.floor(row["size_needed"] * 0.999))
        ]
        assert charged[0] <= epsilon < charged[1]


def test_the_paper_s_parameters_are_explained_with_what_they_cost_at_the_size() -> None:
    found = explained(accuracy=0.15, confidence=0.9)
    rounds, draws, step = parameters_for_accuracy(
        0.15, failure=1 - 0.9, queries=len(WORKLOAD), log_universe=log_universe(WORKLOAD.schema)
    )
    assert (found["rounds"], found["draws"], Decimal(found["step"])) == (rounds, draws, step)
    assert found["accountants"] == [
        {**row, "size_needed": found["accountants"][place]["size_needed"]}
        for place, row in enumerate(costs(run_columns(rounds, draws, float(step), 10_000, REPLACE).epsilon, 1e-6))
    ]
    assert found["sharpened_bound_of_the_same_parameters"] < 0.15
    assert found["solver_gap_allowed"] == 0.15 / 4


def test_a_delta_that_the_gaussian_accountant_refuses_leaves_the_others() -> None:
    rows = {row["accountant"]: row for row in explained(delta=1e-12)["accountants"]}
    assert rows["gdp"]["epsilon"] is None
    assert rows["gdp"]["size_needed"] is None
    assert "expected at least 1e-9" in rows["gdp"]["refused"]
    assert all(rows[name]["size_needed"] > 0 for name in ("pure", "theorem", "per-round", "zcdp"))


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"epsilon": -1.0}, AccountingError, "epsilon of a budget: found -1.0"),
        ({"delta": 2.0}, AccountingError, "delta of a budget: found 2.0"),
        ({"delta": 0.0}, AccountingError, "delta of a budget: found 0.0"),
        ({"size": 0}, PlanError, "the public size must be a whole number of at least 1, found 0"),
        ({"accuracy": 1.5}, PlanError, "the largest error allowed: found 1.5"),
        ({"confidence": 1.0}, PlanError, "the failure probability"),
        ({"accuracy": 0.001}, PlanError, "more than the 1,000,000 rounds that are possible"),
    ],
)
def test_a_wish_that_cannot_be_met_is_refused(changes: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        explained(**changes)


def test_an_epsilon_of_nearly_zero_needs_more_records_than_there_are() -> None:
    assert {row["size_needed"] for row in explained(epsilon=1e-300)["accountants"][1:3]} == {None}


def test_a_cost_beyond_every_number_is_no_figure() -> None:
    rows = {row["accountant"]: row for row in costs(run_columns(1000, 1000, 1e5, 1, REPLACE).epsilon, 1e-6)}
    assert rows["theorem"]["epsilon"] is None
    assert rows["theorem"]["refused"] == "beyond the largest floating-point number"
    assert all(math.isfinite(row["epsilon"]) for row in rows.values() if row["epsilon"] is not None)


@pytest.mark.parametrize("estimated", [False, True])
def test_a_plan_is_explained_with_the_figures_of_the_ledger(estimated: bool) -> None:
    budget = Budget(5.0, 1e-6, None, Accountant.GDP)
    extra: dict[str, Any] = {}
    if estimated:
        extra = {"free_attributes": FreeAttributes.ESTIMATED, "one_way": OneWayMeasurement(300.0, gaussian=False)}
    made = plan(budget=budget, size=10_000, **extra)
    statement = {"proven": {"bound": 0.5}, "predicted": None, "versions": {}}
    found = explain(made, WORKLOAD, statement)
    spent = budget.spent(made.charges())
    assert (found["epsilon"], found["delta"], found["rho"]) == (spent.epsilon, 1e-6, spent.rho)
    used = [row for row in found["accountants"] if row["used"]]
    assert [(row["accountant"], row["epsilon"]) for row in used] == [("gdp", spent.epsilon)]
    assert found["accuracy"] == {"proven": {"bound": 0.5}, "predicted": None}
    assert found["queries"] == len(WORKLOAD)
    assert found["workload_fingerprint"] == WORKLOAD.fingerprint
