"""Groups: what mechanisms cost between tables that are several steps apart, for every accountant."""

from __future__ import annotations

import math

import pytest

from dpopt.accounting.accountants import Accountant, columns_of
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError, BudgetError
from dpopt.files.codec import decode, encode

RELATION = NeighbouringRelation.ADD_REMOVE


def charge(kind: ChargeKind, parameter: float, count: int = 1) -> Charge:
    return Charge("a mechanism", kind, parameter, count, RELATION, "a theorem")


@pytest.mark.parametrize("rows", [1, 2, 3, 10])
def test_pure_costs_grow_with_the_group_and_concentrated_ones_with_its_square(rows: int) -> None:
    kinds = (ChargeKind.PURE, ChargeKind.BOUNDED_RANGE, ChargeKind.CONCENTRATED)
    for kind in kinds:
        columns = columns_of([charge(kind, 0.125, 3)])
        assert columns.for_groups(rows).rho() == rows**2 * columns.rho()
        if kind is not ChargeKind.CONCENTRATED:
            of_all = columns.for_groups(rows).epsilon(Accountant.PURE, 0.0)
            assert of_all == rows * columns.epsilon(Accountant.PURE, 0.0)


@pytest.mark.parametrize("rows", [3, 7, 1000])
def test_products_are_never_rounded_down(rows: int) -> None:
    from fractions import Fraction

    for parameter in (0.1, 1 / 3, 1e-150):
        found = columns_of([charge(ChargeKind.PURE, parameter)]).for_groups(rows).epsilons[0]
        assert Fraction(float(found)) >= Fraction(parameter) * rows


@pytest.mark.parametrize("accountant", list(Accountant))
def test_a_budget_for_persons_is_held_against_the_group(accountant: Accountant) -> None:
    delta = 0.0 if accountant is Accountant.PURE else 1e-6
    charges = [charge(ChargeKind.BOUNDED_RANGE, 0.01 * t, 5) for t in range(1, 4)]
    tripled = [charge(ChargeKind.BOUNDED_RANGE, 3 * 0.01 * t, 5) for t in range(1, 4)]
    person = Budget(100.0, delta, None, accountant, 3)
    found, expected = person.spent(charges), Budget(100.0, delta, None, accountant).spent(tripled)
    assert found.epsilon == pytest.approx(expected.epsilon, rel=1e-12)
    assert found.rho == pytest.approx(9 * Budget(100.0, delta, None, accountant).spent(charges).rho, rel=1e-12)


def test_a_plan_that_fits_one_record_does_not_fit_a_person() -> None:
    charges = [charge(ChargeKind.CONCENTRATED, 0.1)]
    for rows, fits in ((1, True), (2, True), (3, False)):
        ledger = Ledger(Budget(None, 1e-9, 0.4, Accountant.ZCDP, rows), RELATION)
        if fits:
            ledger.reserve(charges)
        else:
            with pytest.raises(BudgetError, match="3 rows"):
                ledger.reserve(charges)


def test_a_budget_for_persons_reads_back() -> None:
    person = Budget(1.0, 1e-9, None, Accountant.ZCDP, 4)
    assert decode(Budget, encode(person), "a budget") == person
    assert "4 rows" in person.describe()


def test_persons_under_replace_one_are_refused() -> None:
    with pytest.raises(BudgetError, match="add-remove"):
        Ledger(Budget(1.0, 1e-9, None, Accountant.ZCDP, 1), NeighbouringRelation.REPLACE_ONE)


@pytest.mark.parametrize("wrong", [0, -1, 2**20 + 1, 1.5, True, math.nan, "2"])
def test_rows_out_of_range_are_refused(wrong: object) -> None:
    with pytest.raises(AccountingError, match="rows per person"):
        Budget(1.0, 1e-9, None, Accountant.ZCDP, wrong)  # type: ignore[arg-type]
