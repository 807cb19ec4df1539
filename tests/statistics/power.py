"""How surely a chi-square test rejects a wrong distribution: a bound that is exact, not asymptotic."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats


def statistic(found: NDArray[np.int64], shares: NDArray[np.float64]) -> float:
    """Return the chi-square statistic of observed frequencies against the shares that a distribution gives each cell."""
    expected = found.sum() * shares
    return float((((found - expected) ** 2) / expected).sum())


def threshold(cells: int, false_alarm: float) -> float:
    """Return the value that the statistic exceeds with probability `false_alarm` under the distribution that is tested."""
    return float(stats.chi2.isf(false_alarm, cells - 1))


def miss_probability(right: NDArray[np.float64], wrong: NDArray[np.float64], sample: int, limit: float) -> float:
    """Return a bound on the probability that the statistic stays below `limit` when the wrong distribution is true.

    For any set A of cells, Cauchy-Schwarz gives statistic >= (N_A - E_A)^2 / E_A, where N_A, the number of observations in A,
    is binomial with the wrong distribution's share. The sets tried hold the cells whose share is understated, or overstated,
    by more than a ratio; the best bound counts.
    """
    ratios = wrong / right
    best = 1.0
    for edge in np.unique(ratios):
        for chosen in (ratios >= edge, ratios <= edge):
            expected = sample * float(right[chosen].sum())
            reach = np.sqrt(limit * expected)
            distribution = stats.binom(sample, min(1.0, float(wrong[chosen].sum())))
            best = min(
                best,
                float(distribution.cdf(np.floor(expected + reach)) - distribution.cdf(np.ceil(expected - reach) - 1)),
            )
    return best
