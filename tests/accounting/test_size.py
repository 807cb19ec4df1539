"""What a measured number of records costs, and what it leaves for a plan."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.conversions import zcdp_rho
from dpopt.accounting.ledger import Ledger
from dpopt.accounting.measurements import SIZE_SHARE, SizeMeasurement
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError, BudgetError
from dpopt.files.codec import decode, encode

ADD_REMOVE = NeighbouringRelation.ADD_REMOVE
BUDGETS = {
    accountant.value: Budget(1.0, 0.0 if accountant is Accountant.PURE else 1e-9, None, accountant)
    for accountant in Accountant
}
EACH = pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
GROUPS = pytest.mark.parametrize("rows", [None, 7])


def measured(budget: Budget) -> Budget:
    return replace(budget, earlier=(SizeMeasurement.of(budget).charge(),))


def draws(parameter: float) -> Charge:
    return Charge("draws", ChargeKind.BOUNDED_RANGE, parameter, 100, ADD_REMOVE, "a test", "round 2")


@EACH
@GROUPS
def test_the_number_takes_a_hundredth_of_rho_or_epsilon(budget: Budget, rows: int | None) -> None:
    after = measured(replace(budget, rows_per_person=rows))
    whole, spent = zcdp_rho(1.0, 1e-9), after.spent(())
    if budget.accountant is Accountant.ZCDP:
        assert spent.rho == pytest.approx(SIZE_SHARE * whole, rel=1e-9)
        assert after.left == 1.0
        assert after.beside == after.earlier
    else:
        assert spent.epsilon == pytest.approx(SIZE_SHARE, rel=1e-9)
        assert after.left == pytest.approx(1 - SIZE_SHARE, rel=1e-9)
        assert after.beside == ()
    assert decode(Budget, encode(after), "a budget") == after


@EACH
@GROUPS
def test_a_plan_and_the_number_that_it_is_made_with_keep_the_budget(budget: Budget, rows: int | None) -> None:
    """The largest plan that fits: for other accountants than zcdp, that of 99 % of epsilon by the same accountant alone."""
    budget = replace(budget, rows_per_person=rows)
    after = measured(budget)
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if after.allows([draws(middle)]) else (low, middle)
    if budget.accountant is Accountant.ZCDP:
        rho = budget.spent([draws(low)]).rho
        assert rho == pytest.approx((1 - SIZE_SHARE) * zcdp_rho(1.0, 1e-9), rel=1e-6)
    else:
        assert budget.spent([draws(low)]).epsilon == pytest.approx(1 - SIZE_SHARE, rel=1e-6)
    ledger = Ledger(after, ADD_REMOVE)
    ledger.reserve([draws(low)])
    ledger.spend(draws(low))
    assert ledger.entries == (*after.earlier, draws(low))
    assert ledger.spent().epsilon <= 1.0 == after.whole().epsilon
    with pytest.raises(BudgetError, match="costs epsilon"):
        Ledger(after, ADD_REMOVE).reserve([draws(high * 1.001)])


@EACH
def test_the_whole_budget_is_what_is_guaranteed(budget: Budget) -> None:
    whole = budget.whole()
    expected = {Accountant.ZCDP: zcdp_rho(1.0, 1e-9), Accountant.PURE: 0.5}.get(budget.accountant, math.inf)
    assert whole.rho == pytest.approx(expected)
    assert (whole.epsilon, whole.accountant) == (1.0, budget.accountant)


def test_a_budget_in_rho_is_shared_alike() -> None:
    budget = Budget(None, 1e-9, 0.5, Accountant.ZCDP)
    after = measured(budget)
    assert after.spent(()).rho == pytest.approx(0.005)
    assert after.allows([Charge("x", ChargeKind.CONCENTRATED, 0.495, 1, ADD_REMOVE, "a test")])
    assert not after.allows([Charge("x", ChargeKind.CONCENTRATED, 0.4951, 1, ADD_REMOVE, "a test")])
    assert (after.whole().rho, after.left) == (0.5, None)


@pytest.mark.parametrize(
    ("kind", "accountant"), [(ChargeKind.BOUNDED_RANGE, Accountant.ZCDP), (ChargeKind.CONCENTRATED, Accountant.GDP)]
)
def test_earlier_charges_that_cannot_be_composed_so_are_refused(kind: ChargeKind, accountant: Accountant) -> None:
    charge = Charge("x", kind, 0.001, 1, ADD_REMOVE, "a test")
    with pytest.raises(AccountingError, match="earlier charge"):
        Budget(1.0, 1e-9, None, accountant, earlier=(charge,))


@pytest.mark.parametrize("epsilon", [0.0, 1e-16])
def test_a_budget_that_is_too_small_is_refused(epsilon: float) -> None:
    with pytest.raises(AccountingError):
        SizeMeasurement.of(Budget(epsilon, 0.0, None, Accountant.PURE))


def test_each_draw_has_a_charge_of_its_own() -> None:
    first, second = (SizeMeasurement.of(BUDGETS["pure"], draw) for draw in (1, 2))
    assert first.charge() != second.charge()
    assert first.scale == second.scale
