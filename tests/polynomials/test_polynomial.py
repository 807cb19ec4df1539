"""Targets, polynomials and constructions in exact arithmetic: predicates, bases, closed forms, sums over disjunctions."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import acosh, ceil, comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpopt.errors import PolynomialError
from dpopt.files.codec import decode, encode
from dpopt.polynomials import Basis, Polynomial, Target, best_polynomial
from dpopt.polynomials.constructions import (
    best_split,
    chebyshev_degree,
    chebyshev_error,
    chebyshev_polynomial,
    joined,
    sherstov_polynomial,
)
from dpopt.polynomials.polynomial import basis_table, basis_value
from dpopt.polynomials.targets import exact_number


def test_the_predicates_are_what_they_say() -> None:
    assert list(Target.disjunction(3).values) == [0, 1, 1, 1]
    assert list(Target.conjunction(3).values) == [0, 0, 0, 1]
    assert list(Target.at_least(2, 3).values) == [0, 0, 1, 1]
    assert Target.at_least(1, 4).values == Target.disjunction(4).values
    assert list(Target.table(["0", 0.1, "1/3", Fraction(2, 7), 1, "1e-2"]).values) == [
        0,
        Fraction(1, 10),
        Fraction(1, 3),
        Fraction(2, 7),
        1,
        Fraction(1, 100),
    ]


def test_only_or_keeps_its_value_at_zero() -> None:
    assert Target.disjunction(4).keeps_zero
    assert not any(one.keeps_zero for one in (Target.conjunction(4), Target.at_least(1, 4), Target.table([0, 1])))


@pytest.mark.parametrize("text", ["x", "", "1/0", "nan", "inf", "1" * 500, "1e999999999", "1e-500", "0x1"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(PolynomialError, match="the value"):
        exact_number(text, "the value")
    with pytest.raises(PolynomialError, match="value 1"):
        Target.table([0, text])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        *((partial(Target.disjunction, width), "from 1 to 256") for width in (0, -1, 257)),
        *(
            (partial(Target.named, name, 5), "expected")
            for name in ("xor", "atleast:", "atleast:x", "atleast:0", "atleast:6", "atleast:-1", "Or")
        ),
        (partial(Target.table, [1]), "1 values"),
        (partial(Target, "or", (Fraction(0), Fraction(1, 2))), "not those of 'or'"),
        (lambda: Target("table", (0, 1)), "Fractions"),  # type: ignore[arg-type]
        (partial(chebyshev_polynomial, 5, -1), "0 or more"),
        (partial(chebyshev_degree, 5, Fraction(-1)), "0 or more"),
        (partial(sherstov_polynomial, 0, 5, 3), "at least 0 of 5"),
        *((partial(sherstov_polynomial, 2, 5, degree), "no construction of this degree") for degree in (-1, 0, 6)),
        (partial(sherstov_polynomial, 5, 5, 4), "no construction of this degree"),
        (partial(Polynomial.from_basis, 3, ["1", "x"]), "coefficient 1 is 'x'"),
        *(
            (partial(Target.table([0, 1]).weighted, weights), "weights of errors")
            for weights in ([], [1], [1, 1, 1], [0, 0], [1, -1])
        ),
        (partial(Target, "or", (Fraction(0), Fraction(1)), (1, 1)), "weights of errors"),  # type: ignore[arg-type]
    ],
)
def test_what_is_out_of_range_is_refused(call: Callable[[], object], says: str) -> None:
    with pytest.raises(PolynomialError, match=says):
        call()


fractions = st.fractions(min_value=-5, max_value=5, max_denominator=20)


@given(st.integers(1, 9).flatmap(lambda k: st.tuples(st.just(k), st.lists(fractions, min_size=1, max_size=k + 1))))
def test_all_bases_are_the_same_polynomial(case: tuple[int, list[Fraction]]) -> None:
    width, coefficients = case
    polynomial = Polynomial(width, tuple(coefficients))
    values = [sum((a * comb(s, j) for j, a in enumerate(coefficients)), start=Fraction(0)) for s in range(width + 1)]
    assert [polynomial.at(s) for s in range(width + 1)] == values
    for basis in Basis:
        found = polynomial.in_basis(basis)
        assert len(found) == polynomial.degree + 1
        table = basis_table(basis, width, polynomial.degree)
        assert [sum((x * one for x, one in zip(found, row, strict=True)), start=Fraction(0)) for row in table] == values
        assert Polynomial.from_basis(width, found, basis) == polynomial
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
    with pytest.raises(PolynomialError, match="same"):
        polynomial.error(Target.disjunction(4))


def test_zeros_at_the_end_are_dropped() -> None:
    assert Polynomial(3, (Fraction(2), Fraction(0), Fraction(0))).degree == 0
    assert Polynomial(3, (Fraction(0),)).coefficients == (Fraction(0),)


def test_json_and_back() -> None:
    polynomial = Polynomial(5, (Fraction(-3, 7), Fraction(10**600), Fraction(1, 3)))
    assert decode(Polynomial, json.loads(json.dumps(encode(polynomial))), "polynomial") == polynomial


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"width": 3, "coefficients": ["1/0"]}, "fraction as text"),
        ({"width": 3, "coefficients": ["1", "0"]}, "coefficients"),
        ({"width": 3, "coefficients": []}, "at least one coefficient"),
        ({"width": 1, "coefficients": ["1", "1", "1"]}, "found degree 2"),
        ({"width": 0, "coefficients": ["1"]}, "from 1 to 256"),
    ],
)
def test_damaged_json_is_refused(value: object, message: str) -> None:
    with pytest.raises(PolynomialError, match=message):
        decode(Polynomial, value, "polynomial", PolynomialError)


@pytest.mark.parametrize("width", [1, 2, 5, 9, 16])
def test_the_closed_form_has_the_error_that_is_stated(width: int) -> None:
    for degree in range(width + 2):
        found = chebyshev_polynomial(width, degree)
        assert found.at(0) == 0
        assert found.degree == min(degree, width)
        assert found.error(Target.disjunction(width)).value == chebyshev_error(width, degree)


def test_the_closed_form_is_that_of_the_formula() -> None:
    basis = np.polynomial.chebyshev.Chebyshev.basis(4)
    points = np.arange(13.0)
    expected = 1 - basis((13 - 2 * points) / 11) / basis(13 / 11)
    np.testing.assert_allclose(chebyshev_polynomial(12, 4).evaluate(points), expected, atol=1e-12)


@pytest.mark.parametrize("error", ["0.5", "0.1", "0.05", "0.01", "1e-6"])
def test_the_degree_of_the_closed_form_is_that_of_the_formula(error: str) -> None:
    for width in range(2, 65):
        formula = ceil(acosh(1 / float(error)) / acosh((width + 1) / (width - 1)) - 1e-12)
        assert chebyshev_degree(width, Fraction(error)) == min(width, formula)
    assert chebyshev_degree(1, Fraction(error)) == 1


def test_coefficients_of_the_closed_form_stay_small() -> None:
    for width in (4, 8, 16, 32):
        for error in ("0.1", "0.01"):
            degree = chebyshev_degree(width, Fraction(error))
            found = chebyshev_polynomial(width, degree)
            reached = found.error(Target.disjunction(width)).value
            for j, a in enumerate(found.coefficients):
                assert abs(a) <= 1 + reached * (2**j - 1)


@pytest.mark.parametrize(("needed", "width"), [(1, 6), (2, 9), (3, 12), (4, 32)])
def test_the_construction_for_at_least_r_of_k_keeps_its_word(needed: int, width: int) -> None:
    """The right values at 0..R, the error that its formula gives at every other point, and none below the least one."""
    target = Target.at_least(needed, width)
    for degree in range(needed - 1, width):
        last = best_split(needed, width, degree)
        found = sherstov_polynomial(needed, width, degree)
        assert found.degree <= degree
        assert [found.at(s) for s in range(last + 1)] == list(target.values[: last + 1])
        assert found.error(target).value >= best_polynomial(target, degree, free_constant=True).objective
        if degree > 12:  # beyond, floating-point values of the formula say little
            continue
        damp = np.polynomial.chebyshev.Chebyshev.basis(degree - last)
        for s in range(last + 1, width + 1):
            u = [(width + last + 1 - 2 * at) / (width - last - 1) for at in range(width + 1)]
            lagrange = [np.prod([(s - i) / (j - i) for i in range(last + 1) if i != j]) for j in range(needed)]
            expected = 1 - sum(one * damp(u[s]) / damp(u[j]) for j, one in enumerate(lagrange))
            assert float(found.at(s)) == pytest.approx(expected, abs=1e-9 * max(1, abs(expected)))
    assert sherstov_polynomial(needed, width, width).error(target).value == 0


@pytest.mark.parametrize(
    ("width", "needed", "error", "degree"), [(16, 2, "0.1", 12), (64, 2, "0.1", 30), (64, 4, "0.01", 57)]
)
def test_the_degrees_of_the_construction_are_the_known_ones(width: int, needed: int, error: str, degree: int) -> None:
    target, allowed = Target.at_least(needed, width), Fraction(error)
    assert sherstov_polynomial(needed, width, degree).error(target).value <= allowed
    for less in range(max(needed - 1, degree - 3), degree):
        assert sherstov_polynomial(needed, width, less).error(target).value > allowed


def test_no_other_split_of_a_degree_errs_less() -> None:
    target = Target.at_least(2, 10)
    for degree in range(1, 10):
        errors = [joined(2, 10, degree, last).error(target).value for last in range(1, min(degree, 8) + 1)]
        assert sherstov_polynomial(2, 10, degree).error(target).value == min(errors)


def test_the_construction_for_one_literal_is_the_closed_form() -> None:
    for degree in range(1, 8):
        assert joined(1, 8, degree, 0) == chebyshev_polynomial(8, degree)


def test_polynomials_are_made_from_numbers_as_they_are_written() -> None:
    found = Polynomial.from_basis(6, [0, 0.1, "-1/3", Fraction(10**500, 3)])
    assert list(found.in_basis(Basis.MONOMIAL)) == [0, Fraction(1, 10), Fraction(-1, 3), Fraction(10**500, 3)]
    assert list(Polynomial.from_basis(6, ["1", "1/2"], Basis.BINOMIAL).coefficients) == [1, Fraction(1, 2)]
    assert Polynomial.from_basis(6, [1, 2], Basis.CHEBYSHEV).at(6) == 3


def test_a_polynomial_goes_through_any_points() -> None:
    given = {2: Fraction(1, 3), 0: Fraction(2), 7: Fraction(-1), 5: Fraction(4)}
    found = Polynomial.through(9, list(given.values()), list(given))
    assert found.degree == 3
    assert {s: found.at(s) for s in given} == given


def test_errors_count_by_their_weights() -> None:
    target = Target.disjunction(3).weighted([1, "1/2", 0, 3])
    assert target.keeps_zero
    assert not target.weighted([0, 1, 1, 1]).keeps_zero
    polynomial = Polynomial(3, (Fraction(0), Fraction(1, 3)))  # 0, 1/3, 2/3, 1
    assert list(polynomial.errors(target)) == [0, Fraction(2, 3), Fraction(1, 3), 0]
    assert polynomial.error(target).value == Fraction(1, 3)
    assert polynomial.error(target).points == (1,)
