"""What a matrix of whole weights costs: figures of its entries, never below the truth."""

from __future__ import annotations

from fractions import Fraction
from math import e, log

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant, total_epsilon
from dpopt.accounting.budget import Budget
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.conversions import zcdp_epsilon
from dpopt.accounting.many_releases import Cost
from dpopt.accounting.matrices import largest_excess, largest_ratio, matrix_charges, ratio_below
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError

ADD = NeighbouringRelation.ADD_REMOVE


@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1.0, log(3.0), 7.3, 40.0])
def test_the_bound_on_ratios_is_below_the_exponential_and_near(epsilon: float) -> None:
    """Against the series of e^x in fractions."""
    term = total = Fraction(1)
    for k in range(1, 260):
        term = term * Fraction(epsilon) / k
        total += term
    assert 0 < total - Fraction(ratio_below(epsilon)) < total * Fraction(1, 2**51)


def test_a_matrix_is_charged_by_its_largest_ratio_or_by_delta() -> None:
    weights = np.array([[30, 10], [10, 30]])
    (charge,) = matrix_charges(weights, 2.0, ADD)
    assert charge.kind is ChargeKind.PURE
    assert log(3) <= charge.parameter <= log(3) * (1 + 1e-15)
    pure, delta = matrix_charges(weights, 1.0, ADD)
    assert (pure.kind, pure.parameter, delta.kind) == (ChargeKind.PURE, 1.0, ChargeKind.DELTA)
    assert delta.parameter == pytest.approx((30 - e * 10) / 40)
    assert delta.parameter >= (30 - Fraction(e) * 10) / 40
    assert [one.parameter for one in matrix_charges(np.array([[2, 2], [2, 2]]), 1.0, ADD)] == [0.0]


def test_zeros_and_many_values_cost_what_their_worst_pair_costs() -> None:
    draw = np.random.default_rng(4)
    for _ in range(20):
        weights = draw.integers(0, 50, (5, 4))
        weights[:, 0] += 400 - weights.sum(axis=1)
        rows = [*zip(weights[1:].tolist(), weights[:-1].tolist(), strict=True)]
        pairs = [*rows, *((two, one) for one, two in rows)]
        ratios = [Fraction(a, b) for one, two in pairs for a, b in zip(one, two, strict=True) if b]
        infinite = any(a and not b for one, two in pairs for a, b in zip(one, two, strict=True))
        assert largest_ratio(weights) == (None if infinite else max(ratios))
        over = max(sum(max(0, a - 2 * b) for a, b in zip(one, two, strict=True)) for one, two in pairs)
        assert largest_excess(weights, 2.0) == Fraction(over, 400)


@pytest.mark.parametrize(
    "weights", [np.array([[1, 2]]), np.array([[1, 2], [2, 2]]), np.array([[-1, 2], [1, 0]]), np.array([[0.5, 0.5]] * 2)]
)
def test_what_is_no_matrix_is_refused(weights: np.ndarray) -> None:
    with pytest.raises(AccountingError, match="rows of whole weights"):
        matrix_charges(weights, 1.0, ADD)


def test_deltas_add_up_beside_epsilons_and_lessen_the_delta_of_other_accountants() -> None:
    """B13."""
    charges = [Charge("a", ChargeKind.PURE, 0.5, 1, ADD, "t"), Charge("a", ChargeKind.DELTA, 1e-3, 2, ADD, "t")]
    spent = Budget(1.0, 1e-2, None, Accountant.PURE).spent(charges)
    assert (spent.epsilon, spent.delta, spent.rho) == (0.5, 2e-3, np.inf)
    assert not Budget(1.0, 1e-3, None, Accountant.PURE).allows(charges)
    assert Budget(1.0, 1e-2, None, Accountant.PURE).allows(charges)
    found = total_epsilon(charges, Accountant.ZCDP, 3e-3)
    assert found == pytest.approx(zcdp_epsilon(0.125, 1e-3))
    with pytest.raises(AccountingError, match="have delta 0.002 already"):
        total_epsilon(charges, Accountant.ZCDP, 2e-3)
    with pytest.raises(AccountingError, match="for one record"):
        Budget(9.0, 0.1, None, Accountant.PURE, 2).spent(charges)
    assert Cost.of_charges(charges).rho == np.inf
    with pytest.raises(AccountingError, match="from 0 to 1"):
        Charge("a", ChargeKind.DELTA, 1.5, 1, ADD, "t")


def test_epsilon_out_of_range_is_refused() -> None:
    with pytest.raises(AccountingError, match="0.001 to 40"):
        ratio_below(41.0)
