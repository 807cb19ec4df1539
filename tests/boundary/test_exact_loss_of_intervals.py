"""The exact privacy loss of intervals and boxes, over all pairs of neighbours, is what the ledger says at most."""

from __future__ import annotations

import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.synopses.intervals.interval_planning import plan_intervals
from dpopt.synopses.intervals.split_planning import plan_split
from tests.exact_counts_loss import ROWS
from tests.exact_interval_loss import check_draws_are_paid, check_search_game, interval_game, split_game
from tests.tiny_intervals import tiny_intervals, tiny_split

RELATIONS = list(NeighbouringRelation)
BUDGETS = {
    "pure": Budget(1.5, 0.0, None, Accountant.PURE),
    "rho": Budget(None, 1e-9, 0.1, Accountant.ZCDP),
}


@pytest.mark.parametrize(("scale", "mass_scale"), [(0.3, None), (3.0, 5.0)])
@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("relation", RELATIONS)
def test_intervals_cost_what_is_charged_at_most(
    relation: NeighbouringRelation, gaussian: bool, scale: float, mass_scale: float | None
) -> None:
    """Two searches over four bins, with printed and with measured weights."""
    game = interval_game(tiny_intervals(relation, gaussian=gaussian, scale=scale, mass_scale=mass_scale))
    assert 0.1 < check_search_game(game) <= 1 + 1e-9


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("relation", RELATIONS)
def test_one_search_of_five_bins_costs_what_is_charged_at_most(
    relation: NeighbouringRelation, gaussian: bool
) -> None:
    plan = tiny_intervals(relation, gaussian=gaussian, bins=5, intervals=2, mass_scale=None)
    assert 0.1 < check_search_game(interval_game(plan)) <= 1 + 1e-9


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_search_can_lose_all_that_is_charged(relation: NeighbouringRelation) -> None:
    """One comparison, its threshold beyond all counts: the odds move by exactly the charge."""
    plan = tiny_intervals(relation, gaussian=False, bins=2, intervals=2, threshold=9, mass_scale=None)
    assert check_search_game(interval_game(plan)) > 1 - 1e-12


@pytest.mark.parametrize("shape", [(2, 3), (3, 2)])
@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("relation", RELATIONS)
def test_boxes_cost_what_is_charged_at_most(
    relation: NeighbouringRelation, gaussian: bool, shape: tuple[int, ...]
) -> None:
    share = check_search_game(split_game(tiny_split(relation, gaussian=gaussian, shape=shape)))
    assert 0.3 < share <= 1 + 1e-9


def test_a_replaced_record_moves_a_difference_by_two() -> None:
    """Under replace-one one comparison with Laplace noise reaches exp(2 / b) nearly; it is what is charged."""
    plan = tiny_split(
        NeighbouringRelation.REPLACE_ONE, gaussian=False, shape=(3, 2), scale=0.5, mass_scales=(1e9,)
    )
    (charge, *_) = plan.charges()
    assert charge.parameter * charge.count == pytest.approx(2 / 0.5)
    assert check_search_game(split_game(plan)) > 0.9


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("weights", ["measured", "printed"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_intervals_as_they_are_planned_cost_their_budget_at_most(
    relation: NeighbouringRelation, weights: str, budget: str
) -> None:
    plan = plan_intervals(4, BUDGETS[budget], ROWS, relation=relation, weights=weights, intervals=3)
    assert check_search_game(interval_game(plan)) <= 1 + 1e-9
    total = sum(charge.parameter * charge.count for charge in plan.charges())
    assert 0.999 < total / (1.5 if budget == "pure" else 0.1) <= 1


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_boxes_as_they_are_planned_cost_their_budget_at_most(
    relation: NeighbouringRelation, budget: str
) -> None:
    plan = plan_split((2, 3), BUDGETS[budget], ROWS, relation=relation, rounds=1)
    assert check_search_game(split_game(plan)) <= 1 + 1e-9
    total = sum(charge.parameter * charge.count for charge in plan.charges())
    assert 0.999 < total / (1.5 if budget == "pure" else 0.1) <= 1


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("relation", RELATIONS)
def test_no_run_draws_more_than_it_pays_for(relation: NeighbouringRelation, gaussian: bool) -> None:
    check_draws_are_paid(interval_game(tiny_intervals(relation, gaussian=gaussian)))
    check_draws_are_paid(split_game(tiny_split(relation, gaussian=gaussian)))
