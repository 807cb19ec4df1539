"""What the theorems say of projected halfspaces: the paper's parameters, corrected, and how often a projection is wrong."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, log10, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from dpopt.errors import PlanError


@dataclass(frozen=True, slots=True)
class TheoryParameters:
    """Parameters with which a theorem promises error alpha for all queries of margin gamma.

    Attributes
    ----------
    dimension : int
        T.
    projections : int
        m.
    log10_directions : float
        Common logarithm of |U|.
    log10_records : float
        Common logarithm of the number of records that the theorem needs.
    """

    dimension: int
    projections: int
    log10_directions: float
    log10_records: float


def printed_parameters(
    columns: int, margin: float, alpha: float, epsilon: float, *, beta: float = 0.05
) -> TheoryParameters:
    """Return the parameters as ReleaseHalfspaces and Theorem 6.9 print them: m |U| ln(2 m |U| / beta) / epsilon records.

    Raises
    ------
    PlanError
        Numbers out of range.
    """
    _check(columns, margin, alpha, epsilon, beta)
    dimension = ceil(20.0 / (margin / 4.0) ** 2 * log(8.0 / alpha))
    number = ceil(16.0 / alpha**2 * columns * (log(4.0 * sqrt(columns) / margin) + log(1.0 / beta)))
    directions = dimension * log10(4.0 * sqrt(dimension) / margin)
    return _with_records(dimension, number, directions, epsilon, beta)


def corrected_parameters(
    columns: int, margin: float, alpha: float, epsilon: float, *, beta: float = 0.05
) -> TheoryParameters:
    """Return parameters for which the proof holds, and no larger than it needs.

    T >= 6 zeta^(-2) ln(2 / tau) suffices for signs (Achlioptas 2003) with zeta = gamma / 4 and tau = alpha / 8; a net of the
    sphere with at most (1 + 8 / gamma)^T points (by volume); m >= (32 / alpha^2) (d ln(4 sqrt(d) / gamma) + ln(6 / beta)),
    since noise of at most 1 has the Hoeffding exponent alpha^2 m / 32, and the union is over the net of queries.

    Raises
    ------
    PlanError
        Numbers out of range.
    """
    _check(columns, margin, alpha, epsilon, beta)
    dimension = ceil(6.0 / (margin / 4.0) ** 2 * log(16.0 / alpha))
    number = ceil(32.0 / alpha**2 * (columns * log(4.0 * sqrt(columns) / margin) + log(6.0 / beta)))
    return _with_records(dimension, number, dimension * log10(1.0 + 8.0 / margin), epsilon, beta)


def wrong_side_probability(dimension: int, cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return P(<A x, A y> <= 0) for unit vectors with <x, y> = t > 0 and a T x d matrix of independent normal numbers.

    The T pairs of coordinates have correlation t; with a b = ((a + b)^2 - (a - b)^2) / 4 the product is a positive multiple of
    (1 + t) chi - (1 - t) chi', two independent chi-squared numbers of T degrees of freedom. So it is the probability that a
    Beta(T/2, T/2) number is below (1 - t) / 2: arccos(t) / pi for T = 1, (1 - t) / 2 for T = 2. Matrices whose entries add up
    63 signs have it but for some thousandths; so have those of single signs, if neither vector has few large coordinates.
    """
    return np.asarray(betainc(dimension / 2.0, dimension / 2.0, (1.0 - cosines) / 2.0))


def _with_records(
    dimension: int, number: int, directions: float, epsilon: float, beta: float
) -> TheoryParameters:
    sides = log10(number) + directions
    needed = sides + log10((sides + log10(2.0 / beta)) * log(10.0)) - log10(epsilon)
    return TheoryParameters(dimension, number, directions, needed)


def _check(columns: int, margin: float, alpha: float, epsilon: float, beta: float) -> None:
    if columns < 2 or not 0 < margin <= 1 or not 0 < alpha < 1 or not epsilon > 0 or not 0 < beta < 1:
        raise PlanError(
            f"found d = {columns}, gamma = {margin:g}, alpha = {alpha:g}, epsilon = {epsilon:g} and beta = {beta:g}; expected "
            "d from 2, gamma in (0, 1], alpha and beta between 0 and 1, and epsilon above 0"
        )
