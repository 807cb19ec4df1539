"""The polynomial that answers a query of k literals from noisy counts of conjunctions: least approximation and noise together.

With s of the k literals true the exact answer is f(s), and sum_j a_j C(s, j) is what conjunctions of at most t literals give:

    minimize   gamma + zeta (sum_{j=1..t} a_j^2 u_j^2)^(1/2)                            (AQ-1)
    subject to |a_0 + sum_{j=1..t} a_j C(s, j) - f(s)| <= gamma  for each s that occurs (AQ-2)

u_j^2 is the variance of the noise that the query sums up at size j if a_j = 1, and zeta how many standard deviations count. A
convex program with t + 2 variables (a cone and 2 (k + 1) rows). gamma is evaluated anew, in exact arithmetic, from the a_j that
are returned, rounded to dyadic rationals first: whatever the search did, the stated bound holds.

Source: Thaler, Ullman and Vadhan 2012 (Section 4.1) for the polynomial; the program is our own. Tests compare with CVXPY.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, inf, sqrt

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.models.polynomials.error_and_noise_search import candidates

LARGEST_QUERY = 64
DENOMINATORS = 2**60, 2**20
"""Of the coefficients that are tried: as they are found, and rounded, which makes sums over inclusion and exclusion exact."""


@dataclass(frozen=True, slots=True)
class AnswerPolynomial:
    """How noisy counts become an answer.

    Attributes
    ----------
    coefficients : tuple of float
        a_0, ..., a_t, each exact as a Fraction.
    approximation : float
        gamma, the largest difference to f over s = 0, ..., k, rounded up.
    deviation : float
        The standard deviation of the answer's noise.
    """

    coefficients: tuple[float, ...]
    approximation: float
    deviation: float

    def bound(self, zeta: float) -> float:
        """Return AQ-1."""
        return self.approximation + zeta * self.deviation


def best_answer(
    target: tuple[Fraction | None, ...], deviations: NDArray[np.float64], zeta: float
) -> AnswerPolynomial:
    """Return the polynomial of least bound.

    Parameters
    ----------
    target : (k + 1,) Fractions
        f(0), ..., f(k); None where so many true literals cannot occur.
    deviations : (t,) float64
        u_1, ..., u_t, above 0; inf where no conjunction of a size was counted.
    zeta : float
        Above 0.

    Raises
    ------
    ProgramError
        If there is no target, or a number is out of range.
    """
    k = len(target) - 1
    occurring = [s for s, value in enumerate(target) if value is not None]
    if not occurring or not 1 <= k <= LARGEST_QUERY or not (deviations > 0).all() or not 0 < zeta < inf:
        raise ProgramError(
            f"answer polynomial: found {k} literals, deviations {deviations} and zeta {zeta!r}; expected 1 to {LARGEST_QUERY} "
            "literals, and the others above 0"
        )
    used = [0, *(j for j in range(1, min(k, deviations.size) + 1) if np.isfinite(deviations[j - 1]))]
    points = np.array([[comb(s, j) / comb(k, j) for j in used] for s in occurring])
    noise = np.array([0.0, *(deviations[j - 1] / comb(k, j) for j in used[1:])])
    values = np.array([float(one) for one in target if one is not None])
    found = [
        _stated(_in_full(scaled, used, k, denominator), target, deviations)
        for scaled in candidates(points, values, zeta * noise)
        for denominator in DENOMINATORS
    ]
    return min(found, key=lambda one: one.bound(zeta))


def evaluated(coefficients: tuple[Fraction, ...], s: int) -> Fraction:
    """Return sum_j a_j C(s, j), exactly."""
    return sum((one * comb(s, j) for j, one in enumerate(coefficients)), start=Fraction(0))


def _in_full(scaled: NDArray[np.float64], used: list[int], k: int, denominator: int) -> tuple[Fraction, ...]:
    full = [Fraction(0)] * (used[-1] + 1)
    for j, value in zip(used, scaled.tolist(), strict=True):
        full[j] = Fraction(round(value / comb(k, j) * denominator), denominator)
    return tuple(Fraction(float(one)) for one in full)


def _stated(
    coefficients: tuple[Fraction, ...], target: tuple[Fraction | None, ...], deviations: NDArray[np.float64]
) -> AnswerPolynomial:
    worst = max(
        abs(evaluated(coefficients, s) - value) for s, value in enumerate(target) if value is not None
    )
    variance = sum((float(one) * float(deviations[j])) ** 2 for j, one in enumerate(coefficients[1:]) if one)
    return AnswerPolynomial(
        tuple(float(one) for one in coefficients), float(worst) * (1 + 2**-50), sqrt(variance)
    )
