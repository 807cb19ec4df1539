"""Plans that are not accurate enough: every number that the refusal names was planned, does, and a little less does not."""

from __future__ import annotations

import re

import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.errors import PlanError
from dpopt.synopses.summaries.error_goals import refuse_inaccurate
from dpopt.synopses.summaries.summary_plan import SummaryPlan, plan_summary
from tests.synopses.summaries.test_summary_plan import bits

BUDGETS = {
    "rho": Budget(None, 1e-9, 0.1, Accountant.ZCDP),
    "epsilon and delta": Budget(1.0, 1e-6, None, Accountant.ZCDP),
    "epsilon": Budget(1.0, 0.0, None, Accountant.PURE),
}
SIZE, WIDTH, ERROR = 3000, 3, 0.02


def planned(budget: Budget, *, size: int = SIZE, width: int = WIDTH) -> SummaryPlan:
    return plan_summary(bits(8), width, budget, size=size)


def scaled(budget: Budget, amount: float) -> Budget:
    if budget.rho is not None:
        return Budget(None, budget.delta, amount, budget.accountant)
    return Budget(amount, budget.delta, None, budget.accountant)


@pytest.mark.parametrize("name", BUDGETS)
def test_the_numbers_that_are_named_do_and_smaller_ones_do_not(name: str) -> None:
    budget = BUDGETS[name]
    with pytest.raises(PlanError) as refused:
        refuse_inaccurate(planned(budget), ERROR)
    text = str(refused.value)
    assert text.startswith("n = 3,000 is too small for the error 0.02: queries of k = 3 conditions")
    records = re.search(r"n = ([\d,]+) is sufficient", text)
    amount = re.search(r"(?:rho|epsilon) = ([\d.e+-]+) for this n", text)
    assert records is not None
    assert amount is not None
    found = int(records[1].replace(",", ""))
    assert planned(budget, size=found).predicted <= ERROR
    assert planned(budget, size=int(0.998 * found)).predicted > ERROR
    enough = float(amount[1])
    assert planned(scaled(budget, enough)).predicted <= ERROR
    assert planned(scaled(budget, 0.98 * enough)).predicted > ERROR
    width = re.search(r"k = (\d) at this budget and this n", text)
    does = [k for k in (1, 2) if planned(budget, width=k).predicted <= ERROR]
    assert (None if width is None else int(width[1])) == (max(does) if does else None)


def test_what_is_accurate_enough_is_not_refused() -> None:
    plan = planned(BUDGETS["rho"])
    refuse_inaccurate(plan, plan.predicted)


def test_a_polynomial_that_is_off_by_more_needs_fewer_conditions() -> None:
    """Conjunctions of all 16 are too many to be counted: no number of records is sufficient."""
    plan = plan_summary(bits(200), 8, BUDGETS["rho"], size=10**7)
    assert plan.sizes[-1] < 8
    with pytest.raises(PlanError) as refused:
        refuse_inaccurate(plan, 1e-4)
    assert "sufficient at this budget" not in str(refused.value)


@pytest.mark.parametrize("error", [0.0, -1.0, float("nan"), float("inf")])
def test_errors_that_are_none_are_refused(error: float) -> None:
    with pytest.raises(PlanError, match="expected a share of the records above 0"):
        refuse_inaccurate(planned(BUDGETS["rho"]), error)
