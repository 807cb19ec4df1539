"""How many rounds fit a budget: a search that asks the exact sums only near the answer."""

from __future__ import annotations

import math
from collections.abc import Callable

from dpopt.accounting.accountants import Accountant, ChargeColumns
from dpopt.accounting.conversions import gdp_mu, zcdp_rho

MOST_ROUNDS = 1_000_000


def largest_allowed(allowed: Callable[[int], bool], near: int, most: int = MOST_ROUNDS) -> int:
    """Return the largest T in 1..`most` that passes a test true up to some T >= 1 and false after it.

    Steps away from `near`, doubling the step until the answer is passed, then bisects.
    """
    low, high, step = 1, most + 1, 1
    if allowed(near):
        low = near
        while low + step < high:
            if not allowed(low + step):
                high = low + step
            else:
                low += step
                step *= 2
    else:
        high = near
        while high - step > low:
            if allowed(high - step):
                low = high - step
            else:
                high -= step
                step *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return low


def quick_test(
    draws: int,
    increment: float,
    slack: float,
    *,
    accountant: Accountant,
    epsilon: float,
    delta: float,
    others: ChargeColumns,
) -> Callable[[int], bool]:
    """Return a cheap test for a number of rounds that is nearly right; the exact search is the judge.

    With e_t = increment (t - 1) + slack in round t = 2..T, the sums of e_t and e_t^2 are polynomials in T.
    For advanced composition exp(e) - 1 is taken as e and other charges are left out; then sqrt(2 L x) + x is
    compared with epsilon, where L = ln(1/delta), x is the sum of squares, and the largest such x has a closed
    form.
    """
    limit = _limit(accountant, epsilon, delta, others)

    def test(rounds: int) -> bool:
        m = rounds - 1.0
        line = m * (m + 1.0) / 2.0
        squares = increment**2 * line * (2.0 * m + 1.0) / 3.0 + slack * (2.0 * increment * line + slack * m)
        if accountant is Accountant.PURE:
            return draws * (increment * line + slack * m) <= limit
        if accountant is Accountant.THEOREM:
            return draws * m * (increment * m + slack) ** 2 <= limit
        if accountant is Accountant.GDP:
            return (draws + math.pi / 2.0 - 1.0) * squares <= limit
        return draws * squares <= limit

    return test


def _limit(accountant: Accountant, epsilon: float, delta: float, others: ChargeColumns) -> float:
    """Return what the measure of `quick_test` is compared with."""
    if math.isinf(epsilon):
        return math.inf
    if accountant is Accountant.PURE:
        return epsilon - others.epsilon(accountant, delta)
    if accountant is Accountant.ZCDP:
        return 8.0 * (zcdp_rho(epsilon, delta) - others.rho())
    if accountant is Accountant.GDP:
        return 4.0 * (gdp_mu(epsilon, delta) ** 2 - others.mu_squared())
    root = math.sqrt(-2.0 * math.log(delta))
    return (2.0 * epsilon / (root + math.sqrt(root * root + 4.0 * epsilon))) ** 2
