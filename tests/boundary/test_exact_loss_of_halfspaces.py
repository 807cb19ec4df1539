"""The exact privacy loss of sides and arcs, over all pairs of neighbours, is what the ledger says at most, and reached."""

from __future__ import annotations

import pytest

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.measurements.halfspace_measurement import (
    Arcs,
    HalfspaceMeasurement,
    Sides,
)
from dpopt.private.measurements.measurement import NumberOfRecords
from dpopt.synopses.halfspaces.halfspace_plan import ARCS, SIDES
from tests.exact_counts_loss import check_game
from tests.exact_halfspace_loss import halfspace_game, halfspace_release_game, point_neighbours, tiny_plan
from tests.tiny_runs import ADD_REMOVE, REPLACE

RELATIONS = list(NeighbouringRelation)
LOWEST = {True: 0.999, False: 1 - 1e-12}
"""What is reached of a charge: pure epsilon but for its rounding, rho to a thousandth."""


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("kind", ["plane", "line"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_sides_cost_what_is_charged_at_most_and_not_less(
    relation: NeighbouringRelation, kind: str, gaussian: bool
) -> None:
    """Over points on canonical directions, across them and in kernels: ties on every side."""
    share = check_game(halfspace_game(kind, Sides(7.5, gaussian), relation))
    assert LOWEST[gaussian] < share <= 1 + 1e-9


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("height", [0, 1])
@pytest.mark.parametrize("relation", RELATIONS)
def test_arcs_cost_what_is_charged_at_most_and_not_less(
    relation: NeighbouringRelation, height: int, gaussian: bool
) -> None:
    share = check_game(halfspace_game("plane", Arcs(7.5, gaussian, height), relation))
    assert LOWEST[gaussian] < share <= 1 + 1e-9


@pytest.mark.parametrize("scale", [0.3, 1.3, 50.0])
@pytest.mark.parametrize("gaussian", [False, True])
def test_the_number_of_records_costs_what_is_charged(gaussian: bool, scale: float) -> None:
    what: HalfspaceMeasurement = NumberOfRecords(scale, gaussian)
    share = check_game(halfspace_game("plane", what, ADD_REMOVE))
    assert (0.9 if gaussian else 1 - 1e-9) < share <= 1 + 1e-9 or scale < 1


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("measured", [SIDES, ARCS])
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_whole_release_costs_what_is_charged_at_most_and_not_less(
    relation: NeighbouringRelation, measured: str, gaussian: bool
) -> None:
    share = check_game(halfspace_release_game(tiny_plan(relation, gaussian=gaussian, measured=measured)))
    assert LOWEST[gaussian] < share <= 1 + 1e-9


def test_neighbours_differ_in_one_record() -> None:
    assert {(len(one), len(two)) for one, two in point_neighbours(ADD_REMOVE)} == {(1, 2), (2, 3)}
    assert {(len(one), len(two)) for one, two in point_neighbours(REPLACE)} == {(3, 3)}
    assert len(point_neighbours(REPLACE)) == 21 * 15
