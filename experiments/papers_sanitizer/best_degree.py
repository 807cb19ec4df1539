"""The plan of the paper's own release of a symmetric predicate: the best degree, with the polynomial of least error."""

from __future__ import annotations

from dpopt.accounting.budget import Budget
from dpopt.accounting.relations import NeighbouringRelation
from dpopt.errors import WorkloadError
from dpopt.polynomials.minimax import best_polynomial
from dpopt.polynomials.targets import Target
from dpopt.queries.conjunctions.literals import LARGEST_SIZE, ChosenLiterals
from dpopt.queries.conjunctions.monomials import MOST_MONOMIALS, SETS, number_of_monomials
from dpopt.synopses.sanitizers.sanitizer_plan import SanitizerPlan, plan_sanitizer
from dpopt.synopses.sanitizers.symmetric_families import symmetric_family


def plan_symmetric(
    literals: ChosenLiterals,
    width: int,
    budget: Budget,
    *,
    size: int,
    predicate: str = "or",
    basis: str = SETS,
    relation: NeighbouringRelation = NeighbouringRelation.ADD_REMOVE,
    degree: int | None = None,
) -> SanitizerPlan:
    """Return the plan for queries of k literals, of the degree whose predicted error is least, or of the one that is named."""
    target = Target.named(predicate, width)
    found: list[SanitizerPlan] = []
    for each in range(1, min(width, LARGEST_SIZE) + 1) if degree is None else (degree,):
        polynomial = best_polynomial(target, each).polynomial
        number = number_of_monomials(basis, literals.groups.literals, each)
        if polynomial.degree < 1 or (found and number > MOST_MONOMIALS):
            continue
        family = symmetric_family(literals.schema, target, polynomial, literals=literals.which, basis=basis)
        found.append(plan_sanitizer(family, budget, size=size, relation=relation))
    if not found:
        raise WorkloadError("a constant polynomial is best at every degree asked; take a higher degree")
    return min(found, key=lambda plan: plan.predicted)
