"""How far the noise of comparisons goes on one side, and that of weighted sums of noisy counts on both."""

from __future__ import annotations

from math import ceil, exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

from dpopt.synopses.summaries.noise_bounds import noise_bound

_UPWARD = 1.0 + 1e-12


def one_sided_reach(scale: float, tail: float, *, gaussian: bool) -> int:
    """Return a whole number that integer noise exceeds with probability at most `tail`; the same holds below its negative.

    Laplace: P(X > t) = a^(t + 1) / (1 + a) with a = exp(-1 / b), exactly. Gaussian: the least of exp(-m^2 / (2 sigma^2)) and
    the normal tail from m - 1 on, m = t + 1; discrete Gaussian noise is below both (Canonne, Kamath and Steinke 2020). Checked
    by `tests/synopses/intervals/test_noise_reach.py` against the exact distributions.

    Parameters
    ----------
    scale : float
        b or sigma, in records.
    tail : float
        Between 0 and 1/2.
    """
    if gaussian:
        from scipy.special import ndtri

        by_moments = sqrt(2.0 * log(1.0 / tail)) * scale
        by_normal = 1.0 - float(ndtri(tail)) * scale
        return max(ceil(min(by_moments, by_normal) * _UPWARD) - 1, 0)
    ratio = exp(-1.0 / scale)
    return max(ceil((-log(tail) - log(1.0 + ratio)) * scale * _UPWARD) - 1, 0)


def reach_of_sums(
    weights: NDArray[np.float64],
    scales: NDArray[np.float64],
    beta: float,
    *,
    gaussian: bool,
    queries: int = 1,
) -> NDArray[np.float64]:
    """Return what sums of weighted noise stay below on either side, (q,), each with probability 1 - beta, or all together.

    With u_i = (weight_i scale_i)^2 the log moment of Laplace noise is at most -sum_i ln(1 - t^2 u_i), and -ln(1 - t^2 u) is
    convex in u and 0 at 0, so that it is at most what sum_i u_i / max_i u_i equal parts have: `noise_bound` takes these.

    Parameters
    ----------
    weights : (v, q) float64
        Of each noisy count (row) in each sum (column).
    scales : (v,) float64
        Scale of the noise of each count.
    beta : float
    gaussian : bool
    queries : int
        For how many sums together the probability is meant.
    """
    squares = (weights * scales[:, None]) ** 2
    most, total = squares.max(axis=0, initial=0.0), squares.sum(axis=0)
    return np.array(
        [
            noise_bound(np.array([sqrt(whole)]), np.array([1.0]), beta, gaussian=gaussian, queries=queries)
            if whole == largest  # nothing, or a single count
            else reach_of_variance(sqrt(largest), whole / largest, beta, gaussian=gaussian, queries=queries)
            for largest, whole in zip(most.tolist(), total.tolist(), strict=True)
        ]
    )


def reach_of_variance(
    largest: float, parts: float, beta: float, *, gaussian: bool, queries: int = 1
) -> float:
    """Return what sums of noise stay below whose squared weighted scales add up to `parts` times the largest one squared.

    Parameters
    ----------
    largest : float
        Scale of the noise of one count in the sum, at most.
    parts : float
        At least 1.
    """
    several = max(parts, 1.0 + 1e-9)  # of exactly one `noise_bound` takes the tail of a single count
    return noise_bound(np.array([largest]), np.array([several]), beta, gaussian=gaussian, queries=queries)
