"""By how much one record moves the coefficients that a release adds noise to; exact.

The polynomial of a record x in the attributes y of a query is p(|x and y|). Averaged over n records it has, in the
binomial basis, one coefficient a_|A| m_A for each set A of at most t attributes, m_A the share of records with x_A = 1.
The worst pair of records is all ones and all zeros, under replace-one as under add-remove with a public n:

    n L1 = sum_{j = 1..t} |a_j| C(d, j)                     binomial
    n L1 = sum_{i = 1..t} |c_i| d^i                         monomials of (sum_j x_j y_j)^i, as in the paper, written out
    n L1 = 2 max_i |c_i| i! C(d + t, t)                     the paper's theorem, from the largest coefficient alone

The constant is public and needs no noise. With Gaussian noise of total cost rho, scaled best for each size of sets, the
answer to a query on k attributes has the standard deviation sum_j |a_j| (C(d, j) C(k, j))^(1/2) / (n (2 rho)^(1/2)).

Source: Thaler, Ullman and Vadhan (2012), Theorem 3.1 and Lemma 4.3; the binomial basis and its exact sensitivity are
our own.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, factorial

from dpopt.errors import PolynomialError
from dpopt.polynomials.polynomial import Basis, Polynomial


def binomial_sensitivity(polynomial: Polynomial, attributes: int) -> Fraction:
    """Return n times the exact L1 sensitivity in the binomial basis; `attributes` is d, at least k."""
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
