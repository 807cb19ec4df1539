"""The exact privacy loss of a round of pmw and mwem, over all pairs of neighbours, is what the ledger says at most."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.options import MARGINALS
from tests.tiny_measuring import marginals
from tests.tiny_multiplicative import CLAUSES, RoundGame, check_round, tiny_plan

RELATIONS = list(NeighbouringRelation)
WHOLE = marginals([0], [1], [0, 1])


COSTS = [("0.3", True), ("3", False), ("60", True)]


@pytest.mark.parametrize(("range_", "gaussian"), COSTS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_round_on_queries_costs_what_is_charged_at_most(
    relation: NeighbouringRelation, range_: str, gaussian: bool
) -> None:
    """With range 60 many scores are clamped."""
    check_round(RoundGame(tiny_plan(relation, range_=range_, gaussian=gaussian), CLAUSES))


@pytest.mark.parametrize(("range_", "gaussian"), COSTS)
@pytest.mark.parametrize("score", ["l1", "max"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_round_on_marginals_costs_what_is_charged_at_most(
    relation: NeighbouringRelation, score: str, range_: str, gaussian: bool
) -> None:
    plan = tiny_plan(relation, select=MARGINALS, range_=range_, gaussian=gaussian)
    check_round(RoundGame(plan, WHOLE, score))


@pytest.mark.parametrize("relation", RELATIONS)
def test_nearly_all_of_the_charge_of_a_round_on_queries_is_reached(relation: NeighbouringRelation) -> None:
    """So neither a scale twice too small nor one twice too large would go unnoticed; pure losses add up to the charge."""
    ranges, _ = check_round(RoundGame(tiny_plan(relation, range_="3", gaussian=False), CLAUSES))
    assert Decimal("0.99") < ranges <= 1
    plan = tiny_plan(relation, range_="0.3", scale=30.0, gaussian=False)
    _, losses = check_round(RoundGame(plan, CLAUSES.take([0, 1])))
    assert 0.5 < losses <= 1


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_cells_of_marginals_are_queries_too(relation: NeighbouringRelation) -> None:
    ranges, _ = check_round(RoundGame(tiny_plan(relation, range_="3", gaussian=False), marginals([0])))
    assert Decimal("0.99") < ranges <= 1


@pytest.mark.parametrize("score", ["l1", "max"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_most_of_the_charged_range_of_marginals_is_reached(
    relation: NeighbouringRelation, score: str
) -> None:
    plan = tiny_plan(relation, select=MARGINALS, range_="3")
    ranges, _ = check_round(RoundGame(plan, WHOLE, score))
    assert Decimal("0.7") < ranges <= 1
