"""Intervals of sums, ratios, differences of ratios and quantiles, from unbiased estimates with known covariances.

Ratios are inverted (Fieller 1954), never divided end by end: a ratio r is in the interval if N - r D is within z deviations of
0, whose variance V_NN - 2 r V_ND + r^2 V_DD is known. Where noise may hide the denominator, the interval is unbounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Numbers = NDArray[np.float64]

_ROUNDING = 1e-6
"""Records by which sums of floating-point numbers may be off."""
SURE = 6.0
"""Deviations of a denominator above which differences of ratios are taken to be normal."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with the ends of its interval; infinite where noise leaves an end open, NaN where nothing is estimated."""

    estimate: float
    low: float
    high: float
    deviation: float
    """Standard error; of a ratio that of its tangent."""


def deviations_of(confidence: float, *, gaussian: bool, together: int = 1) -> float:
    """Return the half width of an interval in deviations of the noise, or of each of several together (Bonferroni).

    One Laplace number's law is exact, and that of many goes to the normal one. Of sums between, the one of both laws that
    reaches farther is taken: from 0.91 up one number's, below it the normal one. No proof is known that this suffices for
    every sum; tests/answers compare with exact laws of 1 to 64 numbers.

    Examples
    --------
    >>> round(deviations_of(0.95, gaussian=True), 3), round(deviations_of(0.95, gaussian=False), 3)
    (1.96, 2.118)
    """
    outside = (1 - confidence) / together
    normal = float(-ndtri(outside / 2))
    return normal if gaussian else max(normal, -log(outside) / sqrt(2))


def of_sum(estimate: float, variance: float, z: float) -> Interval:
    """Return the interval of a sum with normal noise."""
    deviation = float(np.sqrt(variance))
    return Interval(estimate, estimate - z * deviation, estimate + z * deviation, deviation)


def of_count(estimate: float, variance: float, z: float, unit: float = 1.0) -> Interval:
    """Return the interval of a count, in units, whose ends are whole counts: the next ones outside.

    Noise in whole numbers has less within z deviations than its smooth law, where these are few: of Gaussian noise of
    deviation 1 only 0.883 within 1.96, and 0.991 within 2.

    Examples
    --------
    >>> of_count(7.0, 1.0, 1.96), of_count(50.0, 0.0, 1.96, unit=100.0)
    (Interval(estimate=7.0, low=5.0, high=9.0, deviation=1.0), Interval(estimate=0.5, low=0.5, high=0.5, deviation=0.0))
    """
    found = of_sum(estimate, variance, z)
    low, high = floor(found.low + _ROUNDING), ceil(found.high - _ROUNDING)
    return Interval(estimate / unit, low / unit, high / unit, found.deviation / unit)


def of_ratio(sums: Numbers, covariance: Numbers, z: float) -> Interval:
    """Return the interval of the first of two sums over the second (Fieller), (2,) and (2, 2).

    Examples
    --------
    >>> half = of_ratio(np.array([50.0, 100.0]), np.array([[4.0, 1.0], [1.0, 4.0]]), 2.0)
    >>> half.estimate, round(half.low, 3), round(half.high, 3)
    (0.5, 0.46, 0.54)
    >>> of_ratio(np.array([5.0, 1.0]), np.eye(2), 2.0).low
    -inf
    """
    (n, d), ((vnn, vnd), (_, vdd)) = sums, covariance
    if d == 0:
        return Interval(float("nan"), -np.inf, np.inf, np.inf)
    ratio = float(n / d)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # squares of the largest numbers are infinite
        deviation = float(np.sqrt(np.maximum(0.0, vnn - 2 * ratio * vnd + np.square(ratio) * vdd)) / abs(d))
        a, b, c = d * d - z * z * vdd, n * d - z * z * vnd, n * n - z * z * vnn
        root = np.sqrt(np.maximum(0.0, b * b - a * c))
        ends = np.array([b - root, b + root]) / a
    low, high = ends.tolist() if a > 0 and np.isfinite(ends).all() else (-np.inf, np.inf)
    return Interval(ratio, low, high, np.inf if np.isnan(deviation) else deviation)


def of_quantile(below: Numbers, variances: Numbers, edges: Numbers, z: float) -> Interval:
    """Return the interval of a quantile by inverting counts.

    `below` (b + 1,) are for each edge of the bins the estimated count below it, less the level of the quantile times
    the count of all. The quantile lies in the first bin at whose upper edge the true number is not negative, and is
    estimated as if numbers were spread evenly over it.
    """
    spread, last = z * np.sqrt(variances), below.size - 1
    not_below, not_above = np.flatnonzero((below >= -spread)[1:]), np.flatnonzero((below <= spread)[1:-1])
    rising = np.maximum.accumulate(below)
    at = int(np.clip(np.searchsorted(rising, 0.0), 1, last))
    rise = rising[at] - rising[at - 1]
    part = 0.5 if rise <= 0 else float(np.clip(-rising[at - 1] / rise, 0.0, 1.0))
    estimate = float(edges[at - 1] + part * (edges[at] - edges[at - 1]))
    low = min(int(not_below[0]) if not_below.size else last, at - 1)
    high = max(int(not_above[-1]) + 2 if not_above.size else 1, at)
    return Interval(estimate, float(edges[low]), float(edges[high]), float("nan"))
