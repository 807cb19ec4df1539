"""Sensitivities against brute force over all pairs of records."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import comb, sqrt

import pytest

from dpopt.errors import PolynomialError
from dpopt.polynomials import Basis, Polynomial
from dpopt.polynomials.sensitivities import (
    answer_deviation,
    binomial_sensitivity,
    crude_sensitivity,
    inclusion_exclusion_sensitivity,
    monomial_sensitivity,
)

POLYNOMIAL = Polynomial(3, (Fraction(1, 3), Fraction(1), Fraction(-3, 5), Fraction(1, 5)))
Record = tuple[int, ...]


def binomial_vector(record: Record) -> list[Fraction]:
    """Return a_|A| [x_A = 1] for all sets A of one to three attributes."""
    places = range(len(record))
    return [
        POLYNOMIAL.coefficients[j] * all(record[place] for place in chosen)
        for j in range(1, 4)
        for chosen in combinations(places, j)
    ]


def monomial_vector(record: Record) -> list[Fraction]:
    """Return c_i x_{j_1} ... x_{j_i} for all sequences of one to three attributes."""
    coefficients = POLYNOMIAL.in_basis(Basis.MONOMIAL)
    return [
        coefficients[i] * all(record[place] for place in chosen)
        for i in range(1, 4)
        for chosen in product(range(len(record)), repeat=i)
    ]


def distance(one: list[Fraction], other: list[Fraction]) -> Fraction:
    return sum((abs(a - b) for a, b in zip(one, other, strict=True)), start=Fraction(0))


@pytest.mark.parametrize("attributes", [3, 4, 5])
def test_the_sensitivities_are_those_of_the_worst_pair(attributes: int) -> None:
    records = list(product((0, 1), repeat=attributes))
    for vector, stated in (
        (binomial_vector, binomial_sensitivity(POLYNOMIAL, attributes)),
        (monomial_vector, monomial_sensitivity(POLYNOMIAL, attributes)),
    ):
        vectors = [vector(record) for record in records]
        assert max(distance(a, b) for a, b in combinations(vectors, 2)) == stated  # replace-one
        empty = [Fraction(0)] * len(vectors[0])
        assert max(distance(one, empty) for one in vectors) == stated  # one record more or less
        assert stated <= crude_sensitivity(POLYNOMIAL, attributes)


@pytest.mark.parametrize("ones", range(6))
def test_records_with_few_ones_move_less(ones: int) -> None:
    records = [record for record in product((0, 1), repeat=5) if sum(record) <= ones]
    stated = binomial_sensitivity(POLYNOMIAL, 5, most_ones=ones)
    vectors = [binomial_vector(record) for record in records]
    assert max(sum(map(abs, one), start=Fraction(0)) for one in vectors) == stated
    assert max(distance(a, b) for a in vectors for b in vectors) <= 2 * stated


def test_inclusion_and_exclusion_moves_every_set() -> None:
    assert inclusion_exclusion_sensitivity(3, 6) == 6 + 15 + 20
    signs = Polynomial(3, (Fraction(0), Fraction(1), Fraction(-1), Fraction(1)))
    assert binomial_sensitivity(signs, 6) == 41


def test_the_deviation_is_that_of_noise_scaled_best() -> None:
    """Variances v_j in proportion to (C(d, j) / C(k, j))^(1/2) / |a_j|, scaled to the budget."""
    attributes, records, rho = 8, 500, 0.2
    a = [abs(float(one)) for one in POLYNOMIAL.coefficients]
    shape = [sqrt(comb(attributes, j) / comb(3, j)) / a[j] for j in (1, 2, 3)]
    cost = sum(comb(attributes, j) / (2 * records**2 * shape[j - 1]) for j in (1, 2, 3))
    variances = [one * cost / rho for one in shape]
    variance = sum(a[j] ** 2 * comb(3, j) * variances[j - 1] for j in (1, 2, 3))
    stated = answer_deviation(POLYNOMIAL, attributes, records=records, rho=rho)
    assert stated == pytest.approx(sqrt(variance), rel=1e-12)


def test_numbers_out_of_range_are_refused() -> None:
    for measure in (binomial_sensitivity, monomial_sensitivity, crude_sensitivity):
        with pytest.raises(PolynomialError, match="at least k"):
            measure(POLYNOMIAL, 2)
    with pytest.raises(PolynomialError, match="ones in a record"):
        binomial_sensitivity(POLYNOMIAL, 5, most_ones=6)
    for records, rho in ((0, 1.0), (5, 0.0)):
        with pytest.raises(PolynomialError, match="rho above 0"):
            answer_deviation(POLYNOMIAL, 5, records=records, rho=rho)
