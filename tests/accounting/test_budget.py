from __future__ import annotations

import json
import math
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.accounting.accountants import Accountant, columns_of
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.conversions import zcdp_epsilon, zcdp_rho
from dpopt.accounting.dualquery import plan_charges, run_columns
from dpopt.accounting.ledger import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.algorithms.dualquery.plan import largest_number
from dpopt.errors import AccountingError, PrivacyWarning
from dpopt.files.codec import decode, encode

REPLACE = NeighbouringRelation.REPLACE_ONE
GAUSSIAN = Charge("Gaussian noise", ChargeKind.CONCENTRATED, 0.05, 1, REPLACE, "theorem")
LAPLACE = Charge("Laplace noise", ChargeKind.PURE, 0.5, 1, REPLACE, "theorem")
LEAK = Charge("scripted draw", ChargeKind.NOT_PRIVATE, math.inf, 1, REPLACE, "none")


@pytest.mark.parametrize(
    ("budget", "charge", "more"),
    [
        (Budget(1.0, 0.0, None, Accountant.PURE), LAPLACE, 1e-17),
        (Budget(None, 1e-6, 0.1, Accountant.ZCDP), GAUSSIAN, 1e-18),
    ],
)
def test_a_budget_is_kept_to_the_last_digit(budget: Budget, charge: Charge, more: float) -> None:
    assert budget.allows([charge, charge])
    assert not budget.allows([charge, charge, Charge("more", charge.kind, more, 1, REPLACE, "theorem")])


@given(st.floats(1e-3, 10.0), st.floats(1e-12, 0.1))
def test_noise_scaled_to_a_budget_in_epsilon_fits_it(epsilon: float, delta: float) -> None:
    rho = zcdp_rho(epsilon, delta)
    charge = Charge("Gaussian noise", ChargeKind.CONCENTRATED, rho, 1, REPLACE, "theorem")
    assert Budget(epsilon, delta, None, Accountant.ZCDP).allows([charge])
    assert Budget(None, delta, rho, Accountant.ZCDP).allows([charge])


@pytest.mark.parametrize("accountant", Accountant)
def test_a_plan_of_the_largest_number_of_rounds_fits_and_one_more_does_not(accountant: Accountant) -> None:
    budget = Budget(0.7, 1e-6, None, accountant)
    plan = (50, 0.8, 2000, REPLACE)
    rounds = largest_number(lambda number: run_columns(number, *plan).epsilon(accountant, 1e-6) <= 0.7, 1000)
    assert budget.allows(plan_charges(rounds, 50, 0.8, 2000, REPLACE))
    assert not budget.allows(plan_charges(rounds + 1, 50, 0.8, 2000, REPLACE))


def test_totals_are_those_of_the_accountant() -> None:
    spent = Budget(9.0, 1e-6, None, Accountant.ZCDP).spent([GAUSSIAN, LAPLACE])
    assert spent.epsilon == columns_of([GAUSSIAN, LAPLACE]).epsilon(Accountant.ZCDP, 1e-6)
    assert spent.rho == columns_of([GAUSSIAN, LAPLACE]).rho()
    assert (spent.delta, spent.accountant, spent.is_finite) == (1e-6, Accountant.ZCDP, True)


def test_a_budget_in_rho_reports_epsilon_at_its_delta() -> None:
    spent = Budget(None, 1e-9, 1.0, Accountant.ZCDP).spent([GAUSSIAN])
    assert (spent.epsilon, spent.delta, spent.rho) == (zcdp_epsilon(0.05, 1e-9), 1e-9, 0.05)


def test_the_delta_of_pure_composition_is_zero() -> None:
    assert Budget(1.0, 1e-6, None, Accountant.PURE).spent([LAPLACE]).delta == 0.0


@pytest.mark.parametrize(
    "budget", [Budget(1e300, 1e-6, None, Accountant.ZCDP), Budget(None, 1e-6, 1e300, Accountant.ZCDP)]
)
def test_no_budget_allows_a_not_private_charge(budget: Budget) -> None:
    assert not budget.allows([LEAK])
    assert not budget.spent([LEAK]).is_finite
    assert encode(budget.spent([LEAK])) == {"epsilon": None, "delta": 1e-6, "rho": None, "accountant": "zcdp"}


def test_a_budget_names_its_limit() -> None:
    assert Budget(None, 1e-6, 0.1, Accountant.ZCDP).describe() == "rho = 0.1"
    assert Budget(1.0, 0.0, None, Accountant.PURE).describe() == "epsilon = 1.0 (accountant 'pure')"
    described = Budget(1.0, 1e-6, None, Accountant.GDP).describe()
    assert described == "epsilon = 1.0 at delta = 1e-06 (accountant 'gdp')"


@given(st.floats(0.0, 1e9), st.floats(1e-9, 0.5), st.sampled_from(Accountant), st.booleans())
def test_a_budget_reads_back_from_json(limit: float, delta: float, accountant: Accountant, in_rho: bool) -> None:
    budget = Budget(None, delta, limit, Accountant.ZCDP) if in_rho else Budget(limit, delta, None, accountant)
    assert (
        decode(Budget, json.loads(json.dumps(encode(budget), allow_nan=False)), "a budget", AccountingError) == budget
    )


@pytest.mark.parametrize(
    ("epsilon", "delta", "rho", "accountant", "message"),
    [
        (None, 1e-6, None, Accountant.ZCDP, "exactly one of the two"),
        (1.0, 1e-6, 0.1, Accountant.ZCDP, "exactly one of the two"),
        (None, 1e-6, 0.1, Accountant.GDP, "accountant of a budget in rho: found 'gdp', expected 'zcdp'"),
        (-1.0, 1e-6, None, Accountant.ZCDP, "epsilon of a budget"),
        (math.inf, 1e-6, None, Accountant.ZCDP, "epsilon of a budget"),
        (math.nan, 1e-6, None, Accountant.ZCDP, "epsilon of a budget"),
        ("1", 1e-6, None, Accountant.ZCDP, "epsilon of a budget"),
        (True, 1e-6, None, Accountant.ZCDP, "epsilon of a budget"),
        (None, 1e-6, -0.1, Accountant.ZCDP, "rho of a budget"),
        (None, 1e-6, math.inf, Accountant.ZCDP, "rho of a budget"),
        (1.0, 0.0, None, Accountant.ZCDP, "delta of a budget"),
        (1.0, 1.0, None, Accountant.ZCDP, "delta of a budget"),
        (1.0, 1.0, None, Accountant.PURE, "delta of a budget"),
        (1.0, -0.5, None, Accountant.PURE, "delta of a budget"),
        (1.0, math.nan, None, Accountant.GDP, "delta of a budget"),
        (1.0, None, None, Accountant.GDP, "delta of a budget"),
        (1.0, 1e-10, None, Accountant.GDP, "verified numerically"),
        (1.0, 1e-6, None, "zcdp", "accountant of a budget"),
    ],
)
def test_a_budget_without_sense_is_refused(epsilon: Any, delta: Any, rho: Any, accountant: Any, message: str) -> None:
    with pytest.raises(AccountingError, match=message):
        Budget(epsilon, delta, rho, accountant)


@pytest.mark.parametrize(
    "changes", [{"more": 1}, {"accountant": "renyi"}, {"epsilon": "1"}, {"delta": None}, {"earlier": [1]}, {"rho": 1.0}]
)
def test_json_that_is_no_budget_is_refused(changes: dict[str, object]) -> None:
    written = encode(Budget(1.0, 1e-6, None, Accountant.ZCDP))
    with pytest.raises(AccountingError, match="budget"):
        decode(Budget, {**written, **changes}, "a budget", AccountingError)


@pytest.mark.parametrize(
    ("budget", "large"),
    [
        (Budget(20.0, 1e-9, None, Accountant.ZCDP), False),
        (Budget(20.1, 1e-9, None, Accountant.ZCDP), True),
        (Budget(20.1, 0.0, None, Accountant.PURE), True),
        (Budget(None, 1e-9, zcdp_rho(20.0, 1e-9), Accountant.ZCDP), False),
        (Budget(None, 1e-9, 1.01 * zcdp_rho(20.0, 1e-9), Accountant.ZCDP), True),
    ],
)
def test_a_budget_that_promises_nothing_is_warned_of(budget: Budget, large: bool) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert budget.warned() is budget
    assert [one.category for one in warned] == [PrivacyWarning] * large
