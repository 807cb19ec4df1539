"""What DQRS costs: DualQuery whose drawn queries are kept from round to round where they can be.

In round t each of the s queries of round t - 1 is kept with probability a = exp(eta (A - 1) - c), where A = q(D) - q(x),
taken as 1 where it is larger, is in [-1, 1], and is otherwise replaced by a fresh draw of round t. Given what was released
before, the s outcomes are independent, and neighbouring tables change A by at most 1/n, so ln a by at most h = eta / n.

Renyi cost of one outcome, order alpha > 1, with p = 1 - a and F the distribution of a fresh draw, of bounded range e_t:

    (alpha - 1) r_t(alpha) = max over (a, a') of ln [ a^alpha a'^(1-alpha) + p^alpha p'^(1-alpha) exp(G) ],
    G = ln of the largest E_F' (dF/dF')^alpha over all pairs of bounded range e_t.

The maximum is at one of six corners, G has a closed form, and rho_t = sup over alpha > 1 of r_t(alpha) / alpha is bounded on a
grid, whatever lies between its points: nothing is left to a search. Privacy: F2, F3 in docs/privacy.md.

What the sup costs: at the orders that a conversion to (epsilon, delta) uses, r_t / alpha is about (1 - exp(-2 eta - c)) of
a fresh draw's e_t^2 / 8: 0.045 of it at eta = 0.02, 0.19 at 0.1, 0.57 at 0.4, 0.92 at 1.2 with c = 0.1 eta
(`dqrs_epsilon_by_orders`). At very high orders a rare redraw loses as much as a fresh draw, so the sup is 0.30, 0.41, 0.61
and 0.92: the loss is large for steps below 0.2 and none from 0.4 on.

Source: Vietri, Tian, Bun, Steinke and Wu 2020, section 4 (DQRS); Dong, Durfee and Rogers 2020 (bounded range); Bun and
Steinke 2016 (zCDP).
"""

from __future__ import annotations

import math

import numpy as np

from dpopt.accounting.charges import Charge, ChargeKind
from dpopt.accounting.dqrs_orders import log_outcome_moment
from dpopt.accounting.dualquery import draw_charge, draw_range, plan_charges
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.accounting.sums import Floats
from dpopt.errors import AccountingError

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

    Raises
    ------
    AccountingError
        A parameter out of range.
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

    Privacy: F1, F2, F3 in docs/privacy.md.

    Raises
    ------
    AccountingError
        A parameter out of range.
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

    Privacy: F1, F2, F3 in docs/privacy.md.

    Raises
    ------
    AccountingError
        A parameter out of range.
    """
    rhos = reuse_rhos(rounds, eta, margin, n, relation).tolist()
    fresh = (draw_charge(t, draws, eta, n, relation) for t in range(1, rounds + 1))
    return tuple(_cheaper(charge, rho) for charge, rho in zip(fresh, rhos, strict=True))


def round_rhos(rounds: int, eta: float, margin: float, n: int, relation: NeighbouringRelation) -> Floats:
    """Return rho of one query in rounds 1 to `rounds`, the cheaper of keeping and drawing afresh."""
    ranges = fresh_ranges(rounds, eta, n, relation)
    return np.minimum(reuse_rhos(rounds, eta, margin, n, relation), ranges * ranges / 8.0)


def dqrs_epsilon_by_orders(  # noqa: PLR0917 (the parameters of the theorem, in their usual order)
    rounds: int,
    draws: int,
    eta: float,
    margin: float,
    n: int,
    relation: NeighbouringRelation,
    delta: float,
) -> float:
    """Return epsilon at delta by the best single Renyi order: what the run costs, against what zCDP charges for it.

    minimize over alpha > 1:  r - ln(1 + 1/x) + (ln(1/delta) - ln(1 + x)) / x,   x = alpha - 1,
        r = s sum over t of min(r_t(alpha), alpha e_t^2 / 8)

    For comparison: the ledger adds up zCDP, which never comes out lower.

    Source: Canonne, Kamath and Steinke 2020, Proposition 12 (conversion).
    """
    _check(eta, margin)
    if not 0.0 < delta < 1.0:
        raise AccountingError(f"delta: found {delta!r}, expected a number between 0 and 1, both excluded")
    ranges = fresh_ranges(rounds, eta, n, relation)[1:]
    x: Floats = np.geomspace(1e-2, 1e6, 1500)
    total = np.zeros_like(x)
    for start in range(0, len(ranges), _BLOCK):
        block = ranges[start : start + _BLOCK, None]
        kept = log_outcome_moment(x, block, eta, margin, n) / x
        total += np.minimum(kept, (x + 1.0) * block * block / 8.0).sum(axis=0)
    epsilons = draws * total - np.log1p(1.0 / x) + (-math.log(delta) - np.log1p(x)) / x
    return max(0.0, float(epsilons.min()))


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
