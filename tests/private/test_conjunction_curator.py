"""Counts of conjunctions: what they are, and what they cost over all neighbours of tiny tables."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import PlanError, PrivateDataError
from dpopt.private.measurements.conjunction_measurement import ConjunctionCounts, ConjunctionTable
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from tests.exact_summary_loss import UNIVERSES, counted, table_neighbours
from tests.tiny_runs import ADD_REMOVE, REPLACE, Table, bits_schema, dataset_of

WIDE = ChosenLiterals.of(
    Schema(
        (
            Attribute("a", AttributeKind.BOOLEAN),
            Attribute("b", AttributeKind.CATEGORICAL, ("x", "y", "z")),
            Attribute("c", AttributeKind.NUMERIC, edges=(0.0, 1.0, 2.0), integer=False),
            Attribute("d", AttributeKind.CATEGORICAL, ("only",)),
        )
    ),
    None,
    "all",
)
TABLE: Table = ((0, 1, 1), (1, 1, 0), (0, 0, 1))
BITS = UNIVERSES["bits"]


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("kind", UNIVERSES)
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_a_charge_is_of_the_farthest_neighbours(
    relation: NeighbouringRelation, kind: str, size: int, gaussian: bool
) -> None:
    """rho = L2^2 / (2 sigma^2) and epsilon = L1 / b with the largest distances, which some neighbours have."""
    literals = UNIVERSES[kind]
    farthest = 0
    for one, other in table_neighbours(literals.schema, relation):
        sensitivity = np.array(counted(literals, one, size)) - np.array(counted(literals, other, size))
        assert set(sensitivity.tolist()) <= {-1, 0, 1}
        farthest = max(farthest, int((sensitivity**2).sum() if gaussian else np.abs(sensitivity).sum()))
    charge = ConjunctionCounts(size, 2.0, gaussian).charge(literals, relation)
    cost = Fraction(farthest, 2 * 4) if gaussian else Fraction(farthest, 2)
    assert charge.relation is relation
    assert charge.parameter >= cost
    assert charge.parameter == pytest.approx(float(cost), rel=1e-12)


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_charges_of_bits_are_binomial_coefficients(size: int) -> None:
    single = ChosenLiterals.of(bits_schema(8), None, "positive")
    both = ChosenLiterals.of(bits_schema(8), None, "all")
    what = ConjunctionCounts(size, 10.0, False)
    for literals, relation, factor in [
        (single, ADD_REMOVE, 1),
        (single, REPLACE, 1),
        (both, ADD_REMOVE, 1),
        (both, REPLACE, 2),
    ]:
        assert what.charge(literals, relation).parameter == pytest.approx(factor * comb(8, size) / 10)


@pytest.mark.parametrize("literals", [*UNIVERSES.values(), WIDE], ids=[*UNIVERSES, "wide"])
def test_every_conjunction_is_counted_in_order(literals: ChosenLiterals) -> None:
    records = np.random.default_rng(3).integers(0, literals.schema.sizes, (70, len(literals.schema)))
    table = tuple(map(tuple, records.tolist()))
    held = ConjunctionTable.of(dataset_of(literals.schema, table), literals)
    for size in range(len(literals.schema), 0, -1):  # the largest first: what smaller ones need is counted with it
        found = ConjunctionCounts(size, 2.0, False).exact(held, ADD_REMOVE)
        assert found.tolist() == counted(literals, table, size)


def test_a_table_with_other_attributes_is_refused() -> None:
    with pytest.raises(PrivateDataError, match="other attributes"):
        ConjunctionTable.of(dataset_of(bits_schema(2), ((0, 1), (1, 1))), BITS)


@pytest.mark.parametrize("size", [0, -1, 17])
def test_sizes_that_make_no_sense_are_refused(size: int) -> None:
    with pytest.raises(PlanError, match="the number of literals must be"):
        ConjunctionCounts(size, 1.0, False)
