"""The exact loss of the net mechanism, over all pairs of neighbours of tiny universes, is what the ledger says at most."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.queries.workloads.workload import Workload, parse_workload
from tests.exact_net_loss import NetGame, check_net_game
from tests.tiny_runs import bits_schema, conjunctions

WORKLOADS: dict[str, Workload] = {
    "one query": conjunctions(bits_schema(1), "a"),
    "classes of records": conjunctions(bits_schema(2), "a", "a b"),
    "marginals": parse_workload("marginals:1", bits_schema(2)),
}
RELATIONS = list(NeighbouringRelation)


@pytest.mark.parametrize("listed", [False, True], ids=["multisets", "candidates"])
@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_selection_costs_what_is_charged_at_most(
    relation: NeighbouringRelation, name: str, listed: bool
) -> None:
    """Multisets whose number of records does not divide the public size; errors beyond the reach occur under add-remove."""
    game = NetGame(
        WORKLOADS[name], records=3, range_="0.3" if listed else "2", size=2, relation=relation, listed=listed
    )
    assert check_net_game(game) <= 1


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_range_over_the_outputs_reaches_what_is_charged(relation: NeighbouringRelation) -> None:
    """The log likelihood ratio over the outputs spans all of epsilon for some pair: half of the sensitivity would be caught."""
    from tests.exact_fem_loss import range_between

    game = NetGame(WORKLOADS["one query"], records=2, range_="1.5", size=2, relation=relation)
    spans = [range_between(game.distribution(one)[0], game.distribution(two)[0]) for one, two in game.pairs()]
    assert Decimal("0.999999") * Decimal("1.5") < max(spans) <= Decimal("1.5000001")
