"""Empirical Bayes: noisy cells are drawn towards their predictions, as far as the cells themselves suggest.

Each cell holds value = theta + noise, the noise of a known variance; around its prediction

    theta ~ sum_k weight_k Normal(center_k, scale_k size^exponent_k),    size = max(predicted count, floor).

A component of scale 0 is a spike: theta is what was predicted. Exponent 1 is how counts of independent records vary, 2
how shares do. The weights are those of largest likelihood of all cells together, found by EM; what each cell then is
takes its posterior mean and variance.

Values and predictions are released ones: it costs no privacy.

Source: Robbins (1956), "An empirical Bayes approach to statistics"; Stephens (2017), "False discovery rates: a new
deal", for mixtures of scales; Dempster, Laird and Rubin (1977) for EM.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.arrays import freeze
from dpopt.constraints import Array, Number, constrain
from dpopt.errors import ProgramError
from dpopt.public_random import permutation, public_stream

MOST_STEPS = 500
CLOSE = 1e-3
"""EM ends where no other weights make a cell more likely by more than this in the mean, in natural logarithms; proven."""
MOST_FITTED = 1 << 14
"""Number of cells that determine the weights, chosen by public randomness if there are more."""
_LEAST_WEIGHT = 1e-9  # of a component that is still looked at
_LEAST_VARIANCE = 1e-12  # of noise beside a spike, which both may be 0


@dataclass(frozen=True, slots=True, eq=False)
class ScaleMixture:
    """The components of a prior."""

    scales: Annotated[NDArray[np.float64], Array(dimensions=1, finite=True)]
    exponents: Annotated[NDArray[np.float64], Array(finite=True)]
    """Shape (k,). The variance of a component is scale * size^exponent; both at least 0."""
    floor: Annotated[float, Number(above=0)]
    """Least size, for cells that were predicted to hold next to nothing."""
    centers: NDArray[np.int64]
    """Shape (k,). The center of each component: 0 is the prediction, the only one of `shrink`; for halves of a block
    (`dpopt.inference.histograms.shrunken_halves`) it is an even division, 1 and 2 are all records in one half."""
    counts: Annotated[NDArray[np.float64], Array(finite=True)]
    """Shape (k,). Pseudo-counts of the weights: cells that would have been seen of each component; at least 0."""

    def __post_init__(self) -> None:
        constrain(self, ProgramError)
        arrays = (self.scales, self.exponents, self.centers, self.counts)
        if not self.scales.size or len({one.shape for one in arrays}) > 1:
            raise ProgramError(
                f"a mixture has one scale, exponent, center and count for each component, found "
                f"{', '.join(str(one.shape) for one in arrays)}"
            )
        if any((one < 0).any() for one in arrays):
            raise ProgramError("scales, exponents, centers and counts of a mixture are at least 0")

    @classmethod
    def grid(
        cls,
        scales: ArrayLike,
        exponents: ArrayLike = (0.0, 0.5, 1.0, 1.5, 2.0),
        *,
        floor: float = 1.0,
        spike: float = 1.0,
        slab: float = 0.0,
    ) -> ScaleMixture:
        """Return the mixture of all pairs of scales and exponents, and a spike.

        `spike` and `slab` are counts that the weight of the spike, and all others together, are drawn to.
        """
        sizes, powers = np.atleast_1d(np.asarray(scales, np.float64)), np.atleast_1d(exponents)
        pairs = np.array(np.meshgrid(sizes, powers, indexing="ij"), dtype=np.float64).reshape(2, -1)
        none = np.zeros(1)
        return cls(
            np.concatenate((none, pairs[0])),
            np.concatenate((none, pairs[1])),
            floor,
            np.zeros(pairs.shape[1] + 1, np.int64),
            np.concatenate((none + spike, np.full(pairs.shape[1], slab / max(pairs.shape[1], 1)))),
        )


@dataclass(frozen=True, slots=True, eq=False)
class MixtureWeights:
    """Weights of largest likelihood."""

    weights: NDArray[np.float64]
    """Shape (k,). At least 0, of sum 1."""
    objectives: NDArray[np.float64]
    """Shape (t,). The logarithm of the likelihood (and of the prior of the weights) after each step, up to a constant:
    it never falls."""
    gap: float
    """No weights have an objective that is larger than the last one by more than this: proven, as it is concave."""


@dataclass(frozen=True, slots=True, eq=False)
class Shrunken:
    """Cells after shrinkage."""

    means: NDArray[np.float64]
    variances: NDArray[np.float64]
    """Shape (n,). Of the posterior of each cell."""
    fitted: MixtureWeights


def fit_weights(likelihoods: NDArray[np.float64], counts: ArrayLike = 0.0) -> MixtureWeights:
    """Return the weights that maximize sum_i log sum_k L_ik w_k + sum_k counts_k log w_k, by EM.

    Each step, w_k <- (w_k sum_i L_ik / (L w)_i + counts_k) / (n + sum counts), maximizes a lower bound that touches the
    objective at the present weights, so that the objective never falls. It is concave: what is missing to the optimum
    is at most the largest of sum_i L_ik / (L w)_i + counts_k / w_k less n + sum counts. L (n, k) and the counts (k,)
    are at least 0; each row of L is known up to a factor of its own, and none is all 0.
    """
    number, size = likelihoods.shape
    drawn = np.broadcast_to(np.asarray(counts, np.float64), (size,))
    whole = number + float(drawn.sum())
    if not (likelihoods >= 0).all() or not (drawn >= 0).all() or not whole > 0 or not size:
        raise ProgramError("likelihoods and counts are at least 0, and there is one cell or count at least")
    if number and not likelihoods.any(axis=1).all():
        raise ProgramError("a cell has no likelihood under any component")
    weights, objectives, gap = np.full(size, 1.0 / size), [], np.inf
    pulled = drawn > 0
    for _ in range(MOST_STEPS):
        mixed = likelihoods @ weights
        with np.errstate(divide="ignore", invalid="ignore"):
            objectives.append(float(np.log(mixed).sum() + (drawn[pulled] * np.log(weights[pulled])).sum()))
            slopes = likelihoods.T @ (1.0 / mixed)
            gap = float((slopes + np.where(pulled, drawn / weights, 0.0)).max()) - whole
        if gap <= CLOSE * whole:
            break
        weights = (weights * slopes + drawn) / whole
        weights /= weights.sum()
    return MixtureWeights(freeze(weights), freeze(np.array(objectives)), max(gap, 0.0))


def shrink(values: ArrayLike, noise: ArrayLike, predicted: ArrayLike, prior: ScaleMixture) -> Shrunken:
    """Return posterior means and variances of noisy residuals, weights of the prior fitted to the cells themselves.

    `values` (n,) are finite, `noise` are the variances of their noise, at least 0, and `predicted` the counts by which
    the prior's variance grows; below its floor, negative ones too, they stand for it. All components of the prior lie
    around 0.

    Examples
    --------
    >>> import numpy as np
    >>> truth = np.concatenate((np.zeros(90), np.full(10, 60.0)))
    >>> noisy = truth + 5 * np.random.default_rng(0).normal(size=100)
    >>> found = shrink(noisy, 25, 4, ScaleMixture.grid(np.geomspace(0.1, 1000, 9)))
    >>> bool(((found.means - truth) ** 2).mean() < 0.5 * ((noisy - truth) ** 2).mean())
    True
    """
    from dpopt.inference.shrinkage_kernels import Cells, likelihoods, moments

    given = np.ascontiguousarray(values, dtype=np.float64)
    if given.ndim != 1 or not given.size:
        raise ProgramError(f"expected noisy cells in one row, found an array of shape {given.shape}")
    own, sizes = (_spread_out(one, given.shape) for one in (noise, predicted))
    if not all(np.isfinite(one).all() for one in (given, own, sizes)) or own.min() < 0 or prior.centers.any():
        raise ProgramError(
            "cells and predictions are finite; variances are at least 0, besides, and components lie around 0"
        )
    cells = Cells(
        given, np.maximum(own, _LEAST_VARIANCE), np.maximum(sizes, prior.floor), prior.scales, prior.exponents
    )
    chosen = np.arange(given.size)
    if given.size > MOST_FITTED:
        chosen = permutation(public_stream(0, "cells that determine a prior"), given.size)[:MOST_FITTED]
    table = np.empty((chosen.size, prior.scales.size))
    likelihoods(cells, chosen, table)
    fitted = fit_weights(table, prior.counts)
    weights = fitted.weights
    means, variances = np.empty(given.size), np.empty(given.size)
    with np.errstate(divide="ignore"):
        moments(cells, np.log(np.where(weights >= _LEAST_WEIGHT, weights, 0.0)), means, variances)
    return Shrunken(freeze(means), freeze(variances), fitted)


def _spread_out(values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    try:
        return np.ascontiguousarray(np.broadcast_to(np.asarray(values, dtype=np.float64), shape))
    except ValueError as problem:
        raise ProgramError(f"expected numbers of shape {shape}, found {np.shape(values)}") from problem
