"""Which precision the residual of each set of attributes is worth, given what is known of how large it is.

The program is that of `dpopt.models.noise_budgets.residual_allocation`. What is known beforehand is its public prior,
until the distance of a marginal from its prediction was measured.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from dpopt.inference.interactions import LEAST_COUNT
from dpopt.models.noise_budgets.residual_allocation import ResidualPrior, prices, residual_program, solve_residuals
from dpopt.queries.marginal_set import MarginalSet
from dpopt.queries.residuals import LARGEST_UNIT, Residuals

DISTANCES = np.concatenate(([1e-4], np.geomspace(5e-4, 1.0, 37)))
"""Distances from predictions that are looked at, as shares of two records for each record."""

VARIANCES = np.geomspace(1e-3, 1e18, 64)
"""Variances of residuals along a direction that are told apart, in records squared."""

SURE = 0.95
"""Quantile of likely distances that bounds the scale of a set whose noise hides it."""

NOTHING = 1e-12
"""Variance of what is not to be measured."""
_NONE = np.concatenate(([0.1], np.full(37, 0.9 / 37)))  # how frequent distances are before anything is seen
_SEEN, _STEPS, _INEXACT = 5.0, 50, 0.15


def likely_distances(distances: NDArray[np.float64], scale: float, size: int) -> NDArray[np.float64]:
    """Return how likely each of `DISTANCES` is for each set, (S, 38), given noisy L1 distances in records, (S,).

    How frequent distances are is found by EM over all sets; `scale` is the standard deviation of the noise, in records.
    """
    true = 2.0 * size * DISTANCES
    spread = np.sqrt(scale**2 + (_INEXACT * true) ** 2)
    likelihood = -0.5 * ((distances[:, None] - true) / spread) ** 2 - np.log(spread)
    likelihood = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    frequent = _NONE
    for _ in range(_STEPS):
        shares = likelihood * frequent
        shares /= shares.sum(axis=1, keepdims=True)
        frequent = shares.sum(axis=0) + _SEEN * _NONE
        frequent = frequent / frequent.sum()
    shares = likelihood * frequent
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def likely_variances(
    likely: NDArray[np.float64], sets: MarginalSet, predicted: NDArray[np.float64], size: int
) -> NDArray[np.float64]:
    """Return how likely each of `VARIANCES` is along a direction of each set, (S, 64), given that of its distances, (S, 38).

    Cells lie around their prediction like Normal(0, t m_c), m_c the predicted count (as in
    `dpopt.inference.interactions`). The distance is sqrt(2 t / pi) sum sqrt(m_c) in the mean: where few cells hold most
    records, few deviate, and by much.
    """
    step, counts = np.log(VARIANCES[1] / VARIANCES[0]), np.maximum(predicted, LEAST_COUNT)
    rows, roots = np.arange(len(sets)), np.add.reduceat(np.sqrt(counts), sets.starts[:-1])
    bins = np.rint(np.log(counts / LEAST_COUNT) / step).astype(np.int64)
    steps = np.arange(int(bins.max()) + 1)
    places = np.repeat(rows, sets.cells()) * steps.size + bins
    held = np.bincount(places, minlength=rows.size * steps.size).reshape(rows.size, steps.size)
    shares = held / sets.cells()[:, None]
    total = np.zeros(rows.size * VARIANCES.size)
    for distance, chance in zip(DISTANCES.tolist(), likely.T, strict=True):
        least = np.pi / 2 * (2 * size * distance / roots) ** 2 * LEAST_COUNT / prices(sets)
        first = np.rint(np.log(least / VARIANCES[0]) / step).astype(np.int64)
        places = np.clip(first[:, None] + steps, 0, VARIANCES.size - 1) + VARIANCES.size * rows[:, None]
        total += np.bincount(places.reshape(-1), (shares * chance[:, None]).reshape(-1), total.size)
    found = total.reshape(rows.size, VARIANCES.size)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def largest_scales(
    likely: NDArray[np.float64], sets: MarginalSet, predicted: NDArray[np.float64], size: int
) -> NDArray[np.float64]:
    """Return the scale of each set (`dpopt.inference.interactions`), (S,), whose mean distance is the `SURE` quantile."""
    places = (likely.cumsum(axis=1) >= SURE).argmax(axis=1)
    roots = np.add.reduceat(np.sqrt(np.maximum(predicted, LEAST_COUNT)), sets.starts[:-1])
    return np.asarray(np.pi / 2 * (2 * size * DISTANCES[places] / roots) ** 2 / size)


def best_precisions(
    marginals: MarginalSet, prior: ResidualPrior, known: NDArray[np.float64], allowed: NDArray[np.bool_], rho: float
) -> NDArray[np.float64]:
    """Return precisions (S,) to buy for rho; 0 for sets that are not allowed, or not worth it.

    Parameters
    ----------
    known : (S,) float64
        Precisions bought before.
    allowed : (S,) bool
        Which sets may be measured.
    rho
        The budget, above 0.
    """
    values = np.where(allowed[:, None], prior.variances, NOTHING)
    program = residual_program(marginals, rho=rho, prior=ResidualPrior(values, prior.chances), known=known)
    precisions, _, _ = solve_residuals(program)
    return np.where(allowed, precisions, 0.0)


def factors_of(
    sets: MarginalSet, precisions: NDArray[np.float64], scale: float, bound: int, *, replaced: bool
) -> NDArray[np.int64]:
    """Return whole numbers k_A, (S,), with which noise of this scale leaves residuals about these precisions; 0: not at all.

    s_A = scale / (k_A N(A)), so that k_A = scale sqrt(x_A) / N(A), rounded down, and less where the squared distance of
    neighbours would be above `bound`, or k_A N(A) above `LARGEST_UNIT`. One at least is above 0.
    """
    cells, factor = sets.cells(), 1.0
    while True:
        wanted = np.floor(factor * scale * np.sqrt(precisions) / cells)
        factors = np.asarray(np.minimum(wanted, LARGEST_UNIT // cells), dtype=np.int64)
        if not factors.any():
            factors[int(np.argmax(precisions))] = 1
            return factors
        places = np.flatnonzero(factors)
        found = Residuals(sets.take(places), factors[places]).sensitivity(replaced=replaced, squared=True)
        if found <= bound:
            return factors
        factor *= min(sqrt(bound / found), 1 - 1e-6)
