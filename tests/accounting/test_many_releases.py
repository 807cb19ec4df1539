"""Totals over many releases: never below what the mechanisms lose, additive, and kept however releases are chosen."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.conversions import zcdp_order, zcdp_rho
from dpopt.accounting.many_releases import THEOREMS, Cost, left_for, pure_rho, renyi_divergence, total_of
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError

BOTH = Budget(3.0, 1e-6, None, Accountant.ZCDP)
PURE = Budget(3.0, 0.0, None, Accountant.PURE)
IN_RHO = Budget(None, 1e-9, 0.5, Accountant.ZCDP)
RELATION = NeighbouringRelation.ADD_REMOVE


def pure(epsilon: float) -> Cost:
    return Cost(pure_rho(epsilon), epsilon)


def response(epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the two distributions of randomized response, the worst pure mechanism."""
    likely = 1.0 / (1.0 + math.exp(-epsilon))
    return np.array([likely, 1.0 - likely]), np.array([1.0 - likely, likely])


def charge(kind: ChargeKind, parameter: float, count: int = 1) -> Charge:
    return Charge("a mechanism", kind, parameter, count, RELATION, "a theorem")


@pytest.mark.parametrize("epsilon", [1e-8, 1e-3, 0.1, 1.0, 4.0, 30.0])
@pytest.mark.parametrize("order", [1.0001, 1.5, 2.0, 11.0, 500.0])
def test_divergence_of_a_pure_release_is_at_least_that_of_randomized_response(epsilon: float, order: float) -> None:
    likely, unlikely = -math.log1p(math.exp(-epsilon)), -math.log1p(math.exp(epsilon))
    terms = (order * likely + (1 - order) * unlikely, order * unlikely + (1 - order) * likely)
    exact = float(np.logaddexp(*terms)) / (order - 1.0)
    found = renyi_divergence(pure(epsilon), order)
    assert exact * (1.0 - 1e-9) - 1e-12 <= found <= min(epsilon, order * pure_rho(epsilon)) * (1.0 + 1e-12)
    assert pure_rho(epsilon) <= epsilon**2 / 2.0 * (1.0 + 1e-12)
    assert found <= exact + 1e-6 * epsilon or found == pytest.approx(order * pure_rho(epsilon), rel=1e-9)


@pytest.mark.parametrize(
    ("budget", "costs", "theorem"),
    [
        (BOTH, [Cost(0.01)] * 3, "zcdp"),
        (BOTH, [pure(1.0)] * 3, "pure"),
        (BOTH, [pure(1.0), Cost(0.02)], "renyi"),
        (BOTH, [pure(0.01), Cost(0.1)], "renyi"),
        (PURE, [pure(1.5), pure(1.5)], "pure"),
        (IN_RHO, [Cost(0.25), Cost(0.25)], "zcdp"),
    ],
)
def test_the_sum_that_leaves_the_most_is_taken_and_named(budget: Budget, costs: list[Cost], theorem: str) -> None:
    total = total_of(budget, costs)
    assert (total.theorem, total.is_kept) == (theorem, True)
    assert total.theorem in THEOREMS


@pytest.mark.parametrize("budget", [BOTH, PURE, IN_RHO])
def test_what_is_left_is_all_that_is_left(budget: Budget) -> None:
    costs = [pure(0.4), pure(0.2)]
    left = left_for(budget, costs)
    assert left.epsilon is not None
    for factor, kept in ((0.999999, True), (1.00001, False)):
        assert total_of(budget, [*costs, pure(left.epsilon * factor)]).is_kept is kept
        if left.rho:
            assert total_of(budget, [*costs, Cost(left.rho * factor)]).is_kept is kept
    assert (left.rho == 0.0) is (budget is PURE)


def test_a_budget_is_used_up_exactly_by_its_parts() -> None:
    assert total_of(PURE, [pure(1.0)] * 3).is_kept
    assert not total_of(PURE, [pure(1.0)] * 3 + [pure(1e-9)]).is_kept
    assert total_of(BOTH, [Cost(zcdp_rho(3.0, 1e-6) / 8)] * 8).is_kept
    assert not total_of(BOTH, [Cost(zcdp_rho(3.0, 1e-6) / 8)] * 9).is_kept
    assert not total_of(BOTH, [Cost(math.inf)]).is_kept


def test_the_total_bounds_the_true_loss_of_a_mixture() -> None:
    """Hockey-stick divergence of randomized responses and coarse Gaussian noise together, against the delta of the budget."""
    epsilons, sigma = [0.3, 0.3], 6.0
    points = np.arange(-80, 82)
    gauss = [np.exp(-((points - centre) ** 2) / (2 * sigma**2)) for centre in (0, 1)]
    distributions = [
        tuple(distribution / distribution.sum() for distribution in gauss),
        *(response(epsilon) for epsilon in epsilons),
    ]
    one = np.array([math.prod(parts) for parts in product(*(distribution[0] for distribution in distributions))])
    other = np.array([math.prod(parts) for parts in product(*(distribution[1] for distribution in distributions))])
    costs = [Cost(1.0 / (2 * sigma**2)), *map(pure, epsilons)]
    for epsilon in (0.8, 1.0, 1.5):
        kept = [d for d in 10.0 ** -np.arange(1, 12) if total_of(_budget(epsilon, d), costs).is_kept]
        lost = float(np.maximum(one - math.exp(epsilon) * other, 0.0).sum())
        assert kept
        assert lost <= min(kept)


def _budget(epsilon: float, delta: float) -> Budget:
    return Budget(epsilon, float(delta), None, Accountant.ZCDP)


def test_releases_chosen_by_what_was_seen_stay_within_the_budget() -> None:
    """An owner who has lost much at first buys pure noise with the rest, else Gaussian noise: exact loss of the whole tree."""
    budget = _budget(1.2, 1e-3)
    sigma, points = 6.0, np.arange(-90, 92)
    gauss = [np.exp(-((points - centre) ** 2) / (2 * sigma**2)) for centre in (0, 1)]
    first = [distribution / distribution.sum() for distribution in gauss]
    costs = [Cost(1.0 / (2 * sigma**2))]
    left = left_for(budget, costs)
    assert left.epsilon is not None
    assert left.epsilon > 0.3
    more = int(left.rho / costs[0].rho)
    assert more >= 1
    lost = 0.0
    for worse in (False, True):  # after a bad answer pure noise: the loss is as large as it can be
        mask = (np.log(first[0] / first[1]) > 0.1) == worse
        if worse:
            second = list(response(left.epsilon))
        else:
            spread = np.arange(-400, 402)
            wide = [np.exp(-((spread - centre) ** 2) / (2 * sigma**2 / more)) for centre in (0, 1)]
            second = [distribution / distribution.sum() for distribution in wide]
        one, other = np.outer(first[0][mask], second[0]), np.outer(first[1][mask], second[1])
        lost += float(np.maximum(one - math.exp(1.2) * other, 0.0).sum())
    assert lost <= 1e-3


def test_cost_of_charges() -> None:
    laplace = [charge(ChargeKind.PURE, 0.5), charge(ChargeKind.BOUNDED_RANGE, 0.25, 2)]
    cost = Cost.of_charges(laplace)
    assert cost.epsilon == 1.0
    assert cost.rho == pytest.approx(min(0.125 + 2 * 0.25**2 / 8, pure_rho(1.0)))
    assert Cost.of_charges([*laplace, charge(ChargeKind.CONCENTRATED, 0.1)]).epsilon is None
    marked = Charge("x", ChargeKind.NOT_PRIVATE, math.inf, 1, RELATION, "none")
    assert Cost.of_charges([marked]).rho == math.inf


def test_the_order_is_the_one_at_which_the_whole_budget_converts() -> None:
    order, rho = zcdp_order(3.0, 1e-6), zcdp_rho(3.0, 1e-6)
    assert order * rho == pytest.approx(total_of(BOTH, [pure(3.0), Cost(1.0)]).limit, rel=1e-9)
    assert order > 1.0


def test_an_accountant_without_additive_totals_is_refused() -> None:
    budget = Budget(1.0, 1e-6, None, Accountant.GDP)
    assert Cost.of_budget(budget) is None
    with pytest.raises(AccountingError, match="zcdp"):
        total_of(budget, [])


@pytest.mark.parametrize("wrong", [-1.0, math.nan])
def test_costs_out_of_range_are_refused(wrong: float) -> None:
    with pytest.raises(AccountingError, match="rho"):
        Cost(wrong)
    with pytest.raises(AccountingError, match="epsilon"):
        Cost(0.0, wrong)


@pytest.mark.parametrize("rho", [None, True, "1", -1.0, math.nan])
def test_what_a_release_costs_is_a_number_from_zero_on(rho: Any) -> None:
    with pytest.raises(AccountingError, match="rho"):
        Cost(rho)
    if rho is not None:
        with pytest.raises(AccountingError, match="epsilon"):
            Cost(1.0, rho)
