"""Least coefficients, least noise and sensitivities: exact optima from every solver and from none; all pairs of records."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product
from math import comb, sqrt

import numpy as np
import pytest

from dpopt.errors import PolynomialError
from dpopt.polynomials import (
    Basis,
    Polynomial,
    Problem,
    Target,
    best_polynomial,
    least_coefficients,
    least_error_within,
    least_predicted_error,
    verify,
)
from dpopt.polynomials.coefficient_budgets import (
    deviation_weights,
    direct_error,
    rounded_noise_weights,
    rounded_root,
    sensitivity_weights,
)
from dpopt.polynomials.comparison import (
    binomial_sensitivity,
    crude_sensitivity,
    inclusion_exclusion_sensitivity,
    monomial_sensitivity,
)
from dpopt.polynomials.constructions import chebyshev_degree, chebyshev_polynomial
from dpopt.polynomials.exact_optimum import exact_solution
from dpopt.polynomials.solver_answers import linear_solvers
from tests.polynomials.test_minimax import LIES, Liar

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


def test_inclusion_and_exclusion_is_sensitive_in_every_set() -> None:
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
    weights = [float(one) for one in deviation_weights(attributes, 3, 3)[1:]]
    stated = float(np.dot(weights, a[1:])) / (records * sqrt(2 * rho))
    assert stated == pytest.approx(sqrt(variance), rel=1e-11)


TENTH = Fraction(1, 10)
SOLVERS = [name for name in linear_solvers() if name != "pdlp"]  # which takes its whole time limit


@pytest.mark.parametrize(
    ("attributes", "width", "error", "degree", "known"),
    [  # crude, monomial, binomial, optimal, by inclusion and exclusion
        (20, 5, "0.1", 4, (4.5e4, 5.9e3, 3.5e3, 8.9e2, 2.2e4)),
        (20, 8, "0.1", 5, (2.3e5, 1.3e4, 6.0e3, 1.35e3, 2.6e5)),
        (50, 6, "0.1", 4, (1.1e6, 1.04e5, 8.4e4, 3.9e4, 1.8e7)),
        (50, 6, "0.25", 3, (5.7e4, 5.8e3, 5.2e3, 2.1e3, 1.8e7)),
    ],
)
def test_the_table_of_sensitivities_is_the_known_one(
    attributes: int, width: int, error: str, degree: int, known: tuple[float, ...]
) -> None:
    assert chebyshev_degree(width, Fraction(error)) == degree
    closed = chebyshev_polynomial(width, degree)
    weights = sensitivity_weights(attributes, degree)
    best = least_coefficients(Target.disjunction(width), degree, Fraction(error), weights)
    assert binomial_sensitivity(best.polynomial, attributes) == best.objective
    found = (
        crude_sensitivity(closed, attributes),
        monomial_sensitivity(closed, attributes),
        binomial_sensitivity(closed, attributes),
        best.objective,
        inclusion_exclusion_sensitivity(width, attributes),
    )
    assert [float(one) for one in found] == pytest.approx(known, rel=0.02)


@pytest.mark.parametrize("name", [*SOLVERS, None])
def test_every_solver_leads_to_the_same_optimum(name: str | None) -> None:
    target = Target.disjunction(8)
    small = least_coefficients(target, 5, TENTH, sensitivity_weights(20, 5), solver=name)
    assert small.objective == Fraction(9417, 7)
    limited = least_error_within(target, 4, Fraction(1), Basis.MONOMIAL, solver=name)
    assert limited.objective == Fraction(105, 463)
    chebyshev = least_error_within(target, 4, Fraction(1, 2), Basis.CHEBYSHEV, solver=name)
    verify(chebyshev)
    assert max(map(abs, chebyshev.polynomial.in_basis(Basis.CHEBYSHEV))) == Fraction(1, 2)
    given = {"attributes": 20, "records": 10_000, "rho": 0.1, "queries": 60_459, "beta": 0.05}
    noisy = least_predicted_error(
        Target.disjunction(6),
        rounded_noise_weights(6, **given),  # type: ignore[arg-type]
        solver=name,
    )
    assert (noisy.polynomial.degree, noisy.polynomial.error(noisy.problem.target).value) == (3, Fraction(1, 8))
    assert float(noisy.objective) == pytest.approx(0.203935, abs=1e-6)


@pytest.mark.parametrize("kind", LIES)
def test_a_solver_that_lies_does_not_change_the_optimum(kind: str) -> None:
    target, weights = Target.disjunction(8), sensitivity_weights(20, 5)
    found = least_coefficients(target, 5, TENTH, weights, solver=Liar(kind))
    assert found.objective == Fraction(9417, 7)


@pytest.mark.parametrize(
    ("attributes", "width", "records", "expected", "degree", "direct"),
    [(20, 6, 10**4, 0.204, 3, 0.239), (50, 8, 10**6, 0.106, 5, 0.359), (50, 4, 10**5, 0.090, None, 0.061)],
)
def test_the_predicted_errors_are_the_known_ones(
    attributes: int, width: int, records: int, expected: float, degree: int | None, direct: float
) -> None:
    queries = sum(comb(attributes, j) for j in range(1, width + 1))
    weights = rounded_noise_weights(width, attributes=attributes, records=records, rho=0.1, queries=queries, beta=0.05)
    found = least_predicted_error(Target.disjunction(width), weights)
    verify(found)
    assert float(found.objective) == pytest.approx(expected, abs=6e-4)
    assert degree in {None, found.polynomial.degree}
    alone = direct_error(width, attributes=attributes, records=records, rho=0.1, queries=queries, beta=0.05)
    assert alone == pytest.approx(direct, abs=6e-4)


def test_without_weights_it_is_the_best_approximation() -> None:
    target = Target.at_least(3, 9)
    free = least_predicted_error(target, (Fraction(0),) * 10)
    assert free.objective == 0
    weights = (Fraction(0),) + (Fraction(1, 10**9),) * 5
    best = best_polynomial(target, 5)
    near = exact_solution(Problem(target, 5, keeps_zero=False, weights=weights), None)
    assert best.objective <= near.objective <= best.objective + Fraction(1, 10**6)


def test_a_large_limit_on_coefficients_does_not_bind() -> None:
    for target in (Target.disjunction(10), Target.at_least(2, 10), Target.table([1, 0, 0, 1, 1])):
        for free in (True, False):
            best = best_polynomial(target, 3, free_constant=free)
            for basis in (Basis.MONOMIAL, Basis.CHEBYSHEV):
                found = least_error_within(target, 3, Fraction(10**6), basis, free_constant=free)
                verify(found)
                assert found.objective == best.objective


def test_a_kept_value_that_is_not_zero_counts_in_the_weighted_sum() -> None:
    target = Target.table([1, 0, 0, 0, 0])
    weights = (Fraction(3), Fraction(1), Fraction(1), Fraction(1))
    found = least_coefficients(target, 3, Fraction(1, 5), weights, free_constant=False)
    verify(found)
    assert found.polynomial.at(0) == 1
    assert found.objective == 3 + sum(map(abs, found.polynomial.coefficients[1:]))


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_no_perturbed_polynomial_is_better(seed: int, free: bool) -> None:
    generator = np.random.default_rng(seed)
    width = int(generator.integers(3, 8))
    target = Target.table([Fraction(int(one), 4) for one in generator.integers(0, 5, width + 1)])
    degree = int(generator.integers(1, width + 1))
    weights = tuple(Fraction(int(one)) for one in generator.integers(0, 9, degree + 1))
    least = best_polynomial(target, degree, free_constant=free).objective
    found = least_coefficients(target, degree, least + TENTH, weights, free_constant=free)
    verify(found)
    at_best = least_coefficients(target, degree, least, weights, free_constant=free)
    verify(at_best)
    assert at_best.objective >= found.objective


SIX = Target.disjunction(6)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: least_coefficients(SIX, 2, Fraction(1, 100), sensitivity_weights(9, 2)), "proved in exact"),
        (
            lambda: least_error_within(Target.table([2, 2]), 1, TENTH, Basis.MONOMIAL, free_constant=False),
            "coefficients of at most 0.1",
        ),
        (lambda: least_error_within(SIX, 2, Fraction(1), Basis.BINOMIAL), "Chebyshev"),
        (lambda: least_coefficients(Target.disjunction(97), 2, TENTH, sensitivity_weights(99, 2)), "96"),
        (lambda: least_predicted_error(SIX, (Fraction(0),) * 3), "expected k"),
        (lambda: binomial_sensitivity(POLYNOMIAL, 2), "at least k"),
        (lambda: monomial_sensitivity(POLYNOMIAL, 2), "at least k"),
        (lambda: crude_sensitivity(POLYNOMIAL, 2), "at least k"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(call: Callable[[], object], says: str) -> None:
    with pytest.raises(PolynomialError, match=says):
        call()


@pytest.mark.parametrize("width", [32, 64])
def test_it_is_stable_for_wide_queries(width: int) -> None:
    degree = {32: 12, 64: 16}[width]
    for weights in (sensitivity_weights(100, degree), deviation_weights(100, width, degree)):
        found = least_coefficients(Target.disjunction(width), degree, TENTH, weights)
        verify(found)
        assert found.objective > 0


def test_square_roots_are_cut_after_twelve_digits() -> None:
    assert rounded_root(144) == 12
    assert float(rounded_root(2)) == pytest.approx(sqrt(2), rel=1e-11)
    for number in (7, 10**9 + 7, 10**40 + 1):
        assert rounded_root(number) ** 2 <= number
        assert float(rounded_root(number)) == pytest.approx(sqrt(number), rel=1e-11)
    assert deviation_weights(20, 5, 2)[1:] == (Fraction(10), rounded_root(1900))
