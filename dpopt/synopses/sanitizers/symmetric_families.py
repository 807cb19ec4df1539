"""Families for symmetric predicates of a record's literals, in the paper's monomials or the binomial basis."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dpopt.errors import WorkloadError
from dpopt.polynomials.polynomial import Basis, Polynomial
from dpopt.polynomials.targets import Target
from dpopt.queries.conjunctions.literals import POSITIVE, ChosenLiterals
from dpopt.queries.conjunctions.monomials import POWERS, SETS, Monomials
from dpopt.queries.polynomial_families import SymmetricFamily
from dpopt.schema.schema import Schema


def symmetric_family(
    schema: Schema,
    target: Target,
    polynomial: Polynomial,
    *,
    columns: Sequence[str] | None = None,
    literals: str = POSITIVE,
    basis: str = SETS,
) -> SymmetricFamily:
    """Return the family p_x(y) = g(s), s the number of literals that record x has and query y asks for.

    Source: Thaler, Ullman and Vadhan 2012, Lemmas 4.3 and 4.6, for the monomials; the binomial basis is our own.

    Parameters
    ----------
    schema, columns
        Literals are values of these columns; of all if left out.
    target
        OR, AND, "at least r of k" or any values f(0), ..., f(k); bounds hold at all of them, whatever their weights.
    polynomial
        g, of the same k: the best one, or one of your own.
    literals
        "positive": the second value of columns with two; "all": each value.
    basis
        "sets": C(s, j), with a coefficient for each product of at most t different variables. "powers": s^i multiplied
        out, with one for each of C(d + t, t) monomials and the noise of the theorem, as the paper prints it; its errors
        are larger.

    Examples
    --------
    >>> import dpopt
    >>> from dpopt.polynomials import Polynomial, Target
    >>> mine = Polynomial.from_basis(2, ["1/10", "1/2"])
    >>> family = dpopt.symmetric_family(dpopt.Schema.binary(2), Target.disjunction(2), mine)
    >>> round(family.approximation, 9)
    0.4
    """
    if basis not in {POWERS, SETS}:
        raise WorkloadError(f"found the basis {basis!r}; expected {POWERS} or {SETS}")
    if polynomial.degree < 1:
        raise WorkloadError("a constant polynomial does not depend on the records; take a higher degree")
    chosen = ChosenLiterals.of(schema, columns, literals)
    within = Basis.MONOMIAL if basis == POWERS else Basis.BINOMIAL
    constant, *weights = (float(one) for one in polynomial.in_basis(within))
    made: Callable[[int, int], Monomials] = Monomials.all_powers if basis == POWERS else Monomials.all_sets
    words = "monomials" if basis == POWERS else "products of different literals"
    return SymmetricFamily(
        name=f"{target.name} of {target.width}, degree {polynomial.degree}, in {words}",
        literals=chosen,
        monomials=made(chosen.groups.literals, polynomial.degree),
        weights=tuple(weights),
        constant=constant,
        width=target.width,
        approximation=float(max(map(abs, polynomial.errors(target)))),
    )
