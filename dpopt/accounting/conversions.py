"""From rho-zCDP to (epsilon, delta) and back, and from mu-GDP, and the sums that are never below their exact value.

Conversions: all results are rounded outward. An epsilon or delta that comes out is never below the exact value of its
formula, a rho or mu never above. The conversions hold for whatever neighbouring relation rho or mu was stated for, and
keep it. Privacy: B7, B8 in docs/privacy.

Sums, which let a total be compared with a budget by a plain `<=`: products are split into pairs of floats without error
(Dekker 1971), the pairs are added without error (`math.fsum`, Shewchuk 1997), and the one rounding that is left goes
up. A total that is representable comes out as it is, so ten charges of 1/2 fit a budget of exactly 5; and the result
does not depend on the order of the charges, so a planner and the ledger always agree. Privacy: B9 in docs/privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import AccountingError

Floats = NDArray[np.float64]

SMALLEST_SQUARED = 1e-120  # below it the low half of a square would underflow
_SPLITTER = 2.0**27 + 1.0


def split_product(left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return (high, low) with high + low = left * right exactly and high the rounded product.

    Factors and products must be 0 or between 1e-270 and 1e270 in size, so that nothing overflows or underflows.
    """
    high = left * right
    left_top, left_rest = _halves(left)
    right_top, right_rest = _halves(right)
    low = ((left_top * right_top - high) + left_top * right_rest + left_rest * right_top) + left_rest * right_rest
    return high, low


def _halves(values: Floats) -> tuple[Floats, Floats]:
    scaled = values * _SPLITTER
    top = scaled - (scaled - values)
    return top, values - top


def sum_upward(*parts: Floats) -> float:
    """Return the smallest float that is at least the exact sum of all entries of all parts."""
    terms: list[float] = [term for part in parts for term in part.tolist()]
    total = math.fsum(terms)
    if math.isinf(total):
        return total
    terms.append(-total)
    return math.nextafter(total, math.inf) if math.fsum(terms) > 0.0 else total


def weighted_sum_upward(counts: Floats, values: Floats) -> float:
    """Return sum_i counts_i * values_i, rounded up once."""
    return sum_upward(*split_product(counts, values))


def weighted_squares(counts: Floats, values: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return four arrays whose entries add up to sum_i counts_i * values_i^2 exactly.

    Values between 0 and 1e-120 are taken as 1e-120 (an upper bound that no budget can see).
    """
    values = lifted(values)
    high, low = split_product(values, values)
    return (*split_product(counts, high), *split_product(counts, low))


def lifted(values: Floats) -> Floats:
    """Return the values with those between 0 and 1e-120 replaced by 1e-120, so that squares do not underflow."""
    return np.where((values > 0.0) & (values < SMALLEST_SQUARED), SMALLEST_SQUARED, values)


def scaled_upward(values: Floats, factor: int) -> Floats:
    """Return values * factor, each the smallest float that is not below the exact product."""
    high, low = split_product(lifted(values), np.full(len(values), float(factor)))
    return np.where(values == 0.0, 0.0, np.where(low > 0.0, np.nextafter(high, np.inf), high))


UNIT = 2.0**-53  # relative error of one rounding
SMALLEST_FLOAT = 5e-324
_LOG_SMALLEST, _LOG_LARGEST = -690.0, 690.0
_BISECTIONS = 42  # the order comes out to a relative 3e-10, the result to the square of that


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return an epsilon such that rho-zCDP implies (epsilon, delta)-differential privacy.

    minimize over x > 0 (Renyi order 1 + x):
        epsilon(x) = (x + 1) rho - ln(1 + 1/x) + (ln(1/delta) - ln(1 + x)) / x

    This is delta(x) = exp(x ((x + 1) rho - epsilon)) (x / (x + 1))^x / (x + 1) solved for epsilon. Its minimum is the
    root of rho x^2 + ln(1 + x) = ln(1/delta); every x gives a valid epsilon.

    rho is at least 0 and can be infinite, delta in (0, 1). Never below the exact minimum; 0 when delta is reached
    without any epsilon.

    Source: Canonne, Kamath, Steinke 2020, The Discrete Gaussian for Differential Privacy, Proposition 12.
    """
    _check("rho", rho, infinite=True)
    check_delta(delta)
    if rho == 0.0:
        return 0.0
    if math.isinf(rho):
        return math.inf
    log_delta = -math.log(delta)
    x = _root(lambda x: rho * x * x + math.log1p(x) - log_delta)
    first, second, third = (x + 1.0) * rho, math.log1p(1.0 / x), (log_delta - math.log1p(x)) / x
    error = 8.0 * UNIT * (first + second + (log_delta + math.log1p(x)) / x)
    return max(0.0, first - second + third + error)


def zcdp_rho(epsilon: float, delta: float) -> float:
    """Return the largest rho for which rho-zCDP implies (epsilon, delta)-differential privacy, rounded down.

    maximize over x > 0 (Renyi order 1 + x):
        rho(x) = (epsilon + ln(1 + 1/x) - (ln(1/delta) - ln(1 + x)) / x) / (x + 1)

    At least 0; `zcdp_epsilon(zcdp_rho(epsilon, delta), delta) <= epsilon` always, with a relative loss in rho of about
    1e-12.

    Source: Canonne, Kamath, Steinke 2020, The Discrete Gaussian for Differential Privacy, Proposition 12.
    """
    x, log_delta = _rho_root(epsilon, delta), -math.log(delta)
    rho = (epsilon + math.log1p(1.0 / x) - (log_delta - math.log1p(x)) / x) / (x + 1.0)
    return _lower_until(rho, lambda value: zcdp_epsilon(value, delta) <= epsilon)


def zcdp_order(epsilon: float, delta: float) -> float:
    """Return the Renyi order 1 + x at which `zcdp_rho` is reached: near the best, and every order above 1 is valid."""
    return 1.0 + _rho_root(epsilon, delta)


def gdp_delta(mu: float, epsilon: float) -> float:
    """Return the delta such that mu-GDP implies (epsilon, delta)-differential privacy.

    delta = Phi(-epsilon/mu + mu/2) - exp(epsilon) Phi(-epsilon/mu - mu/2), with Phi the normal distribution function.

    With a = epsilon/mu - mu/2, b = epsilon/mu + mu/2 and the Mills ratio m(x) = Phi(-x)/phi(x), the second term is
    phi(a) m(b), which needs no large exponential.

    mu is at least 0 and can be infinite, epsilon at least 0 and finite. Never below the exact value, in [0, 1].

    Source: Dong, Roth, Su 2019, Gaussian Differential Privacy, Corollary 2.13.
    """
    _check("mu", mu, infinite=True)
    _check("epsilon", epsilon)
    if mu == 0.0:
        return 0.0
    ratio = epsilon / mu
    low, high = ratio - mu / 2.0, ratio + mu / 2.0
    if low < -40.0:
        return 1.0
    if low > 40.0:
        return SMALLEST_FLOAT
    density = math.exp(-low * low / 2.0) / math.sqrt(2.0 * math.pi)
    first = density * mills_ratio(low) if low > 0.0 else math.erfc(low / math.sqrt(2.0)) / 2.0
    second = density * mills_ratio(high)
    # Rounding of low enters the density as low times its error; the Mills ratio errs by up to 600 roundings.
    error = UNIT * (first + second) * (1000.0 + 8.0 * (abs(low) + 1.0) * (ratio + mu))
    return min(1.0, max(SMALLEST_FLOAT, first - second + error))


def gdp_epsilon(mu: float, delta: float) -> float:
    """Return the smallest epsilon such that mu-GDP implies (epsilon, delta)-differential privacy, rounded up.

    Source: Dong, Roth, Su 2019, Gaussian Differential Privacy, Corollary 2.13 (see `gdp_delta`).
    """
    _check("mu", mu, infinite=True)
    check_delta(delta)
    if math.isinf(mu) or mu > 1e100:
        return math.inf
    if mu == 0.0 or gdp_delta(mu, 0.0) <= delta:
        return 0.0
    # Phi(-t) <= exp(-t^2/2), so delta is reached at the latest at t = sqrt(2 ln(1/delta)).
    high = mu * (mu / 2.0 + math.sqrt(-2.0 * math.log(delta)) + 1.0)
    while gdp_delta(mu, high) > delta:
        high *= 2.0
    return _bisect(0.0, high, lambda value: gdp_delta(mu, value) <= delta)[1]


def mills_ratio(x: float) -> float:
    """Return Phi(-x) / phi(x) of the standard normal distribution for x >= 0, to a relative error below 600 * 2^-53."""
    if x <= 20.0:
        return math.sqrt(math.pi / 2.0) * math.exp(x * x / 2.0) * math.erfc(x / math.sqrt(2.0))
    value = x
    for level in range(24, 0, -1):  # Laplace's continued fraction
        value = x + level / value
    return 1.0 / value


def check_delta(delta: float) -> None:
    """Raise AccountingError unless 0 < delta < 1."""
    if not 0.0 < delta < 1.0:
        raise AccountingError(f"delta: found {delta!r}, expected a number between 0 and 1, both excluded")


def _check(name: str, value: float, *, infinite: bool = False) -> None:
    if not value >= 0.0 or (math.isinf(value) and not infinite):
        expected = "a number that is at least 0" + ("" if infinite else " and finite")
        raise AccountingError(f"{name}: found {value!r}, expected {expected}")


def _rho_root(epsilon: float, delta: float) -> float:
    """Return the x of `zcdp_rho`."""
    _check("epsilon", epsilon)
    check_delta(delta)
    log_delta = -math.log(delta)

    def slope(x: float) -> float:  # the sign of -rho'(x)
        return epsilon + math.log1p(1.0 / x) - (2.0 * x + 1.0) * ((log_delta - math.log1p(x)) / x) / x

    return _root(slope)


def _root(increasing: Callable[[float], float]) -> float:
    """Return x > 0 near the sign change of an increasing function, by bisection on ln x."""
    low, high = _LOG_SMALLEST, _LOG_LARGEST
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        if increasing(math.exp(middle)) < 0.0:
            low = middle
        else:
            high = middle
    return math.exp(high)


def _bisect(low: float, high: float, above: Callable[[float], bool]) -> tuple[float, float]:
    """Return (low, high) around the point where `above` turns true, apart by at most 1e-13 of their size."""
    while high - low > 1e-13 * high and high > 1e-300:
        middle = (low + high) / 2.0
        if above(middle):
            high = middle
        else:
            low = middle
    return low, high


def _lower_until(value: float, allowed: Callable[[float], bool]) -> float:
    """Return a slightly smaller value (at least by 2^-40 of it) that is allowed; 0 if none was found."""
    step = 2.0**-40
    value = max(0.0, value)
    for _ in range(48):
        value *= 1.0 - min(step, 0.5)
        if value == 0.0 or allowed(value):
            return value
        step *= 2.0
    return 0.0
