"""The worst error of coefficients is that of some row at some point, exactly; what a solver says decides nothing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpopt.errors import PolynomialError, SolverUnavailableError
from dpopt.models.polynomials.decision_lists import decision_lists
from dpopt.polynomials.decision_lists import approximation_error, certified_coefficients, rounded
from dpopt.programs.results import NO_LIMITS, SolveLimits, SolveResult
from dpopt.queries.decision_lists.coefficients import ListCoefficients
from dpopt.solvers.registry import get_solver
from tests.tiny_lists import family_of, output_at, points_of, random_coefficients, rows_of, value_of

FAMILIES = [
    family_of(3, 3),
    family_of(3, 3, "lists", 1),
    family_of(3, 3, "lists", 2),
    family_of(2, 2),
    family_of(3, 3, "disjunctions"),
    family_of(3, 2, "conjunctions"),
    family_of(1, 1),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("family", FAMILIES, ids=lambda one: f"{one.kind.value} {one.length} {one.changes}")
def test_the_error_is_that_of_the_worst_row_at_the_worst_point(family: Any, seed: int) -> None:
    """All rows, all points, in fractions."""
    for size in range(family.length + 1):
        coefficients = random_coefficients(family, size, seed)
        worst = max(
            abs(Fraction(value_of(coefficients, row, point), 4) - output_at(row, point))
            for row in rows_of(family)
            for point in points_of(family)
        )
        assert approximation_error(coefficients) == worst


def best_coefficients(*asked: Any, **how: Any) -> ListCoefficients:
    return certified_coefficients(*asked, **how)[0]


def test_with_all_sizes_and_cheap_noise_rows_are_written_exactly() -> None:
    for family in FAMILIES:
        weights = np.full(family.length + 1, 1e-7)
        found = best_coefficients(family, weights, gaussian=True, replaced=True)
        assert approximation_error(found) < Fraction(1, 10**4)


def test_known_errors_of_disjunctions() -> None:
    """gamma*(k, 1) = (k - 1) / (k + 1) for OR with its value at 0 kept; with a free constant gamma / (1 + gamma)."""
    for k in (2, 3, 5, 8):
        family = family_of(k, k, "disjunctions")
        found = best_coefficients(family, np.full(2, 1e-7), gaussian=False, replaced=False)
        gamma = (k - 1) / (k + 1)
        assert float(approximation_error(found)) == pytest.approx(gamma / (1 + gamma), abs=1e-4)


@dataclass(frozen=True)
class Lying:
    """HiGHS, whose solutions are moved."""

    by: float
    name: str = "lying"
    capabilities: Any = get_solver("highs").capabilities

    def availability(self) -> Any:
        return get_solver("highs").availability()

    def solve(self, program: Any, limits: SolveLimits = NO_LIMITS, *, hint: Any = None) -> SolveResult:
        from dataclasses import replace

        found = get_solver("highs").solve(program, limits)
        assert found.solution is not None
        return replace(found, solution=np.asarray(found.solution, dtype=np.float64) + self.by)


def test_what_a_solver_says_is_not_taken_for_the_error() -> None:
    """Its coefficients are moved by 0.1: the error that is stated is that of the moved ones."""
    family = family_of(3, 3)
    weights = np.full(4, 1e-3)
    honest = best_coefficients(family, weights, gaussian=True, replaced=False)
    found = best_coefficients(family, weights, gaussian=True, replaced=False, solver=Lying(0.1))
    worst = max(
        abs(Fraction(value_of(found, row, point), 2**found.bits) - output_at(row, point))
        for row in rows_of(family)
        for point in points_of(family)
    )
    assert approximation_error(found) == worst > approximation_error(honest) + Fraction(1, 20)


def test_large_coefficients_get_a_coarser_unit() -> None:
    family = family_of(2, 2)
    values = np.zeros((3, 2, 2))
    values[1:, 1, 0] = 100.0
    found = rounded(family, values)
    assert found.bits < 20
    assert found.values[1, 1, 0] == 100 * 2**found.bits


def test_solvers_of_other_programs_are_refused() -> None:
    with pytest.raises(PolynomialError, match="linear"):
        best_coefficients(family_of(2, 2), np.ones(2), gaussian=True, replaced=False, solver="cp-sat")
    with pytest.raises(SolverUnavailableError):
        best_coefficients(family_of(2, 2), np.ones(2), gaussian=True, replaced=False, solver="none")


@pytest.mark.parametrize("name", ["highs", "cbc", "glop"])
def test_any_solver_of_linear_programs_gives_coefficients_within_the_optimum(name: str) -> None:
    """E + sum_j w_j S_j with the exact error and sensitivities is at most the least objective."""
    if not get_solver(name).availability().available:
        pytest.skip(f"{name} cannot run here")
    family, weights = family_of(3, 3), np.array([0.01, 0.02, 0.03])
    stated = decision_lists(3, 3, weights, gaussian=False, replaced=False).model.linear
    least = stated.evaluate(np.asarray(get_solver("highs").solve(stated).require_solution()))
    found = best_coefficients(family, weights, gaussian=False, replaced=False, solver=name)
    sensitivity = [found.sensitivity(j, replaced=False, squared=False) / 2**found.bits for j in range(3)]
    assert float(approximation_error(found)) + float(weights @ sensitivity) <= least + 1e-5
