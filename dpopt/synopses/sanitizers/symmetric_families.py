"""Families for symmetric predicates of a record's literals, in the paper's monomials or the binomial basis."""

from __future__ import annotations

from collections.abc import Callable

from dpopt.errors import WorkloadError
from dpopt.polynomials.polynomial import Basis, Polynomial
from dpopt.polynomials.targets import Target
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.queries.conjunctions.monomials import POWERS, SETS, Monomials
from dpopt.queries.polynomial_families import SymmetricFamily


def symmetric_family(
    literals: ChosenLiterals, target: Target, polynomial: Polynomial, *, basis: str = SETS
) -> SymmetricFamily:
    """Return the family p_x(y) = g(s), s the number of literals that record x has and query y asks for.

    Source: Thaler, Ullman and Vadhan 2012, Lemmas 4.3 and 4.6, for the monomials; the binomial basis is our own.

    Parameters
    ----------
    target
        OR, AND, "at least r of k" or any values f(0), ..., f(k).
    polynomial
        g, of the same k.
    basis
        "sets": C(s, j), with a coefficient for each product of at most t different variables. "powers": s^i multiplied
        out, with one for each of C(d + t, t) monomials and the noise of the theorem, as the paper prints it; its errors
        are larger.
    """
    if basis not in {POWERS, SETS}:
        raise WorkloadError(f"found the basis {basis!r}; expected {POWERS} or {SETS}")
    if polynomial.degree < 1:
        raise WorkloadError("a constant polynomial does not depend on the records; take a higher degree")
    within = Basis.MONOMIAL if basis == POWERS else Basis.BINOMIAL
    constant, *weights = (float(one) for one in polynomial.in_basis(within))
    made: Callable[[int, int], Monomials] = Monomials.all_powers if basis == POWERS else Monomials.all_sets
    words = "monomials" if basis == POWERS else "products of different literals"
    return SymmetricFamily(
        name=f"{target.name} of {target.width}, degree {polynomial.degree}, in {words}",
        literals=literals,
        monomials=made(literals.groups.literals, polynomial.degree),
        weights=tuple(weights),
        constant=constant,
        width=target.width,
        approximation=float(polynomial.error(target).value),
    )
