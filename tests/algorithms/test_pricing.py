"""T, s and eta without a budget: what they cost is stated, and is the budget of plan and release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dpopt
from dpopt.accounting.accountants import AdvancedComposition, Composition
from dpopt.accounting.dualquery import run_columns
from dpopt.errors import BudgetError, DpoptError, PlanError
from tests.algorithms.small_runs import ADD_REMOVE, REPLACE, ROWS, SCHEMA, Heard, write_table

NUMBERS: Any = {"algorithm": "dualquery", "rounds": 6, "draws": 8, "step": "1.2", "predict": False}


def planned(**more: Any) -> dpopt.Planned:
    return dpopt.plan(SCHEMA, "marginals:2", **{**NUMBERS, "n0": ROWS, "delta": 1e-3, **more})


def test_each_theorem_has_its_figure_and_that_of_the_accountant_is_the_budget() -> None:
    found = planned()
    by_name = {row["accountant"]: row for row in found.explained["accountants"]}
    theorems: list[Composition] = [*dpopt.Accountant, *AdvancedComposition]
    for one in theorems:
        own = run_columns(6, 8, 1.2, ROWS, ADD_REMOVE).epsilon(one, 1e-3)
        assert by_name[one.value]["epsilon"] == own
        assert by_name[one.value]["theorem"]
    assert (
        found.plan.budget.epsilon == by_name["zcdp"]["epsilon"] == found.plan.budget.spent(found.plan.charges()).epsilon
    )
    assert found.request.terms.values_share == 0


@pytest.mark.parametrize(
    ("terms", "accountant", "delta"),
    [
        ({"delta": 0}, dpopt.Accountant.PURE, 0.0),
        ({"accountant": "gdp", "delta": 1e-3}, dpopt.Accountant.GDP, 1e-3),
        ({"delta": None}, dpopt.Accountant.ZCDP, 1e-6),
    ],
)
def test_the_budget_is_by_the_accountant_and_the_delta_that_are_asked_for(
    terms: dict[str, Any], accountant: dpopt.Accountant, delta: float
) -> None:
    budget = planned(**terms).plan.budget
    assert (budget.accountant, budget.delta) == (accountant, delta)
    assert budget.epsilon == run_columns(6, 8, 1.2, ROWS, ADD_REMOVE).epsilon(accountant, delta or 0.5)


def test_persons_and_replace_one_cost_what_their_theorems_say() -> None:
    grouped = planned(person="p", rows_per_person=3, n0_counted=True).plan.budget
    assert grouped.epsilon == run_columns(6, 8, 1.2, ROWS, ADD_REMOVE, group=3).epsilon(grouped.accountant, 1e-3)
    replaced = planned(n0=None, n=ROWS, neighbours="replace").plan.budget
    assert replaced.epsilon == run_columns(6, 8, 1.2, ROWS, REPLACE).epsilon(replaced.accountant, 1e-3)


def test_a_release_takes_the_plan_and_charges_what_it_states(tmp_path: Path) -> None:
    table, found, heard = write_table(tmp_path), planned(), Heard()
    found.save(tmp_path / "plan.json")
    made = dpopt.release(table, plan=tmp_path / "plan.json")
    own = dpopt.release(table, SCHEMA, "marginals:2", progress=heard, **NUMBERS, n0=ROWS, delta=1e-3)
    for one in (made, own):
        assert one.ledger.spent().epsilon == found.plan.budget.epsilon == one.statement["privacy"]["epsilon"]
    stated = next(number for number, note in enumerate(heard.notes) if note.startswith("no budget is given: T = 6"))
    assert stated == 0
    assert heard.stages[0] == "reading the table"


def test_an_owners_budget_that_does_not_cover_the_cost_refuses_before_anything_is_made(tmp_path: Path) -> None:
    ledger = dpopt.BudgetLedger.create(tmp_path / "budget.json", epsilon=1e-3, delta=1e-3)
    asked: Any = {**NUMBERS, "n0": ROWS, "delta": 1e-3, "budget": ledger, "out": tmp_path / "out"}
    with pytest.raises(BudgetError):
        dpopt.release(write_table(tmp_path), SCHEMA, "marginals:2", **asked)
    assert not (tmp_path / "out").exists()
    assert ledger.contents().releases == ()


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"n0": None, "n": ROWS}, "number of records: declare a public one by n0"),
        ({"values_share": 0.1}, "values_share= takes a share of a budget"),
        ({"free_attributes": "estimated"}, "free_attributes= estimated takes a share of a budget"),
        ({"draws": None}, "found no budget: give .* or give all three"),
        ({"rounds": None, "draws": None, "step": None}, "found no budget"),
        ({"rounds": 1}, "cost nothing, and do not depend on the records"),
    ],
)
def test_what_has_no_cost_of_its_own_is_refused(terms: dict[str, Any], message: str) -> None:
    with pytest.raises(DpoptError, match=message):
        planned(**terms)


def test_a_budget_that_is_given_stays(tmp_path: Path) -> None:
    assert planned(epsilon=5).plan.budget.epsilon == 5
    with pytest.raises(PlanError, match="more than"):
        planned(epsilon=1e-4)
