"""Polynomials compared with the best one: any polynomial certified, and the constructions of the papers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import comb, factorial

from dpopt.errors import PolynomialError
from dpopt.polynomials.certificates import Solution, verify
from dpopt.polynomials.constructions import chebyshev_polynomial, sherstov_polynomial
from dpopt.polynomials.exact_optimum import WIDEST_EXACT
from dpopt.polynomials.minimax import best_polynomial
from dpopt.polynomials.polynomial import Basis, LargestError, Polynomial
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


def binomial_sensitivity(polynomial: Polynomial, attributes: int) -> Fraction:
    """Return n times the exact L1 sensitivity in the binomial basis; `attributes` is d, at least k.

    The polynomial of a record x in the attributes y of a query is p(|x and y|). Averaged over n records it has, in the
    binomial basis, one coefficient a_|A| m_A for each set A of at most t attributes, m_A the share of records with x_A
    = 1: n L1 = sum_{j = 1..t} |a_j| C(d, j). The worst pair of records is all ones and all zeros, under replace-one as
    under add-remove with a public n. The constant is public and needs no noise.

    Source: Thaler, Ullman and Vadhan (2012), Theorem 3.1 and Lemma 4.3, for monomials; the binomial basis is our own.
    """
    _check(polynomial, attributes)
    return sum((abs(a) * comb(attributes, j) for j, a in enumerate(polynomial.coefficients) if j), start=Fraction(0))


def monomial_sensitivity(polynomial: Polynomial, attributes: int) -> Fraction:
    """Return n times the L1 sensitivity of the paper's expansion in monomials, each product of attributes alone."""
    _check(polynomial, attributes)
    coefficients = polynomial.in_basis(Basis.MONOMIAL)
    return sum((abs(c) * attributes**i for i, c in enumerate(coefficients) if i), start=Fraction(0))


def crude_sensitivity(polynomial: Polynomial, attributes: int) -> Fraction:
    """Return n times the bound of the paper's theorem: 2 T C(d + t, t), T the largest coefficient times i!."""
    _check(polynomial, attributes)
    coefficients = polynomial.in_basis(Basis.MONOMIAL)
    largest = max(abs(c) * factorial(i) for i, c in enumerate(coefficients))
    return 2 * largest * comb(attributes + polynomial.degree, polynomial.degree)


def inclusion_exclusion_sensitivity(width: int, attributes: int) -> int:
    """Return n times the L1 sensitivity of OR written exactly, t = k: the number of sets of 1 to k attributes."""
    return sum(comb(attributes, j) for j in range(1, width + 1))


def _check(polynomial: Polynomial, attributes: int) -> None:
    if attributes < polynomial.width:
        raise PolynomialError(
            f"found d = {attributes} attributes and queries on k = {polynomial.width} of them; expected at least k"
        )
