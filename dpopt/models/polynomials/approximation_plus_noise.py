"""The polynomial with the least predicted error of a noisy answer: its own error and that of noise on its coefficients.

Problem (models/approximation_plus_noise): for values f(0), ..., f(k), weights v_s of errors, w_j >= 0 (w_0 = 0) and zeta > 0,

    minimize    E + zeta sum_j w_j |a_j|                                       AN-1
    subject to  v_s |sum_j a_j C(s, j) - f(s)| <= E  for s = 0, ..., k         AN-2

The degree is k: coefficients that do not pay are 0, so that the program chooses the degree itself. For n records of d
attributes, Gaussian noise of total cost rho, noise of each size of conjunctions scaled best, and all Q queries within
the error with probability 1 - beta,

    w_j = (C(d, j) C(k, j))^(1/2) / (n (2 rho)^(1/2)),    zeta = (2 ln(2 Q / beta))^(1/2)      AN-3

As a linear program: a_j = (x_j^+ - x_j^-) / C(k, j), as CB-5. Its dual, in weights y_s on the points:

    maximize sum_s y_s f(s)  subject to  sum_s |y_s| / v_s <= 1,  |sum_s y_s C(s, j)| <= zeta w_j    AN-4

Source: our own; the best scales of noise: docs/research/polynomials.md.
"""

from __future__ import annotations

from math import lgamma, log, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpopt.errors import ProgramError
from dpopt.models.model import Model
from dpopt.models.polynomials.coefficient_budget import Numbers, binomial_shares, largest_binomials
from dpopt.models.polynomials.minimax_polynomial import row_scales
from dpopt.programs.building import Builder, dense


def approximation_plus_noise(values: Numbers, weights: Numbers, *, error_weights: ArrayLike = ()) -> Model:
    """Return AN-1 and AN-2 in x_plus and x_minus (k + 1,), and E; `read_split` makes coefficients of their solution.

    Parameters
    ----------
    values : (k + 1,) float64
        f(0), ..., f(k).
    weights : (k + 1,) float64
        zeta w_j, >= 0; see `noise_weights`.
    error_weights : (k + 1,) float64
        v_0, ..., v_k, >= 0; all 1 if left out.
    """
    if weights.shape != values.shape or not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ProgramError(
            f"found {weights.size} weights for {values.size} values; expected as many, finite and at least 0"
        )
    v = row_scales(error_weights, values.size, keeps_zero=False)
    shares, values = v[:, None] * binomial_shares(values.size - 1, values.size - 1), v * values
    costs = weights / largest_binomials(values.size - 1, values.size - 1)
    each = np.arange(values.size)
    build = Builder()
    plus, minus = (build.variables(name, values.size, objective=costs, start=0) for name in ("x_plus", "x_minus"))
    error = build.variables("E", objective=1.0)
    near = dense(shares, plus), dense(-shares, minus)
    build.rows("AN-2.above", values.size, *near, (each, error, 1.0), lower=values, start=0)
    build.rows("AN-2.below", values.size, *near, (each, error, -1.0), upper=values, start=0)
    return Model.of("approximation_plus_noise", build)


def noise_weights(
    width: int, *, attributes: int, records: int, rho: float, queries: int, beta: float
) -> NDArray[np.float64]:
    """Return zeta w_j for j = 0, ..., k, (k + 1,) (AN-3).

    k is `width`, from 1 to d, the number of attributes; n is the number of records, at least 1; rho, above 0, the
    budget in zCDP; Q, at least 1, how many answers are within the error together but for probability beta, in (0, 1).
    """
    if not (1 <= width <= attributes and records >= 1 and 0 < rho < np.inf and queries >= 1 and 0 < beta < 1):
        raise ProgramError(
            f"found k = {width}, d = {attributes}, n = {records}, rho = {rho:g}, {queries} queries and beta = "
            f"{beta:g}; expected k from 1 to d, n and the number of queries from 1, rho above 0, and beta between 0 "
            f"and 1"
        )
    zeta = sqrt(2.0 * (log(2.0 / beta) + log(queries)))
    logs = [0.5 * (_log_binomial(attributes, j) + _log_binomial(width, j)) for j in range(1, width + 1)]
    return np.append(0.0, zeta / (records * sqrt(2.0 * rho)) * np.exp(logs))


def _log_binomial(number: int, chosen: int) -> float:
    return lgamma(number + 1) - lgamma(chosen + 1) - lgamma(number - chosen + 1)
