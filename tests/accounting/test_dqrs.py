from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpopt.accounting.accountants import Accountant, total_epsilon
from dpopt.accounting.charges import ChargeKind
from dpopt.accounting.dqrs import (
    dqrs_charge,
    dqrs_charges,
    fresh_ranges,
    log_fresh_moment,
    log_outcome_moment,
    reuse_rhos,
    round_rhos,
)
from dpopt.accounting.dualquery import draw_charge, dualquery_epsilon
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError

REPLACE, ADD_REMOVE = NeighbouringRelation.REPLACE_ONE, NeighbouringRelation.ADD_REMOVE
RATIOS = [(0.02, 0.045), (0.1, 0.19), (0.4, 0.57), (1.2, 0.92)]


@pytest.mark.parametrize(("eta", "expected"), RATIOS)
def test_keeping_queries_costs_what_the_specification_says(eta: float, expected: float) -> None:
    n, x = 494021, np.array([19.0])
    ranges = fresh_ranges(300, eta, n, REPLACE)[1:]
    kept = log_outcome_moment(x, ranges[:, None], eta, 0.1 * eta, n)[:, 0] / x
    fresh = 20.0 * ranges**2 / 8.0
    assert np.minimum(kept, fresh).sum() / fresh.sum() == pytest.approx(expected, abs=0.004)


@pytest.mark.parametrize(("eta", "least", "most"), [(0.4, 0.6, 0.63), (0.7, 0.76, 0.79), (1.2, 0.92, 0.925)])
def test_as_zcdp_little_is_lost_at_steps_from_four_tenths_on(eta: float, least: float, most: float) -> None:
    rhos = round_rhos(300, eta, 0.1 * eta, 494021, REPLACE)[1:]
    ratio = rhos.sum() / (fresh_ranges(300, eta, 494021, REPLACE)[1:] ** 2 / 8.0).sum()
    assert least < ratio < most


def epsilon_by_orders(
    rounds: int, draws: int, eta: float, margin: float, n: int, relation: NeighbouringRelation, delta: float
) -> float:
    """Return epsilon at delta by the best single Renyi order (Canonne, Kamath and Steinke 2020, Proposition 12).

    minimize over alpha > 1:  r - ln(1 + 1/x) + (ln(1/delta) - ln(1 + x)) / x,   x = alpha - 1,
        r = s sum over t of min(r_t(alpha), alpha e_t^2 / 8)
    """
    ranges = fresh_ranges(rounds, eta, n, relation)[1:, None]
    x = np.geomspace(1e-2, 1e6, 1500)
    kept = log_outcome_moment(x, ranges, eta, margin, n) / x
    total = np.minimum(kept, (x + 1.0) * ranges * ranges / 8.0).sum(axis=0)
    epsilons = draws * total - np.log1p(1.0 / x) + (-math.log(delta) - np.log1p(x)) / x
    return max(0.0, float(epsilons.min()))


@pytest.mark.parametrize("eta", [0.1, 0.4, 1.2])
def test_the_ledger_never_charges_less_than_the_best_single_order(eta: float) -> None:
    run = (200, 1000, eta, 0.1 * eta, 30162, REPLACE)
    charged = total_epsilon(dqrs_charges(*run), Accountant.ZCDP, 1e-9)
    by_orders = epsilon_by_orders(*run, 1e-9)
    plain = dualquery_epsilon(200, 1000, eta, 30162, REPLACE, Accountant.ZCDP, 1e-9)
    assert by_orders <= charged * (1 + 1e-6)
    assert charged < plain
    if eta >= 0.4:
        assert charged <= 1.06 * by_orders


def exact_moment(x: float, fresh: Decimal, keep: Decimal, other: Decimal) -> Decimal:
    """ln [a^alpha a'^(1-alpha) + p^alpha p'^(1-alpha) exp(G)], to 60 digits."""
    alpha = Decimal(x) + 1
    one = (alpha * keep.ln() + (1 - alpha) * other.ln()).exp()
    two = (alpha * (1 - keep).ln() + (1 - alpha) * (1 - other).ln() + fresh).exp()
    return (one + two).ln()


@settings(max_examples=60, deadline=None)
@example(eta=2.0, share=0.5, n=2, t=674, x=1711.0, place=0.0, shift=0.0)  # exponents of hundreds of millions
@given(
    eta=st.floats(0.01, 2.0),
    share=st.floats(0.02, 0.5),
    n=st.integers(2, 2**53),
    t=st.integers(2, 2000),
    x=st.floats(1e-4, 1e4),
    place=st.floats(0.0, 1.0),
    shift=st.floats(-1.0, 1.0),
)
def test_no_answers_within_reach_cost_more_than_the_corners(
    eta: float, share: float, n: int, t: int, x: float, place: float, shift: float
) -> None:
    margin = share * eta
    ranges = fresh_ranges(t, eta, n, REPLACE)[-1:]
    orders = np.array([x])
    claimed = float(log_outcome_moment(orders, ranges, eta, margin, n)[0])
    fresh = float(log_fresh_moment(orders, ranges)[0])
    with localcontext(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN):
        low, high = Decimal(-2.0 * eta - margin), Decimal(-margin)
        log_keep = low + (high - low) * Decimal(place)
        log_other = min(high, max(low, log_keep + Decimal(shift) * Decimal(eta) / n))
        found = exact_moment(x, Decimal(fresh), log_keep.exp(), log_other.exp())
    assert float(found) <= claimed * (1 + 1e-9) + 1e-300


@pytest.mark.parametrize("n", [10**6, 2**45, 2**53])
@pytest.mark.parametrize("x", [1.0, 1e6, 5e15])
def test_however_large_the_public_size_no_digit_of_the_moment_is_lost(n: int, x: float) -> None:
    eta, margin = 0.1, 0.01
    ranges, orders = np.array([2.6e-15]), np.array([x])
    claimed = float(log_outcome_moment(orders, ranges, eta, margin, n)[0])
    fresh = Decimal(float(log_fresh_moment(orders, ranges)[0]))
    with localcontext(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN):
        step, most = Decimal(eta) / n, -Decimal(margin)
        least = most - 2 * Decimal(eta)
        corners = [(most, most), (most, most - step), (most - step, most)]
        corners += [(least, least), (least, least + step), (least + step, least)]
        found = max(exact_moment(x, fresh, keep.exp(), other.exp()) for keep, other in corners)
    assert claimed == pytest.approx(float(found), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(x=st.floats(1e-3, 1e4), range_=st.floats(1e-6, 3.0), place=st.floats(0.0, 1.0))
def test_the_moment_of_a_fresh_draw_bounds_every_two_point_distribution(
    x: float, range_: float, place: float
) -> None:
    claimed = float(log_fresh_moment(np.array([x]), np.array([range_]))[0])
    with localcontext(prec=80, Emax=MAX_EMAX, Emin=MIN_EMIN):
        alpha, e = Decimal(x) + 1, Decimal(range_)
        b = e * Decimal(place)
        share = (b.exp() - 1) / (e.exp() - 1)
        moment = share * (alpha * (e - b)).exp() + (1 - share) * (-alpha * b).exp()
        found = float(moment.ln())
    assert found <= claimed * (1 + 1e-9) + 1e-15
    assert claimed <= x * (x + 1) * range_**2 / 8 * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(
    eta=st.floats(0.02, 2.0),
    n=st.integers(50, 10**6),
    t=st.integers(2, 500),
    relation=st.sampled_from(NeighbouringRelation),
    logs=st.lists(st.floats(-12.0, 16.0), min_size=1, max_size=20),
)
def test_no_order_costs_more_than_rho_times_the_order(
    eta: float, n: int, t: int, relation: NeighbouringRelation, logs: list[float]
) -> None:
    rho = float(reuse_rhos(t, eta, 0.1 * eta, n, relation)[-1])
    x = np.exp(np.array(logs))
    moments = log_outcome_moment(x, fresh_ranges(t, eta, n, relation)[-1:, None], eta, 0.1 * eta, n)[0]
    assert np.all(moments <= rho * x * (x + 1.0) * (1 + 1e-12))


def test_rounds_are_charged_the_cheaper_of_the_two_and_the_first_one_is_free() -> None:
    charges = dqrs_charges(60, 7, 0.4, 0.04, 10_000, ADD_REMOVE)
    assert charges[0] == draw_charge(1, 7, 0.4, 10_000, ADD_REMOVE)
    assert charges[0].parameter == 0.0
    for t, charge in enumerate(charges, start=1):
        assert charge == dqrs_charge(t, 7, 0.4, 0.04, 10_000, ADD_REMOVE)
        fresh = draw_charge(t, 7, 0.4, 10_000, ADD_REMOVE)
        cost = charge.parameter if charge.kind is ChargeKind.CONCENTRATED else charge.parameter**2 / 8
        assert cost <= fresh.parameter**2 / 8
        assert charge.count == 7
        assert charge.label == f"round {t}"
    kinds = [charge.kind for charge in charges]
    assert kinds[1] is ChargeKind.BOUNDED_RANGE
    assert kinds[-1] is ChargeKind.CONCENTRATED
    first = kinds.index(ChargeKind.CONCENTRATED)
    assert set(kinds[first:]) == {ChargeKind.CONCENTRATED}


def test_rounds_never_get_cheaper() -> None:
    rhos = round_rhos(400, 0.5, 0.05, 50_000, REPLACE)
    assert np.all(np.diff(rhos[1:]) > 0)
    assert math.isinf(reuse_rhos(3, 0.5, 0.05, 50_000, REPLACE)[0])


@pytest.mark.parametrize(("eta", "margin"), [(0.0, 0.1), (9.0, 0.1), (0.5, 0.0), (0.5, 9.0), (math.nan, 0.1)])
def test_steps_and_margins_out_of_range_are_refused(eta: float, margin: float) -> None:
    with pytest.raises(AccountingError, match="of DQRS|eta"):
        dqrs_charges(3, 1, eta, margin, 100, REPLACE)
