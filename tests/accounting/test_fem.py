from __future__ import annotations

from decimal import Decimal

import pytest

from dpopt.accounting import Accountant, ChargeKind, NeighbouringRelation, total_epsilon, total_rho
from dpopt.accounting.fem import MOST_SELECTIONS, fem_charges, units_per_range
from dpopt.accounting.selections import selection_charge
from dpopt.errors import AccountingError

REPLACE, ADD_REMOVE = NeighbouringRelation.REPLACE_ONE, NeighbouringRelation.ADD_REMOVE


@pytest.mark.parametrize("relation", list(NeighbouringRelation))
def test_rounds_cost_a_quarter_of_what_the_published_code_charges(relation: NeighbouringRelation) -> None:
    charges = fem_charges(80, Decimal("0.02"), relation)
    assert total_rho(charges) == pytest.approx(80 * 0.02**2 / 8, rel=1e-9)
    assert total_rho(charges) >= 80 * 0.02**2 / 8
    assert total_epsilon(charges, Accountant.PURE, 0.0) == pytest.approx(1.6, rel=1e-9)


def test_every_round_is_one_selection() -> None:
    charges = fem_charges(3, Decimal("0.5"), REPLACE)
    assert charges == tuple(selection_charge(t, Decimal("0.5"), REPLACE) for t in (1, 2, 3))
    assert {charge.kind for charge in charges} == {ChargeKind.BOUNDED_RANGE}
    assert {charge.count for charge in charges} == {1}


def test_a_count_moves_scores_by_as_many_units_as_there_are_records() -> None:
    assert units_per_range(7, ADD_REMOVE) == 7
    assert units_per_range(7, REPLACE) == 14


@pytest.mark.parametrize("rounds", [0, True, 1.5, MOST_SELECTIONS + 1])
def test_rounds_out_of_range_are_refused(rounds: int) -> None:
    with pytest.raises(AccountingError, match="rounds of FEM"):
        fem_charges(rounds, Decimal("0.5"), REPLACE)
