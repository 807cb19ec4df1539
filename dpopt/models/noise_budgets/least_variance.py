"""The least variance that any linear Gaussian mechanism has: proven bounds in closed form, however many bins there are.

A linear Gaussian mechanism adds independent Gaussian noise to linear functions of the counts of bins, and answers by
unbiased linear estimates of these. Its variances are those of some strategy (`strategy`, ST-1 and ST-2), so that ST-4
bounds their mean. All figures here are in units of 1 / (2 rho), the variance of noise that costs rho where a record
changes one count by 1. Other mechanisms (of other noise, biased, or that look at the data) may have less.

With n bins and d_j = 1 / n, ST-4 is (sum of the singular values of R)^2 / n. Those of all ranges and of prefixes are
known:

    all ranges      2 / n^2 (sum_{k=1..n} 1 / (2 sin(k pi / (2 n + 2))))^2                               (ST-7)
    prefixes        1 / n^2 (sum_{k=1..n} 1 / (2 sin((2 k - 1) pi / (4 n + 2))))^2                       (ST-8)

If a record is replaced, the number of records is known, and any two columns differ by 1 at most: then sum_{i<j} d_i d_j
|a_i - a_j|^2 is at most sum_{i<j} d_i d_j = (1 - sum d_j^2) / 2, so that

    optimum >= 2 / (1 - sum d_j^2) (tr (P D^(1/2) G D^(1/2) P)^(1/2))^2,  P orthogonal to d^(1/2)        (ST-9)

which at d_j = 1 / n has for prefixes the roots 1 / (2 sin(k pi / (2 n))) of n G, k = 1, ..., n - 1, and for ranges at
least those of the pairs of n cuts of a circle, 1 / (2 sin(k pi / n)) of (n + 1) G / 2. Ranges of s of n bins, and
boxes:

    ranges of s bins   (n - s + 1) / n (1 / (2 pi) int_0^(2 pi) |sin(s t / 2) / sin(t / 2)| dt)^2             (ST-10)
    boxes              the product of the bounds of their sides; of the optima, too                          (ST-11)

Proofs: models/strategy/README.md.
"""

from __future__ import annotations

from math import pi

import numpy as np
from numpy.typing import NDArray

from dpopt.models.noise_budgets.strategy import best_strategy, nuclear_bound

_ROUNDED_DOWN = 1.0 - 1e-9
"""The sums below have positive terms, each right to some units in its last place."""
MOST_DENSE = 1_024
"""Largest number of bins for which the whole of G is held; of more, this number of evenly spaced bins prove a bound."""
_NODES = 24  # of Gauss and Legendre between two zeros
_STEPS = {256: 40, 512: 12, 1_024: 4}
"""Steps ST-5 for this number of bins: a second or two."""


def replaced_factor(bins: int) -> float:
    """Return the factor of ST-9 at d_j = 1 / n."""
    return 2.0 * bins / (bins - 1.0)


def least_of_ranges(bins: int, *, known_total: bool = False) -> float:
    """Return a bound on the mean variance of all ranges of this number of bins (ST-7, ST-9).

    Examples
    --------
    >>> round(least_of_ranges(64), 2)
    5.19
    """
    if known_total:
        if bins == 1:
            return 0.0
        roots = 0.5 / np.sin(pi * np.arange(1, bins) / bins)
        return replaced_factor(bins) * 2.0 / (bins * (bins + 1.0)) * float(roots.sum()) ** 2 * _ROUNDED_DOWN
    roots = 0.5 / np.sin(pi * np.arange(1, bins + 1) / (2.0 * bins + 2.0))
    return 2.0 / float(bins) ** 2 * float(roots.sum()) ** 2 * _ROUNDED_DOWN


def least_of_prefixes(bins: int, *, known_total: bool = False) -> float:
    """Return a bound on the mean variance of the ranges that begin with the first bin (ST-8, ST-9)."""
    if known_total:
        if bins == 1:
            return 0.0
        roots = 0.5 / np.sin(pi * np.arange(1, bins) / (2.0 * bins))
        return replaced_factor(bins) / float(bins) ** 2 * float(roots.sum()) ** 2 * _ROUNDED_DOWN
    roots = 0.5 / np.sin(pi * np.arange(1, 2 * bins, 2) / (4.0 * bins + 2.0))
    return float(roots.sum()) ** 2 / float(bins) ** 2 * _ROUNDED_DOWN


def least_of_size(size: int, bins: int) -> float:
    """Return a bound on the mean variance of all ranges of `size` of these bins (ST-10)."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    # Between the zeros 2 pi m / size, on one half of the circle.
    at = (np.arange(size)[:, None] + (nodes + 1.0) / 2.0) * (pi / size)
    values = np.abs(np.sin(size * at) / np.sin(at))
    mean = float((values @ weights).sum()) / (2.0 * size)
    return (bins - size + 1.0) / bins * mean**2 * _ROUNDED_DOWN


def least_of_gram(gram: NDArray[np.float64], *, known_total: bool = False) -> float:
    """Return a bound on the variance of any workload, for its G (n, n) (ST-4, ST-9)."""
    bins = len(gram)
    steps = next((number for most, number in _STEPS.items() if bins <= most), 1)
    if not known_total:
        return best_strategy(gram, close=1e-4, steps=steps).bound
    least, shares = 0.0, np.full(bins, 1.0 / bins)
    for _ in range(steps if bins > 1 else 0):
        apart, roots = 1.0 - float(shares @ shares), np.sqrt(shares)
        inside = roots[:, None] * gram * roots
        inside -= np.outer(inside @ roots, roots)
        inside -= np.outer(roots, roots @ inside)
        equal = np.full(bins, 1.0 / bins)  # M itself, n times
        least = max(least, 2.0 / apart * bins * nuclear_bound(inside, equal) * _ROUNDED_DOWN)
        values, vectors = np.linalg.eigh(inside)
        halves = np.sqrt(np.maximum(values, 0.0))
        # Up the slopes of the bound's logarithm, which are these up to a constant.
        slopes = (vectors**2 @ halves) / shares / max(float(halves.sum()), 1e-300) + 2.0 * shares / apart
        shares = np.maximum(shares * slopes, 1e-9 / bins)
        shares /= shares.sum()
    return least


def least_of_declared(
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    shares: NDArray[np.float64],
    bins: int,
    *,
    known_total: bool = False,
) -> float:
    """Return a bound on the mean variance of ranges start, ..., stop - 1, with shares of sum 1, three arrays (q,).

    Of more than 1,024 bins as many are looked at, evenly spaced: ST-4 where d is 0 for the others.
    """
    kept = np.unique(np.linspace(0, bins - 1, min(bins, MOST_DENSE)).astype(np.int64))
    first, last = np.searchsorted(kept, starts), np.searchsorted(kept, stops)
    number = kept.size
    # G_ij = the shares of the ranges with first <= min(i, j) and max(i, j) < last, by sums over both ends.
    ends = np.zeros((number + 1, number + 1))
    np.add.at(ends, (first, last), shares)
    both = np.cumsum(ends[:, ::-1], axis=1)[:, ::-1].cumsum(axis=0)[:number, 1:]
    low, high = np.minimum.outer(range(number), range(number)), np.maximum.outer(range(number), range(number))
    return least_of_gram(both[low, high], known_total=known_total)
