from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.ledger import Budget
from dpopt.accounting.measurements import (
    SMALLEST_SCALE,
    amount_for,
    joint_scale,
    measurement_charge,
    measurement_scale,
    one_way_charge,
)
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError
from dpopt.files.codec import encode

ADD_REMOVE, REPLACE_ONE = NeighbouringRelation.ADD_REMOVE, NeighbouringRelation.REPLACE_ONE
MOVED = st.integers(1, 10**7)
AMOUNTS = st.floats(1.01e-8, 1e4)  # the most sensitive needs noise of less than the largest scale, 1e15


def charge(sensitivity: int, scale: float, *, gaussian: bool) -> Charge:
    return measurement_charge("counts", sensitivity, scale, gaussian=gaussian, relation=ADD_REMOVE)


@given(MOVED, st.floats(1e-3, 1e9))
def test_the_charge_is_rounded_up_and_by_little(sensitivity: int, scale: float) -> None:
    rho, epsilon = (charge(sensitivity, scale, gaussian=g).parameter for g in (True, False))
    exact_rho, exact_epsilon = (Decimal(sensitivity) / (2 * Decimal(scale) ** 2), Decimal(sensitivity) / Decimal(scale))
    assert exact_rho <= Decimal(rho) <= exact_rho * (1 + Decimal("1e-14"))
    assert exact_epsilon <= Decimal(epsilon) <= exact_epsilon * (1 + Decimal("1e-14"))


@pytest.mark.parametrize("scale", [0.4, 1.0, 7.5])
@pytest.mark.parametrize("sensitivity", [1, 5])
def test_the_exact_distribution_of_the_noise_keeps_the_charge(sensitivity: int, scale: float) -> None:
    """`sensitivity` counts differ by 1 each: Renyi divergence of order a at most a rho; log likelihood ratio at most epsilon.

    Both are reached, nearly, so that a charge too small by a hundredth would fail.
    """
    whole = np.arange(-400, 401, dtype=np.float64)
    rho = charge(sensitivity, scale, gaussian=True).parameter
    distribution = np.exp(-(whole**2) / (2 * scale**2))
    distribution /= distribution.sum()
    one, two = distribution[1:], distribution[:-1]  # noise around 0 and around 1
    for order in (1.5, 2.0, 8.0):
        inside = one > 1e-290
        logs = order * np.log(one[inside]) + (1 - order) * np.log(np.maximum(two[inside], 1e-300))
        top = float(logs.max())
        divergence = sensitivity * (top + math.log(float(np.exp(logs - top).sum()))) / (order - 1)
        assert divergence <= order * rho * (1 + 1e-9)
        if scale >= 1:
            assert divergence >= 0.99 * order * rho
    epsilon = charge(sensitivity, scale, gaussian=False).parameter
    ratio = np.abs(np.diff(-np.abs(whole) / scale)).max() * sensitivity
    assert 0.99 * epsilon <= ratio <= epsilon * (1 + 1e-9)


@given(MOVED, AMOUNTS, st.booleans())
def test_a_scale_is_paid_for_by_its_amount_and_not_much_larger(sensitivity: int, amount: float, gaussian: bool) -> None:
    scale = measurement_scale(sensitivity, amount=amount, gaussian=gaussian)
    assert charge(sensitivity, scale, gaussian=gaussian).parameter <= amount
    assert charge(sensitivity, scale * (1 - 1e-11), gaussian=gaussian).parameter > amount


@pytest.mark.parametrize("gaussian", [True, False])
def test_a_charge_says_what_was_measured_and_how(gaussian: bool) -> None:
    made = measurement_charge("ages", 4, 2.0, gaussian=gaussian, relation=REPLACE_ONE)
    distribution = "Gaussian" if gaussian else "Laplace"
    assert (made.label, made.mechanism) == ("ages", f"discrete {distribution} noise on ages")
    assert made.kind is (ChargeKind.CONCENTRATED if gaussian else ChargeKind.PURE)
    assert (made.count, made.relation) == (1, REPLACE_ONE)


def test_charges_on_file_are_made_again() -> None:
    """Transcripts hold these charges; a change of one bit or letter would refuse them."""
    gaussian = one_way_charge(13, scale=207.9, gaussian=True, relation=ADD_REMOVE)
    laplace = one_way_charge(13, scale=207.9, gaussian=False, relation=REPLACE_ONE)
    assert encode(gaussian) == {
        "mechanism": "discrete Gaussian noise on one-way marginals",
        "kind": "concentrated",
        "parameter": float.fromhex("0x1.3b614e4071908p-13"),
        "count": 1,
        "relation": "add-remove",
        "theorem": "Canonne, Kamath and Steinke 2020, Theorem 14",
        "label": "one-way marginals",
    }
    assert (laplace.mechanism, laplace.theorem) == (
        "discrete Laplace noise on one-way marginals",
        "Ghosh, Roughgarden and Sundararajan 2009",
    )
    assert laplace.parameter == float.fromhex("0x1.001f85d955d3bp-3")


@pytest.mark.parametrize(
    ("sensitivity", "scale"), [(-1, 1.0), (1.5, 1.0), (True, 1.0), (1, 0.0), (1, 1e-200), (1, 1e15), (1, math.nan)]
)
def test_a_measurement_without_sense_is_refused(sensitivity: Any, scale: float) -> None:
    with pytest.raises(AccountingError, match="expected a"):
        charge(sensitivity, scale, gaussian=True)


@pytest.mark.parametrize(
    ("sensitivity", "amount"), [(0, 1.0), (1, 0.0), (1, math.inf), (1, math.nan), (1, 1e-40), (2**60, 1.0)]
)
def test_a_scale_that_cannot_be_had_is_refused(sensitivity: int, amount: float) -> None:
    with pytest.raises(AccountingError, match="expected"):
        measurement_scale(sensitivity, amount=amount, gaussian=True)


BUDGETS = [
    Budget(1.0, 1e-9, None, Accountant.ZCDP),
    Budget(0.01, 1e-6, None, Accountant.ZCDP),
    Budget(None, 1e-6, 0.125, Accountant.ZCDP),
    Budget(1.0, 0.0, None, Accountant.PURE),
    Budget(0.3, 1e-6, None, Accountant.GDP),
    Budget(1.0, 1e-6, None, Accountant.GDP),
]


def parts_of(amount: float, weights: list[float], *, gaussian: bool) -> list[Charge]:
    shares = np.array(weights) / np.sum(weights)
    return [
        charge(7, measurement_scale(7, amount=amount * share, gaussian=gaussian), gaussian=gaussian)
        for share in shares.tolist()
    ]


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(BUDGETS), st.lists(st.floats(0.01, 1.0), min_size=1, max_size=30), st.sampled_from([0, 2, 9]))
def test_what_is_left_of_a_budget_can_be_spent_in_any_parts(budget: Budget, weights: list[float], spent: int) -> None:
    gaussian = budget.accountant is Accountant.ZCDP
    whole = amount_for(budget, gaussian=gaussian)
    pure = [Charge("size", ChargeKind.PURE, 1e-5 * spent, 1, ADD_REMOVE, "a theorem")] * 3 if spent else []
    budget = replace(budget, earlier=tuple(pure))
    amount = amount_for(budget, gaussian=gaussian)
    assert 0 < amount <= whole
    assert amount < whole * (1 - 1e-10) or not spent
    assert budget.allows(parts_of(amount, weights, gaussian=gaussian))


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: f"{budget.accountant.value}-{budget.epsilon}")
def test_no_more_than_what_is_left_is_allowed(budget: Budget) -> None:
    gaussian = budget.accountant is Accountant.ZCDP
    amount = amount_for(budget, gaussian=gaussian)
    if budget.rho is not None:
        assert amount == pytest.approx(budget.rho, rel=1e-11)
    assert not budget.allows(parts_of(amount * (1 + 1e-9), [1.0], gaussian=gaussian))


def test_nothing_is_left_of_a_budget_that_is_spent() -> None:
    spent = Charge("noise", ChargeKind.CONCENTRATED, 0.5, 1, ADD_REMOVE, "a theorem")
    assert amount_for(Budget(None, 1e-6, 0.5, Accountant.ZCDP, earlier=(spent,)), gaussian=True) == 0.0
    assert amount_for(Budget(0.0, 0.0, None, Accountant.PURE), gaussian=False) == 0.0


@pytest.mark.parametrize("budget", BUDGETS[3:], ids=lambda budget: budget.accountant.value)
def test_gaussian_noise_needs_zcdp(budget: Budget) -> None:
    with pytest.raises(AccountingError, match="expected 'zcdp'"):
        amount_for(budget, gaussian=True)


def test_discrete_gaussian_noise_of_scale_sigma_is_not_gdp_of_one_over_sigma() -> None:
    """Why the GDP accountant refuses it: telling two neighbouring counts apart has smaller errors than GDP allows.

    P(X > 0) = (1 - P(X = 0)) / 2 for discrete noise X, but 1/(sigma)-GDP asks for Phi(-1 / (2 sigma)) at least.
    """
    for sigma in (1.0, 5.0):
        whole = np.arange(-200, 201)
        distribution = np.exp(-(whole**2) / (2 * sigma**2))
        error = (1 - distribution[200] / distribution.sum()) / 2
        assert error < math.erfc(1 / (2 * sigma) / math.sqrt(2)) / 2 - 1e-5


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("scales", [(3.0,), (2.0, 3.0), (1e-8, 5.0), (1e14, 7e13, 3e14)])
def test_one_draw_of_the_joint_scale_costs_what_all_draws_cost(scales: tuple[float, ...], *, gaussian: bool) -> None:
    power = 2 if gaussian else 1
    whole = sum(1 / Fraction(scale) ** power for scale in scales)
    share = float(1 / Fraction(joint_scale(scales, gaussian=gaussian)) ** power / whole)
    assert share <= 1
    assert share == pytest.approx(1.0, rel=1e-11)
    assert joint_scale([SMALLEST_SCALE] * 2, gaussian=gaussian) == SMALLEST_SCALE
