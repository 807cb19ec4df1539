"""Plans of decision lists: what they predict, what they refuse, what they cost, and what is read back."""

from __future__ import annotations

from dataclasses import replace
from math import comb, inf, log, sqrt
from typing import Any

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import DpoptError, PlanError, PolynomialError, SolverUnavailableError
from dpopt.synopses.decision_lists import list_plan
from dpopt.synopses.decision_lists.list_plan import ListPlan, largest_size, plan_lists
from tests.synopses.summaries.tiny_summaries import PURE, RHO
from tests.tiny_lists import family_of
from tests.tiny_runs import ADD_REMOVE, REPLACE


@pytest.mark.parametrize("budget", [RHO, PURE])
@pytest.mark.parametrize("relation", list(NeighbouringRelation))
@pytest.mark.parametrize("kind", ["lists", "disjunctions", "conjunctions"])
def test_a_plan_costs_its_budget(kind: str, relation: NeighbouringRelation, budget: Budget) -> None:
    plan = plan_lists(family_of(8, 4, kind), budget, size=20_000, relation=relation)
    ledger = Ledger(budget, relation)
    ledger.reserve(plan.charges())
    total = sum(charge.parameter for charge in plan.charges())
    amount = 0.1 if budget is RHO else 1.0
    assert 0.999 * amount < total <= amount
    assert plan.points == 2**8


def test_gaussian_noise_is_spread_for_the_least_variance() -> None:
    """No move of budget from one size to another lowers the standard deviation of an answer."""
    plan = plan_lists(family_of(10, 4), RHO, size=50_000)
    costs = np.array([charge.parameter for charge in plan.charges()])
    variances = np.array([comb(10, j) for j in plan.sizes]) * plan.shares**2
    for one in range(len(costs)):
        for other in range(len(costs)):
            sensitivity = costs.copy()
            step = 0.01 * min(costs[one], costs[other])
            sensitivity[one] += step
            sensitivity[other] -= step
            assert (variances * costs / sensitivity).sum() >= variances.sum() * (1 - 1e-9)
    zeta = sqrt(2 * log(2 * 2**10 / 0.05))
    assert plan.noise(0.05, 2**10) == pytest.approx(zeta * sqrt(variances.sum()))


@pytest.mark.parametrize("budget", [RHO, PURE])
def test_more_rows_more_budget_and_fewer_points_are_never_worse(budget: Budget) -> None:
    family = family_of(9, 4)
    found = [plan_lists(family, budget, size=size).predicted for size in (1_000, 10_000, 300_000)]
    assert found == sorted(found, reverse=True)
    assert found[-1] < 0.05
    few = plan_lists(family, budget, size=10_000, points=1)
    assert few.predicted < found[1]


@pytest.mark.parametrize("budget", [RHO, PURE])
def test_a_constant_is_the_worst_that_is_planned(budget: Budget) -> None:
    """One half for disjunctions that do not pay, and the noise of a single count; lists always count their first bits."""
    constant = plan_lists(family_of(12, 6, "disjunctions"), budget, size=100)
    assert constant.sizes == (0,)
    assert constant.approximation == pytest.approx(0.5)
    assert constant.predicted < 0.5 + 0.13
    assert constant.predicted < plan_lists(family_of(12, 6), budget, size=100).predicted < 1


def test_disjunctions_have_less_error_than_lists() -> None:
    """Rows of one change, whose errors do not add up."""
    lists, disjunctions = (
        plan_lists(family_of(20, 8, kind), RHO, size=100_000, largest=4) for kind in ("lists", "disjunctions")
    )
    assert disjunctions.predicted < lists.predicted


def test_the_largest_size_is_that_of_twenty_million_counts() -> None:
    assert largest_size(family_of(30, 8)) == 5
    assert largest_size(family_of(30, 4)) == 4
    assert largest_size(family_of(3000, 4)) == 2
    assert largest_size(family_of(30, 8), 3) == 3
    assert sum(2**j * comb(30, j) for j in range(7)) > list_plan.MOST_COUNTED


REFUSED: list[tuple[dict[str, Any], str, type[DpoptError]]] = [
    ({"size": 0}, "number of rows .* found 0", PlanError),
    ({"points": 0}, "number of points .* found 0", PlanError),
    ({"largest": 5}, "expected 1 to 4", PlanError),
    ({"largest": 0}, "expected 1 to 4", PlanError),
    ({"budget": Budget(1.0, 1e-6, None, Accountant.GDP)}, "use 'pure' or 'zcdp'", PlanError),
    ({"solver": "cp-sat"}, "takes no linear programs", PolynomialError),
    ({"solver": "nobody"}, "there is no solver", SolverUnavailableError),
]


@pytest.mark.parametrize(("changed", "message", "kind"), REFUSED)
def test_what_cannot_be_planned_is_refused(changed: dict[str, Any], message: str, kind: type[DpoptError]) -> None:
    asked = {"budget": RHO, "size": 100, **changed}
    with pytest.raises(kind, match=message):
        plan_lists(family_of(6, 4), asked.pop("budget"), **asked)


def test_more_conjunctions_than_are_counted_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_plan, "MOST_COUNTED", 50)
    with pytest.raises(PlanError, match="at most 50 conjunctions are counted"):
        plan_lists(family_of(6, 4), RHO, size=100, largest=2)
    assert plan_lists(family_of(6, 4), RHO, size=100_000).sizes[-1] == 1


def test_another_solver_plans_about_as_well() -> None:
    family = family_of(10, 5)
    first, second = (plan_lists(family, RHO, size=10_000, solver=name) for name in ("highs", "cbc"))
    assert second.predicted == pytest.approx(first.predicted, rel=0.1)


def changed_plan(**changes: Any) -> ListPlan:
    return replace(plan_lists(family_of(5, 3), RHO, size=10_000, relation=REPLACE), **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sizes": (1, 2, 3)}, "from 0 on"),
        ({"sizes": (0, 1, 1, 3)}, "increasing"),
        ({"sizes": (0, 1, 2)}, "the last one 3"),
        ({"sizes": (0, 3), "scales": (1.0, 1.0)}, "not counted"),
        ({"scales": (1.0,)}, "found 1 scales for 4 levels"),
        ({"scales": (1.0, 1.0, inf, 1.0)}, "found the scale of noise"),
        ({"size": 0}, "number of rows .* found 0"),
        ({"points": 0}, "number of points .* found 0"),
    ],
)
def test_plans_that_do_not_fit_together_are_refused(changes: dict[str, Any], message: str) -> None:
    assert changed_plan().sizes == (0, 1, 2, 3)
    with pytest.raises(PlanError, match=message):
        changed_plan(**changes)


def test_what_a_plan_says_of_its_error_is_not_taken_from_the_file() -> None:
    given = changed_plan().to_json()
    again = ListPlan.from_json({**given, "predicted": 0.0, "approximation": 0.0})
    assert again.to_json() == given
    with pytest.raises(PlanError, match=r"\$.gaussian.*true or false"):
        ListPlan.from_json({**given, "gaussian": "none"})
    with pytest.raises(PlanError, match="unknown key 'noise'"):
        ListPlan.from_json({**given, "noise": "none"})


def test_add_remove_is_the_default() -> None:
    assert plan_lists(family_of(3, 2), PURE, size=10).relation is ADD_REMOVE
