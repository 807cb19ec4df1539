from __future__ import annotations

import json
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.errors import PolynomialError
from dpopt.polynomials import Basis, Polynomial, Target
from dpopt.polynomials.basis_values import basis_table, basis_value, in_binomial_basis

fractions = st.fractions(min_value=-5, max_value=5, max_denominator=20)


@given(
    st.integers(1, 9).flatmap(
        lambda k: st.tuples(st.just(k), st.lists(fractions, min_size=1, max_size=k + 1))
    )
)
def test_all_bases_are_the_same_polynomial(case: tuple[int, list[Fraction]]) -> None:
    width, coefficients = case
    polynomial = Polynomial(width, tuple(coefficients))
    values = [
        sum((a * comb(s, j) for j, a in enumerate(coefficients)), start=Fraction(0)) for s in range(width + 1)
    ]
    assert [polynomial.at(s) for s in range(width + 1)] == values
    for basis in Basis:
        found = polynomial.in_basis(basis)
        assert len(found) == polynomial.degree + 1
        table = basis_table(basis, width, polynomial.degree)
        assert [
            sum((x * one for x, one in zip(found, row, strict=True)), start=Fraction(0)) for row in table
        ] == values
        assert Polynomial(width, in_binomial_basis(basis, width, found)) == polynomial
    np.testing.assert_allclose(
        polynomial.evaluate(np.arange(width + 1.0)), [float(value) for value in values], atol=1e-6, rtol=1e-9
    )
    assert Polynomial.through(width, values) == polynomial


def test_chebyshev_values_are_those_of_numpy() -> None:
    for degree in range(8):
        for s in range(10):
            expected = np.polynomial.chebyshev.Chebyshev.basis(degree)(2 * s / 9 - 1)
            assert float(basis_value(Basis.CHEBYSHEV, 9, degree, s)) == pytest.approx(expected, abs=1e-12)


def test_it_evaluates_outside_and_between_whole_points() -> None:
    polynomial = Polynomial(4, (Fraction(1), Fraction(0), Fraction(2)))  # 1 + s (s - 1)
    assert [polynomial.at(s) for s in (-3, 0, 5)] == [13, 1, 21]
    np.testing.assert_allclose(polynomial.evaluate(np.array([0.5, 2.5])), [0.75, 4.75])
    assert list(polynomial.in_basis(Basis.MONOMIAL)) == [1, -1, 1]


def test_the_error_is_exact_and_says_where() -> None:
    polynomial = Polynomial(3, (Fraction(1, 3), Fraction(1, 3)))  # 1/3, 2/3, 1, 4/3
    error = polynomial.error(Target.disjunction(3))
    assert (error.value, error.points) == (Fraction(1, 3), (0, 1, 3))
    with pytest.raises(PolynomialError, match="the same k"):
        polynomial.error(Target.disjunction(4))


def test_zeros_at_the_end_are_dropped() -> None:
    assert Polynomial(3, (Fraction(2), Fraction(0), Fraction(0))).degree == 0
    assert Polynomial(3, (Fraction(0),)).coefficients == (Fraction(0),)


def test_json_and_back() -> None:
    polynomial = Polynomial(5, (Fraction(-3, 7), Fraction(10**600), Fraction(1, 3)))
    assert Polynomial.from_json(json.loads(json.dumps(polynomial.to_json()))) == polynomial


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "expected a JSON object"),
        ({"k": 3, "binomial_coefficients": ["1"], "x": 1}, "unknown key"),
        ({"k": True, "binomial_coefficients": ["1"]}, "whole number"),
        ({"k": 3, "binomial_coefficients": "1"}, "expected a list"),
        ({"k": 3, "binomial_coefficients": [1]}, "fraction as text"),
        ({"k": 3, "binomial_coefficients": ["1/0"]}, "no fraction"),
        ({"k": 3, "binomial_coefficients": ["a"]}, "no fraction"),
        ({"k": 3, "binomial_coefficients": []}, "at least one coefficient"),
        ({"k": 1, "binomial_coefficients": ["1", "1", "1"]}, "found degree 2"),
        ({"k": 0, "binomial_coefficients": ["1"]}, "from 1 to 256"),
    ],
)
def test_damaged_json_is_refused(value: object, message: str) -> None:
    with pytest.raises(PolynomialError, match=message):
        Polynomial.from_json(value)
