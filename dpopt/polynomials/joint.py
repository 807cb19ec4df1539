"""(iv) The polynomial whose noisy release has the least predicted error: approximation and noise in one linear program.

minimize E + zeta sum_j w_j |a_j| over all polynomials of degree k with a free constant (models/approximation_plus_noise).
The weights are rounded to rationals first; the optimum, its degree and its witness are exact for these.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb, log, sqrt

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import PolynomialError
from dpopt.models.polynomials.approximation_plus_noise import approximation_plus_noise, noise_weights
from dpopt.models.polynomials.coefficient_budget import read_split
from dpopt.polynomials.certificates import Problem, Solution
from dpopt.polynomials.exact_optimum import exact_solution
from dpopt.polynomials.linear_solver import DEFAULT, linear_solver, suggested_point
from dpopt.polynomials.targets import Target
from dpopt.programs.solver import Solver

_BITS = 40
"""Weights are rounded to so many bits before anything is solved."""


def rounded_noise_weights(
    width: int, *, attributes: int, records: int, rho: float, queries: int, beta: float
) -> tuple[Fraction, ...]:
    """Return zeta w_j of AN-3 for j = 0, ..., k, as rationals of 40 bits; arguments and errors as of `noise_weights`."""
    weights = noise_weights(
        width, attributes=attributes, records=records, rho=rho, queries=queries, beta=beta
    )
    return tuple(_rounded(float(one)) for one in weights)


def least_predicted_error(
    target: Target, weights: Sequence[Fraction], *, solver: str | Solver | None = DEFAULT
) -> Solution:
    """Return the polynomial with the least E + sum_j w_j |a_j|; its degree is chosen by the program.

    Parameters
    ----------
    target
        f, k <= 96.
    weights
        w_0 = 0, w_1, ..., w_k, >= 0, zeta included.
    solver
        A solver of linear programs to begin with; None: exact arithmetic alone, which may take long.

    Raises
    ------
    PolynomialError
        A number out of range.
    SolverUnavailableError
        The solver cannot run here.
    """
    if len(weights) != target.width + 1:
        raise PolynomialError(
            f"found {len(weights)} weights; expected k + 1 = {target.width + 1} of them, for degrees 0 to k"
        )
    problem = Problem(target, target.width, keeps_zero=False, weights=tuple(weights))
    suggested: NDArray[np.float64] | None = None
    if solver is not None:
        program = approximation_plus_noise(
            np.array([float(one) for one in target.values]), np.array([float(one) for one in weights])
        )
        point = suggested_point(linear_solver(solver), program)
        suggested = None if point is None else read_split(point[:-1], target.width)
    return exact_solution(problem, suggested)


def direct_error(
    width: int, *, attributes: int, records: int, rho: float, queries: int, beta: float
) -> float:
    """Return the predicted error where every query on k of d attributes gets noise of its own, with no polynomial.

    zeta (C(d, k) / (2 rho))^(1/2) / n: what a polynomial has to beat.
    """
    zeta = sqrt(2.0 * (log(2.0 / beta) + log(queries)))
    return zeta * sqrt(comb(attributes, width)) / (records * sqrt(2.0 * rho))


def _rounded(number: float) -> Fraction:
    exact = Fraction(number)
    if not exact:
        return exact
    shift = _BITS - (exact.numerator.bit_length() - exact.denominator.bit_length())
    return Fraction(round(exact * Fraction(2) ** shift)) / Fraction(2) ** shift
