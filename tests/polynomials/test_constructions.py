"""The constructions of the papers, in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from math import acosh, ceil

import numpy as np
import pytest

from dpopt.errors import PolynomialError
from dpopt.polynomials import Target, least_degree
from dpopt.polynomials.chebyshev import chebyshev_degree, chebyshev_error, chebyshev_polynomial
from dpopt.polynomials.sherstov import sherstov_construction, sherstov_polynomial


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


@pytest.mark.parametrize(("needed", "width"), [(1, 1), (1, 6), (2, 9), (3, 12), (9, 9), (4, 32)])
@pytest.mark.parametrize("error", ["0.1", "0.01", "0"])
def test_the_construction_for_at_least_r_of_k_keeps_its_word(needed: int, width: int, error: str) -> None:
    target, allowed = Target.at_least(needed, width), Fraction(error)
    found = sherstov_construction(needed, width, allowed)
    assert found.polynomial.error(target).value == found.error <= allowed
    assert found.polynomial.degree <= found.interpolated + found.damping
    assert found.polynomial.degree >= least_degree(target, allowed).degree
    for s in range(min(found.interpolated, width) + 1):
        assert found.polynomial.at(s) == target.values[s]


@pytest.mark.parametrize(
    ("width", "needed", "error", "degree"),
    [(16, 2, "0.1", 12), (64, 2, "0.1", 30), (64, 4, "0.01", 57)],
)
def test_the_degrees_of_the_construction_are_the_known_ones(
    width: int, needed: int, error: str, degree: int
) -> None:
    assert sherstov_construction(needed, width, Fraction(error)).polynomial.degree == degree


def test_no_split_of_a_smaller_degree_would_do() -> None:
    found = sherstov_construction(2, 10, Fraction(1, 5))
    target = Target.at_least(2, 10)
    for interpolated in range(1, 9):
        damping = found.interpolated + found.damping - 1 - interpolated
        if damping >= 0:
            assert sherstov_polynomial(2, 10, interpolated, damping).error(target).value > Fraction(1, 5)


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(PolynomialError, match="expected 0 or more"):
        chebyshev_polynomial(5, -1)
    for error in (chebyshev_degree, lambda width, limit: sherstov_construction(2, width, limit)):
        with pytest.raises(PolynomialError, match="expected 0 or more"):
            error(5, Fraction(-1))
    for interpolated, damping in ((0, 1), (4, 1), (2, -1), (3, 3)):
        with pytest.raises(PolynomialError, match="expected R from"):
            sherstov_polynomial(2, 5, interpolated, damping)
