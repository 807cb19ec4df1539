"""Certificates: what is true is verified, everything else is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dpopt.errors import PolynomialError
from dpopt.polynomials import (
    Basis,
    Polynomial,
    Problem,
    Target,
    Witness,
    best_polynomial,
    least_coefficients,
    verify,
)
from dpopt.polynomials.certificates import Solution, lower_bound, objective_value
from dpopt.polynomials.coefficient_budgets import least_error_within, sensitivity_weights

HALF = Fraction(1, 2)


def best() -> Solution:
    return best_polynomial(Target.disjunction(8), 3)


def test_a_true_certificate_is_verified() -> None:
    verify(best())


def _moved(witness: Witness) -> Witness:
    return Witness((*witness.points[:-1], witness.points[-1] - 1), witness.weights)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda one: replace(one, objective=one.objective / 2), "is stated"),
        (
            lambda one: replace(
                one, polynomial=Polynomial(8, (Fraction(1, 9), *one.polynomial.coefficients[1:]))
            ),
            "at 0",
        ),
        (
            lambda one: replace(
                one, polynomial=Polynomial(8, (Fraction(0), HALF, *one.polynomial.coefficients[2:]))
            ),
            "is stated",
        ),
        (
            lambda one: replace(one, polynomial=Polynomial(8, (*one.polynomial.coefficients, HALF))),
            "degree 4",
        ),
        (lambda one: replace(one, polynomial=Polynomial(9, one.polynomial.coefficients)), "k = 9"),
        (lambda one: replace(one, witness=Witness((), ())), "nothing shows"),
        (lambda one: replace(one, witness=_moved(one.witness)), "pulls at coefficient"),
        (
            lambda one: replace(
                one, witness=Witness(one.witness.points, tuple(2 * y for y in one.witness.weights))
            ),
            "add up to 2",
        ),
        (
            lambda one: replace(
                one, witness=Witness(one.witness.points, tuple(-y for y in one.witness.weights))
            ),
            "nothing shows",
        ),
        (lambda one: replace(one, witness=Witness((99,), (HALF,))), "outside"),
        (
            lambda one: replace(one, problem=replace(one.problem, degree=4, weights=())),
            "pulls at coefficient 4",
        ),
        (lambda one: replace(one, problem=replace(one.problem, keeps_zero=False)), "add up to"),
    ],
)
def test_false_certificates_are_refused(change: object, message: str) -> None:
    with pytest.raises(PolynomialError, match=message):
        verify(change(best()))  # type: ignore[operator]


def test_a_witness_has_no_point_twice() -> None:
    for points, weights in (((1, 1), (HALF, HALF)), ((1,), (HALF, HALF))):
        with pytest.raises(PolynomialError, match="no point twice"):
            Witness(points, weights)


def test_problems_out_of_range_are_refused() -> None:
    target = Target.disjunction(3)
    with pytest.raises(PolynomialError, match="from 0 to k"):
        Problem(target, 4, keeps_zero=True)
    with pytest.raises(PolynomialError, match="none below 0"):
        Problem(target, 1, keeps_zero=True, weights=(HALF, -HALF))
    with pytest.raises(PolynomialError, match="expected 2 of them"):
        Problem(target, 1, keeps_zero=True, weights=(HALF,))
    with pytest.raises(PolynomialError, match="largest error"):
        Problem(target, 1, keeps_zero=True, error_limit=-HALF)
    with pytest.raises(PolynomialError, match="largest size"):
        Problem(target, 1, keeps_zero=True, coefficient_limit=-HALF)


def test_limits_are_held_against_the_polynomial() -> None:
    found = least_coefficients(
        Target.disjunction(6), 4, Fraction(1, 10), sensitivity_weights(9, 4), solver=None
    )
    with pytest.raises(PolynomialError, match="above the limit"):
        objective_value(replace(found.problem, error_limit=Fraction(1, 11)), found.polynomial)
    limited = least_error_within(Target.disjunction(6), 4, Fraction(1), Basis.MONOMIAL, solver=None)
    with pytest.raises(PolynomialError, match="a coefficient is larger"):
        objective_value(replace(limited.problem, coefficient_limit=Fraction(9, 10)), limited.polynomial)


@pytest.mark.parametrize("seed", range(30))
def test_no_polynomial_is_below_the_bound_of_any_witness(seed: int) -> None:
    """The theorem, on random problems, polynomials and witnesses of every kind."""
    generator = np.random.default_rng(seed)
    width = int(generator.integers(2, 7))
    degree = int(generator.integers(0, width + 1))

    def numbers(size: int) -> tuple[Fraction, ...]:
        return tuple(Fraction(int(one), 7) for one in generator.integers(-9, 10, size))

    target = Target.table(numbers(width + 1))
    basis = list(Basis)[seed % 3]
    coefficients = numbers(degree + 1)
    limit = max(map(abs, coefficients), default=Fraction(0))
    from dpopt.polynomials.basis_values import in_binomial_basis

    polynomial = Polynomial(width, in_binomial_basis(basis, width, coefficients))
    keeps = polynomial.at(0) == target.values[0]
    weights = tuple(abs(one) for one in numbers(degree + 1))
    error = polynomial.error(target).value
    for error_limit in (None, error):
        problem = Problem(target, degree, keeps, basis, weights, error_limit, limit)
        raw = numbers(width + 1)
        size = sum(map(abs, raw), start=Fraction(1))
        witness = Witness(tuple(range(width + 1)), tuple(one / size for one in raw))
        assert lower_bound(problem, witness) <= objective_value(problem, polynomial)
