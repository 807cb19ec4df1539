"""Polynomials as linear programs (MP-1 to MP-6, CB-1 to CB-6, AN-1 to AN-4): known and exact optima, textbooks."""

from __future__ import annotations

from fractions import Fraction
from math import comb, log, sqrt

import numpy as np
import pytest

from dpopt.errors import ProgramError
from dpopt.models.polynomials.approximation_plus_noise import approximation_plus_noise, noise_weights
from dpopt.models.polynomials.coefficient_budget import (
    binomial_shares,
    coefficient_budget,
    largest_binomials,
    limited_coefficients,
    monomial_values,
    read_limited,
    read_split,
)
from dpopt.models.polynomials.minimax_polynomial import chebyshev_values, minimax_polynomial
from dpopt.polynomials import (
    Basis,
    Target,
    best_polynomial,
    least_coefficients,
    least_error_within,
    least_predicted_error,
    verify,
)
from dpopt.polynomials.minimax import level
from dpopt.programs import MixedIntegerProgram
from dpopt.solvers.registry import get_solver
from tests.models.catalogue import MODELS, worked
from tests.models.polynomial_vertices import known_optima, least_by_vertices, numbers

MINIMAX = known_optima(MODELS / "minimax_polynomial" / "known_optima.csv")
BUDGETS = known_optima(MODELS / "coefficient_budget" / "known_optima.csv")
NOISY = known_optima(MODELS / "approximation_plus_noise" / "known_optima.csv")


def floats(values: list[Fraction]) -> np.ndarray:
    return np.array([float(one) for one in values])


def optimum(program: MixedIntegerProgram) -> np.ndarray:
    """Return the point that HiGHS finds."""
    return np.asarray(get_solver("highs").solve(program).require_solution(), dtype=np.float64)


@pytest.mark.parametrize("row", MINIMAX, ids=lambda row: f"{row['values']}, {row['degree']}, {row['keeps_zero']}")
def test_a_nearest_polynomial_has_its_known_error(row: dict[str, str]) -> None:
    """MP-1 to MP-4 by HiGHS, MP-5 and MP-6 in exact arithmetic, and all vertices."""
    values, degree, keeps = numbers(row["values"]), int(row["degree"]), row["keeps_zero"] == "1"
    expected = Fraction(row["error"])
    found = best_polynomial(Target.table(values), degree, free_constant=not keeps)
    verify(found)
    assert found.objective == expected
    if degree < 4:
        assert least_by_vertices(values, [Fraction(0)] * (degree + 1), None, keeps_zero=keeps) == expected
    program = minimax_polynomial(floats(values), degree=degree, keeps_zero=keeps).linear
    point = optimum(program)
    assert program.evaluate(point) == pytest.approx(float(expected), abs=1e-8)
    errors = np.abs(chebyshev_values(len(values) - 1, point.size - 2) @ point[:-1] - floats(values))
    assert errors.max() == pytest.approx(float(expected), abs=1e-8)


@pytest.mark.parametrize("row", BUDGETS, ids=lambda row: f"{row['values']}, {row['weights']}, {row['error']}")
def test_least_coefficients_have_their_known_sum(row: dict[str, str]) -> None:
    """CB-1 to CB-3 and CB-5 by HiGHS, CB-6 in exact arithmetic, and all vertices."""
    values, weights, keeps = numbers(row["values"]), numbers(row["weights"]), row["keeps_zero"] == "1"
    error, expected = Fraction(row["error"]), Fraction(row["objective"])
    found = least_coefficients(
        Target.table(values), len(weights) - 1, error, weights, free_constant=not keeps, solver=None
    )
    verify(found)
    assert found.objective == expected
    assert least_by_vertices(values, weights, error, keeps_zero=keeps) == expected
    program = coefficient_budget(floats(values), floats(weights), float(error), keeps_zero=keeps).linear
    a = read_split(optimum(program), len(values) - 1)
    assert float(np.abs(a) @ floats(weights)) == pytest.approx(float(expected), abs=1e-6)


@pytest.mark.parametrize("row", NOISY, ids=lambda row: f"{row['values']}, {row['weights']}")
def test_error_and_noise_have_their_known_sum(row: dict[str, str]) -> None:
    """AN-1 and AN-2 by HiGHS, AN-4 in exact arithmetic, and all vertices."""
    values, weights, expected = numbers(row["values"]), numbers(row["weights"]), Fraction(row["objective"])
    found = least_predicted_error(Target.table(values), weights, solver=None)
    verify(found)
    assert found.objective == expected
    assert least_by_vertices(values, weights, None, keeps_zero=False) == expected
    program = approximation_plus_noise(floats(values), floats(weights)).linear
    point = optimum(program)
    assert program.evaluate(point) == pytest.approx(float(expected), abs=1e-8)
    a = read_split(point[:-1], len(values) - 1)
    assert float(np.abs(a) @ floats(weights)) + point[-1] == pytest.approx(float(expected), abs=1e-7)


@pytest.mark.parametrize("basis", [Basis.MONOMIAL, Basis.CHEBYSHEV])
@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("limit", ["1/2", "1", "3"])
def test_limited_coefficients_have_the_exact_error(basis: Basis, keeps: bool, limit: str) -> None:
    """CB-4."""
    target = Target.disjunction(7)
    table = (monomial_values if basis is Basis.MONOMIAL else chebyshev_values)(7, 4)
    program = limited_coefficients(
        floats(list(target.values)), 4, float(Fraction(limit)), table, keeps_zero=keeps
    ).linear
    point = optimum(program)
    found = least_error_within(target, 4, Fraction(limit), basis, free_constant=not keeps, solver=None)
    verify(found)
    assert float(found.objective) == pytest.approx(float(point[-1]), abs=1e-7)
    assert np.abs(read_limited(point, table)).max() <= float(Fraction(limit)) + 1e-7


def test_the_weights_of_the_levelled_error_are_those_of_the_formula() -> None:
    """MP-6, and MP-5 for its weights, on nodes with and without the kept point."""
    target = Target.disjunction(9)
    for reference, keeps in (((1, 2, 5, 9), True), ((0, 1, 4, 8, 9), False)):
        nodes = [0, *reference] if keeps else list(reference)
        weights = [
            1 / Fraction(int(np.prod([s - other for other in nodes if other != s], dtype=object))) for s in nodes
        ]
        top = sum((w * target.values[s] for s, w in zip(nodes, weights, strict=True)), start=Fraction(0))
        bottom = sum((abs(w) for s, w in zip(nodes, weights, strict=True) if s or not keeps), start=Fraction(0))
        found = level(target, reference, keeps_zero=keeps)
        assert found.size == abs(top) / bottom
        given = list(zip(found.witness.points, found.witness.weights, strict=True))
        assert sum(abs(y) for s, y in given if s or not keeps) == 1
        for degree in range(len(nodes) - 1):
            assert sum(y * s**degree for s, y in given) == 0


def test_the_weights_of_noise_are_those_of_the_formula() -> None:
    """AN-3."""
    found = noise_weights(4, attributes=12, records=1000, rho=0.2, queries=793, beta=0.01)
    zeta = sqrt(2 * log(2 * 793 / 0.01))
    expected = [zeta * sqrt(comb(12, j) * comb(4, j)) / (1000 * sqrt(0.4)) for j in range(1, 5)]
    np.testing.assert_allclose(found, [0, *expected])
    good = {"attributes": 12, "records": 1000, "rho": 0.2, "queries": 793, "beta": 0.01}
    for bad in ({"attributes": 3}, {"records": 0}, {"rho": 0.0}, {"queries": 0}, {"beta": 0.0}, {"beta": 1.0}):
        with pytest.raises(ProgramError, match="expected k"):
            noise_weights(4, **{**good, **bad})  # type: ignore[arg-type]


def test_entries_lie_between_zero_and_one() -> None:
    """CB-5; wide queries too."""
    shares = binomial_shares(64, 64)
    assert shares.min() >= 0
    assert shares.max() == 1
    for j in (0, 1, 7, 32, 64):
        assert largest_binomials(64, 64)[j] == pytest.approx(comb(64, j), rel=1e-12)
        np.testing.assert_allclose(shares[:, j], [comb(s, j) / comb(64, j) for s in range(65)], rtol=1e-10)


def test_what_does_not_fit_is_refused() -> None:
    for values, degree in ((np.ones(1), 0), (np.ones(4), 4), (np.ones(4), -1)):
        with pytest.raises(ProgramError, match="degree"):
            minimax_polynomial(values, degree=degree, keeps_zero=True)
    with pytest.raises(ProgramError, match="degree"):
        coefficient_budget(np.ones(3), np.ones(5), 0.1, keeps_zero=True)
    with pytest.raises(ProgramError, match="at least"):
        coefficient_budget(np.ones(3), np.array([0.0, -1.0]), 0.1, keeps_zero=True)
    with pytest.raises(ProgramError, match="basis"):
        limited_coefficients(np.ones(3), 1, 1.0, np.ones((3, 3)), keeps_zero=True)
    with pytest.raises(ProgramError, match="weights"):
        approximation_plus_noise(np.ones(3), np.ones(2))
    for v in ([1.0, 1.0], [1.0, -1.0, 1.0], [1.0, np.inf, 1.0]):
        with pytest.raises(ProgramError, match="error weights"):
            minimax_polynomial(np.ones(3), degree=1, error_weights=v)


def test_the_worked_witness_is_that_of_the_page() -> None:
    found = least_coefficients(
        Target.disjunction(2), 2, Fraction(1, 4), [Fraction(one) for one in (0, 4, 6)], solver=None
    )
    assert found.objective == Fraction(9, 2)
    assert "y_1 = 16 and y_2 = -6" in worked("coefficient_budget")
    assert dict(zip(found.witness.points, found.witness.weights, strict=True)) == {0: -10, 1: 16, 2: -6}
