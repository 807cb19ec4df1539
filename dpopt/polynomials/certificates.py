"""An optimal polynomial and its proof: weights on the points that bound the error of every polynomial.

Problem. Over polynomials p(s) = sum_j x_j phi_j(s) of degree <= t, in a basis phi,

    minimize    E + sum_j w_j |x_j|            where E = max_s v_s |f(s) - p(s)| over s = 0..k
    or          sum_j w_j |x_j|  with  E <= limit
    subject to  p(0) = f(0)                    if the value at 0 is kept
                |x_j| <= T                     if coefficients are limited

with w >= 0 and v >= 0 (the target's; all 1 if not given). All w 0 and no limits: the best approximation.

Theorem (weak duality). For any numbers y_0, ..., y_k, with y_s = 0 where v_s = 0, let z_j = sum_s y_s phi_j(s) and N =
sum |y_s| / v_s over all points s, without s = 0 where the value there is kept. Every admissible p has

    sum_s y_s f(s) = sum_s y_s (f(s) - p(s)) + sum_j z_j x_j <= N E + sum_j |z_j| |x_j|

so that the objective is at least sum_s y_s f(s) - T sum_j max(|z_j| - w_j, 0) if N <= 1, or with E <= limit at least
that less limit * N; without a limit T every |z_j| must be at most w_j. Equality proves p optimal. Such y (a `Witness`)
are all that a proof needs: for the best approximation they sit on t + 2 points with alternating signs, and annihilate
every polynomial of degree t.

`verify` uses the target, the polynomial and the witness alone, in exact arithmetic: no solver, and nothing of the
search that found them.

Source: the duality of linear programming; for best approximations de la Vallee Poussin's bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, isfinite

from dpopt.errors import PolynomialError
from dpopt.polynomials.polynomial import Basis, Polynomial, basis_value
from dpopt.polynomials.targets import Target, nearest_float


@dataclass(frozen=True, slots=True)
class Problem:
    """The objective and its constraints."""

    target: Target
    """f on 0..k."""
    degree: int
    """t, from 0 to k."""
    keeps_zero: bool
    """Whether p(0) = f(0) is demanded."""
    basis: Basis = Basis.BINOMIAL
    """The basis of the coefficients x_j."""
    weights: tuple[Fraction, ...] = ()
    """w_0, ..., w_t, >= 0; all 0 if left out."""
    error_limit: Fraction | None = None
    """The largest error allowed; None: the error is a part of the objective."""
    coefficient_limit: Fraction | None = None
    """T; None: coefficients of any size."""

    def __post_init__(self) -> None:
        if not 0 <= self.degree <= self.target.width:
            raise PolynomialError(
                f"found degree {self.degree}; expected a whole number from 0 to k = {self.target.width}"
            )
        if not self.weights:
            object.__setattr__(self, "weights", (Fraction(0),) * (self.degree + 1))
        if len(self.weights) != self.degree + 1 or min(self.weights) < 0:
            raise PolynomialError(
                f"found {len(self.weights)} weights, the least {about(min(self.weights))}; expected {self.degree + 1} "
                f"of them, for degrees 0 to t, none below 0"
            )
        for what, limit in (("error", self.error_limit), ("size of coefficients", self.coefficient_limit)):
            if limit is not None and limit < 0:
                raise PolynomialError(f"found {about(limit)} as the largest {what}; expected 0 or more")

    @property
    def first(self) -> int:
        """The first point where an error can count: 1 where the value at 0 is kept."""
        return 1 if self.keeps_zero else 0

    @property
    def counted(self) -> tuple[int, ...]:
        """The points where an error counts."""
        return tuple(s for s, weight in enumerate(self.target.weights) if weight and s >= self.first)


@dataclass(frozen=True, slots=True)
class Witness:
    """Weights y_s on points s, zero elsewhere, that bound the objective of every polynomial from below."""

    points: tuple[int, ...]
    weights: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if len(self.points) != len(self.weights) or len(set(self.points)) != len(self.points):
            raise PolynomialError("a witness has one weight for each of its points, and no point twice")


@dataclass(frozen=True, slots=True)
class Solution:
    """A polynomial, the value of its objective, and the witness that no polynomial has a smaller one."""

    problem: Problem
    polynomial: Polynomial
    objective: Fraction
    witness: Witness


def judgement(problem: Problem, polynomial: Polynomial) -> tuple[Fraction, tuple[tuple[Fraction, str], ...]]:
    """Return the objective of a polynomial, exactly, and each condition that it breaks: by how much, and in words."""
    target = problem.target
    if polynomial.width != target.width or polynomial.degree > problem.degree:
        raise PolynomialError(
            f"the polynomial has degree {polynomial.degree} and k = {polynomial.width}; expected at most "
            f"{problem.degree} and {target.width}"
        )
    errors = [
        abs(value - sum((a * comb(s, j) for j, a in enumerate(polynomial.coefficients)), Fraction(0)))
        for s, value in enumerate(target.values)
    ]
    broken = []
    if problem.keeps_zero and errors[0]:
        broken.append((errors[0], f"the polynomial misses the value at 0 by {about(errors[0])}"))
    largest, allowed = max(v * error for v, error in zip(target.weights, errors, strict=True)), problem.error_limit
    if allowed is not None and largest > allowed:
        says = f"the error is {about(largest)}, above the limit of {about(allowed)}"
        broken.append((largest - allowed, says))
    coefficients = polynomial.in_basis(problem.basis)
    size, limit = max(map(abs, coefficients)), problem.coefficient_limit
    if limit is not None and size > limit:
        broken.append((size - limit, f"a coefficient is larger than the limit of {about(limit)}"))
    weighted = sum((w * abs(x) for w, x in zip(problem.weights, coefficients, strict=False)), start=Fraction(0))
    return weighted + (largest if allowed is None else 0), tuple(broken)


def objective_value(problem: Problem, polynomial: Polynomial) -> Fraction:
    """Return the objective of a polynomial, evaluated exactly."""
    objective, broken = judgement(problem, polynomial)
    for _, says in broken:
        raise PolynomialError(says)
    return objective


def lower_bound(problem: Problem, witness: Witness) -> Fraction:
    """Return a lower bound on the objective of every polynomial, by the theorem above."""
    target = problem.target
    if not all(type(s) is int and 0 <= s <= target.width for s in witness.points):
        raise PolynomialError(f"a point of the witness lies outside 0..{target.width}")
    given = list(zip(witness.points, witness.weights, strict=True))
    if any(y and not target.weights[s] for s, y in given if s >= problem.first):
        raise PolynomialError("the witness has weight at a point where errors do not count")
    size = sum((abs(y) / target.weights[s] for s, y in given if y and s >= problem.first), start=Fraction(0))
    bound = sum((y * target.values[s] for s, y in given), start=Fraction(0))
    if problem.error_limit is not None:
        bound -= problem.error_limit * size
    elif size > 1:
        raise PolynomialError(f"the weights of the witness add up to {about(size)}; expected at most 1")
    for j, weight in enumerate(problem.weights):
        pull = abs(sum((y * basis_value(problem.basis, target.width, j, s) for s, y in given), start=Fraction(0)))
        if pull > weight:
            if problem.coefficient_limit is None:
                raise PolynomialError(f"the witness pulls at coefficient {j} with more than its weight")
            bound -= problem.coefficient_limit * (pull - weight)
    return bound


def verify(solution: Solution) -> None:
    """Check in exact arithmetic that a polynomial is feasible, has the stated objective, and that nothing is better."""
    reached = objective_value(solution.problem, solution.polynomial)
    if reached != solution.objective:
        raise PolynomialError(
            f"the objective of the polynomial is {about(reached)}, and {about(solution.objective)} is stated"
        )
    bound = lower_bound(solution.problem, solution.witness)
    if bound != reached:
        raise PolynomialError(
            f"the objective is {about(reached)} and the witness proves {about(bound)} only: nothing shows that it is "
            f"least"
        )


def about(number: Fraction) -> str:
    """Return a number for a message: a few digits, or that it is beyond all floats."""
    found = nearest_float(number)
    return f"{found:g}" if isfinite(found) else "a number beyond 1e308"
