"""Which weights signed sums get in the answer of a query: the paper's average, or a regression."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil, log, log10, sqrt

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PlanError
from dpopt.inference.halfspace_regression import SideRegression
from dpopt.synopses.halfspaces.bias_sample import TURNS, Bias, bias_of
from dpopt.synopses.halfspaces.halfspace_plan import LEAST_MARGIN, MARGIN, HalfspacePlan
from dpopt.synopses.summaries.noise_bounds import noise_bound


@dataclass(frozen=True, slots=True)
class TheoryParameters:
    """Parameters with which a theorem promises error alpha for all queries of margin gamma."""

    dimension: int
    """T."""
    projections: int
    """m."""
    log10_directions: float
    """Common logarithm of |U|."""
    log10_records: float
    """Common logarithm of the number of records that the theorem needs."""


BETA = 0.05
"""The probability with which a theorem's promise fails."""


def theorem_parameters(
    columns: int, margin: float, alpha: float, epsilon: float, *, corrected: bool
) -> TheoryParameters:
    """Return ReleaseHalfspaces' parameters as in Theorem 6.9, with m |U| ln(2 m |U| / beta) / epsilon records.

    Corrected ones are those for which the proof holds, and no larger than it needs: T >= 6 zeta^(-2) ln(2 / tau)
    suffices for signs (Achlioptas 2003) with zeta = gamma / 4 and tau = alpha / 8; a net of the sphere with at most (1 +
    8 / gamma)^T points (by volume); m >= (32 / alpha^2) (d ln(4 sqrt(d) / gamma) + ln(6 / beta)), since noise of at most
    1 has the Hoeffding exponent alpha^2 m / 32, and the union is over the net of queries.
    """
    if columns < 2 or not LEAST_MARGIN <= margin <= 1 or not LEAST_MARGIN <= alpha < 1 or not epsilon > 0:
        raise PlanError(
            f"found d = {columns}, gamma = {margin:g}, alpha = {alpha:g} and epsilon = {epsilon:g}; expected "
            f"d from 2, gamma from {LEAST_MARGIN:g} to 1, alpha from {LEAST_MARGIN:g} to below 1, and epsilon above 0"
        )
    net, zeta = log(4.0 * sqrt(columns) / margin), margin / 4.0
    if corrected:
        dimension = ceil(6.0 / zeta**2 * log(16.0 / alpha))
        number = ceil(32.0 / alpha**2 * (columns * net + log(6.0 / BETA)))
        directions = dimension * log10(1.0 + 8.0 / margin)
    else:
        dimension = ceil(20.0 / zeta**2 * log(8.0 / alpha))
        number = ceil(16.0 / alpha**2 * columns * (net + log(1.0 / BETA)))
        directions = dimension * log10(4.0 * sqrt(dimension) / margin)
    sides = log10(number) + directions
    needed = sides + log10((sides + log10(2.0 / BETA)) * log(10.0)) - log10(epsilon)
    return TheoryParameters(dimension, number, directions, needed)


MOST_REGRESSED = 8_192
"""Known halfspaces of a regression, at most: its matrix has their square of entries."""

_RAMPS = (0.5, 0.8, 1.2)
"""Of the regressions that are combined, in margins."""
_TOGETHER = 64  # queries at a time: their weights are kept
_STEP = 0.01  # of the logarithm of a scale


class Estimator(enum.Enum):
    """How signed sums of known halfspaces become the answer for another one.

    `AVERAGE`: of each projection the canonical direction nearest to the projected query, all with the same weight
    (Blum, Ligett and Roth, Definition 6.5). `REGRESSION`: weights of all directions by `SideRegression`, combined for
    the least worst bias (models/halfspace_debiasing).
    """

    AVERAGE = "average"
    REGRESSION = "regression"

    @classmethod
    def usual(cls, plan: HalfspacePlan) -> Estimator:
        """Return the regression, or the average for more halfspaces than a regression takes."""
        return cls.REGRESSION if plan.features <= MOST_REGRESSED else cls.AVERAGE


class Answering:
    """The data for answering besides the released values, for a margin gamma; public, made from the plan alone."""

    def __init__(self, plan: HalfspacePlan, estimator: Estimator, margin: float) -> None:
        MARGIN(margin, PlanError)
        if estimator is Estimator.REGRESSION and plan.features > MOST_REGRESSED:
            raise PlanError(
                f"a regression takes up to {MOST_REGRESSED:,} halfspaces, and {plan.features:,} are known; use "
                f"--estimate average, or release fewer"
            )
        self.plan, self.estimator, self.margin = plan, estimator, margin

    def of_queries(self, queries: NDArray[np.float64], *, turns: int = TURNS, inside: float = 0.0) -> Iterator[Bias]:
        """Yield final weights and bias for each of some unit vectors, (q, d)."""
        for start in range(0, len(queries), _TOGETHER):
            some = queries[start : start + _TOGETHER]
            for query, parts in zip(some, self._parts(some), strict=True):
                yield bias_of(
                    query,
                    parts,
                    self.plan.projections.unit_normals,
                    self.margin,
                    seed=self.plan.seed ^ 0x5EED,
                    turns=turns,
                    inside=inside,
                )

    def _parts(self, queries: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the weights of the estimates that are combined, (q, j, m h)."""
        if self.estimator is Estimator.REGRESSION:
            return self._regression.weights(queries)
        return nearest_weights(self.plan, queries)[:, None, :]

    def noise(self, weights: NDArray[np.float64], beta: float, *, queries: int = 1) -> float:
        """Return a bound on the noise of an answer with probability 1 - beta, for final weights (m h,)."""
        plan = self.plan
        scales = np.append(np.abs(weights) * plan.sums_scale, plan.records_scale) / (2.0 * plan.size)
        return noise_bound(*_rounded_up(scales), beta, gaussian=plan.gaussian, queries=queries)

    @cached_property
    def _regression(self) -> SideRegression:
        plan = self.plan
        variance = plan.sums_scale**2 * (1.0 if plan.gaussian else 2.0) / plan.size**2
        return SideRegression(plan.projections.unit_normals, variance, tuple(share * self.margin for share in _RAMPS))


def _rounded_up(scales: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Round scales up to steps of 1 %, so that there are few; return them and how many there are of each."""
    if not scales.max() > 0.0:
        return np.zeros(1), np.ones(1)
    levels = np.floor(np.log(np.maximum(scales / scales.max(), 1e-9)) / _STEP)
    steps, numbers = np.unique(levels, return_counts=True)
    return scales.max() * np.exp((steps + 1.0).clip(max=0.0) * _STEP), numbers.astype(np.float64)


def nearest_weights(plan: HalfspacePlan, queries: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / m for the canonical direction nearest to A_i y, -1 / m if that is its antipode, (q, m h).

    The nearest one to A_i y on the sphere: A_i y is divided by its length, which the paper leaves out.
    """
    projected = np.einsum("mtd,qd->qmt", plan.projections.matrices.astype(np.float64), queries)
    directions = plan.projections.directions / np.sqrt(
        (plan.projections.directions.astype(np.float64) ** 2).sum(axis=1, keepdims=True)
    )
    products = projected @ directions.T
    nearest = np.argmax(np.abs(products), axis=2)[:, :, None]
    found = np.zeros(products.shape)
    signs = np.sign(np.take_along_axis(products, nearest, axis=2))
    np.put_along_axis(found, nearest, signs / plan.number, axis=2)
    return found.reshape(len(queries), plan.features)
