"""None"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import erfcx, logsumexp, ndtr, ndtri
from scipy.stats import binom

from dpopt.accounting.accountants import COMPARED, Accountant, AdvancedComposition, Composition, columns_of
from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.conversions import gdp_epsilon, zcdp_epsilon
from dpopt.accounting.dualquery import plan_charges, run_columns
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError

REPLACE, ADD_REMOVE = NeighbouringRelation.REPLACE_ONE, NeighbouringRelation.ADD_REMOVE
RANGE, PURE, CONCENTRATED = ChargeKind.BOUNDED_RANGE, ChargeKind.PURE, ChargeKind.CONCENTRATED
WITH_PURE_EPSILON: list[Composition] = [Accountant.PURE, *AdvancedComposition, Accountant.GDP]


def charge(kind: ChargeKind, parameter: float, count: int = 1, relation: NeighbouringRelation = REPLACE) -> Charge:
    return Charge("mechanism", kind, parameter, count, relation, "theorem")


kinds = st.sampled_from([RANGE, PURE])
values = st.floats(1e-6, 0.5)
charges = st.builds(charge, kinds, values, st.integers(1, 50))
plans = st.lists(charges, min_size=1, max_size=8)
accountants = st.sampled_from(COMPARED)
deltas = st.floats(-9.0, -0.5).map(lambda exponent: 10.0**exponent)


@given(plans)
def test_rho_is_the_sum_by_kind_rounded_up_once(plan: list[Charge]) -> None:
    share = {RANGE: Fraction(1, 8), PURE: Fraction(1, 2)}
    exact = sum(c.count * Fraction(c.parameter) ** 2 * share[c.kind] for c in plan)
    total = columns_of(plan).rho()
    assert math.nextafter(total, 0.0) < exact <= total


def test_rho_of_each_kind() -> None:
    assert columns_of([charge(RANGE, 0.5, 4)]).rho() == 4 * 0.25 / 8
    assert columns_of([charge(PURE, 0.5, 4)]).rho() == 4 * 0.25 / 2
    assert columns_of([charge(CONCENTRATED, 0.5, 4)]).rho() == 2.0
    assert columns_of([charge(RANGE, 0.5, 4), charge(PURE, 0.5, 4), charge(CONCENTRATED, 0.5, 4)]).rho() == 2.625


def test_a_range_costs_a_quarter_of_the_rho_of_an_epsilon() -> None:
    assert columns_of([charge(PURE, 0.3)]).rho() == pytest.approx(
        4.0 * columns_of([charge(RANGE, 0.3)]).rho(), rel=1e-15
    )


def test_each_theorem_is_the_printed_formula() -> None:
    plan = [charge(RANGE, 0.01, 30), charge(PURE, 0.02, 5), charge(RANGE, 0.0, 100)]
    each = [0.01] * 30 + [0.02] * 5
    delta, log = 1e-6, math.log(1e6)
    squares = sum(e * e for e in each)
    expected: dict[Composition, float] = {
        Accountant.PURE: sum(each),
        # The epsilons of the pure charges are added apart, which is less than 0.02 for every use.
        AdvancedComposition.THEOREM: 0.01 * math.sqrt(2 * 30 * log) + 30 * 0.01 * (math.exp(0.01) - 1) + 5 * 0.02,
        AdvancedComposition.PER_ROUND: math.sqrt(2 * log * squares) + sum(e * (math.exp(e) - 1) for e in each),
        Accountant.ZCDP: zcdp_epsilon(30 * 0.01**2 / 8 + 5 * 0.02**2 / 2, delta),
        Accountant.GDP: gdp_epsilon(
            math.sqrt(
                (30 + math.pi / 2 - 1) * 0.01**2 / 4 + 5 * (2 * ndtri(math.exp(0.02) / (1 + math.exp(0.02)))) ** 2
            ),
            delta,
        ),
    }
    for accountant, value in expected.items():
        assert columns_of(plan).epsilon(accountant, delta) == pytest.approx(value, rel=1e-9), accountant


@pytest.mark.parametrize("accountant", AdvancedComposition)
def test_one_large_epsilon_beside_many_small_ranges_is_added_apart(accountant: Composition) -> None:
    draws, noise, delta = [charge(RANGE, 0.001, 10_000)], [charge(PURE, 0.5)], 1e-6
    apart = columns_of(draws).epsilon(accountant, delta) + 0.5
    assert columns_of(draws + noise).epsilon(accountant, delta) == pytest.approx(apart, rel=1e-12)


@pytest.mark.parametrize("accountant", AdvancedComposition)
def test_many_equal_epsilons_and_ranges_are_composed_together(accountant: Composition) -> None:
    mixed = [charge(RANGE, 0.01, 500), charge(PURE, 0.01, 500)]
    alone = [charge(PURE, 0.01, 1000)]
    assert columns_of(mixed).epsilon(accountant, 1e-6) == pytest.approx(
        columns_of(alone).epsilon(accountant, 1e-6), rel=1e-12
    )


def test_delta_is_ignored_by_pure_composition_alone() -> None:
    plan = [charge(PURE, 0.5, 2)]
    assert columns_of(plan).epsilon(Accountant.PURE, 0.0) == 1.0
    for accountant in set(COMPARED) - {Accountant.PURE}:
        with pytest.raises(AccountingError, match="delta: found"):
            columns_of(plan).epsilon(accountant, 0.0)


def test_a_pure_total_is_exact_where_it_can_be() -> None:
    assert columns_of([charge(PURE, 0.125, 8)] * 10).epsilon(Accountant.PURE, 0.0) == 10.0
    assert columns_of([charge(PURE, 0.1)] * 10).epsilon(Accountant.PURE, 0.0) == math.nextafter(1.0, 2.0)


@given(plans, accountants, deltas, st.randoms(use_true_random=False))
def test_order_and_groups_are_free(plan: list[Charge], accountant: Composition, delta: float, shuffler: object) -> None:
    mixed = list(plan)
    shuffler.shuffle(mixed)  # type: ignore[attr-defined]
    assert columns_of(mixed).epsilon(accountant, delta) == columns_of(plan).epsilon(accountant, delta)


@given(plans, plans, deltas)
def test_composition_is_additive(first: list[Charge], second: list[Charge], delta: float) -> None:
    both = [*first, *second]
    assert columns_of(both).rho() == pytest.approx(columns_of(first).rho() + columns_of(second).rho(), rel=1e-15)
    pure = [columns_of(plan).epsilon(Accountant.PURE, delta) for plan in (first, second, both)]
    assert pure[2] == pytest.approx(pure[0] + pure[1], rel=1e-15)


@pytest.mark.parametrize("accountant", AdvancedComposition)
def test_a_few_epsilons_alone_cost_no_more_than_their_sum(accountant: Composition) -> None:
    assert columns_of([charge(PURE, 0.5)]).epsilon(accountant, 0.1) == 0.5


@example([charge(PURE, 0.5)], charge(RANGE, 0.25), AdvancedComposition.THEOREM, 0.1)
@given(plans, charges, accountants, deltas)
def test_a_charge_more_never_costs_less(
    plan: list[Charge], more: Charge, accountant: Composition, delta: float
) -> None:
    assert columns_of([*plan, more]).epsilon(accountant, delta) >= columns_of(plan).epsilon(accountant, delta)


@given(kinds, values, st.integers(1, 50), accountants, deltas, st.floats(1.001, 3.0))
def test_epsilon_grows_with_parameter_and_count_and_falls_with_delta(
    kind: ChargeKind, value: float, count: int, accountant: Composition, delta: float, factor: float
) -> None:
    total = columns_of([charge(kind, value, count)]).epsilon(accountant, delta)
    assert columns_of([charge(kind, value * factor, count)]).epsilon(accountant, delta) >= total
    assert columns_of([charge(kind, value, count + 1)]).epsilon(accountant, delta) >= total
    assert columns_of([charge(kind, value, count)]).epsilon(accountant, min(0.9, delta * factor)) <= total


@given(st.lists(st.floats(1e-5, 0.01), min_size=1, max_size=8), deltas)
def test_unequal_terms_never_cost_more_than_the_largest_for_all(parameters: list[float], delta: float) -> None:
    plan = [charge(RANGE, value, 20) for value in parameters]
    per_round = columns_of(plan).epsilon(AdvancedComposition.PER_ROUND, delta)
    assert per_round <= columns_of(plan).epsilon(AdvancedComposition.THEOREM, delta) * (1.0 + 1e-12)


def test_many_small_ranges_cost_less_by_every_better_theorem() -> None:
    plan = [charge(RANGE, 1e-4 * t, 500) for t in range(1, 60)]
    totals = [columns_of(plan).epsilon(accountant, 1e-6) for accountant in COMPARED]
    assert totals == sorted(totals, reverse=True)
    assert len(set(totals)) == 5


@given(st.floats(1e-12, 30.0))
def test_the_mu_of_a_pure_mechanism_meets_its_trade_off_curve(epsilon: float) -> None:
    # At the kink of the curve of randomised response, delta(0) = tanh(epsilon / 2), which 2 Phi(mu/2) - 1 must equal.
    from dpopt.accounting.accountants import columns_of

    mu = math.sqrt(columns_of([charge(PURE, epsilon)]).mu_squared())
    assert math.erfc(mu / math.sqrt(8.0)) == pytest.approx(2.0 / (1.0 + math.exp(epsilon)), rel=1e-9, abs=1e-15)


def test_gdp_of_one_small_draw_is_that_of_randomised_response() -> None:
    # One draw of range e is at worst randomised response with e/2: the constant pi/2 - 1 is sharp there.
    drawn = columns_of([charge(RANGE, 1e-3)]).epsilon(Accountant.GDP, 1e-5)
    assert drawn == pytest.approx(columns_of([charge(PURE, 5e-4)]).epsilon(Accountant.GDP, 1e-5), rel=1e-5)


def test_a_range_above_four_is_charged_like_a_pure_mechanism_by_gdp() -> None:
    assert columns_of([charge(RANGE, 4.5, 2)]).epsilon(Accountant.GDP, 1e-3) == pytest.approx(
        columns_of([charge(PURE, 4.5, 2)]).epsilon(Accountant.GDP, 1e-3), rel=1e-12
    )
    below = columns_of([charge(RANGE, 4.0, 2)]).epsilon(Accountant.GDP, 1e-3)
    assert below < columns_of([charge(PURE, 4.0, 2)]).epsilon(Accountant.GDP, 1e-3)


@pytest.mark.parametrize("accountant", Accountant)
def test_no_charges_and_charges_of_nothing_cost_nothing(accountant: Composition) -> None:
    assert columns_of([]).epsilon(accountant, 1e-6) == 0.0
    assert columns_of([charge(RANGE, 0.0, 9), charge(PURE, 0.0)]).epsilon(accountant, 1e-6) == 0.0
    assert columns_of([]).rho() == 0.0


@pytest.mark.parametrize("accountant", Accountant)
def test_a_not_private_charge_makes_every_total_infinite(accountant: Composition) -> None:
    plan = [charge(RANGE, 0.1), charge(ChargeKind.NOT_PRIVATE, math.inf), charge(CONCENTRATED, 0.1)]
    assert columns_of(plan).epsilon(accountant, 1e-6) == math.inf
    assert columns_of(plan).rho() == math.inf


@pytest.mark.parametrize("accountant", WITH_PURE_EPSILON)
def test_a_concentrated_charge_needs_zcdp(accountant: Composition) -> None:
    with pytest.raises(AccountingError, match="use 'zcdp'"):
        columns_of([charge(RANGE, 0.1), charge(CONCENTRATED, 0.1)]).epsilon(accountant, 1e-6)


@pytest.mark.parametrize("accountant", Accountant)
def test_charges_under_two_relations_are_refused(accountant: Composition) -> None:
    plan = [charge(RANGE, 0.1), charge(RANGE, 0.1, relation=ADD_REMOVE)]
    with pytest.raises(AccountingError, match="different neighbouring relations"):
        columns_of(plan).epsilon(accountant, 1e-6)
    with pytest.raises(AccountingError, match=r"one record more or less \(add-remove\), replace-one"):
        columns_of(plan).rho()


def test_gdp_is_refused_below_a_delta_of_1e_9_even_for_nothing() -> None:
    plan = [charge(RANGE, 0.001, 50)]
    assert columns_of(plan).epsilon(Accountant.GDP, 1e-9) > 0.0
    for below in (plan, []):
        with pytest.raises(AccountingError, match="verified numerically and not proved"):
            columns_of(below).epsilon(Accountant.GDP, 9.9e-10)


def test_the_documentation_says_that_the_gdp_constant_is_not_proved() -> None:
    assert "VERIFIED NUMERICALLY ON A GRID, NOT PROVED" in " ".join((Accountant.__doc__ or "").split())


@pytest.mark.parametrize("accountant", Accountant)
@pytest.mark.parametrize("parameter", [1e-300, 50.0, 800.0, 1e100])
def test_extreme_charges_give_totals(accountant: Composition, parameter: float) -> None:
    plan = [charge(RANGE, parameter, 2**53), charge(PURE, parameter)]
    assert columns_of(plan).epsilon(accountant, 1e-6) > 0.0 or accountant in {Accountant.ZCDP, Accountant.GDP}
    assert columns_of(plan).rho() > 0.0


@pytest.mark.parametrize("alpha", [1.1, 2.0, 8.0])
def test_the_renyi_divergence_of_an_exponential_mechanism_keeps_its_rho(alpha: float) -> None:
    generator = np.random.default_rng(5)
    for _ in range(200):
        logs = generator.normal(size=6) * 3.0
        change = generator.random(6) * generator.choice([0.1, 1.0, 3.0])
        p, q = (np.exp(v - v.max()) / np.exp(v - v.max()).sum() for v in (logs, logs + change))
        divergence = math.log(float((p**alpha * q ** (1.0 - alpha)).sum())) / (alpha - 1.0)
        assert divergence <= alpha * columns_of([charge(RANGE, float(np.ptp(change)))]).rho() * (1.0 + 1e-9)


# Cross-check against dp_accounting, which computes the same conversion over a fixed list of orders.

peer = pytest.importorskip("dp_accounting", reason="dp-accounting is not installed (extra 'test')")

ORDERS = 1.0 + np.geomspace(1e-3, 1e6, 4000)


def peer_epsilon(rho: float, delta: float) -> float:
    from dp_accounting import rdp

    accountant = rdp.RdpAccountant(orders=ORDERS, neighboring_relation=peer.NeighboringRelation.REPLACE_ONE)
    accountant.compose(peer.ZCDpEvent(rho))
    return float(accountant.get_epsilon(delta))


@pytest.mark.parametrize("rho", [1e-8, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9, 1e-12])
def test_zcdp_converts_as_in_dp_accounting(rho: float, delta: float) -> None:
    ours, theirs = zcdp_epsilon(rho, delta), peer_epsilon(rho, delta)
    assert ours <= theirs * (1.0 + 1e-12)  # every order is valid, ours is the best
    assert theirs <= ours * (1.0 + 1e-4) + 1e-12


def test_a_dualquery_run_costs_as_in_dp_accounting() -> None:
    relation = NeighbouringRelation.REPLACE_ONE
    rho = columns_of(plan_charges(170, 1750, 1.2, 494021, relation)).rho()
    ours = run_columns(170, 1750, 1.2, 494021, relation).epsilon(Accountant.ZCDP, 1e-3)
    assert ours == pytest.approx(peer_epsilon(rho, 1e-3), rel=1e-5)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 7.0, 100.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_gdp_converts_as_in_dp_accounting(sigma: float, delta: float) -> None:
    assert gdp_epsilon(1.0 / sigma, delta) == pytest.approx(peer.get_epsilon_gaussian(sigma, delta), rel=1e-8)


# The constant of the GDP accountant, on a grid.

Floats = NDArray[np.float64]
RANGES = [1e-3, 0.1, 1.0, 4.0]


def log_gaussian_delta(mu: float, epsilon: Floats) -> Floats:
    low, high = epsilon / mu - mu / 2.0, epsilon / mu + mu / 2.0
    scale, log_density = math.sqrt(math.pi / 2.0), -low * low / 2.0 - math.log(2.0 * math.pi) / 2.0
    tail = scale * erfcx(high / math.sqrt(2.0))
    positive = log_density + np.log(scale * erfcx(np.maximum(low, 0.0) / math.sqrt(2.0)) - tail)
    negative = np.log(ndtr(-low) - np.exp(log_density) * tail)
    return np.where(low > 0.0, positive, negative)


def log_delta_of_draws(draws: int, loss_range: float, offset: float, epsilon: Floats) -> Floats:
    chance = math.expm1(-offset) / math.expm1(-loss_range)
    ups = np.arange(draws + 1)
    excess = np.minimum(epsilon[:, None] - (ups * loss_range - draws * offset)[None, :], 0.0)
    with np.errstate(divide="ignore"):
        gain = np.log(-np.expm1(excess))
    return logsumexp(binom.logpmf(ups, draws, chance)[None, :] + gain, axis=1)


def largest_excess(draws: int, loss_range: float, constant: float) -> float:
    """The largest log ratio of the two curves, over offsets and epsilons up to 12 deviations."""
    mu = math.sqrt(draws + constant) * loss_range / 2.0
    worst = -math.inf
    for part in [*np.linspace(0.05, 0.95, 19), 0.5 - 0.5 / (draws + 1), 0.5 + 0.5 / (draws + 1)]:
        losses = (np.arange(draws + 1) - draws * part) * loss_range
        steps = np.concatenate([losses + f * loss_range for f in (0.0, 0.3, 0.6)])
        epsilon = np.unique(np.concatenate([np.linspace(0.0, mu * mu / 2.0 + 12.0 * mu, 40), steps]))
        epsilon = epsilon[
            (epsilon >= 0.0) & (epsilon < losses[-1] * (1.0 - 1e-9)) & (epsilon < mu * mu / 2.0 + 12.0 * mu)
        ]
        if len(epsilon):
            curve = log_delta_of_draws(draws, loss_range, part * loss_range, epsilon)
            worst = max(worst, float((curve - log_gaussian_delta(mu, epsilon)).max()))
    return worst


@pytest.mark.parametrize("draws", [1, 2, 3, 5, 10, 35, 200])
@pytest.mark.parametrize("loss_range", RANGES)
def test_the_gaussian_curve_lies_above_the_curve_of_the_draws(draws: int, loss_range: float) -> None:
    assert largest_excess(draws, loss_range, math.pi / 2.0 - 1.0) <= 1e-9


@pytest.mark.parametrize("draws", [1, 3, 5])
def test_a_smaller_constant_would_be_wrong(draws: int) -> None:
    assert largest_excess(draws, 1e-3, 0.9 * (math.pi / 2.0 - 1.0) if draws == 1 else 0.0) > 1e-3
