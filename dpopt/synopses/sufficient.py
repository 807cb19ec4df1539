"""Sufficient numbers for a wanted error, named where a plan does not reach it: the least found, of some digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil, floor, log10, sqrt

from dpopt.accounting.budget import Budget

LARGEST_BUDGET = 1e6
_CLOSE = 4e-4  # part of a number to which it is searched
_RECORD_DIGITS, _BUDGET_DIGITS = 4, 3


def sufficient_records(enough: Callable[[int], bool], size: int, most: int) -> int | None:
    """Return the least number of records of four digits that is enough, above `size`, which is not; None if `most` is not."""
    found = _least(lambda number: enough(ceil(number)), size, most, _RECORD_DIGITS)
    return None if found is None else ceil(found)


def sufficient_budget(enough: Callable[[Budget], bool], budget: Budget) -> str | None:
    """Return the least budget of three digits that is enough as its epsilon or rho; None if none up to 1e6 is."""
    in_rho = budget.epsilon is None
    start = (budget.rho if in_rho else budget.epsilon) or 0.0

    def allowed(amount: float) -> bool:
        return enough(replace(budget, rho=amount) if in_rho else replace(budget, epsilon=amount))

    found = _least(allowed, start, LARGEST_BUDGET, _BUDGET_DIGITS)
    return None if found is None else f"{'rho' if in_rho else 'epsilon'} = {found:g}"


def _least(enough: Callable[[float], bool], low: float, high: float, digits: int) -> float | None:
    """Return the least number of these digits that is enough, by bisection of logarithms: more of it never does worse."""
    if high <= low or not enough(high):
        return None
    while high > low * (1.0 + _CLOSE):
        middle = sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    power = digits - 1 - floor(log10(high))
    found = round(ceil(high * 10.0**power) / 10.0**power, max(power, 0))
    while not enough(found):
        found = round(found + 10.0**-power, max(power, 0))
    return found
