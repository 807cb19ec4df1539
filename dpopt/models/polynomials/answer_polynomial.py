"""Which coefficients have the least error and noise together: the search that the programs for answers share.

    minimize   gamma + (sum_c w_c^2 x_c^2)^(1/2)   subject to   |sum_c P_mc x_c - v_m| <= gamma  for each point m

A convex program, by Newton's method along the central path. Nothing that is found is believed: who calls evaluates what it
takes in exact arithmetic.

The polynomial that answers a query of k literals from noisy counts of conjunctions: least approximation and noise together.

With s of the k literals true the exact answer is f(s), and sum_j a_j C(s, j) is what conjunctions of at most t literals give:

    minimize   gamma + zeta (sum_{j=1..t} a_j^2 u_j^2)^(1/2)                            (AQ-1)
    subject to |a_0 + sum_{j=1..t} a_j C(s, j) - f(s)| <= gamma  for each s that occurs (AQ-2)

u_j^2 is the variance of the noise that the query sums up at size j if a_j = 1, and zeta how many standard deviations count. A
convex program with t + 2 variables (a cone and 2 (k + 1) rows). gamma is evaluated anew, in exact arithmetic, from the a_j that
are returned, rounded to dyadic rationals first: whatever the search did, the stated bound holds.

Source: Thaler, Ullman and Vadhan 2012 (Section 4.1) for the polynomial; the program is our own. Tests compare with CVXPY.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, inf, log, sqrt

import numpy as np
from numpy.typing import NDArray

from dpopt.errors import ProgramError

_GAP, _LARGEST_GROWTH, _FASTER = (
    1e-9,
    1e16,
    10.0,
)  # where the search ends, and how much faster it gets each time
_STEPS, _SMALLEST_STEP, _CLOSE = (
    60,
    1e-12,
    1e-3,
)  # Newton's method: at most so many steps, none smaller, so close


def candidates(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    prefixes: Sequence[int] | None = None,
) -> list[NDArray[np.float64]]:
    """Return coefficients to choose from: the best constant, least squares in the first columns, and what the search ends with.

    Parameters
    ----------
    points : (m, c) float64
        P, whose first column is 1.
    values : (m,) float64
        v.
    weights : (c,) float64
        w >= 0.
    prefixes : sequence of int, optional
        Numbers of columns for which least squares are solved; all if left out.
    """
    found = []
    for degree in prefixes or range(1, points.shape[1] + 1):
        start = np.zeros(points.shape[1])
        start[:degree] = np.linalg.lstsq(points[:, :degree], values, rcond=None)[0]
        found.append(start)
    middle = np.zeros(points.shape[1])
    middle[0] = (values.max() + values.min()) / 2.0
    # In a basis in which all directions matter as much, to the points and the noise together.
    basis, change = np.linalg.qr(np.vstack((points, np.diag(weights))))
    ended = _central_path(basis[: len(points)], values, basis[len(points) :], change @ middle)
    return [middle, *found, np.linalg.solve(change, ended)]


def _central_path(
    points: NDArray[np.float64],
    values: NDArray[np.float64],
    weights: NDArray[np.float64],
    start: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return x with the least gamma + length, gamma >= abs(points x - values), length >= abs(weights x), by Newton's method.

    On (gamma + length) growth - sum log of the slacks - log of length^2 - abs(weights x)^2, with growth ever larger: the gap is
    at most (2 m + 2) / growth for m points (Boyd and Vandenberghe 2004, Section 11.6).
    """
    ones = np.ones((len(points), 1))
    rows = np.block([[-points, ones, 0 * ones], [points, ones, 0 * ones]])
    right = np.concatenate((-values, values))
    cone = -np.pad(weights.T @ weights, (0, 2))  # the quadratic form of length^2 - abs(weights x)^2
    cone[-1, -1] = 1.0
    costs = np.zeros(rows.shape[1])
    costs[-2:] = 1.0
    slack = float(np.abs(points @ start - values).max())
    at = np.append(start, (slack + 1.0, float(np.linalg.norm(weights @ start)) + 1.0))

    def height(x: NDArray[np.float64], growth: float) -> float:
        slacks, inside = rows @ x - right, float(x @ cone @ x)
        if x[-1] <= 0 or inside <= 0 or slacks.min() <= 0:
            return inf
        return growth * float(costs @ x) - float(np.log(slacks).sum()) - log(inside)

    growth = 1.0
    while len(rows) + 2 > _GAP * growth * (costs @ at) and growth < _LARGEST_GROWTH:
        growth *= _FASTER
        for _ in range(_STEPS):
            slacks, inside, normal = rows @ at - right, float(at @ cone @ at), 2 * (cone @ at)
            downhill = rows.T @ (1 / slacks) + normal / inside - growth * costs
            curvature = (rows.T / slacks**2) @ rows + np.outer(normal / inside, normal / inside)
            step = np.linalg.lstsq(curvature - 2 * cone / inside, downhill, rcond=None)[0]
            gain, size, here = float(downhill @ step), 1.0, height(at, growth)
            while size > _SMALLEST_STEP and not height(at + size * step, growth) < here - 0.1 * size * gain:
                size /= 2
            if size <= _SMALLEST_STEP:
                break
            at = at + size * step
            if gain < _CLOSE:
                break
    return at[:-2]


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
