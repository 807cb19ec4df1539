"""What decision lists count: what it is, and what it costs over all neighbours of tiny tables."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError, PrivateDataError
from dpopt.private.measurements.conjunction_measurement import ListCounts, ListTable
from tests.tiny_lists import (
    FAMILIES,
    coefficients_of,
    counted,
    family_of,
    list_neighbours,
    private,
    random_coefficients,
    rows_of,
)
from tests.tiny_runs import ADD_REMOVE, REPLACE

LISTS = coefficients_of("lists")


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("size", [0, 1, 2])
@pytest.mark.parametrize("kind", FAMILIES)
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_a_charge_is_of_the_farthest_neighbours(
    relation: NeighbouringRelation, kind: str, size: int, gaussian: bool
) -> None:
    """rho = L2^2 / (2 sigma^2) and epsilon = L1 / b with the largest distances, which some neighbours have."""
    coefficients = coefficients_of(kind)
    vectors = {row: np.array(counted(coefficients, row, size)) for row in rows_of(FAMILIES[kind])}
    farthest = 0
    for one, other in list_neighbours(FAMILIES[kind], relation):
        sensitivity = np.sum([vectors[row] for row in other], axis=0) - np.sum([vectors[row] for row in one], axis=0)
        farthest = max(farthest, int((sensitivity**2).sum() if gaussian else np.abs(sensitivity).sum()))
    charge = ListCounts(size, 2.0, gaussian).charge(coefficients, relation)
    cost = Fraction(farthest, 2 * 4) if gaussian else Fraction(farthest, 2)
    assert farthest > 1
    assert charge.relation is relation
    assert charge.parameter >= cost
    assert charge.parameter == pytest.approx(float(cost), rel=1e-12)


def test_every_conjunction_is_counted_in_order() -> None:
    family = family_of(4, 3)
    coefficients = random_coefficients(family, 3, 8)
    every = rows_of(family)
    table = tuple(every[number] for number in np.random.default_rng(3).integers(0, len(every), 50))
    held = ListTable.of(private(family, table), coefficients)
    for size in range(4):
        expected = np.sum([counted(coefficients, row, size) for row in table], axis=0)
        assert ListCounts(size, 2.0, False).exact(held, ADD_REMOVE).tolist() == expected.tolist()


def test_rows_of_another_declaration_are_refused() -> None:
    """Of other variables, or of fewer changes, for which the coefficients would be charged less."""
    for family in (family_of(3, 2), FAMILIES["one change"]):
        with pytest.raises(PrivateDataError, match="another declaration"):
            ListTable.of(private(family, [((), (1,))]), LISTS)


@pytest.mark.parametrize("size", [-1, 13])
def test_sizes_that_make_no_sense_are_refused(size: int) -> None:
    with pytest.raises(PlanError, match="the number of literals must be"):
        ListCounts(size, 1.0, False)
