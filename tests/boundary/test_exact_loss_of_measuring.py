"""The exact privacy loss of selecting and measuring, over all pairs of neighbours, is what the ledger says at most."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.measurements.measurement import Measurement
from dpopt.queries.clauses import Clauses
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.workloads.workload import parse_workload
from tests.exact_measuring_loss import check_measurement, check_selection, check_selection_and_measurement
from tests.tiny_measuring import SCHEMA, marginals, selection

RELATIONS = list(NeighbouringRelation)


@pytest.mark.parametrize("range_", ["0.3", "1.5", "6", "60"])
@pytest.mark.parametrize("score", ["l1", "max"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_selection_costs_what_is_charged_at_most(
    relation: NeighbouringRelation, score: str, range_: str
) -> None:
    """With range 60 many scores are clamped. Public records whose number does not divide the public size."""
    check_selection(selection(score, range_=range_), relation)


@pytest.mark.parametrize("score", ["l1", "max"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_more_than_four_fifths_of_the_charged_range_are_reached(
    relation: NeighbouringRelation, score: str
) -> None:
    """So neither a sensitivity twice too small nor one twice too large would go unnoticed."""
    assert Decimal("0.8") < check_selection(selection(score, range_="3"), relation) <= 1


QUERIES: dict[str, MarginalSet | Clauses] = {
    "two marginals": marginals([1], [0, 1]),
    "one marginal": marginals([0]),
    "clauses": parse_workload("marginals:1", SCHEMA).clauses,
}


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("queries", QUERIES)
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_measurement_costs_what_is_charged_at_most_and_not_much_less(
    relation: NeighbouringRelation, queries: str, gaussian: bool
) -> None:
    """The divergence of discrete Gaussians a whole number apart reaches the bound where the scale is not small."""
    what = Measurement("x", QUERIES[queries], 7.5, gaussian)
    charge = what.charge(SCHEMA.sizes, relation)
    assert 0.999 < check_measurement(what, relation, charge) <= 1 + 1e-9


@pytest.mark.parametrize("scale", [0.2, 0.6, 1.3, 50.0])
@pytest.mark.parametrize("relation", RELATIONS)
def test_gaussian_noise_of_any_scale_keeps_to_its_charge(
    relation: NeighbouringRelation, scale: float
) -> None:
    what = Measurement("x", marginals([0, 1]), scale, gaussian=True)
    check_measurement(what, relation, what.charge(SCHEMA.sizes, relation))


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("score", ["l1", "max"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_round_of_both_costs_what_is_charged_at_most(
    relation: NeighbouringRelation, score: str, gaussian: bool
) -> None:
    share = check_selection_and_measurement(selection(score, range_="0.8"), 3.0, relation, gaussian=gaussian)
    assert 0.3 < share <= 1
