"""The polynomial that answers a query of which some conditions are counted and others only with their negations.

With s of the k conditions that are counted true, and u of the l that are counted negated true as counted (false as asked), the
exact answer is f(s, u), and a_ij C(s, i) C(u, j) is what conjunctions of i and j of the counted literals give:

    minimize   gamma + zeta (sum_{i+j>=1} a_ij^2 u_ij^2)^(1/2)                                     (AQ-3)
    subject to |sum_ij a_ij C(s, i) C(u, j) - f(s, u)| <= gamma  for each pair (s, u) that occurs  (AQ-4)

u_ij^2 is the variance of the noise that the query sums up at (i, j) if a_ij = 1; a_ij = 0 where conjunctions of i + j literals
were not counted. With l = 0 it is the program of `answer_polynomial`. As there, gamma is evaluated anew in exact arithmetic
from the coefficients that are returned: whatever the search did, the stated bound holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, inf, sqrt

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError
from dpopt.models.polynomials.answer_polynomial import (
    DENOMINATORS,
    LARGEST_QUERY,
    AnswerPolynomial,
    candidates,
)

_BITS = 60  # coefficients are whole multiples of 2^-60


@dataclass(frozen=True, slots=True)
class MixedAnswerPolynomial:
    """How noisy counts become an answer.

    Attributes
    ----------
    coefficients : tuple of tuples of float
        a_ij, rows i and columns j, each exact as a Fraction.
    approximation : float
        gamma, the largest difference to f over the pairs that occur, rounded up.
    deviation : float
        The standard deviation of the answer's noise.
    """

    coefficients: tuple[tuple[float, ...], ...]
    approximation: float
    deviation: float

    @classmethod
    def of(cls, polynomial: AnswerPolynomial) -> MixedAnswerPolynomial:
        """Return a polynomial in one number as one in two, of which the second is always 0."""
        rows = tuple((one,) for one in polynomial.coefficients)
        return cls(rows, polynomial.approximation, polynomial.deviation)

    def bound(self, zeta: float) -> float:
        """Return AQ-3."""
        return self.approximation + zeta * self.deviation

    def terms(self) -> list[tuple[int, int, float]]:
        """Return i, j and a_ij where that is not 0, without the constant."""
        return [
            (i, j, value)
            for i, row in enumerate(self.coefficients)
            for j, value in enumerate(row)
            if i + j and value
        ]


def best_mixed_answer(
    target: tuple[tuple[Fraction | None, ...], ...], deviations: NDArray[np.float64], zeta: float
) -> MixedAnswerPolynomial:
    """Return the polynomial of least bound.

    Parameters
    ----------
    target : (k + 1, l + 1) Fractions
        f(s, u); None where a pair cannot occur.
    deviations : (k + 1, l + 1) float64
        u_ij, above 0; inf where conjunctions of i + j literals were not counted. That of (0, 0) is not used.
    zeta : float
        Above 0.

    Raises
    ------
    ProgramError
        If there is no target, or a number is out of range.
    """
    k, l = len(target) - 1, len(target[0]) - 1  # noqa: E741  the page's letter
    occurring = [(s, u) for s, row in enumerate(target) for u, value in enumerate(row) if value is not None]
    noise = np.array(deviations, dtype=np.float64)
    if noise.shape == (k + 1, l + 1):
        noise[0, 0] = 1.0
    if (
        not occurring
        or not 1 <= k + l <= LARGEST_QUERY
        or noise.shape != (k + 1, l + 1)
        or not (noise > 0).all()
        or not 0 < zeta < inf
    ):
        raise ProgramError(
            f"answer polynomial: found {k} and {l} literals, deviations of shape {np.shape(deviations)} and zeta {zeta!r}; "
            f"expected 1 to {LARGEST_QUERY} literals, a deviation above 0 for each pair, and zeta above 0"
        )
    used = sorted(
        ((i, j) for i in range(k + 1) for j in range(l + 1) if i + j == 0 or np.isfinite(noise[i, j])),
        key=lambda pair: (sum(pair), pair),
    )
    exact = np.array([[comb(s, i) * comb(u, j) for i, j in used] for s, u in occurring], dtype=np.object_)
    wanted = [value for row in target for value in row if value is not None]
    largest = np.array([comb(k, i) * comb(l, j) for i, j in used], dtype=np.float64)
    weights = zeta * np.array([0.0, *(noise[pair] for pair in used[1:])]) / largest
    sizes = [i + j for i, j in used]
    degrees = [sum(size <= degree for size in sizes) for degree in sorted(set(sizes))]
    found = []
    for scaled in candidates(
        exact.astype(np.float64) / largest, np.array(list(map(float, wanted))), weights, degrees
    ):
        for denominator in DENOMINATORS:
            rounded = [
                float(Fraction(round(value), denominator))
                for value in (scaled / largest * denominator).tolist()
            ]
            found.append(_stated(rounded, used, exact, wanted, noise))
    return min(found, key=lambda one: one.bound(zeta))


def _stated(
    rounded: list[float],
    used: list[tuple[int, int]],
    exact: NDArray[np.object_],
    wanted: list[Fraction],
    noise: NDArray[np.float64],
) -> MixedAnswerPolynomial:
    whole = np.array(
        [int(Fraction(one) * 2**_BITS) for one in rounded], dtype=np.object_
    )  # without remainder
    reached = (exact @ whole).tolist()
    worst = max(abs(Fraction(value, 2**_BITS) - one) for value, one in zip(reached, wanted, strict=True))
    table = [[0.0] * noise.shape[1] for _ in range(noise.shape[0])]
    for (i, j), value in zip(used, rounded, strict=True):
        table[i][j] = value
    variance = sum(
        (value * float(noise[pair])) ** 2 for pair, value in zip(used[1:], rounded[1:], strict=True)
    )
    return MixedAnswerPolynomial(
        tuple(tuple(row) for row in table), float(worst) * (1 + 2**-50), sqrt(variance)
    )
