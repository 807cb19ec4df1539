"""The exact privacy loss of noisy sums of coefficients, over all pairs of neighbours, is what the ledger says at most."""

from __future__ import annotations

import pytest

from dpopt.accounting.relations import NeighbouringRelation
from dpopt.private.measurements.sanitizer_sums import CoefficientSums
from dpopt.queries.polynomial_families import FunctionFamily
from tests.exact_counts_loss import check_game
from tests.exact_sanitizer_loss import FAMILIES, UNIT, check_planned_loss, plan_of, sums_game

RELATIONS = list(NeighbouringRelation)
LOWEST = {True: 0.99, False: 1 - 1e-12}
"""What is reached of a charge: pure epsilon but for its rounding, rho to a hundredth."""
KINDS = [kind for kind in FAMILIES if not kind.startswith(("bits, sets", "bits, powers"))]


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_measurement_costs_what_is_charged_at_most(
    relation: NeighbouringRelation, kind: str, gaussian: bool
) -> None:
    """And not less, but for functions, whose bounds nobody need reach."""
    what = CoefficientSums("sums", UNIT, 7.5, gaussian)
    share = check_game(sums_game(FAMILIES[kind], what, relation))
    exact = not isinstance(FAMILIES[kind], FunctionFamily) and not (kind == "table" and gaussian)
    assert (LOWEST[gaussian] if exact else 0) < share <= 1 + 1e-9


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize(
    "kind", ["bits, positive, sets", "bits, sets", "mixed, powers", "table", "function, huge"]
)
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_release_as_it_is_planned_costs_its_budget_at_most_and_not_less(
    relation: NeighbouringRelation, kind: str, gaussian: bool
) -> None:
    plan = plan_of(FAMILIES[kind], relation, gaussian=gaussian)
    assert 0.99 < check_planned_loss(plan) <= 1 + 1e-9


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("kind", ["bits, positive, powers", "mixed, sets"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_noise_as_the_paper_prints_it_costs_what_is_charged_which_is_less(
    relation: NeighbouringRelation, kind: str, gaussian: bool
) -> None:
    crude = plan_of(FAMILIES[kind], relation, gaussian=gaussian, sensitivity="crude")
    exact = plan_of(FAMILIES[kind], relation, gaussian=gaussian)
    assert 0.99 < check_planned_loss(crude) <= 1 + 1e-9
    assert crude.charges()[0].parameter < exact.charges()[0].parameter
