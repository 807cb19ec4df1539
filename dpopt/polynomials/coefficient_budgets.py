"""Polynomials with small coefficients, in proportion to which a release adds noise, by exact linear programs.

(iii) `least_coefficients`: the least sum_j w_j |a_j| in the binomial basis among the polynomials of at most an error.
`least_error_within`: the least error among the polynomials whose coefficients, monomial or Chebyshev, are at most T in
size (both models/coefficient_budget).

(iv) `least_predicted_error`: the polynomial whose noisy release has the least predicted error. It minimizes E + zeta
sum_j w_j |a_j| over all polynomials of degree k with a free constant (models/approximation_plus_noise). The weights are
rounded to rationals first; the optimum, its degree and its witness are exact for these.

A solver's answer is where the exact simplex method begins; the optimum comes with its witness.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb, isqrt, log, sqrt

from dpopt.errors import PolynomialError
from dpopt.models.polynomials.approximation_plus_noise import noise_weights
from dpopt.polynomials.certificates import Problem, Solution
from dpopt.polynomials.exact_optimum import exact_solution
from dpopt.polynomials.polynomial import Basis
from dpopt.polynomials.solver_answers import DEFAULT, solver_answer
from dpopt.polynomials.targets import Target, nearest_float
from dpopt.programs.solver import Solver

_BITS = 40
"""Weights are rounded to this number of bits before the problem is solved."""


def rounded_noise_weights(
    width: int, *, attributes: int, records: int, rho: float, queries: int, beta: float
) -> tuple[Fraction, ...]:
    """Return zeta w_j of AN-3 for j = 0, ..., k, as rationals of 40 bits; arguments as of `noise_weights`."""
    weights = noise_weights(width, attributes=attributes, records=records, rho=rho, queries=queries, beta=beta)
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
    """
    if len(weights) != target.width + 1:
        raise PolynomialError(
            f"found {len(weights)} weights; expected k + 1 = {target.width + 1} of them, for degrees 0 to k"
        )
    problem = Problem(target, target.width, keeps_zero=False, weights=tuple(weights))
    return _solved(problem, solver)


def direct_error(width: int, *, attributes: int, records: int, rho: float, queries: int, beta: float) -> float:
    """Return the predicted error where every query on k of d attributes gets noise of its own, with no polynomial.

    zeta (C(d, k) / (2 rho))^(1/2) / n: what a polynomial has to beat.
    """
    zeta = sqrt(2.0 * (log(2.0 / beta) + log(queries)))
    return zeta * sqrt(nearest_float(comb(attributes, width))) / (records * sqrt(2.0 * rho))


def _rounded(number: float) -> Fraction:
    exact = Fraction(number)
    if not exact:
        return exact
    shift = _BITS - (exact.numerator.bit_length() - exact.denominator.bit_length())
    return Fraction(round(exact * Fraction(2) ** shift)) / Fraction(2) ** shift


_DIGITS = 12
"""Square roots are rounded to this number of digits before the problem is solved; certificates are of the rounded
weights."""


def sensitivity_weights(attributes: int, degree: int) -> tuple[Fraction, ...]:
    """Return w_0 = 0 and w_j = C(d, j): sum_j w_j |a_j| is n times the L1 sensitivity of all coefficients."""
    return (Fraction(0), *(Fraction(comb(attributes, j)) for j in _sizes(degree, attributes)))


def deviation_weights(attributes: int, width: int, degree: int) -> tuple[Fraction, ...]:
    """Return w_0 = 0 and w_j = (C(d, j) C(k, j))^(1/2), rounded to 12 digits.

    sum_j w_j |a_j| is n (2 rho)^(1/2) times the standard deviation of an answer with Gaussian noise, noise of each size
    of conjunctions scaled best.
    """
    return (
        Fraction(0),
        *(rounded_root(comb(attributes, j) * comb(width, j)) for j in _sizes(degree, min(attributes, width))),
    )


def _sizes(degree: int, most: int) -> range:
    if not 0 <= degree <= most:
        raise PolynomialError(
            f"found degree {degree}; expected a whole number from 0 to {most}, the most attributes of a query"
        )
    return range(1, degree + 1)


def rounded_root(number: int) -> Fraction:
    """Return the square root of a whole number, cut after 12 significant digits or more; exact for squares."""
    digits = max(_DIGITS - len(str(number)) // 2, 0)
    return Fraction(isqrt(number * 100**digits), 10**digits)


def least_coefficients(
    target: Target,
    degree: int,
    error_limit: Fraction,
    weights: Sequence[Fraction],
    *,
    free_constant: bool | None = None,
    solver: str | Solver | None = DEFAULT,
) -> Solution:
    """Return the polynomial with the least sum_j w_j |a_j| among those of at most a degree and an error.

    Parameters
    ----------
    target
        f, k <= 96.
    degree
        t, from 0 to k.
    error_limit
        The largest error allowed on 0..k, >= 0.
    weights
        w_0, ..., w_t, >= 0, in the binomial basis.
    free_constant
        Whether p(0) may differ from f(0); left out: for all targets but OR.
    solver
        A solver of linear programs to begin with; None: exact arithmetic alone, which may take long.
    """
    keeps_zero = target.keeps_zero if free_constant is None else not free_constant
    problem = Problem(target, degree, keeps_zero, weights=tuple(weights), error_limit=error_limit)
    return _solved(problem, solver)


def least_error_within(
    target: Target,
    degree: int,
    limit: Fraction,
    basis: Basis,
    *,
    free_constant: bool | None = None,
    solver: str | Solver | None = DEFAULT,
) -> Solution:
    """Return the polynomial of at most a degree and with coefficients of at most T in size that has the least error.

    Parameters
    ----------
    target, degree, free_constant, solver
        As of `least_coefficients`.
    limit
        T, >= 0.
    basis
        MONOMIAL or CHEBYSHEV: whose coefficients are limited.
    """
    if basis is Basis.BINOMIAL:
        raise PolynomialError("coefficients are limited in the monomial or the Chebyshev basis")
    keeps_zero = target.keeps_zero if free_constant is None else not free_constant
    problem = Problem(target, degree, keeps_zero, basis, coefficient_limit=limit)
    return _solved(problem, solver)


def _solved(problem: Problem, solver: str | Solver | None) -> Solution:
    """Return the exact optimum, starting from a solver's answer."""
    return exact_solution(problem, None if solver is None else solver_answer(problem, solver).polynomial)
