"""Renyi moments of a query that DQRS keeps or draws again, at given orders, without cancellation.

Privacy: F3 in docs/privacy.md.
"""

from __future__ import annotations

import math

import numpy as np

from dpopt.accounting.sums import Floats

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
    """Return (alpha - 1) r_t(alpha) of one outcome: the largest log moment over the six corners of `dqrs`.

    With D = ln(a / a'), E = ln(p / p'), and because a exp(-D) + p exp(-E) = a' + p' = 1, the moment minus 1 is

        a [f((alpha-1) D) + (alpha-1) f(-D)] + p [f((alpha-1) E + G) + G + (alpha-1) f(-E)],   f(y) = exp(y) - 1 - y,

    in which no term is negative: nothing cancels, however small 1/n is.

    Parameters
    ----------
    x, ranges
        alpha - 1 and the range of a fresh draw; they broadcast.
    eta, margin, n
        As in `dqrs.reuse_rhos`.
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
