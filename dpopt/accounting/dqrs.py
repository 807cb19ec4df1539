"""What a round of DQRS costs (DualQuery that keeps drawn queries where it can): Renyi moments, rho of zCDP and charges.

In round t each of the s queries of round t - 1 is kept with probability a = exp(eta (A - 1) - c), where A = q(D) - q(x),
taken as 1 where it is larger, is in [-1, 1], and is otherwise replaced by a fresh draw of round t. Given what was released
before, the s outcomes are independent, and neighbouring tables change A by at most 1/n, so ln a by at most h = eta / n.

Renyi cost of one outcome, order alpha > 1, with p = 1 - a and F the distribution of a fresh draw, of bounded range e_t:

    (alpha - 1) r_t(alpha) = max over (a, a') of ln [ a^alpha a'^(1-alpha) + p^alpha p'^(1-alpha) exp(G) ],
    G = ln of the largest E_F' (dF/dF')^alpha over all pairs of bounded range e_t.

The maximum is at one of six corners, G has a closed form, and rho_t = sup over alpha > 1 of r_t(alpha) / alpha is bounded on a
grid, whatever lies between its points: nothing is left to a search. Privacy: F2, F3 in docs/privacy.

What the sup costs: at the orders that a conversion to (epsilon, delta) uses, r_t / alpha is about (1 - exp(-2 eta - c)) of
a fresh draw's e_t^2 / 8: 0.045 of it at eta = 0.02, 0.19 at 0.1, 0.57 at 0.4, 0.92 at 1.2 with c = 0.1 eta
(tests/accounting/test_dqrs.py). At very high orders a rare redraw loses as much as a fresh draw, so the sup is 0.30, 0.41, 0.61
and 0.92: the loss is large for steps below 0.2 and none from 0.4 on.

Source: Vietri, Tian, Bun, Steinke and Wu 2020, section 4 (DQRS); Dong, Durfee and Rogers 2020 (bounded range); Bun and
Steinke 2016 (zCDP).
"""

from __future__ import annotations

import math

import numpy as np

from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.conversions import Floats
from dpopt.accounting.dualquery import draw_charge, draw_range, plan_charges
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import AccountingError

_SERIES_BELOW = 1e-2
_EXACT_ABOVE = 0.5  # of alpha e: below, Hoeffding's bound is as good and loses no digits


def log_fresh_moment(x: Floats, ranges: Floats) -> Floats:
    """Return G: the log of the largest E_F' (dF/dF')^alpha over pairs of bounded range e, rounded up.

    maximize over b in [0, e]:  -alpha b + ln(1 + (exp(b) - 1) k),   k = (exp(alpha e) - 1) / (exp(e) - 1)

    whose maximum is at exp(b) = alpha (k - 1) / ((alpha - 1) k); and never more than alpha (alpha - 1) e^2 / 8 (Hoeffding).

    Parameters
    ----------
    x, ranges
        alpha - 1, above 0, and e, above 0; they broadcast.

    Source: Dong, Durfee and Rogers 2020 (the two-point distribution is the worst of bounded range).
    """
    x, ranges = np.broadcast_arrays(x, ranges)
    alpha = x + 1.0
    hoeffding = x * alpha * ranges * ranges / 8.0
    reach = alpha * ranges
    log_k = _log_expm1(np.maximum(reach, _EXACT_ABOVE)) - _log_expm1(ranges)
    rest = np.log1p(-np.exp(-np.maximum(log_k, 1e-300)))
    exact = -alpha * (np.log1p(1.0 / x) + rest) + log_k + rest - np.log(x)
    exact += 1e-12 * (1.0 + reach)
    moments: Floats = np.where(reach > _EXACT_ABOVE, np.minimum(hoeffding, exact), hoeffding)
    return np.maximum(moments, 0.0)


def log_outcome_moment(x: Floats, ranges: Floats, eta: float, margin: float, n: int) -> Floats:
    """Return (alpha - 1) r_t(alpha) of one outcome: the largest log moment over the six corners.

    With D = ln(a / a'), E = ln(p / p'), and because a exp(-D) + p exp(-E) = a' + p' = 1, the moment minus 1 is

        a [f((alpha-1) D) + (alpha-1) f(-D)] + p [f((alpha-1) E + G) + G + (alpha-1) f(-E)],   f(y) = exp(y) - 1 - y,

    in which no term is negative: nothing cancels, however small 1/n is. Privacy: F3 in docs/privacy.

    Parameters
    ----------
    x, ranges
        alpha - 1 and the range of a fresh draw; they broadcast.
    eta, margin, n
        As in `reuse_rhos`.
    """
    fresh = log_fresh_moment(x, ranges)
    step = eta / n
    most, least = -margin, -(2.0 * eta + margin)
    corners = (
        (most, 0.0),
        (most, step),
        (most - step, -step),
        (least, 0.0),
        (least, -step),
        (least + step, step),
    )
    moments = np.zeros_like(fresh)
    for log_keep, difference in corners:
        moments = np.maximum(moments, _log_moment(x, fresh, log_keep, difference))
    return moments


def _log_moment(x: Floats, fresh: Floats, log_keep: float, kept: float) -> Floats:
    """Return ln [a^alpha a'^(1-alpha) + p^alpha p'^(1-alpha) exp(G)] for a = exp(log_keep) and a' = a exp(-kept).

    The difference of the logarithms is given as it is: subtracting two of them would lose it where n is large.
    """
    log_other = log_keep - kept
    keep, redraw, other = math.exp(log_keep), -math.expm1(log_keep), -math.expm1(log_other)
    # p / p' = 1 + (p - p') / p' with p - p' = a' - a = a' (1 - exp(D))
    redrawn = math.log1p(-math.exp(log_other) * math.expm1(kept) / other)
    first, second = x * kept, x * redrawn + fresh
    with np.errstate(over="ignore"):
        above_one = keep * (_beyond_linear(first) + x * _beyond_linear(np.array(-kept))) + redraw * (
            _beyond_linear(second) + fresh + x * _beyond_linear(np.array(-redrawn))
        )
    large = np.logaddexp(math.log(keep) + first, math.log(redraw) + second)
    return np.where(np.maximum(first, second) < 1.0, np.log1p(above_one), large)


def _beyond_linear(y: Floats) -> Floats:
    """Return exp(y) - 1 - y, accurately near 0 as well."""
    series = y * y / 2.0 * (1.0 + y / 3.0 * (1.0 + y / 4.0 * (1.0 + y / 5.0 * (1.0 + y / 6.0))))
    return np.where(np.abs(y) < _SERIES_BELOW, series, np.expm1(np.minimum(y, 700.0)) - y)


def _log_expm1(y: Floats) -> Floats:
    """Return ln(exp(y) - 1) for y > 0."""
    return np.where(y > 1.0, y + np.log1p(-np.exp(-np.maximum(y, 1.0))), np.log(np.expm1(np.minimum(y, 1.0))))


MECHANISM = "DQRS round (queries kept or drawn again)"
THEOREM = "DQRS as zCDP: kept-or-redrawn outcome, largest Renyi cost over all orders; sampler slack 2^-49"
LARGEST_REUSE_STEP = 8.0
"""Keeping queries is for small steps; beyond this one nothing is ever kept."""

_RATIO = 1.06
_FIRST, _REACH = 1e-4, 1e3
_UPWARD = (1.0 + (_RATIO - 1.0) ** 2 / (4.0 * _RATIO)) * (1.0 + _FIRST) * (1.0 + 1e-9)
_BLOCK = 256


def reuse_rhos(rounds: int, eta: float, margin: float, n: int, relation: NeighbouringRelation) -> Floats:
    """Return rho of zCDP of one kept-or-redrawn query in rounds 1 to `rounds`, rounded up; infinite for round 1.

    Parameters
    ----------
    rounds
        T, at least 1.
    eta
        Step, above 0 and at most 8.
    margin
        c, above 0: by how much the log-probability of keeping a query stays below 0.
    n, relation
        As in `draw_range`.

    Raises AccountingError: a parameter out of range.
    """
    _check(eta, margin)
    ranges = fresh_ranges(rounds, eta, n, relation)
    rhos = np.full(rounds, math.inf)
    for start in range(1, rounds, _BLOCK):  # blocks bound the memory
        block = slice(start, min(start + _BLOCK, rounds))
        rhos[block] = _largest_ratio(ranges[block], eta, margin, n)
    return rhos


def fresh_ranges(rounds: int, eta: float, n: int, relation: NeighbouringRelation) -> Floats:
    """Return the bounded range of one fresh draw in rounds 1 to `rounds`, as `draw_range` does."""
    return np.array([charge.parameter for charge in plan_charges(rounds, 1, eta, n, relation)])


def dqrs_charge(
    t: int, draws: int, eta: float, margin: float, n: int, relation: NeighbouringRelation
) -> Charge:
    """Return the charge of round t: `draws` queries kept or drawn again, or drawn afresh where that is cheaper.

    Privacy: F1, F2, F3 in docs/privacy.

    Raises AccountingError: a parameter out of range.
    """
    fresh = draw_charge(t, draws, eta, n, relation)
    _check(eta, margin)
    if t == 1:
        return fresh
    ranges = np.array([draw_range(t, eta, n, relation)])
    return _cheaper(fresh, float(_largest_ratio(ranges, eta, margin, n)[0]))


def dqrs_charges(
    rounds: int, draws: int, eta: float, margin: float, n: int, relation: NeighbouringRelation
) -> tuple[Charge, ...]:
    """Return the charges of rounds 1 to `rounds`, in order; each is that of `dqrs_charge`.

    Privacy: F1, F2, F3 in docs/privacy.

    Raises AccountingError: a parameter out of range.
    """
    rhos = reuse_rhos(rounds, eta, margin, n, relation).tolist()
    fresh = (draw_charge(t, draws, eta, n, relation) for t in range(1, rounds + 1))
    return tuple(_cheaper(charge, rho) for charge, rho in zip(fresh, rhos, strict=True))


def round_rhos(rounds: int, eta: float, margin: float, n: int, relation: NeighbouringRelation) -> Floats:
    """Return rho of one query in rounds 1 to `rounds`, the cheaper of keeping and drawing afresh."""
    ranges = fresh_ranges(rounds, eta, n, relation)
    return np.minimum(reuse_rhos(rounds, eta, margin, n, relation), ranges * ranges / 8.0)


def _cheaper(fresh: Charge, rho: float) -> Charge:
    if rho >= fresh.parameter * fresh.parameter / 8.0:
        return fresh
    return Charge(MECHANISM, ChargeKind.CONCENTRATED, rho, fresh.count, fresh.relation, THEOREM, fresh.label)


def _largest_ratio(ranges: Floats, eta: float, margin: float, n: int) -> Floats:
    """Return sup over alpha > 1 of r_t(alpha) / alpha for fresh draws of these ranges (r,), rounded up."""
    smallest = float(ranges.min())
    steps = math.ceil(math.log(max(_REACH / smallest, 1.0) / _FIRST) / math.log(_RATIO))
    x = np.asarray(_FIRST * _RATIO ** np.arange(steps + 1), dtype=np.float64)
    moments = log_outcome_moment(x, ranges[:, None], eta, margin, n)
    inside = (moments / (x * (x + 1.0))).max(axis=1)
    keep = math.exp(-margin)
    step = eta / n
    largest = np.maximum(step, math.log1p(keep * -math.expm1(-step) / (1.0 - keep)) + ranges)
    ratios: Floats = np.maximum(inside, largest / (x[-1] + 1.0)) * _UPWARD
    return ratios


def _check(eta: float, margin: float) -> None:
    if not (0.0 < eta <= LARGEST_REUSE_STEP):
        raise AccountingError(
            f"eta of DQRS: found {eta!r}, expected a number above 0 and at most {LARGEST_REUSE_STEP:g}"
        )
    if not (1e-9 <= margin <= LARGEST_REUSE_STEP):
        raise AccountingError(
            f"the margin c of DQRS: found {margin!r}, expected a number from 1e-9 to {LARGEST_REUSE_STEP:g}; "
            "a tenth of eta is usual"
        )
