"""Bounds of noise that hold with a stated probability: of a weighted sum of noisy counts, and of comparisons."""

from __future__ import annotations

from math import ceil, exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

_PARTS = np.geomspace(1e-6, 1.0, 500)[:-1]
_TILTS = np.concatenate((_PARTS, 1.0 - _PARTS))
"""Where the exponential moment is taken, as shares of where it ends; each gives a bound, and the least counts."""


def deviations_for(beta: float, queries: int = 1) -> float:
    """Return zeta = (2 ln(2 Q / beta))^(1/2): none of Q answers with Gaussian noise is off by more standard deviations.

    With probability 1 - beta. For sums of Laplace noise it is what `noise_bound` comes near to where no count stands
    out, and the figure that polynomials are searched with; what is stated comes from `noise_bound`.
    """
    return sqrt(2.0 * (log(2.0 / beta) + log(queries)))


def noise_bound(
    scales: NDArray[np.float64], numbers: NDArray[np.float64], beta: float, *, gaussian: bool, queries: int = 1
) -> float:
    """Return a bound on the noise of each of Q answers with probability 1 - beta, for all of them together.

    An answer adds up m_j counts (`numbers`) of each kind, each of which brings noise of scale s_j >= 0 into it.
    Gaussian: zeta times the standard deviation; discrete Gaussian noise is sub-Gaussian (Canonne, Kamath and Steinke
    2020, Corollary 9). Laplace: the least of (ln(2 Q / beta) - sum_j m_j ln(1 - t^2 s_j^2)) / t over t below 1 / max_j
    s_j, by Markov's inequality on e^{tY}: E e^{tX} = 1 / (1 - t^2 b^2) for continuous noise of scale b, and at most
    that for the discrete one, since (cosh(x) - 1) / x^2 grows. Any t gives a bound. A single count with Laplace noise
    stays within s ln(2 Q / beta).
    """
    if not (scales > 0).any():
        return 0.0
    if gaussian:
        return deviations_for(beta, queries) * sqrt(float(numbers @ scales**2))
    tail = log(2.0 / beta) + log(queries)
    if numbers[scales > 0].sum() == 1:
        return float(scales.max() * tail)
    relative = scales / scales.max()
    moments = -np.log1p(-((_TILTS[:, None] * relative) ** 2)) @ numbers
    return float(scales.max() * ((tail + moments) / _TILTS).min())


_UPWARD = 1.0 + 1e-12


def one_sided_reach(scale: float, tail: float, *, gaussian: bool) -> int:
    """Return a whole number that integer noise exceeds, or is below its negative, with probability at most `tail` each.

    Laplace, b in records: P(X > t) = a^(t + 1) / (1 + a) with a = exp(-1 / b), exactly. Gaussian: the least of exp(-m^2
    / (2 sigma^2)) and the normal tail from m - 1 on, m = t + 1; discrete Gaussian noise is below both (Canonne, Kamath
    and Steinke 2020). Checked by `tests/synopses/summaries/test_noise_bounds.py` against the exact distributions.
    """
    if gaussian:
        from scipy.special import ndtri

        by_moments = sqrt(2.0 * log(1.0 / tail)) * scale
        by_normal = 1.0 - float(ndtri(tail)) * scale
        return max(ceil(min(by_moments, by_normal) * _UPWARD) - 1, 0)
    ratio = exp(-1.0 / scale)
    return max(ceil((-log(tail) - log(1.0 + ratio)) * scale * _UPWARD) - 1, 0)


def reach_of_sums(
    weights: NDArray[np.float64], scales: NDArray[np.float64], beta: float, *, gaussian: bool
) -> NDArray[np.float64]:
    """Bound sums of weighted noise (v, q) on either side, (q,): each holds with probability 1 - beta.

    With u_i = (weight_i scale_i)^2 the log moment of Laplace noise is at most -sum_i ln(1 - t^2 u_i), and -ln(1 - t^2
    u) is convex in u and 0 at 0, so that it is at most what sum_i u_i / max_i u_i equal parts have: `noise_bound` takes
    these.
    """
    squares = (weights * scales[:, None]) ** 2
    most, total = squares.max(axis=0, initial=0.0), squares.sum(axis=0)
    return np.array(
        [
            noise_bound(np.array([sqrt(whole)]), np.array([1.0]), beta, gaussian=gaussian)
            if whole == largest  # nothing, or a single count
            else reach_of_variance(sqrt(largest), whole / largest, beta, gaussian=gaussian)
            for largest, whole in zip(most.tolist(), total.tolist(), strict=True)
        ]
    )


def reach_of_variance(largest: float, parts: float, beta: float, *, gaussian: bool, queries: int = 1) -> float:
    """Bound sums of noise whose squared weighted scales add up to `parts`, 1 or more, times the largest one squared."""
    several = max(parts, 1.0 + 1e-9)  # of exactly one `noise_bound` takes the tail of a single count
    return noise_bound(np.array([largest]), np.array([several]), beta, gaussian=gaussian, queries=queries)
