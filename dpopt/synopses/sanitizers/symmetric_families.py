"""Families for symmetric predicates of a record's literals, in the paper's monomials or the binomial basis, and their plans."""

from __future__ import annotations

from collections.abc import Callable

from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import WorkloadError
from dpopt.polynomials.minimax import best_polynomial
from dpopt.polynomials.polynomial import Basis, Polynomial
from dpopt.polynomials.targets import Target
from dpopt.queries.conjunctions.literals import LARGEST_SIZE, ChosenLiterals
from dpopt.queries.conjunctions.monomials import MOST_MONOMIALS, POWERS, SETS, Monomials, number_of_monomials
from dpopt.queries.polynomial_families import SymmetricFamily
from dpopt.synopses.sanitizers.sanitizer_plan import EXACT, SanitizerPlan, plan_sanitizer


def symmetric_family(
    literals: ChosenLiterals, target: Target, polynomial: Polynomial, *, basis: str = POWERS
) -> SymmetricFamily:
    """Return the family p_x(y) = g(s), s the number of literals that record x has and query y asks for.

    Source: Thaler, Ullman and Vadhan 2012, Lemmas 4.3 and 4.6, for the monomials; the binomial basis is our own.

    Parameters
    ----------
    target : Target
        OR, AND, "at least r of k" or any values f(0), ..., f(k).
    polynomial : Polynomial
        g, of the same k.
    basis : str
        "powers": s^i multiplied out, with a coefficient for each of C(d + t, t) monomials, as in the paper. "sets": C(s, j),
        with one for each product of at most t different variables.

    Raises
    ------
    WorkloadError
        If the basis is another, there are too many monomials, or the polynomial is constant.
    PolynomialError
        If target and polynomial are for another k.
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


def plan_symmetric(
    literals: ChosenLiterals,
    width: int,
    budget: Budget,
    *,
    size: int,
    predicate: str = "or",
    basis: str = POWERS,
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE,
    sensitivity: str = EXACT,
    degree: int | None = None,
) -> SanitizerPlan:
    """Return the plan for queries of k literals, of the degree whose predicted error is least.

    The polynomial of each degree is that of least error (Fact 4.2 and Lemma 4.5 take one not far from it). Degrees that have
    too many monomials are left out.

    Parameters
    ----------
    literals, budget, size, relation, sensitivity :
        As for `plan_sanitizer`.
    width : int
        k.
    predicate : str
        "or", "and" or "atleast:R".
    basis : str
        "powers" or "sets".
    degree : int, optional
        This one and no other.

    Raises
    ------
    DpoptError
        As `symmetric_family` and `plan_sanitizer`, if no degree is possible.
    """
    target = Target.named(predicate, width)
    found: list[SanitizerPlan] = []
    for each in range(1, min(width, LARGEST_SIZE) + 1) if degree is None else (degree,):
        polynomial = best_polynomial(target, each).polynomial
        number = number_of_monomials(basis, literals.groups.literals, each)
        if polynomial.degree < 1 or (found and number > MOST_MONOMIALS):
            continue
        family = symmetric_family(literals, target, polynomial, basis=basis)
        found.append(plan_sanitizer(family, budget, size=size, relation=relation, sensitivity=sensitivity))
    if not found:
        raise WorkloadError("a constant polynomial is best at every degree asked; take a higher degree")
    return min(found, key=lambda plan: plan.predicted)
