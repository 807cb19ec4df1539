"""Families of symmetric predicates: the sensitivities of the published table, and polynomials that are those of the paper."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from dpopt.accounting.accountants import Accountant
from dpopt.accounting.budget import Budget
from dpopt.errors import PolynomialError, WorkloadError
from dpopt.polynomials.coefficient_budgets import least_coefficients
from dpopt.polynomials.comparison import binomial_sensitivity, monomial_sensitivity
from dpopt.polynomials.constructions import chebyshev_polynomial
from dpopt.polynomials.minimax import best_polynomial
from dpopt.polynomials.polynomial import Polynomial
from dpopt.polynomials.targets import Target
from dpopt.queries.conjunctions.literals import ChosenLiterals
from dpopt.queries.conjunctions.monomials import POWERS, SETS
from dpopt.queries.polynomial_families import SymmetricFamily
from dpopt.schema.schema import Attribute, AttributeKind, Schema
from dpopt.synopses.sanitizers.sanitizer_plan import crude_sensitivity
from dpopt.synopses.sanitizers.symmetric_families import symmetric_family
from experiments.papers_sanitizer.best_degree import plan_symmetric
from tests.exact_sanitizer_loss import coefficients_of, listed
from tests.exact_summary_loss import held_literals
from tests.tiny_runs import REPLACE, bits_schema, universe


def bits(number: int) -> ChosenLiterals:
    attributes = (Attribute(f"b{place}", AttributeKind.CATEGORICAL, values=(0, 1)) for place in range(number))
    return ChosenLiterals.of(Schema(tuple(attributes)), None, "positive")


PUBLISHED = [
    # d, k, gamma, t, crude, monomial, binomial
    (20, 5, 0.1, 4, 4.5e4, 5.9e3, 3.5e3),
    (20, 8, 0.1, 5, 2.3e5, 1.3e4, 6.0e3),
    (50, 6, 0.1, 4, 1.1e6, 1.0e5, 8.4e4),
    (50, 6, 0.25, 3, 5.7e4, 5.8e3, 5.2e3),
]
"""What one record moves n times the coefficients of the Chebyshev polynomial, to two digits."""


@pytest.mark.parametrize(("d", "k", "gamma", "t", "crude", "monomial", "binomial"), PUBLISHED)
def test_the_table_of_sensitivities_comes_out_again(
    d: int, k: int, gamma: float, t: int, crude: float, monomial: float, binomial: float
) -> None:
    target, polynomial = Target.disjunction(k), chebyshev_polynomial(k, t)
    unit = 2.0**-20
    powers = symmetric_family(bits(d).schema, target, polynomial, basis=POWERS)
    sets = symmetric_family(bits(d).schema, target, polynomial)
    assert powers.approximation == sets.approximation <= gamma
    assert two_digits(crude_sensitivity(powers, replaced=True)) == crude
    assert two_digits(powers.moves(unit).replaced * unit) == monomial
    assert two_digits(sets.moves(unit).replaced * unit) == binomial
    assert powers.moves(unit).replaced * unit == pytest.approx(float(monomial_sensitivity(polynomial, d)), rel=1e-3)
    assert sets.moves(unit).replaced * unit == pytest.approx(float(binomial_sensitivity(polynomial, d)), rel=1e-3)


@pytest.mark.parametrize(
    ("d", "k", "gamma", "t", "expected"),
    [(20, 5, "1/10", 4, 8.9e2), (20, 8, "1/10", 5, 1.35e3), (50, 6, "1/10", 4, 3.9e4), (50, 6, "1/4", 3, 2.1e3)],
)
def test_least_coefficients_move_as_the_table_says(d: int, k: int, gamma: str, t: int, expected: float) -> None:
    from math import comb

    target = Target.disjunction(k)
    weights = [Fraction(0), *(Fraction(comb(d, j)) for j in range(1, t + 1))]
    polynomial = least_coefficients(target, t, Fraction(gamma), weights).polynomial
    family = symmetric_family(bits(d).schema, target, polynomial, basis=SETS)
    sensitivity = family.moves(2.0**-20).replaced * 2.0**-20
    assert sensitivity == pytest.approx(expected, rel=0.02)
    assert family.approximation <= float(Fraction(gamma)) * (1 + 1e-12)


@pytest.mark.parametrize(("d", "k", "expected"), [(20, 5, 2.2e4), (20, 8, 2.6e5), (50, 6, 1.8e7)])
def test_inclusion_and_exclusion_has_the_sensitivity_that_the_table_says(d: int, k: int, expected: float) -> None:
    target = Target.disjunction(k)
    family = symmetric_family(bits(d).schema, target, Polynomial.through(k, target.values), basis=SETS)
    assert two_digits(family.moves(2.0**-10).replaced * 2.0**-10) == expected


def two_digits(number: float) -> float:
    return float(f"{number:.1e}")


@pytest.mark.parametrize("basis", [SETS, POWERS])
@pytest.mark.parametrize("predicate", ["or", "and", "atleast:2"])
@pytest.mark.parametrize("which", ["all", "positive"])
def test_the_polynomial_of_a_record_is_that_of_its_number_of_literals(which: str, predicate: str, basis: str) -> None:
    """At every query, for every record: g(s), which is within gamma of the predicate."""
    literals = ChosenLiterals.of(bits_schema(3), None, which)
    target = Target.named(predicate, 3)
    for degree in (1, 2, 3):
        polynomial = best_polynomial(target, degree).polynomial
        if polynomial.degree < 1:
            continue
        family = symmetric_family(literals.schema, target, polynomial, literals=which, basis=basis)
        every = listed(family.monomials)
        for record in universe(family.schema):
            coefficients = coefficients_of(family, record)
            held = set(held_literals(literals, record))
            for ones in combinations(range(literals.groups.literals), 3):
                true = [place for place, one in enumerate(every) if set(one) <= set(ones)]
                value = family.constant + sum(coefficients[place] for place in true)
                number = len(held & set(ones))
                assert value == pytest.approx(float(polynomial.at(number)), abs=1e-9)
                assert abs(value - float(target.values[number])) <= family.approximation + 1e-9


BUDGET = Budget(None, 1e-9, 0.1, Accountant.ZCDP)


@pytest.mark.parametrize("basis", [SETS, POWERS])
@pytest.mark.parametrize("predicate", ["or", "and", "atleast:2"])
def test_a_plan_takes_the_degree_that_predicts_the_least(predicate: str, basis: str) -> None:
    given = {"size": 20_000, "predicate": predicate, "basis": basis, "relation": REPLACE}
    best = plan_symmetric(bits(10), 4, BUDGET, **given)  # type: ignore[arg-type]
    each = []
    for degree in range(1, 5):
        try:
            each.append(plan_symmetric(bits(10), 4, BUDGET, degree=degree, **given).predicted)  # type: ignore[arg-type]
        except WorkloadError:
            assert (predicate, degree) != ("or", 1)
    assert best.predicted == min(each)
    assert max(each) > best.predicted


def test_degrees_with_too_many_monomials_are_left_out() -> None:
    plan = plan_symmetric(bits(400), 5, BUDGET, size=10**7, basis=SETS, relation=REPLACE)
    assert plan.figures.monomials.degree <= 3
    with pytest.raises(WorkloadError, match=r"20,000,000 .* degree 4 in at most"):
        plan_symmetric(bits(400), 5, BUDGET, size=10**7, degree=4)


def test_what_makes_no_sense_is_refused() -> None:
    target = Target.disjunction(3)
    polynomial = best_polynomial(target, 2).polynomial
    with pytest.raises(WorkloadError, match="found the basis 'other'"):
        symmetric_family(bits(3).schema, target, polynomial, basis="other")
    with pytest.raises(WorkloadError, match="a constant polynomial"):
        symmetric_family(bits(3).schema, target, Polynomial(3, (Fraction(1, 2),)))
    with pytest.raises(PolynomialError, match="give them the same k"):
        symmetric_family(bits(3).schema, Target.disjunction(2), polynomial)
    with pytest.raises(WorkloadError, match="found k = 3; expected 1 to 2"):
        symmetric_family(bits(2).schema, target, polynomial)
    with pytest.raises(WorkloadError, match="take a higher degree"):
        plan_symmetric(bits(8), 8, BUDGET, size=100, predicate="and", degree=0)


def test_families_are_those_of_their_basis() -> None:
    target = Target.disjunction(3)
    polynomial = Polynomial(3, (Fraction(0), Fraction(1), Fraction(-1, 2)))
    sets = symmetric_family(bits(3).schema, target, polynomial)
    assert isinstance(sets, SymmetricFamily)
    assert (sets.constant, sets.weights) == (0.0, (1.0, -0.5))
    powers = symmetric_family(bits(3).schema, target, polynomial, basis=POWERS)
    assert (powers.constant, powers.weights) == (0.0, (1.25, -0.25))
    assert np.isclose(powers.approximation, 0.5)
