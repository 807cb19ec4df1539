"""How the budget of a summary is spread over the sizes of conjunctions, so that the predicted error is least."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, sqrt

import numpy as np
from numpy.typing import NDArray

from dpopt.models.polynomials.answer_polynomial import AnswerPolynomial, best_answer
from dpopt.polynomials.coefficient_budgets import least_predicted_error
from dpopt.polynomials.solver_answers import DEFAULT
from dpopt.polynomials.targets import Target
from dpopt.programs.solver import Solver
from dpopt.synopses.summaries.noise_bounds import deviations_for, noise_bound

LEFT_OUT = Fraction(10) ** 12
"""The weight of sizes that are not counted."""

_LEAST_SHARE = 1e-4  # of the budget, for a size to be counted
_ROUNDS = 30
_DEARER = (0.1, 0.3, 1.0, 2.0, 4.0, 10.0)


@dataclass(frozen=True, slots=True)
class Measured:
    """Facts about the measurements before the budget is spread."""

    sensitivity: NDArray[np.float64]
    """Shape (t,). How many conjunctions of each size a record moves."""
    amount: float
    """rho or epsilon, for all sizes together."""
    size: int
    """Public number of records."""
    queries: int
    """Q, the number of queries that the bound is to hold for together."""
    gaussian: bool
    beta: float
    """The probability with which it may fail."""

    def scales(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the noise scale of a count of each size, as a share of the records; inf where no budget is spent."""
        with np.errstate(divide="ignore"):
            if self.gaussian:
                return np.asarray(np.sqrt(self.sensitivity / (2.0 * self.amount * shares)) / self.size)
            return np.asarray(self.sensitivity / (self.amount * shares) / self.size)

    def deviations(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the standard deviation of a count of each size, likewise."""
        return np.asarray(self.scales(shares) * (1.0 if self.gaussian else sqrt(2.0)))

    def noise(
        self, shares: NDArray[np.float64], coefficients: NDArray[np.float64], numbers: NDArray[np.float64]
    ) -> float:
        """Return the effect of noise on answers that add up this number of counts of each size, times a coefficient."""
        used = coefficients > 0
        scales = coefficients[used] * self.scales(shares)[used]
        return noise_bound(scales, numbers[used], self.beta, gaussian=self.gaussian, queries=self.queries)


@dataclass(frozen=True, slots=True)
class Spread:
    """The share of the budget of each size, the polynomial for these, and the bound on the error of all queries."""

    shares: NDArray[np.float64]
    answer: AnswerPolynomial
    bound: float


def best_spread(target: Target, measured: Measured, small_queries: float, solver: str | Solver = DEFAULT) -> Spread:
    """Return the best spread found, with at least a share of the budget for all sizes below k (`small_queries`).

    One that is tried has all of the budget at size k, noise on each query of its own, where those can all be counted.
    The exact method of approximation_plus_noise begins where a solver of linear programs ends.
    """
    k, sizes = target.width, measured.sensitivity.size
    numbers = np.array([comb(k, j) for j in range(1, sizes + 1)], dtype=np.float64)
    # As if each size had the whole budget. With Gaussian noise the program is exact for shares that are scaled best.
    costs = deviations_for(measured.beta, measured.queries) * np.sqrt(numbers) * measured.deviations(np.ones(sizes))
    found: list[Spread] = []
    # With Laplace noise it is not convex, and begun at several places.
    for dearer in (1.0,) if measured.gaussian else _DEARER:
        weights = [Fraction(0), *(Fraction(one).limit_denominator(10**15) for one in (dearer * costs).tolist())]
        weights += [LEFT_OUT] * (k + 1 - len(weights))
        begun = least_predicted_error(target, weights, solver=solver).polynomial.coefficients[1 : sizes + 1]
        coefficients = np.zeros(sizes)
        coefficients[: len(begun)] = [abs(float(one)) for one in begun]
        found.append(_improved(coefficients, target, measured, numbers, small_queries))
    best = min(found, key=lambda one: one.bound)
    if sizes == k:
        directly = _improved(np.eye(k)[-1], target, measured, numbers, small_queries)
        if directly.bound < best.bound * (1.0 - 1e-9):
            return directly
    return best


def answers_tried(
    target: tuple[Fraction | None, ...],
    deviations: NDArray[np.float64],
    zeta: float,
    *,
    gaussian: bool,
    solver: str | Solver | None = None,
) -> list[AnswerPolynomial]:
    """Return the best polynomial of the program, and with Laplace noise that which takes size k alone, too.

    The program weighs noise by its standard deviation, by which the bound of a single count is overstated.
    """
    found, width = [best_answer(target, deviations, zeta, solver)], len(target) - 1
    if not gaussian and deviations.size == width and np.isfinite(deviations[-1]):
        alone = np.where(np.arange(1, width + 1) == width, deviations, np.inf)
        found.append(best_answer(target, alone, zeta, solver))
    return found


def _spread_of(shares: NDArray[np.float64], target: Target, measured: Measured, numbers: NDArray[np.float64]) -> Spread:
    """Return the best polynomial for these shares that is found."""
    deviations = np.sqrt(numbers) * measured.deviations(shares)
    zeta = deviations_for(measured.beta, measured.queries)
    found = []
    for answer in answers_tried(target.values, deviations, zeta, gaussian=measured.gaussian):
        coefficients = np.zeros(numbers.size)
        coefficients[: len(answer.coefficients) - 1] = np.abs(answer.coefficients[1:])
        bound = answer.approximation + measured.noise(shares, coefficients, numbers)
        found.append(Spread(shares, answer, bound))
    return min(found, key=lambda one: one.bound)


def _improved(
    coefficients: NDArray[np.float64], target: Target, measured: Measured, numbers: NDArray[np.float64], small: float
) -> Spread:
    """Take turns: the best noise for a polynomial, then the best polynomial for that noise."""
    best: Spread | None = None
    for _ in range(_ROUNDS):
        shares = _best_shares(coefficients, measured.sensitivity, numbers, gaussian=measured.gaussian)
        found = _spread_of(_with_small_sizes(shares, target.width, small), target, measured, numbers)
        if best is not None and found.bound >= best.bound * (1 - 1e-9):
            break
        best = found
        coefficients = np.zeros(numbers.size)
        coefficients[: len(found.answer.coefficients) - 1] = np.abs(found.answer.coefficients[1:])
    assert best is not None  # noqa: S101  the first round gives one
    return best


def _best_shares(
    coefficients: NDArray[np.float64],
    sensitivity: NDArray[np.float64],
    combinations: NDArray[np.float64],
    *,
    gaussian: bool,
) -> NDArray[np.float64]:
    """Return the shares of the budget of least variance of sum_j a_j times the sum over C(k, j) counts.

    Gaussian: b_j in proportion to |a_j| (m_j C_j)^(1/2); Laplace: to (|a_j| m_j C_j^(1/2))^(2/3).
    """
    if gaussian:
        shares = coefficients * np.sqrt(sensitivity * combinations)
    else:
        shares = (coefficients * sensitivity * np.sqrt(combinations)) ** (2.0 / 3.0)
    if not shares.any():  # a constant answers: nothing is worth counting, and single literals are counted all the same
        shares = np.eye(sensitivity.size)[0]
    shares = np.where(shares >= _LEAST_SHARE * shares.sum(), shares, 0.0)
    return np.asarray(shares / shares.sum())


def _with_small_sizes(shares: NDArray[np.float64], width: int, small: float) -> NDArray[np.float64]:
    """Return the shares with a little for each size below k up to the largest one: smaller queries are asked, too."""
    least = np.zeros_like(shares)
    least[: min(int(np.flatnonzero(shares)[-1]) + 1, width - 1)] = small / max(1, width - 1)
    lacking = np.where(shares < least, least, 0.0)
    rest = np.where(shares < least, 0.0, shares)
    return np.asarray(lacking + rest * ((1.0 - lacking.sum()) / rest.sum()))
