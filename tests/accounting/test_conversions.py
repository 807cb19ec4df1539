from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy import optimize
from scipy.special import log_ndtr

from dpopt.accounting.conversions import gdp_delta, gdp_epsilon, mills_ratio, zcdp_epsilon, zcdp_rho
from dpopt.errors import AccountingError

LOOSE = 1.0 + 1e-9


def powers(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high).map(lambda exponent: 10.0**exponent)


rhos, mus, epsilons = powers(-12, 2), powers(-4, 1.3), powers(-6, 2)
deltas = st.one_of(powers(-300, -0.302), powers(-12, -0.302))


def exact_zcdp_epsilon(rho: float, delta: float) -> Decimal:
    """The minimum over the order, to 40 digits: the formula of Canonne, Kamath, Steinke as printed, solved for epsilon."""
    with localcontext() as context:
        context.prec = 60
        rho_, goal = Decimal(rho), -Decimal(delta).ln()
        low, high = Decimal("1e-400"), Decimal("1e400")
        for _ in range(180):
            x = (low * high).sqrt()
            low, high = (x, high) if rho_ * x * x + (1 + x).ln() < goal else (low, x)
        alpha = 1 + low
        return alpha * rho_ + (goal - (alpha - 1).ln() + alpha * (1 - 1 / alpha).ln()) / (alpha - 1)


@given(rhos, deltas)
@example(1e-12, 0.5)
@example(100.0, 1e-300)
@example(1e-12, 1e-300)
@example(100.0, 0.5)
def test_the_epsilon_of_zcdp_is_an_upper_bracket_of_the_exact_one(rho: float, delta: float) -> None:
    epsilon, exact = zcdp_epsilon(rho, delta), float(exact_zcdp_epsilon(rho, delta))
    assert epsilon >= exact
    assert epsilon <= max(exact, 0.0) * LOOSE + 1e-15


def printed_delta(rho: float, epsilon: float) -> float:
    """The delta of Canonne, Kamath, Steinke as printed, minimised over the order by a general method."""

    def exponent(log_x: float) -> float:
        x = math.exp(log_x)
        alpha = 1.0 + x
        return x * (alpha * rho - epsilon) - math.log(x) - alpha * math.log1p(1.0 / x)

    found = optimize.minimize_scalar(exponent, bounds=(-20.0, 30.0), method="bounded", options={"xatol": 1e-9})
    return math.exp(found.fun)


@given(rhos, deltas)
def test_the_epsilon_of_zcdp_has_the_printed_delta(rho: float, delta: float) -> None:
    epsilon = zcdp_epsilon(rho, delta)
    assume(epsilon > 1e-2 * rho)
    assert printed_delta(rho, epsilon) <= delta * (1.0 + 1e-6)
    assert printed_delta(rho, epsilon * 0.99) > delta


@given(epsilons, deltas)
@example(1e-6, 1e-300)
@example(100.0, 0.5)
def test_a_budget_turned_into_rho_is_never_exceeded(epsilon: float, delta: float) -> None:
    rho = zcdp_rho(epsilon, delta)
    assert zcdp_epsilon(rho, delta) <= epsilon
    for smaller in (math.nextafter(rho, 0.0), rho * (1.0 - 1e-12), rho / 2.0):
        assert zcdp_epsilon(smaller, delta) <= epsilon
    assert rho > 0.0
    assert zcdp_epsilon(rho * LOOSE, delta) > epsilon


@given(mus, st.floats(0.0, 30.0))
def test_the_delta_of_gdp_is_an_upper_bracket_of_the_exact_one(mu: float, multiple: float) -> None:
    epsilon = mu * multiple
    first = log_ndtr(-epsilon / mu + mu / 2.0)
    gap = first - epsilon - log_ndtr(-epsilon / mu - mu / 2.0)
    exact = math.exp(first) * -math.expm1(-gap)
    assert gdp_delta(mu, epsilon) >= exact * (1.0 - 1e-9 / mu)
    assert gdp_delta(mu, epsilon) <= exact * (1.0 + 1e-8 / mu) + 1e-15


def test_gdp_at_epsilon_zero_is_the_total_variation_of_two_normals() -> None:
    assert gdp_delta(1.0, 0.0) == pytest.approx(0.38292492254802624, rel=1e-12)
    assert gdp_epsilon(1.0, 0.39) == 0.0
    assert gdp_epsilon(1.0, 0.38) > 0.0


def test_known_pairs_of_the_gaussian_mechanism() -> None:
    # sigma = 1 and sensitivity 1: mu = 1, rho = 1/2. GDP is exact there, zCDP an upper bound.
    assert gdp_epsilon(1.0, 1e-5) == pytest.approx(4.37718, abs=1e-5)
    assert gdp_epsilon(1.0, 1e-5) < zcdp_epsilon(0.5, 1e-5) < 0.5 + 2.0 * math.sqrt(0.5 * math.log(1e5))


@given(mus, deltas)
def test_zcdp_of_a_gaussian_never_promises_more_than_its_exact_curve(mu: float, delta: float) -> None:
    assert zcdp_epsilon(mu * mu / 2.0, delta) >= gdp_epsilon(mu, delta) * (1.0 - 1e-3)


@pytest.mark.parametrize("convert", [zcdp_epsilon, gdp_epsilon])
@given(parameter=powers(-10, 1), delta=deltas, factor=st.floats(1.001, 10.0))
def test_epsilon_grows_with_the_parameter_and_falls_with_delta(
    convert: Callable[[float, float], float], parameter: float, delta: float, factor: float
) -> None:
    epsilon = convert(parameter, delta)
    assert convert(parameter * factor, delta) >= epsilon
    assert convert(parameter, delta / factor) >= epsilon
    assert epsilon >= 0.0


@pytest.mark.parametrize("convert", [gdp_delta])
@given(parameter=powers(-6, 1), epsilon=epsilons, factor=st.floats(1.01, 10.0))
def test_delta_grows_with_the_parameter_and_falls_with_epsilon(
    convert: Callable[[float, float], float], parameter: float, epsilon: float, factor: float
) -> None:
    delta = convert(parameter, epsilon)
    assert convert(parameter * factor, epsilon) >= delta
    assert convert(parameter, epsilon * factor) <= delta * LOOSE
    assert 0.0 < delta <= 1.0


@pytest.mark.parametrize("convert", [zcdp_rho])
@given(epsilon=epsilons, delta=deltas, factor=st.floats(1.001, 10.0))
def test_the_allowed_parameter_grows_with_the_budget(
    convert: Callable[[float, float], float], epsilon: float, delta: float, factor: float
) -> None:
    assert convert(epsilon * factor, delta) >= convert(epsilon, delta) >= convert(epsilon, delta / factor)


def test_nothing_costs_nothing_and_infinity_infinity() -> None:
    for epsilon in (zcdp_epsilon, gdp_epsilon):
        assert epsilon(0.0, 1e-6) == 0.0
        assert epsilon(math.inf, 1e-6) == math.inf
    assert gdp_delta(0.0, 1.0) == 0.0
    assert gdp_delta(math.inf, 1.0) == 1.0


def test_a_large_delta_needs_no_epsilon() -> None:
    assert zcdp_epsilon(1e-6, 0.1) == 0.0
    assert gdp_epsilon(1e-3, 0.1) == 0.0


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e-30, 1.0, 1e30, 1e200, 1e307])
@pytest.mark.parametrize("delta", [5e-324, 1e-300, 0.5, 1.0 - 2.0**-53])
def test_extreme_numbers_give_numbers(size: float, delta: float) -> None:
    for convert in (zcdp_epsilon, zcdp_rho, gdp_epsilon):
        assert convert(size, delta) >= 0.0
    for epsilon in (0.0, 5e-324, 1.0, 1e307):
        assert 0.0 < gdp_delta(size, epsilon) <= 1.0


@pytest.mark.parametrize("x", [0.0, 0.5, 3.0, 19.99, 20.0, 20.01, 37.0])
def test_the_mills_ratio_agrees_with_the_normal_distribution(x: float) -> None:
    exact = math.exp(float(log_ndtr(-x)) + x * x / 2.0 + math.log(2.0 * math.pi) / 2.0)
    assert mills_ratio(x) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("convert", [zcdp_epsilon, zcdp_rho, gdp_epsilon])
@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, 2.0, math.nan])
def test_a_delta_outside_zero_to_one_is_refused(convert: Callable[[float, float], float], delta: float) -> None:
    with pytest.raises(AccountingError, match="delta: found"):
        convert(1.0, delta)


@pytest.mark.parametrize("convert", [zcdp_epsilon, zcdp_rho, gdp_epsilon])
@pytest.mark.parametrize("value", [-1.0, math.nan, -math.inf])
def test_a_negative_parameter_is_refused(convert: Callable[[float, float], float], value: float) -> None:
    with pytest.raises(AccountingError, match="at least 0"):
        convert(value, 1e-6)


@pytest.mark.parametrize("convert", [zcdp_rho])
def test_an_infinite_budget_is_refused(convert: Callable[[float, float], float]) -> None:
    with pytest.raises(AccountingError, match="epsilon: found inf, expected a number that is at least 0"):
        convert(math.inf, 1e-6)


@pytest.mark.parametrize("convert", [gdp_delta])
@pytest.mark.parametrize(("parameter", "epsilon"), [(-1.0, 1.0), (1.0, -1.0), (1.0, math.inf), (math.nan, 1.0)])
def test_an_epsilon_or_parameter_out_of_range_is_refused(
    convert: Callable[[float, float], float], parameter: float, epsilon: float
) -> None:
    with pytest.raises(AccountingError):
        convert(parameter, epsilon)
