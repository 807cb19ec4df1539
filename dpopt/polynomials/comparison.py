"""Polynomials compared with the best one: any polynomial certified, and the constructions of the papers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpopt.errors import PolynomialError
from dpopt.polynomials.certificates import Solution, verify
from dpopt.polynomials.constructions import chebyshev_polynomial, sherstov_polynomial
from dpopt.polynomials.exact_optimum import WIDEST_EXACT
from dpopt.polynomials.minimax import best_polynomial
from dpopt.polynomials.polynomial import LargestError, Polynomial
from dpopt.polynomials.targets import TABLE, Target
from dpopt.programs.solver import Solver


@dataclass(frozen=True, slots=True)
class Certified:
    """The error of a polynomial, and the least one of its degree."""

    error: LargestError
    """Evaluated exactly at every point."""
    best: Solution
    """The nearest polynomial of the degree, with the proof that none is nearer."""


def certify(
    polynomial: Polynomial, target: Target, *, free_constant: bool | None = None, solver: str | Solver | None = None
) -> Certified:
    """Return the exact error of any polynomial, and the proven least error of its degree; options of `best_polynomial`."""
    error = polynomial.error(target)
    best = best_polynomial(target, polynomial.degree, free_constant=free_constant, solver=solver)
    if best.problem.keeps_zero and polynomial.at(0) != target.values[0]:
        raise PolynomialError(
            f"found p(0) = {polynomial.at(0)}; polynomials of OR keep p(0) = 0 unless the constant is free: add "
            f"free_constant=True (--free-constant)"
        )
    verify(best)
    return Certified(error, best)


def constructions_beside_best(
    target: Target, degree: int, *, free_constant: bool | None = None, solver: str | Solver | None = None
) -> dict[str, Polynomial]:
    """Return "Chebyshev" (OR and AND), "Sherstov" where the degree allows it, and "least error", each of a degree.

    "At least r of k" with r above (k + 1) / 2 is made from "at least k - r + 1 of k", mirrored. k is at most 96.
    """
    if target.name == TABLE or target.width > WIDEST_EXACT:
        raise PolynomialError(
            f"the papers' constructions are compared for or, and, atleast:R, with k to {WIDEST_EXACT}"
        )
    width, needed = target.width, target.values.index(Fraction(1))
    mirrored = 2 * needed > width + 1
    needed = width - needed + 1 if mirrored else needed
    best = best_polynomial(target, degree, free_constant=free_constant, solver=solver)
    verify(best)
    made = {"Chebyshev": chebyshev_polynomial(width, degree)} if needed == 1 else {}
    if needed - 1 <= degree and (needed < width or degree == width):
        made["Sherstov"] = sherstov_polynomial(needed, width, degree)
    if mirrored:  # 1 - p(k - s)
        values = {name: [1 - one.at(width - s) for s in range(one.degree + 1)] for name, one in made.items()}
        made = {name: Polynomial.through(width, at) for name, at in values.items()}
    return {**made, "least error": best.polynomial}
