"""How far the noise of an answer, a weighted sum of noisy counts, goes at most with a stated probability."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

_PARTS = np.geomspace(1e-6, 1.0, 500)[:-1]
_TILTS = np.concatenate((_PARTS, 1.0 - _PARTS))
"""Where the exponential moment is taken, as shares of where it ends; each gives a bound, and the least counts."""


def deviations_for(beta: float, queries: int = 1) -> float:
    """Return zeta = (2 ln(2 Q / beta))^(1/2): none of Q answers with Gaussian noise is off by more standard deviations.

    With probability 1 - beta. For sums of Laplace noise it is what `noise_bound` comes near to where no count stands out, and
    the figure that polynomials are searched with; what is stated comes from `noise_bound`.
    """
    return sqrt(2.0 * (log(2.0 / beta) + log(queries)))


def noise_bound(
    scales: NDArray[np.float64],
    numbers: NDArray[np.float64],
    beta: float,
    *,
    gaussian: bool,
    queries: int = 1,
) -> float:
    """Return what the noise of each of Q answers stays below with probability 1 - beta, for all of them together.

    Gaussian: zeta times the standard deviation; discrete Gaussian noise is sub-Gaussian (Canonne, Kamath and Steinke 2020,
    Corollary 9). Laplace: the least of (ln(2 Q / beta) - sum_j m_j ln(1 - t^2 s_j^2)) / t over t below 1 / max_j s_j, by
    Markov's inequality on e^{tY}: E e^{tX} = 1 / (1 - t^2 b^2) for continuous noise of scale b, and at most that for the
    discrete one, since (cosh(x) - 1) / x^2 grows. Any t gives a bound. A single count with Laplace noise stays within
    s ln(2 Q / beta).

    Parameters
    ----------
    scales : (t,) float64
        s_j >= 0: the scale of the noise that each count of one kind brings into the answer.
    numbers : (t,) float64
        m_j: how many counts of the kind the answer adds up.
    beta : float
        Between 0 and 1.
    gaussian : bool
    queries : int
        Q.
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
