"""The exact privacy loss of noisy counts of conjunctions, over all pairs of neighbours, is what the ledger says at most."""

from __future__ import annotations

import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.measurements.conjunction_measurement import ConjunctionCounts
from dpopt.synopses.summaries.summary_plan import plan_summary
from tests.exact_counts_loss import ROWS, check_game
from tests.exact_summary_loss import (
    UNIVERSES,
    summary_game,
    summary_release_game,
    table_neighbours,
    tiny_plan,
)
from tests.tiny_runs import ADD_REMOVE, REPLACE

RELATIONS = list(NeighbouringRelation)
LOWEST = {True: 0.999, False: 1 - 1e-12}
"""What is reached of a charge: pure epsilon but for its rounding, rho to a thousandth."""


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("kind", UNIVERSES)
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_measurement_costs_what_is_charged_at_most_and_not_less(
    relation: NeighbouringRelation, kind: str, size: int, gaussian: bool
) -> None:
    what = ConjunctionCounts(size, 7.5, gaussian)
    share = check_game(summary_game(UNIVERSES[kind], what, relation))
    assert LOWEST[gaussian] < share <= 1 + 1e-9


@pytest.mark.parametrize("scale", [0.3, 1.3, 50.0])
@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("relation", RELATIONS)
def test_noise_of_any_scale_keeps_to_its_charge(
    relation: NeighbouringRelation, gaussian: bool, scale: float
) -> None:
    what = ConjunctionCounts(2, scale, gaussian)
    assert 0 < check_game(summary_game(UNIVERSES["bits"], what, relation)) <= 1 + 1e-9


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("kind", UNIVERSES)
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_release_of_all_sizes_costs_what_is_charged_at_most_and_not_less(
    relation: NeighbouringRelation, kind: str, gaussian: bool
) -> None:
    """One record moves conjunctions of every size by as much as is charged for each, at the same time."""
    share = check_game(summary_release_game(tiny_plan(UNIVERSES[kind], relation, gaussian=gaussian)))
    # Two records that differ in a move 3 single literals and 1 pair, two that share it move 2 single literals and 2 pairs.
    tight = kind != "mixed, positive" or relation is ADD_REMOVE
    assert (LOWEST[gaussian] if tight else 0.5) < share <= 1 + 1e-9


BUDGETS = {
    "pure": Budget(1.5, 0.0, None, Accountant.PURE),
    "rho": Budget(None, 1e-9, 0.1, Accountant.ZCDP),
}


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("predicate", ["and", "or", "atleast:2"])
@pytest.mark.parametrize("kind", ["mixed", "bits"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_summary_as_it_is_planned_costs_its_budget_at_most_and_not_less(
    relation: NeighbouringRelation, kind: str, predicate: str, budget: str
) -> None:
    literals = UNIVERSES[kind]
    plan = plan_summary(
        literals,
        len(literals.schema),
        BUDGETS[budget],
        size=ROWS if relation is REPLACE else 1000,
        predicate=predicate,
        relation=relation,
    )
    assert 0.99 < check_game(summary_release_game(plan)) <= 1 + 1e-9


def test_neighbours_differ_in_one_record() -> None:
    schema = UNIVERSES["mixed"].schema
    assert {(len(one), len(two)) for one, two in table_neighbours(schema, ADD_REMOVE)} == {(1, 2), (2, 3)}
    assert {(len(one), len(two)) for one, two in table_neighbours(schema, REPLACE)} == {(3, 3)}
    assert len(table_neighbours(schema, REPLACE)) == 21 * 15
